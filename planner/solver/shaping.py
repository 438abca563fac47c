"""Levels whose domains cut tensor groups: bounds by shapes, plans from the same patterns."""

from planner.solver.state import Search
from planner_models import shapes

BY = "shapes"


def bound_by_shapes(search: Search) -> None:
    """Raise the bound of every level small enough for shapes to be listed."""
    for i, level in enumerate(search.machines.levels):
        capacities = search.machines.capacities(level).tolist()
        if search.done or not search.weighing.levels[i]:
            continue
        if not shapes.applies(search.job, capacities):
            continue
        found = shapes.bound(
            search.job,
            search.weights,
            capacities,
            incumbent=search.enough_at(i),
            deadline=search.deadline,
        )
        search.raise_level(i, found.value, BY)
