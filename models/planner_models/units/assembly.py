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
what the patterns were credited. Among those it takes slices that it has in other copies too. Where
encoder and decoder have different numbers of slices, a domain gets those that meet most of its own;
the credit there is an upper estimate, not always met. Nor is it always possible that a domain has
the same slices in all blocks of a stage, where expert groups are cut.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from ortools.sat.python import cp_model

from planner_models.units.heights import Ints, Pattern, Pipeline, Segment
from planner_models.units.integer_master import lay_out, solved

Bools = npt.NDArray[np.bool_]


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
    count = Counter({segment: len(found) for segment, found in owners.items()})
    laid = laid_out(pipeline, count, deadline)
    if laid is None:
        return None
    domain_of = np.full((pipeline.stages, pipeline.copies, pipeline.most), -1)
    known = np.zeros((pipeline.stages, len(patterns), pipeline.most), bool)
    for d, segments in enumerate(laid):
        held = [Counter[int]() for _ in range(pipeline.stages)]
        for first, heights in segments:
            owner = owners[first, heights].pop()
            for p, h in enumerate(heights, first):
                held[p][owner] += h
        _deal(pipeline, held, domain_of[:, d], known)
    return domain_of


def laid_out(
    pipeline: Pipeline, count: Counter[Segment], deadline: float | None
) -> list[list[Segment]] | None:
    """The segments of every copy; None if they do not fit, or if that was not found out in time."""
    model = cp_model.CpModel()
    laid = lay_out(model, pipeline, list(count))
    for g, (segment, n) in enumerate(count.items()):
        model.add(cp_model.LinearExpr.sum(laid[segment]) == n).with_name(f"used[{g}]")
    _, values = solved(model, 0, deadline)
    if values is None:
        return None
    copies = range(pipeline.copies)
    return [[s for s in count for _ in range(values[laid[s][d].index])] for d in copies]


def _deal(pipeline: Pipeline, held: list[Counter[int]], domain_of: Ints, known: Bools) -> None:
    """Give the slices of one copy to the domains that hold so many of them, [P, H] in place.

    Args:
        pipeline: the units.
        held: slices of each stage by domain.
        domain_of: filled in, [P, H].
        known: which slices domains hold in other copies: they pay those rings anyway; updated,
            [P, domains, H].
    """
    for p, wanted in enumerate(held):
        slices = int(pipeline.slices[p])
        before = domain_of[p - 1, : int(pipeline.slices[p - 1])] if p else np.empty(0, np.int64)
        meets = _meeting(len(before), slices)
        left = Counter(wanted)
        while left:
            free = domain_of[p, :slices] < 0
            shared = [
                (2 * (meets & (before == n)[:, None]).sum(0) + known[p, n, :slices], n)
                for n in left
            ]
            gain, n = max(shared, key=lambda option: int(np.where(free, option[0], -1).max()))
            j = int(np.where(free, gain, -1).argmax())
            domain_of[p, j], known[p, n, j] = n, True
            left -= Counter([n])


def _meeting(before: int, after: int) -> Ints:
    """Which slices of one stage are linked to which of the next, [before, after]."""
    i, j = np.arange(before)[:, None], np.arange(after)
    starts, ends = np.maximum(i * after, j * before), np.minimum((i + 1) * after, (j + 1) * before)
    return (starts < ends).astype(np.int64)
