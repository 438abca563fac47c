"""What a domain may hold of a pipeline whose tensor groups stay whole: heights, segments, patterns.

A *unit* is one tensor group: a (stage, data copy, context slice). Units come in *blocks*: one data
copy of a stage, or as many copies as it takes for every expert group to lie inside one block.
Stages are counted through the pipeline from 0 to P - 1. A domain holds `h` units of a (stage,
block), its *height* there; which units those are is settled later, because they can be dealt out so
that neighbouring stages share as many as their heights allow. A *segment* is what a domain holds of
one block over consecutive stages, a sequence of heights >= 1. A *pattern* is all that a domain
holds: a multiset of segments. *Place* p lies between the stages p - 1 and p, so places run from 0
to P, and nothing is held outside the pipeline.

    cost(pattern) =  sum over segments and stages    own[p, h]
                   - sum over segments and places    credit[p, h, h']
                   + sum over touched stages         plane[p, greatest height there]
                   - sum over stages of D segments   refund[p, least height there]

Added up over the domains, plus the credit of a pipeline that is nowhere cut, this is the cost of
the placement in links, doubled. Where rings inside a block compete for its units (contexts beside
experts) it is less than that.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import gcd, lcm

import numpy as np
import numpy.typing as npt

from planner_models.job import Job, ModuleShape, Weights

Ints = npt.NDArray[np.int64]
Segment = tuple[int, tuple[int, ...]]
"""First stage and the heights from there on."""
Pattern = tuple[Segment, ...]
"""Segments in ascending order, repeated ones repeated."""


@dataclass(frozen=True, eq=False)
class Pipeline:
    """The units of a job and what cutting them costs, in multiples of `factor`.

    Attributes:
        copies: blocks D of each stage.
        slices: units of a block of each stage, [P].
        size: capacity that one unit of a stage takes, [P].
        own: cost of holding h units of a (stage, block), [P, H + 1] with H the most units.
        credit: saved at a place by holding a units before and b behind it, [P + 1, H + 1, H + 1].
        plane: cost of touching a stage with h as the greatest height, [P, H + 1].
        refund: saved on a stage if all D blocks are held at h or more, [P, H + 1]; all of `plane`
            where they are held whole.
        factor: what one unit of cost is worth in the weights' terms, doubled.
        grain: GPUs that one unit of capacity stands for.
    """

    copies: int
    slices: Ints
    size: Ints
    own: Ints
    credit: Ints
    plane: Ints
    refund: Ints
    factor: int
    grain: int

    @property
    def stages(self) -> int:
        """Length P of the pipeline."""
        return len(self.slices)

    @property
    def most(self) -> int:
        """Most units H of any block."""
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
        return int(self.constant + (pieces * (self.own.max() + self.plane.max(1))).sum()) + 1

    @cached_property
    def whole(self) -> Ints:
        """Cost of touching a stage with a whole block, [P]."""
        whole: Ints = self.plane[np.arange(self.stages), self.slices]
        return whole

    @cached_property
    def bordered(self) -> Ints:
        """Units of a block of each stage with a 0 on either side, [P + 2]."""
        return np.concatenate([[0], self.slices, [0]]).astype(np.int64)

    @cached_property
    def symmetric(self) -> bool:
        """Whether reading the pipeline backwards changes nothing."""
        parts = (self.slices, self.size, self.own, self.plane, self.refund)
        return all(np.array_equal(part, part[::-1]) for part in parts) and np.array_equal(
            self.credit, self.credit[::-1].transpose(0, 2, 1)
        )

    def links(self, cost: int) -> int:
        """A cost in the weights' terms, rounded up."""
        return -(-self.factor * cost // 2)


def copies_in_block(job: Job) -> int | None:
    """Data copies that make up one block; None if expert groups do not lie in blocks of units.

    Expert groups run over consecutive lanes, then slices, then copies, in steps of the expert
    tensor size. They are made of whole tensor groups of whole copies if that size divides the
    tensor size, and if tensor times context size divides expert tensor times expert size.

    Example:
        >>> copies_in_block(Job((ModuleShape(2, 1, 8, ep=16),), dp=72))
        8
    """
    needed = 1
    for m in job.modules:
        if m.ep > 1:
            if m.tp % m.etp or (m.ep * m.etp) % (m.tp * m.cp):
                return None
            needed = lcm(needed, m.ep * m.etp // (m.tp * m.cp))
    return None if job.dp % needed else needed


def applies(job: Job) -> bool:
    """Whether heights know all links: no chain of stages is closed, expert groups lie in blocks.

    Example:
        >>> applies(Job((ModuleShape(2, 1, 4, vpp=2),), dp=2))
        False
    """
    closed = any(m.vpp > 1 and m.pp > 1 for m in job.modules)
    tied = job.tied and job.modules[-1].pp > 1
    return not closed and not tied and copies_in_block(job) is not None


def pipeline_of(job: Job, weights: Weights) -> Pipeline:
    """The pipeline of a job without virtual stages and tied embeddings.

    Encoder stages come first. At the bridge slices are paired as the sequence is dealt: slice i of
    E feeds slice j of F if [i/E, (i+1)/E) and [j/F, (j+1)/F) overlap, and every such pair carries
    as many links as the larger tensor group has lanes.

    Raises:
        ValueError: the job has links that heights do not know.

    Example:
        >>> pipeline_of(Job((ModuleShape(8, 2, 4),), dp=2), Weights(1000, 100, 1, 10)).total
        16
    """
    k = copies_in_block(job)
    if not applies(job) or k is None:
        raise ValueError(
            "units know no virtual stages, no tied embeddings, and experts only of whole copies"
        )
    stages = [m.pp for m in job.modules]
    tensor = np.repeat([m.tp for m in job.modules], stages)
    slices = np.repeat([k * m.cp for m in job.modules], stages)
    grain = gcd(*(m.tp for m in job.modules))
    costs = [_module_costs(job, m, k, weights, int(slices.max())) for m in job.modules]
    own, plane, refund = (
        np.repeat(np.stack(part), stages, axis=0) for part in zip(*costs, strict=True)
    )
    credit = 2 * _credits(job, weights, slices, tensor)
    parts = (own, credit, plane, refund)
    factor = gcd(*(int(n) for part in parts for n in np.unique(part))) or 1
    own, credit, plane, refund = (part // factor for part in parts)
    return Pipeline(job.dp // k, slices, tensor // grain, own, credit, plane, refund, factor, grain)


def _module_costs(
    job: Job, module: ModuleShape, k: int, weights: Weights, most: int
) -> tuple[Ints, Ints, Ints]:
    """`own`, `plane` and `refund` of a stage, doubled, [H + 1] each; H may be another module's.

    Rings inside a block are held whole as far as the height allows. So are expert groups, which
    saves most: pairs between domains are concave in what is held of a group.
    """
    T, slices = module.tp, k * module.cp
    h = np.arange(most + 1)
    inside = h <= slices
    own = 2 * T * weights.cp * (h % module.cp > 0)
    plane = 2 * T * weights.dp * (h > 0) * (module.cp * job.dp > 1)
    refund = np.where(h == slices, plane, 0)
    if module.ep > 1:
        lanes, units = T // module.etp, module.ep * module.etp // T
        held = lanes * (h % units)
        own = own + module.etp * weights.ep * held * (module.ep - held)
        groups = slices // units
        if groups * job.dp > k:
            rings = 2 * T * weights.expt_dp
            plane = plane + rings * -(-h // groups)
            refund = refund + rings * (h // groups)
    return own * inside, plane * inside, refund * inside


def _credits(job: Job, weights: Weights, slices: Ints, tensor: Ints) -> Ints:
    """Weight of the links that stay inside when a units meet b, at every place."""
    P, H = len(slices), int(slices.max())
    credit = np.zeros((P + 1, H + 1, H + 1), np.int64)
    heights = np.arange(H + 1)
    credit[1:P] = tensor[1:, None, None] * np.minimum(heights[:, None], heights)
    if len(job.modules) == 2:
        before, after = job.modules
        left, right = int(slices[before.pp - 1]), int(slices[before.pp])
        inner = _bridge_pairs(left, right)
        credit[before.pp, : left + 1, : right + 1] = max(before.tp, after.tp) * inner
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
    here = np.zeros(pipeline.stages, np.int64)
    greatest, least = np.zeros_like(here), pipeline.slices.copy()
    for first, heights in pattern:
        stages = np.arange(first, first + len(heights))
        hs = np.array(heights)
        cost += int(pipeline.own[stages, hs].sum())
        cost -= int(pipeline.credit[stages[1:], hs[:-1], hs[1:]].sum())
        greatest[stages] = np.maximum(greatest[stages], hs)
        least[stages] = np.minimum(least[stages], hs)
        here[stages] += 1
    every = np.arange(pipeline.stages)
    refund = np.where(here == pipeline.copies, pipeline.refund[every, least], 0)
    return cost + int((pipeline.plane[every, greatest] - refund).sum())


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


def with_mirrors(pipeline: Pipeline, patterns: Iterable[Pattern]) -> Iterator[Pattern]:
    """Patterns and what they are when the pipeline is read backwards, if that changes nothing."""
    seen: set[Pattern] = set()
    for pattern in patterns:
        for one in (pattern, mirrored(pipeline, pattern))[: 1 + pipeline.symmetric]:
            if one not in seen:
                seen.add(one)
                yield one
