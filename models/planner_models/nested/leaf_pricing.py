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

from planner_models.shapes.planes import SCALE
from planner_models.shapes.stages import StageGraph
from planner_models.shapes.tilings import Ints

FAR = 1 << 60
"""Above every value."""

MOST_OPEN = 6
"""Stages that are told apart by whether they are open; of more, none is open, nothing wide."""

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


class _Layer(NamedTuple):
    """Cheapest segments that end with one of some contents: [content, size] values."""

    values: Ints
    contents: Ints


_Table = list[dict[int, _Layer]]
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
        self._graph = graph
        self.capacity = capacity
        self.least = max(0, capacity - idle)
        blocks = [graph.block(stage) for stage in range(len(graph.module))]
        self._stages = range(len(blocks))
        self._sizes = min(sum(b.cells for b in blocks), capacity) + 1
        self._size = [b.size for b in blocks]
        self._own = [SCALE * b.own for b in blocks]
        self._share, self._wide = _planes(graph, told=len(blocks) <= MOST_OPEN)
        self._credit = _chain(graph)
        opening = [SCALE * sum(2 * p.weight * len(p.masks) for p in b.planes) for b in blocks]
        sets = 1 << len(blocks) if len(blocks) <= MOST_OPEN else 1
        self._opening = np.array(
            [sum(opening[s] for s in self._stages if o >> s & 1) for o in range(sets)]
        )
        self._refund = _refund(graph, capacity)

    def search(self, price: Ints, keep: int = 1) -> list[LeafPattern]:
        """A cheapest pattern and up to `keep` - 1 others with other stages open, cheapest first.

        Args:
            price: [row] price of a content, in units of 1 / SCALE.
            keep: how many patterns.
        """
        table = self._segments(price)
        best = self._cheapest(table)
        filled = _knapsack(best, self.capacity)
        total = self._opening - self._refund + filled[:, self.least :].min(axis=1)
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
        free = np.zeros(self._graph.rows, dtype=np.int64)
        filled = _knapsack(self._cheapest(self._segments(free)), self.capacity)
        total: Ints = (filled + self._opening[:, None]).min(axis=0)[self.least :] - self._refund
        return total

    def _priced(self, price: Ints, stage: int, *, opened: bool) -> Ints:
        """[content] value of what lies on a stage."""
        first = self._graph.offset[stage]
        value: Ints = self._own[stage] - price[first : first + self._own[stage].size]
        return value if opened else value + self._share[stage]

    def _segments(self, price: Ints) -> _Table:
        table: _Table = []
        for stage in self._stages:
            layers: dict[int, _Layer] = {}
            small = self._size[stage] < self._sizes
            for opened in (False, True):
                bit = 1 << stage if opened else 0
                here = np.flatnonzero(small if opened else small & ~self._wide[stage])
                if not here.size or bit >= len(self._opening):
                    continue
                priced = self._priced(price, stage, opened=opened)[here]
                size = self._size[stage][here]
                layers[bit] = _Layer(_begun(priced, size, self._sizes), here)
                for before, layer in (table[-1] if stage else {}).items():
                    credit = self._credit[stage - 1][np.ix_(layer.contents, here)]
                    grown = _extend(layer.values, credit, priced, size)
                    if not before:
                        grown = np.minimum(grown, layers[bit].values)
                    layers[before | bit] = _Layer(grown, here)
            table.append(layers)
        return table

    def _cheapest(self, table: _Table) -> Ints:
        """[open stages, size] value of the cheapest segment."""
        best = np.full((len(self._opening), self._sizes), FAR, dtype=np.int64)
        for layers in table:
            for mask, layer in layers.items():
                best[mask] = np.minimum(best[mask], layer.values.min(axis=0))
        for stage in self._stages:
            for o in range(len(best)):
                if o >> stage & 1:
                    best[o] = np.minimum(best[o], best[o ^ 1 << stage])
        return best

    def _trace(self, table: _Table, price: Ints, opened: int, size: int, value: int) -> Segment:
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
            rows.append(self._graph.offset[stage] + content)
            priced = self._priced(price, stage, opened=bool(mask >> stage & 1))
            value -= int(priced[content])
            size -= int(self._size[stage][content])
            if size == 0:
                return tuple(reversed(rows))
            mask &= ~(1 << stage)
            stage -= 1
            layer = table[stage][mask]
            credited = layer.values[:, size] - self._credit[stage][layer.contents, content]
            place = int(np.argmax(credited == value))
            value = int(layer.values[place, size])


def _planes(graph: StageGraph, *, told: bool) -> tuple[list[Ints], list[np.ndarray]]:
    """[stage][content] share of the planes where a stage is not open, and what is wide."""
    shares, wide = [], []
    for block in (graph.block(stage) for stage in range(len(graph.module))):
        share = np.zeros(block.size.size, dtype=np.int64)
        all_touched = np.full(block.size.size, told and bool(block.planes))
        for f, plane in enumerate(block.planes):
            share += SCALE * 2 * plane.weight * block.rows[f] // block.blocks
            all_touched &= block.rows[f] == len(plane.masks)
        shares.append(share)
        wide.append(all_touched)
    return shares, wide


def _chain(graph: StageGraph) -> list[Ints]:
    """[content, content] credit between each stage and the next."""
    credit = {arc.ends: SCALE * arc.credit for arc in graph.arcs}
    sizes = [graph.block(stage).size.size for stage in range(len(graph.module))]
    return [
        credit.get((s, s + 1), np.zeros((sizes[s], sizes[s + 1]), dtype=np.int64))
        for s in range(len(sizes) - 1)
    ]


def _refund(graph: StageGraph, capacity: int) -> int:
    """What a leaf saves at most by holding plane groups whole."""
    sizes: dict[str, list[int]] = {}
    weight = {}
    for block in (graph.block(stage) for stage in range(len(graph.module))):
        for plane in block.planes:
            slots = plane.masks[0].bit_count() * block.blocks
            sizes.setdefault(plane.kind, []).extend([slots] * len(plane.masks))
            weight[plane.kind] = SCALE * 2 * plane.weight
    return sum(
        weight[kind] * int(np.searchsorted(np.cumsum(np.sort(slots)), capacity, side="right"))
        for kind, slots in sizes.items()
    )


def _begun(priced: Ints, size: Ints, sizes: int) -> Ints:
    """[content, size] segments of one content."""
    values = np.full((size.size, sizes), FAR, dtype=np.int64)
    values[np.arange(size.size), size] = priced
    return values


def _extend(values: Ints, credit: Ints, priced: Ints, size: Ints) -> Ints:
    """[content, size] cheapest segments that go on to one more content.

    Args:
        values: [content before, size] cheapest segments so far.
        credit: [content before, content] what the step saves.
        priced: [content] value of the content.
        size: [content] its cells.
    """
    grown = np.full((size.size, values.shape[1]), FAR, dtype=np.int64)
    for b, cells in enumerate(size.tolist()):
        before = values[:, : values.shape[1] - cells] - credit[:, b : b + 1]
        step = before.min(axis=0) + priced[b]
        grown[b, cells:] = np.where(step < FAR // 2, step, FAR)
    return grown


def _knapsack(best: Ints, capacity: int) -> Ints:
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
