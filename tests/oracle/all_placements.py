"""The optimum by trying every placement: all ways to deal slots to nodes, several levels at once.

Costs come from `slots_cost`'s groups, counted over all placements in numpy; devices of a node are
interchangeable, so nodes are all that is dealt.
"""

import numpy as np
import numpy.typing as npt

from planner_models.job import Job, Weights
from tests.oracle import slots_cost

Ints = npt.NDArray[np.int64]


def deals(slots: int, capacities: list[int]) -> Ints:
    """[placements, slots] node of each slot, every way that respects the capacities."""
    found = np.zeros((1, 0), np.int64)
    for _ in range(slots):
        grown = []
        for node, capacity in enumerate(capacities):
            room = np.count_nonzero(found == node, axis=1) < capacity
            kept = found[room]
            grown.append(np.hstack([kept, np.full((len(kept), 1), node, np.int64)]))
        found = np.vstack(grown)
    return found


def costs(job: Job, weights: Weights, levels: list[tuple[int, Ints]], placed: Ints) -> Ints:
    """[placements] cost of each, `levels` being (weight, [nodes] domain of each node)."""
    total = np.zeros(len(placed), np.int64)
    for level_weight, of_node in levels:
        domain = of_node[placed]
        for group in slots_cost.rings(job):
            held = np.sort(domain[:, group.members], axis=1)
            touched = 1 + (np.diff(held, axis=1) != 0).sum(axis=1)
            weight = level_weight * getattr(weights, group.kind)
            total += weight * np.where(touched > 1, touched, 0)
        for group in slots_cost.all_to_alls(job):
            members = domain[:, group.members]
            apart = (members[:, :, None] != members[:, None, :]).sum(axis=(1, 2)) // 2
            total += level_weight * weights.ep * apart
        for pair in slots_cost.pairs(job):
            cut = domain[:, pair.members[0]] != domain[:, pair.members[1]]
            total += level_weight * getattr(weights, pair.kind) * cut
    return total
