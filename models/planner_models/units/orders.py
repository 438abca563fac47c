"""Plans that fill one domain after the other: the first columns, so that a plan always exists."""

from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np

from planner_models.units.heights import Ints, Pattern, Pipeline, Segment
from planner_models.units.programme import Domains

AXES = ((1, 0, 2), (0, 1, 2), (2, 1, 0))
"""Slowest to fastest axis of [P, D, H]: copy by copy, stage by stage, slice by slice."""


def first_patterns(pipeline: Pipeline, domains: Domains) -> Iterator[list[list[Pattern]]]:
    """For every order in which that works, the patterns of each class."""
    classes = np.repeat(np.arange(len(domains.count)), domains.count)
    for axes, direction in product(AXES, (1, -1)):
        kinds = classes[::direction]
        domain_of = filled(pipeline, domains.capacity[kinds], axes)
        if domain_of is not None:
            found: list[list[Pattern]] = [[] for _ in domains.count]
            for k, pattern in zip(kinds, patterns_of(domain_of, len(kinds)), strict=True):
                found[k].append(pattern)
            yield found


def filled(pipeline: Pipeline, capacities: Ints, axes: tuple[int, ...]) -> Ints | None:
    """Domain of every unit when they are taken in an order of axes; None if some are left over."""
    shape = pipeline.stages, pipeline.copies, pipeline.most
    p, _, c = np.indices(shape)
    real = (c < pipeline.slices[p]).transpose(axes)
    sizes = pipeline.size[p].transpose(axes)[real]
    taken, sums, first = np.full(len(sizes), -1), np.cumsum(sizes), 0
    for n, capacity in enumerate(capacities.tolist()):
        before = int(sums[first - 1]) if first else 0
        behind = int(np.searchsorted(sums, before + capacity, side="right"))
        taken[first:behind], first = n, behind
    if first < len(sizes):
        return None
    domain_of = np.full([shape[axis] for axis in axes], -1)
    domain_of[real] = taken
    return domain_of.transpose(np.argsort(axes))


def patterns_of(domain_of: Ints, count: int) -> list[Pattern]:
    """What each of `count` domains holds, from the domain of every unit, [P, D, H], -1 for none."""
    p, d, _ = np.nonzero(domain_of >= 0)
    held = np.stack([domain_of[domain_of >= 0], d, p], axis=1)
    pieces, heights = np.unique(held, axis=0, return_counts=True)
    follows = (np.diff(pieces, axis=0) == (0, 0, 1)).all(1)
    segments: list[list[Segment]] = [[] for _ in range(count)]
    starts = np.flatnonzero(np.concatenate([[True], ~follows])).tolist()
    for first, behind in pairwise([*starts, len(pieces)]):
        owner, _, stage = pieces[first].tolist()
        segments[owner].append((stage, tuple(heights[first:behind].tolist())))
    return [tuple(sorted(found)) for found in segments]
