"""Laying a new plan over an old one: contents of interchangeable domains trade places.

Two domains are alike if they have the same usable devices all the way down; whole contents may then
be exchanged at no cost. From the coarsest level down, contents go where most of their ranks are.
"""

import numpy as np

from planner.grid import Ints
from planner.machines import Machines
from planner_models.matching import best_matching


def laid_over(machines: Machines, placement: Ints, home: Ints) -> Ints:
    """[world] cell of each rank in a plan of the same cost that leaves many ranks at home.

    Args:
        machines: the devices.
        placement: [world] device of each rank in the new plan.
        home: [world] device of each rank in the old one, -1 where it is gone.
    """
    shapes = _shapes(machines)
    # [domains] of the level above: where the content of each of its domains goes.
    above: Ints = np.zeros(1, np.int64)
    parent = np.zeros(len(machines.online), np.int64)
    for level, shape in zip(reversed(machines.levels), reversed(shapes), strict=True):
        parents = np.zeros(len(level.names), np.int64)
        parents[level.domain] = parent
        goes = np.full(len(level.names), -1, np.int64)
        moved = (home >= 0) & (above[parent[placement]] == parent[home])
        pairs = np.stack([level.domain[placement[moved]], level.domain[home[moved]]], axis=1)
        for p in range(len(above)):
            mine = np.flatnonzero(parents == p)
            theirs = np.flatnonzero(parents == above[p])
            inside = pairs[np.isin(pairs[:, 0], mine)]
            for kind in np.unique(shape[mine]):
                a, b = mine[shape[mine] == kind], theirs[shape[theirs] == kind]
                goes[a] = b[best_matching(_counts(inside, a, b))]
        above, parent = goes, level.domain
    cells: Ints = above[machines.levels[0].domain[placement]]
    return cells


def _counts(pairs: Ints, rows: Ints, columns: Ints) -> Ints:
    """[rows, columns] how often each pair of a row's and a column's number occurs."""
    counts = np.zeros((len(rows), len(columns)), np.int64)
    known = np.isin(pairs[:, 0], rows) & np.isin(pairs[:, 1], columns)
    at = np.searchsorted(rows, pairs[known, 0]), np.searchsorted(columns, pairs[known, 1])
    np.add.at(counts, at, 1)
    return counts


def _shapes(machines: Machines) -> list[Ints]:
    """For each level, [domains] a number that only like domains share."""
    finest = machines.levels[0]
    shapes = [machines.capacities(finest)]
    for fine, coarse in zip(machines.levels, machines.levels[1:], strict=False):
        parents = np.zeros(len(fine.names), np.int64)
        parents[fine.domain] = coarse.domain
        numbers: dict[tuple[int, ...], int] = {}
        inside: list[list[int]] = [[] for _ in coarse.names]
        for child, parent in enumerate(parents.tolist()):
            inside[parent].append(int(shapes[-1][child]))
        signs = [tuple(sorted(children)) for children in inside]
        shapes.append(np.array([numbers.setdefault(s, len(numbers)) for s in signs], np.int64))
    return shapes
