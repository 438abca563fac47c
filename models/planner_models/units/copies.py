"""How the copies of a pipeline are pieced together: paths over the partitions of a stage's slices.

The pieces of one (stage, copy) that the domains hold are a partition of the stage's slices. From a
stage to the next every piece continues with some height or ends, and others begin: an *arc* is a
multiset of pairs (a, b) whose first parts make up the partition before the place and whose second
parts the one after it (0 stands for nothing held). A copy is a path of arcs from before the first
stage to behind the last one.
"""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from planner_models.units.heights import Ints, Pipeline

MOST_SLICES = 8
"""Slices of a stage up to which arcs are listed: 8,406 a place for 8, 50,000 and more beyond."""


@dataclass(frozen=True, eq=False)
class Arcs:
    """All arcs at a place between a stage of A slices and one of B slices.

    Attributes:
        uses: uses of each pair (a, b), flat, [arcs, (H + 1) ** 2].
        tail: index of the partition before the place, [arcs].
        head: index of the partition after it, [arcs].
        tails: number of partitions before it.
        heads: number of partitions after it.
    """

    uses: Ints
    tail: Ints
    head: Ints
    tails: int
    heads: int


def copy_arcs(pipeline: Pipeline) -> list[Arcs]:
    """The arcs of every place, 0 to P."""
    ends = pipeline.bordered.tolist()
    return [_arcs(a, b, pipeline.most) for a, b in pairwise(ends)]


@cache
def _arcs(before: int, after: int, most: int) -> Arcs:
    """Every multiset of pairs with sums (before, after); the same object for the same numbers."""
    pairs = [(a, b) for a in range(before + 1) for b in range(after + 1) if a + b]
    bags = _bags(pairs, before, after)
    tails, heads = _partitions(before), _partitions(after)
    uses = np.zeros((len(bags), (most + 1) ** 2), np.int64)
    for row, bag in enumerate(bags):
        for (a, b), count in bag:
            uses[row, a * (most + 1) + b] = count
    tail = [tails[_side(bag, 0)] for bag in bags]
    head = [heads[_side(bag, 1)] for bag in bags]
    return Arcs(uses, np.array(tail), np.array(head), len(tails), len(heads))


Bag = tuple[tuple[tuple[int, int], int], ...]


def _bags(pairs: list[tuple[int, int]], before: int, after: int) -> list[Bag]:
    """Multisets of the pairs that add up to (before, after), as (pair, count) lists."""
    if not pairs:
        return [()] if before == after == 0 else []
    (a, b), rest = pairs[0], pairs[1:]
    found: list[Bag] = []
    count = 0
    while count * a <= before and count * b <= after:
        mine: Bag = (((a, b), count),) if count else ()
        found += [mine + bag for bag in _bags(rest, before - count * a, after - count * b)]
        count += 1
    return found


def _side(bag: Bag, side: int) -> tuple[int, ...]:
    """The partition on one side of a bag, descending."""
    return tuple(sorted((p[side] for p, n in bag for _ in range(n) if p[side]), reverse=True))


@cache
def _partitions(total: int, largest: int | None = None) -> dict[tuple[int, ...], int]:
    """The partitions of a number, descending parts, with an index for each."""
    if total == 0:
        return {(): 0}
    top = total if largest is None else min(largest, total)
    parts = [
        (first, *rest) for first in range(top, 0, -1) for rest in _partitions(total - first, first)
    ]
    return {part: index for index, part in enumerate(parts)}


@dataclass(frozen=True, eq=False)
class Copy:
    """The cheapest way to piece one copy together.

    Attributes:
        price: of the pairs it uses.
        arcs: index of its arc at each place.
    """

    price: int
    arcs: list[int]


def cheapest_copy(arcs: list[Arcs], prices: Ints) -> Copy:
    """The copy whose pairs have the least price.

    Args:
        arcs: arcs of each place.
        prices: price of each pair, [P + 1, H + 1, H + 1].
    """
    best, entered = np.zeros(1, np.int64), []
    for here, price in zip(arcs, prices, strict=True):
        reached = best[here.tail] + here.uses @ price.ravel()
        order = np.lexsort((reached, here.head))
        entered.append(order[np.searchsorted(here.head[order], np.arange(here.heads))])
        best = reached[entered[-1]]
    path, part = [], 0
    for here, into in zip(reversed(arcs), reversed(entered), strict=True):
        path.append(int(into[part]))
        part = here.tail[path[-1]]
    return Copy(int(best[0]), path[::-1])
