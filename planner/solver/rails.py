"""Last step of numbering: GPUs inside each domain chosen so that links stay on their rail."""

import numpy as np

from planner.feasibility import pinned
from planner.grid import Grid, Ints
from planner.machines import Machines
from planner.rails import Borders, borders, on_rail
from planner.spec.problem import Problem
from planner_models import rails


def align_rails(problem: Problem, grid: Grid, placement: Ints) -> Ints:
    """[world] the same plan with ranks on other GPUs of their finest domain, never of another one.

    Pinned ranks stay; without pins rank 0 keeps the lowest used GPU of its host. A plan that gains
    nothing is left as it is.
    """
    machines = problem.cluster.machines
    found = borders(grid, machines, placement)
    before = on_rail(found, machines.rails[placement])
    if before.all():
        return placement
    moved = rails.align(_task(problem, grid, machines, placement, found), placement)
    after = on_rail(found, machines.rails[moved])
    return moved if after.sum() > before.sum() else placement


def _task(
    problem: Problem, grid: Grid, machines: Machines, placement: Ints, found: Borders
) -> rails.Task:
    free = machines.online.copy()
    reserved = np.zeros(len(free), bool)
    leader, led = -1, np.empty(0, np.int64)
    if problem.constraints.pins:
        free[[device for _, device in pinned(problem, grid)]] = False
    else:
        # While cells take turns rank 0 stays; nobody takes its GPU or a lower one of its host.
        node = machines.device_node
        mine = node == node[placement[0]]
        reserved = mine & (np.arange(len(node)) <= placement[0])
        leader, led = 0, np.setdiff1d(np.flatnonzero(mine[placement]), [0])
    _, colour = np.unique(machines.rails, return_inverse=True)
    return rails.Task(
        machines.levels[0].domain,
        colour,
        free,
        reserved,
        found.side,
        found.rank,
        found.ends,
        found.sides,
        leader,
        led,
    )
