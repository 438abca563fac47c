"""The other case: at least one tensor group is cut at this level.

For any m between 0 and the tensor weight w_tp, such a placement costs at least what its links cost
with tensor links at m instead, plus w_tp - m for each of the two tensor links it pays at least.

Sets
    n in domains, sizes s in slots.
Data
    f(s), the cheapest content of one domain at the reduced tensor weight m. Where
    m >= T / 2 (w_cp + w_dp + w_pp), f(a T + r) >= (T - r) f1(a) + r f1(a + 1) with f1 the cheapest
    content of one tensor lane, because f1 changes by at most w_cp + w_dp + w_pp a slot and at least
    max n_t - min n_t tensor groups are cut when lane t holds n_t slots.
Variables
    s[n], the slots in every domain.
Subject to
    s[n] <= capacity[n], the sum of them = the slots of the job.
Minimise
    sum of f(s[n])

The smallest m that the inequality allows is taken; f1 is the pricing of `contents` at price 0. Two
modules have no such inequality yet, and it knows no experts: there a bound by staircases stands in
for it. Where all that is not enough, `lanes` has a dearer bound at prices.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from planner_models.job import Job, Weights
from planner_models.minplus import UNREACHABLE, convolve, power
from planner_models.units.contents import Contents
from planner_models.units.heights import Ints, Pipeline

Master = Callable[[Weights], int]
"""A lower bound on the level's cost of every placement, under any weights."""


def cut_bound(
    job: Job, weights: Weights, pipeline: Pipeline, capacities: Sequence[int], master: Master | None
) -> int | None:
    """Lower bound on the cost of placements that cut a tensor group; None if there are none.

    Args:
        job: without virtual stages and tied embeddings.
        weights: of its links.
        pipeline: its units.
        capacities: GPUs of each domain.
        master: asked where the inequality does not hold; without it 0 is all that is known.
    """
    most = max(m.tp for m in job.modules)
    if most == 1:
        return None
    reduced = most * (weights.cp + weights.dp + weights.pp)  # doubled
    known = [0]
    experts = any(m.ep > 1 for m in job.modules)
    if reduced <= 2 * weights.tp and len(job.modules) == 1 and not experts:
        links = _lane_by_lane(pipeline, most, capacities, job.world)
        known.append(links + 2 * weights.tp - reduced)
    elif master is not None:
        for tensor in {weights.tp, min(weights.tp, -(-reduced // 2))}:
            links = master(replace(weights, tp=tensor))
            known.append(links + 2 * (weights.tp - tensor))
    return max(known)


def _lane_by_lane(pipeline: Pipeline, T: int, capacities: Sequence[int], slots: int) -> int:
    """The programme above, for one module."""
    units = min(-(-max(capacities) // T), pipeline.total)
    f1 = np.append(Contents(pipeline, np.zeros_like(pipeline.credit), 1, units).value, 0)
    sizes = np.arange(min(max(capacities), units * T) + 1)
    a, r = sizes // T, sizes % T
    # The pipeline's costs are those of T lanes together, so these count in factor / T.
    content = shared_out((T - r) * f1[a] + r * f1[a + 1], capacities, slots)
    return -(-pipeline.factor * (content + T * pipeline.constant) // (2 * T))


def shared_out(cheapest: Ints, capacities: Sequence[int] | Ints, slots: int) -> int:
    """Least sum of f over the domains when they hold all slots.

    Args:
        cheapest: f of every size, as far as one domain can matter.
        capacities: of the domains.
        slots: what they hold together.
    """
    idle = sum(capacities) - slots
    total = np.zeros(1, np.int64)
    for capacity, count in zip(*np.unique(capacities, return_counts=True), strict=True):
        left = np.arange(min(idle, capacity) + 1)  # GPUs that stay free in one domain
        fits = left[capacity - left < len(cheapest)]
        table = np.full(len(left), np.int64(UNREACHABLE))
        table[fits] = cheapest[capacity - fits]
        total = convolve(total, power(table, int(count), idle + 1), idle + 1)
    return int(total[idle])
