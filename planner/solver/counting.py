"""Second step: what counting alone proves at each level (staircases and their master)."""

from planner.solver.state import Search
from planner_models import master

BY = "staircases"


def bound_by_counting(search: Search) -> None:
    """Raise every level's bound to what the best contents of its domains add up to."""
    for i, level in enumerate(search.machines.levels):
        if not search.weighing.levels[i]:
            continue
        if search.interrupted:
            return
        capacities = search.machines.capacities(level)
        value = master.bound(
            search.job, search.weights, capacities.tolist(), deadline=search.deadline
        )
        search.raise_level(i, value, BY)
