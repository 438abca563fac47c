"""Node patterns: the cheapest contents of a domain under prices on (stage, shape).

A *pattern* is a multiset of segments whose sizes add up to between `capacity - idle` and
`capacity`, at most one segment a block of a stage. Its doubled cost is the sum of its segments'
plus, a stage and plane family, 2 w (most rows of any of its shapes there - fewest full rows if all
blocks of the stage are there): pieces of different copies can share plane rows, and a plane row is
paid for only while it is cut.

The search goes depth first over segments, largest first, cheapest first among equals. A segment is
charged an optimistic share of the planes so that the sum of shares never exceeds what the pattern
pays, and the exact plane cost is put in at the leaf:

* n pieces on a stage, fewer than its blocks: most rows >= sum of rows / n;
* as many as blocks: most rows - fewest full rows >= sum of (rows - full) / blocks.

Without taking the full rows off in the second case the pruning would cut optimal patterns away.
Prices are integers in units of 1 / SCALE of a doubled cost, so every value is exact.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planner_models.shapes.planes import SCALE, RowPlanes
from planner_models.shapes.segments import Segments
from planner_models.shapes.stages import StageGraph
from planner_models.shapes.tilings import Ints

Pattern = tuple[int, ...]
"""Segment numbers, a segment as often as it occurs."""

Leaf = Callable[[int, Pattern], int]
"""Told a pattern's value; answers the value below which patterns are still of interest."""

FAR = np.iinfo(np.int64).max // 8
"""Above every value."""


@dataclass(frozen=True, slots=True)
class Priced:
    """A pattern and its value, cost minus prices, in units of 1 / SCALE of a doubled cost."""

    value: int
    pattern: Pattern


class NodePricing:
    """Patterns of one capacity.

    Args:
        graph: stages and blocks.
        segments: all segments up to the largest capacity.
        capacity: slots a domain of this kind can hold.
        idle: slots that may stay empty in all domains together.
    """

    def __init__(self, graph: StageGraph, segments: Segments, *, capacity: int, idle: int) -> None:
        self.graph = graph
        self.segments = segments
        self.capacity = capacity
        self.least = max(0, capacity - idle)
        self.planes = RowPlanes(graph)
        share = np.append(self.planes.share(capacity), 0)
        self._base = SCALE * segments.cost + share[segments.rows].sum(axis=1)
        self._costs: list[int] = segments.cost.tolist()
        self._rows_of: dict[int, tuple[int, ...]] = {}

    def rows_of(self, segment: int) -> tuple[int, ...]:
        """Coupling rows a segment uses."""
        if segment not in self._rows_of:
            rows = self.segments.rows[segment]
            self._rows_of[segment] = tuple(int(r) for r in rows[rows < self.graph.rows])
        return self._rows_of[segment]

    def rows_of_all(self, pattern: Pattern) -> list[int]:
        """Coupling rows of a pattern, with repeats."""
        return [row for segment in pattern for row in self.rows_of(segment)]

    def cost(self, pattern: Pattern) -> int:
        """Doubled cost of a pattern."""
        own = sum(self._costs[segment] for segment in pattern)
        return own + self.planes.cost(self.rows_of_all(pattern))

    def search(self, price: Ints, below: int, *, keep: int = 1) -> list[Priced]:
        """The `keep` cheapest patterns of value < `below`, cheapest first.

        Args:
            price: [row] price of a shape, in units of 1 / SCALE.
            below: values from here on are of no interest.
            keep: how many patterns to look for.
        """
        found: list[Priced] = []
        limit = below

        def leaf(value: int, pattern: Pattern) -> int:
            nonlocal limit
            if value < limit:
                found.append(Priced(value, pattern))
                found.sort(key=lambda p: p.value)
                del found[keep:]
                if len(found) == keep:
                    limit = found[-1].value
            return limit

        self._walk(price, below, leaf)
        return found

    def within(self, price: Ints, below: int, *, most: int) -> list[Priced] | None:
        """All patterns of value < `below`, unless there are more than `most`."""
        found: list[Priced] = []

        def leaf(value: int, pattern: Pattern) -> int:
            if value < below:
                found.append(Priced(value, pattern))
            return below if len(found) <= most else -FAR

        self._walk(price, below, leaf)
        return found if len(found) <= most else None

    def _walk(self, price: Ints, below: int, leaf: Leaf) -> None:
        """Call `leaf` on every pattern that may be below the limit it last returned."""
        priced = self._base - np.append(price, 0)[self.segments.rows].sum(axis=1)
        capacity, least = self.capacity, self.least
        size = self.segments.size
        cheapest = np.full(capacity + 1, FAR, dtype=np.int64)
        fitting = size <= capacity
        np.minimum.at(cheapest, size[fitting], priced[fitting])
        rest = _completion(cheapest.tolist(), capacity, least)
        if rest[capacity][0] >= below:
            return
        spare = np.array([rest[capacity][s] for s in range(capacity + 1)])
        useful = np.flatnonzero(fitting)
        useful = useful[priced[useful] + spare[size[useful]] < below]
        useful = useful[np.lexsort((priced[useful], size[useful]))]
        groups: list[list[tuple[int, int]]] = [[] for _ in range(capacity + 1)]
        for j in useful.tolist():
            groups[int(size[j])].append((int(priced[j]), j))
        if least == 0:
            below = leaf(0, ())
        walk = _Walk(self, price.tolist(), groups, rest, leaf, below)
        walk.extend(_Held((), (), 0, 0), capacity, 0)


