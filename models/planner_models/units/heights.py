"""What a domain may hold of a pipeline whose tensor groups stay whole: heights, segments, patterns.

A *unit* is one tensor group: a (stage, data copy, context slice). Stages are counted through the
pipeline from 0 to P - 1. A domain holds `h` slices of a (stage, copy), its *height* there; which
slices those are is settled later, because the copies' slices can be dealt out so that neighbouring
stages share as many as their heights allow. A *segment* is what a domain holds of one copy over
consecutive stages, a sequence of heights >= 1. A *pattern* is all that a domain holds: a multiset
of segments. *Place* p lies between the stages p - 1 and p, so places run from 0 to P, and nothing
is held outside the pipeline.

    cost(pattern) =  sum over segments and stages    own[p, h]
                   - sum over segments and places    credit[p, h, h']
                   + sum over touched stages         plane[p]     unless all of the stage is held

Added up over the domains, plus the credit of a pipeline that is nowhere cut, this is the cost of
the placement in links.
"""

from dataclasses import dataclass
from functools import cached_property
from math import gcd

import numpy as np
import numpy.typing as npt

from planner_models.job import Job, Weights

Ints = npt.NDArray[np.int64]
Segment = tuple[int, tuple[int, ...]]
"""First stage and the heights from there on."""
Pattern = tuple[Segment, ...]
"""Segments in ascending order, repeated ones repeated."""


@dataclass(frozen=True, eq=False)
class Pipeline:
    """The units of a job and what cutting them costs, in multiples of `factor`.

    Attributes:
        copies: data parallel copies D.
        slices: context slices of each stage, [P].
        size: capacity that one unit of a stage takes, [P].
        own: cost of holding h slices of a (stage, copy), [P, H + 1] with H the most slices.
        credit: saved at a place by holding a slices before and b after it, [P + 1, H + 1, H + 1].
        plane: cost of touching a stage without holding all of it, [P].
        factor: what one unit of cost is worth in the weights' terms.
        grain: GPUs that one unit of capacity stands for.
    """

    copies: int
    slices: Ints
    size: Ints
    own: Ints
    credit: Ints
    plane: Ints
    factor: int
    grain: int

    @property
    def stages(self) -> int:
        """Length P of the pipeline."""
        return len(self.slices)

    @property
    def most(self) -> int:
        """Most slices H of any stage."""
        return int(self.slices.max())

    @property
    def total(self) -> int:
        """Capacity that all units together take."""
        return int(self.copies * (self.slices * self.size).sum())

    @property
    def constant(self) -> int:
        """Credit of a pipeline that is nowhere cut: what the patterns' credits are taken from."""
        before, after = self.bordered[:-1], self.bordered[1:]
        return int(self.copies * self.credit[np.arange(self.stages + 1), before, after].sum())

    @property
    def worst(self) -> int:
        """More than any placement costs: every unit alone, every plane cut."""
        pieces = self.copies * self.slices
        return int(self.constant + (pieces * (self.own.max() + self.plane)).sum()) + 1

    @cached_property
    def bordered(self) -> Ints:
        """Slices of each stage with a 0 on either side, [P + 2]."""
        return np.concatenate([[0], self.slices, [0]]).astype(np.int64)

    @cached_property
    def symmetric(self) -> bool:
        """Whether reading the pipeline backwards changes nothing."""
        return all(
            np.array_equal(part, part[::-1])
            for part in (self.slices, self.size, self.own, self.plane)
        ) and np.array_equal(self.credit, self.credit[::-1].transpose(0, 2, 1))


