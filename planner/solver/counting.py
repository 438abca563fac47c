"""Second step: what counting alone proves at each level (staircases and their master)."""

from functools import partial

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
        capacities = sorted(search.machines.capacities(level).tolist())
        value = search.options.memory.recall(
            BY,
            (search.job, search.weights_at(i), tuple(capacities)),
            partial(
                master.bound, search.job, search.weights_at(i), capacities, deadline=search.deadline
            ),
        )
        search.raise_level(i, value, BY)
