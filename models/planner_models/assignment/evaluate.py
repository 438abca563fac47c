"""Cost and devices of a placement, without a solver: the check on everything the model says."""

import numpy as np

from planner_models.assignment.data import Assignment, IntArray


def cost(problem: Assignment, cells: IntArray) -> int:
    """Cost of the placement that puts slot s into cell `cells[s]`.

    Sum over levels and links of level weight times link weight; see the package for the links.
    """
    return sum(
        level.weight * links_cost(problem, up[cells])
        for level, up in zip(problem.levels, problem.up, strict=True)
        if level.weight
    )


def links_cost(problem: Assignment, domain: IntArray) -> int:
    """Cost at one level, its weight left out; `domain` is [slots]."""
    total = 0
    for ring in problem.rings:
        held = np.sort(domain[ring.members], axis=1)
        touched = 1 + (np.diff(held, axis=1) != 0).sum(axis=1)
        total += ring.weight * int(touched[touched > 1].sum())
    for group in problem.all_to_alls:
        held = domain[group.members]
        apart = (held[:, :, None] != held[:, None, :]).sum()
        total += group.weight * int(apart) // 2
    ends = [(pair.weight, pair.ends) for pair in problem.pairs]
    ends += [(bridge.weight, bridge.ends) for bridge in problem.bridges]
    for weight, pairs in ends:
        total += weight * int((domain[pairs[:, 0]] != domain[pairs[:, 1]]).sum())
    return total


def devices(problem: Assignment, cells: IntArray) -> IntArray:
    """A device for each slot inside its cell: pinned ones first, the rest in ascending order.

    Devices of one cell are interchangeable for every link and constraint but pins, so this never
    changes the cost.

    Raises:
        ValueError: a cell holds more slots than it has usable devices.
    """
    placed = np.full(problem.slots, -1, dtype=np.int64)
    free = problem.usable.copy()
    for pin in problem.pins:
        placed[pin.slot] = pin.device
        free[pin.device] = False
    waiting = np.flatnonzero(placed < 0)
    waiting = waiting[np.argsort(cells[waiting], kind="stable")]
    cell_of = problem.levels[0].domain
    open_devices = np.flatnonzero(free)
    open_devices = open_devices[np.argsort(cell_of[open_devices], kind="stable")]
    # The j-th waiting slot of a cell takes the j-th free device of that cell.
    wanted = cells[waiting]
    offered = cell_of[open_devices]
    nth = np.arange(len(wanted)) - np.searchsorted(wanted, wanted)
    take = np.searchsorted(offered, wanted) + nth
    if (take >= len(offered)).any() or (offered[take] != wanted).any():
        raise ValueError("a cell holds more slots than it has usable devices")
    placed[waiting] = open_devices[take]
    return placed