def pipeline_of(job: Job, weights: Weights) -> Pipeline:
    """The pipeline of a job without experts, virtual stages and tied embeddings.

    Encoder stages come first. At the bridge slices are paired as the sequence is dealt: slice i of
    E feeds slice j of F if [i/E, (i+1)/E) and [j/F, (j+1)/F) overlap, and every such pair carries
    as many links as the larger tensor group has lanes.

    Raises:
        ValueError: the job has links that heights do not know.

    Example:
        >>> pipeline_of(Job((ModuleShape(8, 2, 4),), dp=2), Weights(1000, 100, 1, 10)).total
        16
    """
    closed = any(m.vpp > 1 and m.pp > 1 for m in job.modules)
    if closed or (job.tied and job.modules[-1].pp > 1) or any(m.ep > 1 for m in job.modules):
        raise ValueError("units know no experts, no virtual stages and no tied embeddings")
    tensor = np.repeat([m.tp for m in job.modules], [m.pp for m in job.modules])
    slices = np.repeat([m.cp for m in job.modules], [m.pp for m in job.modules])
    grain = gcd(*(m.tp for m in job.modules))
    heights = np.arange(slices.max() + 1)
    partial = (heights > 0) & (heights < slices[:, None])
    own = tensor[:, None] * weights.cp * partial
    plane = tensor * weights.dp * (slices * job.dp > 1)
    credit = _credits(job, weights, slices, tensor)
    factor = gcd(*np.unique(own), *np.unique(plane), *np.unique(credit)) or 1
    return Pipeline(
        job.dp,
        slices,
        tensor // grain,
        own // factor,
        credit // factor,
        plane // factor,
        factor,
        grain,
    )


def _credits(job: Job, weights: Weights, slices: Ints, tensor: Ints) -> Ints:
    """Weight of the links that stay inside when a slices meet b, at every place."""
    P, H = len(slices), int(slices.max())
    credit = np.zeros((P + 1, H + 1, H + 1), np.int64)
    heights = np.arange(H + 1)
    credit[1:P] = tensor[1:, None, None] * np.minimum(heights[:, None], heights)
    if len(job.modules) == 2:
        before, after = job.modules
        inner = _bridge_pairs(before.cp, after.cp)
        credit[before.pp, : before.cp + 1, : after.cp + 1] = max(before.tp, after.tp) * inner
    return credit * weights.pp


def _bridge_pairs(before: int, after: int) -> Ints:
    """Most slice pairs inside when a of `before` slices meet b of `after`, [before + 1, after + 1].

    The degrees of the a (or b) slices with the most pairs add up to an upper estimate, which is all
    that a lower bound on the cost needs; for equal numbers it is min(a, b), which is exact.
    """
    i, j = np.arange(before)[:, None], np.arange(after)
    meets = np.minimum((i + 1) * after, (j + 1) * before) > np.maximum(i * after, j * before)
    left = np.concatenate([[0], np.cumsum(np.sort(meets.sum(1))[::-1])])
    right = np.concatenate([[0], np.cumsum(np.sort(meets.sum(0))[::-1])])
    product = np.multiply.outer(np.arange(before + 1), np.arange(after + 1))
    inner: Ints = np.minimum(np.minimum(left[:, None], right), product)
    return inner


def pattern_size(pipeline: Pipeline, pattern: Pattern) -> int:
    """Capacity a pattern takes."""
    return int(sum(pipeline.size[first : first + len(hs)] @ hs for first, hs in pattern))


def pattern_cost(pipeline: Pipeline, pattern: Pattern) -> int:
    """Cost of a pattern, from the definition above."""
    cost = 0
    full = np.zeros(pipeline.stages, np.int64)
    here = np.zeros(pipeline.stages, np.int64)
    for first, heights in pattern:
        stages = np.arange(first, first + len(heights))
        hs = np.array(heights)
        cost += int(pipeline.own[stages, hs].sum())
        cost -= int(pipeline.credit[stages[1:], hs[:-1], hs[1:]].sum())
        full[stages] += hs == pipeline.slices[stages]
        here[stages] += 1
    whole = (full == pipeline.copies) & (here == pipeline.copies)
    return cost + int(pipeline.plane[(here > 0) & ~whole].sum())


def pattern_pairs(pipeline: Pipeline, pattern: Pattern) -> Ints:
    """Uses of every pair of neighbouring heights, [P + 1, H + 1, H + 1]."""
    uses = np.zeros_like(pipeline.credit)
    for first, heights in pattern:
        places = np.arange(first, first + len(heights) + 1)
        before, after = np.array((0, *heights)), np.array((*heights, 0))
        np.add.at(uses, (places, before, after), 1)
    return uses


def mirrored(pipeline: Pipeline, pattern: Pattern) -> Pattern:
    """The pattern read from the end of the pipeline."""
    return tuple(sorted((pipeline.stages - first - len(hs), hs[::-1]) for first, hs in pattern))
