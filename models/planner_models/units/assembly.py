"""From the patterns of the domains to the domain of every unit, at the cost the patterns promise.

Sets
    segment types g (first stage and heights), copies d, stages p.
Data
    n[g] segments of the type in all domains together, heights h[g, p], slices C[p].
Variables
    laid[g, d] >= 0, segments of type g in copy d.
Subject to
    used[g]       sum of laid over the copies  =  n[g]
    filled[p,d]   sum of h[g, p] laid[g, d]    =  C[p]

Slices are then dealt out copy by copy and stage by stage: a domain keeps the slices it has, as many
as its next height allows, so neighbouring stages share min(h, h') slices in every domain, which is
what the patterns were credited. Where encoder and decoder have different numbers of slices, a
domain gets those that meet most of its own; the credit there is an upper estimate, not always met.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from time import monotonic

import numpy as np
from ortools.sat.python import cp_model

from planner_models.units.heights import Ints, Pattern, Pipeline, Segment

EFFORT = 20.0
"""Deterministic seconds that the model gets."""


def assembled(
    pipeline: Pipeline, patterns: Sequence[Pattern], deadline: float | None = None
) -> Ints | None:
    """Domain of every unit, [P, D, H]; -1 at slices that a stage does not have.

    Args:
        pipeline: the units.
        patterns: what each domain holds; together, every unit once.
        deadline: `time.monotonic()` at which to give up.

    Returns:
        None if the segments do not fit together, or if that was not found out in time.
    """
    owners: dict[Segment, list[int]] = defaultdict(list)
    for domain, pattern in enumerate(patterns):
        for segment in pattern:
            owners[segment].append(domain)
    laid = _laid(pipeline, {s: len(found) for s, found in owners.items()}, deadline)
    if laid is None:
        return None
    domain_of = np.full((pipeline.stages, pipeline.copies, pipeline.most), -1)
    for d, segments in enumerate(laid):
        held = [Counter[int]() for _ in range(pipeline.stages)]
        for first, heights in segments:
            owner = owners[first, heights].pop()
            for p, h in enumerate(heights, first):
                held[p][owner] += h
        _deal(pipeline, held, domain_of[:, d])
    return domain_of


def _laid(
    pipeline: Pipeline, count: dict[Segment, int], deadline: float | None
) -> list[list[Segment]] | None:
    """The segments of every copy."""
    model = cp_model.CpModel()
    D = pipeline.copies
    laid = {
        segment: [model.new_int_var(0, n, f"laid[{g},{d}]") for d in range(D)]
        for g, (segment, n) in enumerate(count.items())
    }
    for g, (segment, n) in enumerate(count.items()):
        model.add(cp_model.LinearExpr.sum(laid[segment]) == n).with_name(f"used[{g}]")
    for p, slices in enumerate(pipeline.slices.tolist()):
        here = [(s, s[1][p - s[0]]) for s in count if 0 <= p - s[0] < len(s[1])]
        for d in range(D):
            filled = cp_model.LinearExpr.weighted_sum(
                [laid[s][d] for s, _ in here], [h for _, h in here]
            )
            model.add(filled == slices).with_name(f"filled[{p},{d}]")
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = EFFORT
    if deadline is not None:
        solver.parameters.max_time_in_seconds = max(0.0, deadline - monotonic())
    if solver.solve(model) not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return None
    return [[s for s in count for _ in range(solver.value(laid[s][d]))] for d in range(D)]


def _deal(pipeline: Pipeline, held: list[Counter[int]], domain_of: Ints) -> None:
    """Give the slices of one copy to the domains that hold so many of them, [P, H] in place."""
    for p, wanted in enumerate(held):
        slices = int(pipeline.slices[p])
        before = domain_of[p - 1, : int(pipeline.slices[p - 1])] if p else np.empty(0, np.int64)
        meets = _meeting(len(before), slices)
        left = Counter(wanted)
        while left:
            free = domain_of[p, :slices] < 0
            shared = [((meets & (before == n)[:, None]).sum(0) * free, n) for n in left]
            gain, n = max(shared, key=lambda option: int(option[0].max()))
            j = int(np.where(free, gain, -1).argmax())
            domain_of[p, j] = n
            left -= Counter([n])


def _meeting(before: int, after: int) -> Ints:
    """Which slices of one stage are linked to which of the next, [before, after]."""
    i, j = np.arange(before)[:, None], np.arange(after)
    starts, ends = np.maximum(i * after, j * before), np.minimum((i + 1) * after, (j + 1) * before)
    return (starts < ends).astype(np.int64)
