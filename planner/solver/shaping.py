"""Levels whose domains cut tensor groups: bounds by shapes, plans from the same patterns."""

from planner.solver.seating import seatings
from planner.solver.state import Search
from planner.solver.translation import from_canonical, shape_rules
from planner_models import shapes

BY = "shapes"
_BOUND_SHARE, _PLAN_SHARE = 0.45, 0.35  # of the time left, for a level's bound and for its plan


def solve_by_shapes(search: Search) -> None:
    """Bound every level small enough for shapes to be listed, and assemble plans that meet it."""
    for i, level in enumerate(search.machines.levels):
        capacities = search.machines.capacities(level).tolist()
        if search.done or search.settled(i) or not search.weighing.levels[i]:
            continue
        rules = shape_rules(search.problem, search.grid, i)
        if not shapes.applies(search.job, capacities, rules=rules):
            continue
        try:
            found = shapes.bound(
                search.job,
                search.weights_at(i),
                capacities,
                rules=rules,
                incumbent=search.enough_at(i),
                deadline=search.share(_BOUND_SHARE),
            )
        except shapes.NoPlacementError:
            return  # the exact model names the lines that exclude each other
        search.raise_level(i, found.value, BY)
        if search.done:
            return
        plan = shapes.assemble(found, deadline=search.share(_PLAN_SHARE))
        if plan is not None:
            for placement in seatings(search, i, from_canonical(search.grid, plan.domain_of)):
                search.offer(placement, "assembled shapes")
