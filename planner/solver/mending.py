"""A first plan after losses: ranks whose device is left stay, the others take free devices."""

from collections.abc import Iterator

import numpy as np

from planner.grid import Ints
from planner.machines import Machines
from planner.solver.state import Search


def deal(machines: Machines, home: Ints, cells: Ints) -> Ints:
    """[world] a device in its cell for each rank, with as few moves as the cells allow.

    Ranks whose home lies in their cell keep it; the others take the free devices of their cell in
    ascending order, where rank 0 is in place those behind it first.

    Args:
        machines: the devices.
        home: [world] device each rank had, -1 where it is gone.
        cells: [world] domain of the finest level for each rank, within capacity.

    Example:
        >>> from planner.spec.problem import Problem
        >>> machines = Problem.model_validate({"cluster": {"nodes": 2, "gpus_per_node": 2}}
        ...     ).cluster.machines
        >>> deal(machines, np.array([1, -1, 2]), np.array([0, 0, 1])).tolist()
        [1, 0, 2]
    """
    cell_of = machines.levels[0].domain
    stays = (home >= 0) & (cell_of[home] == cells)
    placed = np.where(stays, home, -1)
    free = machines.online.copy()
    free[placed[stays]] = False
    offered = np.flatnonzero(free)
    early = offered < placed[0] if stays[0] else np.zeros(len(offered), bool)
    offered = offered[np.lexsort([offered, early, cell_of[offered]])]
    waiting = np.flatnonzero(~stays)
    waiting = waiting[np.argsort(cells[waiting], kind="stable")]
    wanted = cells[waiting]
    nth = np.arange(len(wanted)) - np.searchsorted(wanted, wanted)
    placed[waiting] = offered[np.searchsorted(cell_of[offered], wanted) + nth]
    return placed


def mend(search: Search, home: Ints, origin: Ints) -> Ints:
    """[world] a placement that leaves every rank at home that has one.

    The ranks of one lost node stay together if some node has room for them all: the one that
    attracts them most by the links they have to ranks in place.

    Args:
        search: the search.
        home: [world] device of each rank, -1 where it is gone.
        origin: [world] a number that ranks of one old node share.
    """
    machines = search.machines
    placed = home.copy()
    free = machines.online.copy()
    free[placed[placed >= 0]] = False
    for bundle in _bundles(home, origin):
        left = bundle
        while len(left):
            pull = attraction(search, placed, left)
            room = np.bincount(machines.device_node[free], minlength=len(machines.hosts))
            # Whole bundles first, then by attraction, then the tightest fit.
            fits = np.minimum(room, len(left))
            node = int(np.lexsort([room, -pull, -fits])[0])
            devices = np.flatnonzero(free & (machines.device_node == node))[: len(left)]
            placed[left[: len(devices)]] = devices
            free[devices] = False
            left = left[len(devices) :]
    return placed


def _bundles(home: Ints, origin: Ints) -> Iterator[Ints]:
    """Ranks without a home, those of one old node together, large bundles first."""
    lost = np.flatnonzero(home < 0)
    _, which, counts = np.unique(origin[lost], return_inverse=True, return_counts=True)
    for b in np.argsort(-counts, kind="stable").tolist():
        yield lost[which == b]


def attraction(search: Search, placed: Ints, ranks: Ints) -> np.ndarray:
    """[nodes] weight of the links that some ranks have to ranks placed in each node's domains.

    Args:
        search: the search.
        placed: [world] device of each rank, -1 where it has none.
        ranks: the ranks that look for a place; where they sit themselves does not count.
    """
    machines, kinds = search.machines, search.weighing.kinds
    seeking = np.zeros(search.grid.world, bool)
    seeking[ranks] = True
    pull = np.zeros(len(machines.hosts))
    for level, weight in zip(machines.levels, search.weighing.levels, strict=True):
        if weight:
            counted = np.zeros(len(level.names))
            for partners, link in _partners(search, kinds, seeking):
                held = placed[partners]
                np.add.at(counted, level.domain[held[held >= 0]], link)
            of_node = level.domain[machines.first_device]
            pull += weight * counted[of_node]
    return pull


def _partners(
    search: Search, kinds: dict[str, int], seeking: np.ndarray
) -> Iterator[tuple[Ints, float]]:
    """(partners of the seeking ranks, weight of each link) of every kind."""
    grid = search.grid
    for several in (grid.rings, grid.exchanges):
        for kind, family in several.items():
            for groups in family:
                if kinds[kind] and groups.shape[1] > 1:
                    rows = groups[seeking[groups].any(axis=1)]
                    yield rows[~seeking[rows]], kinds[kind] / groups.shape[1]
    for kind, ends in grid.pairs.items():
        for a, b in ((0, 1), (1, 0)):
            out = ends[seeking[ends[:, a]] & ~seeking[ends[:, b]]]
            yield out[:, b], kinds[kind]
