"""Levels whose domains hold whole tensor groups: bounds by units, plans from their patterns."""

from functools import partial

import numpy as np

from planner.grid import Ints
from planner.solver.seating import seatings
from planner.solver.state import Search
from planner_models import master, units
from planner_models.job import Job, Weights

BY = "units"
_BOUND_SHARE, _PLAN_SHARE = 0.45, 0.35  # of the time left, for a level's bound and for its plan


def solve_by_units(search: Search) -> None:
    """Bound every level by placing whole tensor groups, coarsest first, and assemble plans."""
    if not units.applies(search.job):
        return
    levels = list(enumerate(search.machines.levels))
    found: dict[int, units.UnitsBound] = {}
    for i, level in reversed(levels):
        if search.done:
            return
        if not search.weighing.levels[i]:
            continue
        capacities = search.machines.capacities(level).tolist()
        found[i] = units.bound(
            search.job,
            search.weights_at(i),
            capacities,
            incumbent=search.enough_at(i),
            deadline=search.share(_BOUND_SHARE),
            master=partial(_slots_bound, search.job, capacities),
        )
        search.raise_level(i, found[i].value, BY)
        if not search.done:
            _assemble(search, i, found[i])
    weights = [search.weighing.levels[i] for i in sorted(found)]
    cases = [found[i] for i in sorted(found)]
    search.raise_whole(units.across_levels(weights, cases), "units, all levels together")


def _slots_bound(job: Job, capacities: list[int], weights: Weights) -> int:
    return master.bound(job, weights, capacities)


def _assemble(search: Search, level: int, found: units.UnitsBound) -> None:
    placed = units.assemble(
        search.job, search.weights_at(level), found, deadline=search.share(_PLAN_SHARE)
    )
    if placed is not None:
        for placement in seatings(search, level, _by_rank(search, placed)):
            search.offer(placement, "assembled units")


def _by_rank(search: Search, placed: Ints) -> Ints:
    """[world] domain of each trainer rank, from the domain of each unit ([stage, copy, slice])."""
    out = np.empty(search.grid.world, np.int64)
    stage = 0
    for module in search.grid.modules:
        stages, _, slices, _ = module.mesh.shape
        out[module.mesh] = placed[stage : stage + stages, :, :slices, None]
        stage += stages
    return out
