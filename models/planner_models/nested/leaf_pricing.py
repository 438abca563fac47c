"""Leaf patterns: the cheapest contents of a leaf under prices on (stage, content).

What a leaf holds of a block copy falls into *segments*, contents on consecutive stages that share
pipeline links. A pattern is a multiset of segments whose sizes add up to between `capacity - idle`
and `capacity`. Its doubled cost is a lower estimate of the leaf's share of the level's cost:

* a segment pays the own cost of its contents less 2 w (overlap) for every arc inside it;
* stages are *open* or not. An open stage pays 2 w for every plane group it has. On any other stage
  lies nothing *wide*, that is, nothing that touches every plane group; what lies there pays
  2 w rows / blocks a piece, together at most what the piece that touches most groups pays alone;
* a plane group held whole is not paid for. Groups are disjoint, so that a leaf holds at most
  capacity / size of them; so many are refunded whatever it holds.

A dynamic programme over (open stages of the segment, stage, content, size) gives the cheapest
segment of every size, and an unbounded knapsack follows for every set of open stages.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planner_models.nested.leaf_costs import LeafCosts
from planner_models.shapes.stages import StageGraph
from planner_models.shapes.tilings import Ints

FAR = 1 << 60
"""Above every value."""

Segment = tuple[int, ...]
"""Rows (stage, content) of a segment, in order of the stages."""


@dataclass(frozen=True, slots=True)
class LeafPattern:
    """What a leaf holds.

    Attributes:
        value: cost minus prices, in units of 1 / SCALE of a doubled cost.
        cost: the cost in the same units.
        rows: rows of all segments, ascending, with repeats.
    """

    value: int
    cost: int
    rows: tuple[int, ...]


class Layer(NamedTuple):
    """Cheapest segments that end with one of some contents: [content, size] values."""

    values: Ints
    contents: Ints


Table = list[dict[int, Layer]]
"""[last stage][open stages of the segment]."""


class LeafPricing:
    """Patterns of leaves of one capacity.

    Args:
        graph: stages and contents, every subset of a block among them; arcs that close a cycle do
            not count.
        capacity: slots of a leaf.
        idle: slots that may stay empty in all leaves together.
    """

    def __init__(self, graph: StageGraph, *, capacity: int, idle: int) -> None:
        self.capacity = capacity
        self.least = max(0, capacity - idle)
        self.costs = LeafCosts(graph, capacity)
        cells = sum(graph.block(stage).cells for stage in range(len(graph.module)))
        self._sizes = min(cells, capacity) + 1

    def search(self, price: Ints, keep: int = 1) -> list[LeafPattern]:
        """A cheapest pattern and up to `keep` - 1 others with other stages open, cheapest first.

        Args:
            price: [row] price of a content, in units of 1 / SCALE.
            keep: how many patterns.
        """
        table = self.segments(price)
        best = self.cheapest(table)
        filled = knapsack(best, self.capacity)
        total = self.costs.opening - self.costs.refund + filled[:, self.least :].min(axis=1)
        found = []
        for o in np.argsort(total, kind="stable")[:keep].tolist():
            if total[o] >= FAR // 2:
                break
            at = self.least + int(np.argmin(filled[o, self.least :]))
            rows = sorted(
                row
                for size in _bag(best[o], filled[o], at)
                for row in self._trace(table, price, o, size, int(best[o, size]))
            )
            cost = int(total[o]) + int(price[np.array(rows, dtype=np.int64)].sum())
            found.append(LeafPattern(int(total[o]), cost, tuple(rows)))
        return found

    def totals(self) -> Ints:
        """[slots] least cost of a leaf that holds so many, from `least` to `capacity`."""
        free = np.zeros(self.costs.offset[-1], dtype=np.int64)
        filled = knapsack(self.cheapest(self.segments(free)), self.capacity)
        total: Ints = (filled + self.costs.opening[:, None]).min(axis=0)[
            self.least :
        ] - self.costs.refund
        return total

    def segments(self, price: Ints) -> Table:
        """Cheapest segments under [row] prices."""
        table: Table = []
        costs = self.costs
        for stage, size in enumerate(costs.size):
            fitting = np.flatnonzero(size < self._sizes)
            reached = self._reached(table, stage, fitting)
            layers: dict[int, Layer] = {}
            for opened in (False, True):
                bit = 1 << stage if opened else 0
                here = np.flatnonzero(opened | ~costs.wide[stage][fitting])
                if not here.size or bit >= len(costs.opening):
                    continue
                contents = fitting[here]
                priced = costs.priced(price, stage, opened=opened)[contents]
                layers[bit] = Layer(_begun(priced, size[contents], self._sizes), contents)
                for before, values in reached.items():
                    grown = np.minimum(values[here] + priced[:, None], FAR)
                    grown[values[here] > FAR // 2] = FAR
                    if not before:
                        grown = np.minimum(grown, layers[bit].values)
                    layers[before | bit] = Layer(grown, contents)
            table.append(layers)
        return table

    def _reached(self, table: Table, stage: int, contents: Ints) -> dict[int, Ints]:
        """[content, size] segments that go on to a stage, before they pay there, by open stages."""
        if not stage:
            return {}
        credit, size = self.costs.credit[stage - 1][:, contents], self.costs.size[stage][contents]
        return {
            before: _extend(layer.values, credit[layer.contents], size)
            for before, layer in table[-1].items()
        }

    def cheapest(self, table: Table) -> Ints:
        """[open stages, size] value of the cheapest segment."""
        best = np.full((len(self.costs.opening), self._sizes), FAR, dtype=np.int64)
        for layers in table:
            for mask, layer in layers.items():
                best[mask] = np.minimum(best[mask], layer.values.min(axis=0))
        for stage in range(len(self.costs.size)):
            for o in range(len(best)):
                if o >> stage & 1:
                    best[o] = np.minimum(best[o], best[o ^ 1 << stage])
        return best

    def _trace(self, table: Table, price: Ints, opened: int, size: int, value: int) -> Segment:
        """A segment of that size and value where these stages are open."""
        stage, mask = next(
            (stage, mask)
            for stage, layers in enumerate(table)
            for mask, layer in layers.items()
            if mask & ~opened == 0 and (layer.values[:, size] == value).any()
        )
        place = int(np.argmax(table[stage][mask].values[:, size] == value))
        rows: list[int] = []
        while True:
            content = int(table[stage][mask].contents[place])
            rows.append(self.costs.offset[stage] + content)
            priced = self.costs.priced(price, stage, opened=bool(mask >> stage & 1))
            value -= int(priced[content])
            size -= int(self.costs.size[stage][content])
            if size == 0:
                return tuple(reversed(rows))
            mask &= ~(1 << stage)
            stage -= 1
            layer = table[stage][mask]
            credited = layer.values[:, size] - self.costs.credit[stage][layer.contents, content]
            place = int(np.argmax(credited == value))
            value = int(layer.values[place, size])


def _begun(priced: Ints, size: Ints, sizes: int) -> Ints:
    """[content, size] segments of one content."""
    values = np.full((size.size, sizes), FAR, dtype=np.int64)
    values[np.arange(size.size), size] = priced
    return values


def _extend(values: Ints, credit: Ints, size: Ints) -> Ints:
    """[content, size] cheapest segments that go on to one more content, its own value left out.

    Args:
        values: [content before, size] cheapest segments so far.
        credit: [content before, content] what the step saves.
        size: [content] its cells.
    """
    grown = np.full((size.size, values.shape[1]), FAR, dtype=np.int64)
    for b, cells in enumerate(size.tolist()):
        before = values[:, : values.shape[1] - cells] - credit[:, b : b + 1]
        before.min(axis=0, out=grown[b, cells:])
    return grown


def knapsack(best: Ints, capacity: int) -> Ints:
    """[open stages, slots] cheapest multiset of segments."""
    filled = np.full((len(best), capacity + 1), FAR, dtype=np.int64)
    filled[:, 0] = 0
    for total in range(1, capacity + 1):
        largest = min(total, best.shape[1] - 1)
        last = best[:, largest:0:-1] + filled[:, total - largest : total]
        filled[:, total] = np.minimum(last.min(axis=1), FAR)
    return filled


def _bag(best: Ints, filled: Ints, total: int) -> list[int]:
    """Sizes of the segments of a cheapest multiset."""
    sizes = []
    while total:
        largest = min(total, best.size - 1)
        last = best[largest:0:-1] + filled[total - largest : total]
        sizes.append(largest - int(np.argmin(last)))
        total -= sizes[-1]
    return sizes