class _Held(NamedTuple):
    """A pattern under construction: its rows, its value with optimistic planes, its slots."""

    pattern: Pattern
    rows: tuple[int, ...]
    value: int
    used: int


@dataclass(slots=True)
class _Walk:
    """Depth-first enumeration.

    Attributes:
        pricing: the capacity and its costs.
        price: [row] prices.
        groups: [size] (optimistic value, segment), cheapest first.
        rest: [largest size][used] least value of what can still be added.
        leaf: told every pattern that may be below `limit`.
        limit: values from here on are of no interest.
    """

    pricing: NodePricing
    price: list[int]
    groups: list[list[tuple[int, int]]]
    rest: list[list[int]]
    leaf: Leaf
    limit: int

    def extend(self, held: _Held, size: int, skip: int) -> None:
        """Add one more segment of at most `size` slots, the first `skip` of that size left out."""
        pricing = self.pricing
        for s in range(min(size, pricing.capacity - held.used), 0, -1):
            used = held.used + s
            rest = held.value + self.rest[s][used]
            group = self.groups[s]
            for place in range(skip if s == size else 0, len(group)):
                priced, segment = group[place]
                if rest + priced >= self.limit:
                    break
                rows = held.rows + pricing.rows_of(segment)
                if pricing.planes.crowded(rows):
                    continue
                grown = _Held((*held.pattern, segment), rows, held.value + priced, used)
                if used >= pricing.least:
                    self.limit = self.leaf(self._exact(grown), grown.pattern)
                if used < pricing.capacity:
                    self.extend(grown, s, place)

    def _exact(self, held: _Held) -> int:
        return SCALE * self.pricing.cost(held.pattern) - sum(self.price[row] for row in held.rows)


def _completion(cheapest: list[int], capacity: int, least: int) -> list[list[int]]:
    """[largest size][used] least value of further segments until the total is allowed."""
    exactly = [0] + [FAR] * capacity  # by slots added, segments up to the size reached so far
    rest = []
    for size in range(capacity + 1):
        if size:
            for total in range(size, capacity + 1):
                more = exactly[total - size] + cheapest[size]
                exactly[total] = min(exactly[total], more, FAR)
        rest.append(
            [
                min(exactly[max(least - used, 0) : capacity - used + 1], default=FAR)
                for used in range(capacity + 1)
            ]
        )
    return rest
