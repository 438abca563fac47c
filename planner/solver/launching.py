"""Plans for launchers that count node by node: every host holds consecutive trainer ranks."""

import numpy as np

from planner.baseline import device_orders
from planner.grid import Grid, Ints
from planner.solver.state import Search
from planner.solver.weighing import Weighing
from planner_models import runs

BY = "runs of consecutive ranks"


def solve_by_runs(search: Search) -> None:
    """Cut the trainer ranks into the cheapest runs, one a node: exact for the node level."""
    level = search.machines.node_level
    capacities = search.machines.capacities(search.machines.levels[level]).tolist()
    if search.problem.constraints.launch != "node-contiguous":
        return
    if runs.states(capacities, search.grid.world) > runs.MAX_STATES:
        return
    found = runs.cheapest_runs(_chain(search.grid, search.weighing), capacities)
    search.raise_level(level, found.cost, BY)
    for order in device_orders(search.machines, search.grid.world):
        search.offer(_seated(search, found, order), BY)


def _chain(grid: Grid, weighing: Weighing) -> runs.Chain:
    kinds = weighing.kinds
    return runs.Chain(
        grid.world,
        tuple((kinds[kind], g) for kind, family in grid.rings.items() for g in family),
        tuple((kinds[kind], g) for kind, family in grid.exchanges.items() for g in family),
        tuple((kinds[kind], ends) for kind, ends in grid.pairs.items()),
    )


def _seated(search: Search, found: runs.Runs, order: Ints) -> Ints:
    """[world] placement of the runs on nodes of the right size, nodes in the given device order."""
    node = search.machines.device_node[order]
    nodes = node[np.sort(np.unique(node, return_index=True)[1])]
    capacity = search.machines.capacities(search.machines.level("node"))
    waiting = {k: iter(nodes[capacity[nodes] == k].tolist()) for k, _ in found.runs}
    parts = []
    for k, held in found.runs:
        devices = order[node == next(waiting[k])]
        parts.append(np.sort(devices)[:held])
    return np.concatenate(parts)
