"""What a launcher's order string can reach: Megatron's order, and the best of all axis orders."""

from benchmarks.peers.task import Limits, Task
from planner import baseline
from planner.feasibility import broken_constraints
from planner.grid import Ints
from planner.plan import megatron_order as laid_in_order


def megatron_order(task: Task, _: Limits) -> Ints:
    """Trainer rank r on the r-th usable GPU."""
    return laid_in_order(task.machines, task.grid.world)


def best_axis_order(task: Task, _: Limits) -> Ints:
    """The cheapest order of the axes on the nodes as given, each module in an order of its own.

    Of those that keep the hard constraints, if any does.
    """

    def keeps(placement: Ints) -> bool:
        return not broken_constraints(task.problem, task.grid, placement)

    return baseline.best_axis_order(task.grid, task.machines, task.kinds, task.levels, keeps)[1]
