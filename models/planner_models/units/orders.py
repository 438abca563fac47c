"""Plans that fill one domain after the other: the first columns, so that a plan always exists."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from planner_models.units.heights import Ints, Pattern, Pipeline
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
            for n, k in enumerate(kinds):
                found[k].append(pattern_of(domain_of == n))
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


def pattern_of(held: Ints) -> Pattern:
    """The pattern of the units that a domain holds, [P, D, H] true or false."""
    heights = held.sum(2)
    segments = []
    for d in np.flatnonzero(heights.any(0)).tolist():
        touched = (heights[:, d] > 0).astype(np.int64)
        edges = np.flatnonzero(np.diff(touched, prepend=0, append=0)).tolist()
        for first, behind in zip(edges[::2], edges[1::2], strict=True):
            segments.append((first, tuple(heights[first:behind, d].tolist())))
    return tuple(sorted(segments))
