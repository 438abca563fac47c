"""Renamings of domains and slots that leave a problem as it is."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from planner_models.assignment.data import Assignment, IntArray


@dataclass(frozen=True, eq=False, slots=True)
class Symmetries:
    """Mirror images of a problem.

    Attributes:
        order: [cells] cells in tree order, twins next to each other.
        twins: (level, n, m): whatever n and m hold can trade places; n comes first in `order`.
        exchanges: [slots] permutations that map the problem onto itself.
    """

    order: IntArray
    twins: tuple[tuple[int, int, int], ...]
    exchanges: tuple[IntArray, ...]


def symmetries(problem: Assignment) -> Symmetries:
    """Find equal domains and check the exchanges the problem proposes."""
    order, twins = _twins(problem)
    kept = tuple(x for x in problem.exchanges if _moves(x) and _maps_onto_itself(problem, x))
    return Symmetries(order, twins, kept)


def canonical(problem: Assignment, found: Symmetries, cells: IntArray) -> IntArray:
    """The mirror image of a placement that the `symmetry` family accepts; costs the same.

    Each step puts an earlier row of slots into an earlier cell, so it ends.
    """
    rank = np.argsort(found.order)
    regions = {
        (level, n): found.order[problem.up[level][found.order] == n]
        for level, *pair in found.twins
        for n in pair
    }
    before: IntArray | None = None
    while before is None or not np.array_equal(before, cells):
        before = cells
        for level, n, m in found.twins:
            domain = problem.up[level][cells]
            if _first(domain == m) < _first(domain == n):
                cells = _traded(cells, regions[level, n], regions[level, m])
        for x in found.exchanges:
            first = _first(x != np.arange(len(x)))
            if rank[cells[x[first]]] < rank[cells[first]]:
                cells = cells[x]
    return cells


def _first(mask: np.ndarray) -> int:
    return int(mask.argmax()) if mask.any() else len(mask)


def _traded(cells: IntArray, one: IntArray, other: IntArray) -> IntArray:
    """Twins list their cells in matching order, so the i-th cells trade places."""
    names = np.arange(max(cells.max(), one.max(), other.max()) + 1)
    names[one], names[other] = other, one
    traded: IntArray = names[cells]
    return traded


def _twins(problem: Assignment) -> tuple[IntArray, tuple[tuple[int, int, int], ...]]:
    """Tree order of the cells, and equal siblings; equal means equal all the way down.

    Works from the root down on the kinds found from the leaves up. A cell with a pin is like no
    other.
    """
    kinds = _kinds(problem)
    top = len(problem.levels) - 1
    order: list[int] = []
    twins: list[tuple[int, int, int]] = []

    def visit(level: int, siblings: Iterable[int]) -> None:
        ranked = sorted(siblings, key=lambda d: (kinds[level][d], d))
        for n, m in pairwise(ranked):
            if kinds[level][n] == kinds[level][m]:
                twins.append((level, n, m))
        for d in ranked:
            if level == 0:
                order.append(d)
            else:
                inside = problem.up[level - 1][problem.up[level] == d]
                visit(level - 1, np.unique(inside).tolist())

    visit(top, range(problem.levels[top].domains))
    return np.array(order, dtype=np.int64), tuple(twins)


def _kinds(problem: Assignment) -> list[list[int]]:
    """A number for each domain of each level; equal numbers, equal domains."""
    pinned = {int(problem.levels[0].domain[p.device]) for p in problem.pins}
    sizes, usable = problem.sizes(0).tolist(), problem.capacities(0).tolist()
    signs: list[tuple[int, ...]] = [
        (sizes[n], usable[n], n if n in pinned else -1) for n in range(len(sizes))
    ]
    kinds = [_numbered(signs)]
    for level in range(1, len(problem.levels)):
        parents = np.zeros(problem.levels[level - 1].domains, dtype=np.int64)
        parents[problem.up[level - 1]] = problem.up[level]
        inside: list[list[int]] = [[] for _ in range(problem.levels[level].domains)]
        for child, parent in enumerate(parents.tolist()):
            inside[parent].append(kinds[-1][child])
        kinds.append(_numbered([tuple(sorted(children)) for children in inside]))
    return kinds


def _numbered(signs: list[tuple[int, ...]]) -> list[int]:
    numbers = {sign: i for i, sign in enumerate(sorted(set(signs)))}
    return [numbers[sign] for sign in signs]


def _moves(exchange: IntArray) -> bool:
    return bool((exchange != np.arange(len(exchange))).any())


def _maps_onto_itself(problem: Assignment, exchange: IntArray) -> bool:
    """Whether renaming slots maps every kind of group, pair and rule onto itself."""
    if problem.contiguous or any(exchange[p.slot] != p.slot for p in problem.pins):
        return False
    return all(_same(groups, exchange[groups]) for groups in _families(problem))


def _families(problem: Assignment) -> Iterator[IntArray]:
    """Arrays whose rows, as sets, must be mapped onto rows of the same array."""
    yield from (g for g in problem.shapes)
    yield from (g.members for g in (*problem.rings, *problem.all_to_alls))
    yield from (g.members for g in (*problem.within, *problem.hierarchical_cp))
    yield from (p.ends for p in problem.pairs)
    for bridge in problem.bridges:
        yield from (bridge.ends, bridge.sources, bridge.targets)
    for peers in problem.footprint.peers if problem.footprint else ():
        blocks, C, T = peers.shape
        yield peers.reshape(blocks, C * T)
        yield peers.reshape(blocks * C, T)
        yield peers.transpose(0, 2, 1).reshape(blocks * T, C)
    yield from (c[None, :] for floor in problem.floors for c in floor.classes)


def _same(groups: IntArray, images: IntArray) -> bool:
    return np.array_equal(_sorted(groups), _sorted(images))


def _sorted(groups: IntArray) -> IntArray:
    rows = np.sort(groups, axis=1)
    ordered: IntArray = rows[np.lexsort(rows.T)]
    return ordered
