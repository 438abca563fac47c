"""The cheapest content of a domain of every size, when pairs of neighbouring heights have prices.

Sets
    p in 0..P-1 stages, places 0..P, sizes s in 0..S (capacity taken), heights 0..H.
Data
    reduced costs: a segment pays `own` a stage, less its `credit`s, less the prices of its P + 1
    pairs; a domain pays `plane` once for every stage that it touches.
Recursions
    held[p][i, h, s]  cheapest start of a segment: from stage i, with height h at stage p, size s
    segment[i, j, s]  cheapest segment inside the stages i..j-1
    bag[i, j, s]      cheapest multiset of them (an unbounded knapsack)
    closed[j, s]      cheapest content of the stages 0..j-1, as windows i..j-1 that pay their planes
    and, where a domain can hold a whole plane, the detours of `planes`.

All of it is exact but for one thing: that a domain holds at most D segments on a stage is dropped,
so a price can be lower than any content allows, never higher. Integers throughout.
"""

from collections.abc import Iterator
from math import prod

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from planner_models.units.heights import Ints, Pipeline, Segment

NEVER = np.int64(1 << 58)
"""Price of what cannot be; sums of a few of them still fit."""


AT_ONCE = 1 << 15
"""Sums that are formed at once where that takes less time than one size after the other."""


def capped(values: Ints) -> Ints:
    """The same values, in place, with everything impossible set to `NEVER` again."""
    values[values > NEVER // 2] = NEVER
    return values


def add_up(left: Ints, right: Ints) -> Ints:
    """(min,+) convolution along the last axis, leading axes broadcast, as long as `right`."""
    n = right.shape[-1]
    leading = np.broadcast_shapes(left.shape[:-1], right.shape[:-1])
    if prod(leading) * n * n <= AT_ONCE:
        padded = np.concatenate([np.full((*right.shape[:-1], n - 1), NEVER), right], axis=-1)
        shifted = sliding_window_view(padded, n, axis=-1)[..., ::-1]  # [..., s, k]: right[s - k]
        room = min(n, left.shape[-1])
        return capped((left[..., None, :room] + shifted[..., :room]).min(-1))
    shape = (*leading, n)
    total = np.full(shape, NEVER)
    for s in np.flatnonzero((left < NEVER).reshape(-1, left.shape[-1]).any(0))[:n].tolist():
        np.minimum(total[..., s:], left[..., s, None] + right[..., : n - s], out=total[..., s:])
    return capped(total)


class Segments:
    """Prices of single segments, and of whatever continues from a stage that is held whole.

    Attributes:
        held: cheapest starts, [P, 2 P, H + 1, S + 1]; the first P origins begin a segment at that
            stage, the others continue from full height there, which is not paid again.
        ends: cheapest ones that end before a place, [2 P, P + 1, S + 1].
    """

    def __init__(self, pipeline: Pipeline, prices: Ints, scale: int, capacity: int) -> None:
        P, H = pipeline.stages, pipeline.most
        self.pipeline = pipeline
        self.enter = scale * pipeline.own - prices[:-1, 0]
        self.step = -scale * pipeline.credit - prices
        self.step[:-1] += scale * pipeline.own[:, None]
        self.leave = -prices[:, :, 0]
        self.held = np.full((P, 2 * P, H + 1, capacity + 1), NEVER)
        self.ends = np.full((2 * P, P + 1, capacity + 1), NEVER)
        for p in range(P):
            self._extend(p)

    def _extend(self, p: int) -> None:
        """Fill `held` at stage p and `ends` behind it."""
        here, unit, most = self.held[p], int(self.pipeline.size[p]), int(self.pipeline.slices[p])
        room = here.shape[-1] - 1
        if p:
            before = self.held[p - 1]
            for b in range(1, most + 1):
                if unit * b <= room:
                    reached = (before[:, 1:] + self.step[p, 1:, b, None]).min(1)
                    here[:, b, unit * b :] = reached[:, : room + 1 - unit * b]
            capped(here)
        for b in range(1, most + 1):
            if unit * b <= room:
                here[p, b, unit * b] = self.enter[p, b]
        here[self.pipeline.stages + p, most, 0] = 0
        self.ends[:, p + 1] = capped((here[:, 1:] + self.leave[p + 1, 1:, None]).min(1))

    def traced(self, origin: int, stage: int, height: int, size: int) -> tuple[int, ...]:
        """Heights of the cheapest start that `held[stage][origin, height, size]` stands for.

        Continued from a full stage, that stage's height is left out.
        """
        first = origin % self.pipeline.stages
        heights: list[int] = []
        for p in range(stage, first, -1):
            heights.append(height)
            value = self.held[p, origin, height, size] - self.step[p, :, height]
            size -= int(self.pipeline.size[p]) * height
            height = int(np.flatnonzero(self.held[p - 1, origin, :, size] == value)[0])
        if origin < self.pipeline.stages:
            heights.append(height)
        return tuple(reversed(heights))

    def ended(self, origin: int, place: int, size: int) -> tuple[int, ...]:
        """Heights of what `ends[origin, place, size]` stands for."""
        options = self.held[place - 1, origin, :, size] + self.leave[place]
        height = int(np.flatnonzero(options == self.ends[origin, place, size])[0])
        return self.traced(origin, place - 1, height, size)


class Windows:
    """Prices of multisets of segments inside a window of stages.

    Attributes:
        segment: cheapest segment inside the stages i..j-1, [P, P + 1, S + 1].
        bag: cheapest multiset of them, [P + 1, P + 1, S + 1]; the empty one inside empty windows.
    """

    def __init__(self, segments: Segments) -> None:
        P = segments.pipeline.stages
        self.segments = segments
        self.segment = segments.ends[:P].copy()
        for length in range(2, P + 1):
            i = np.arange(P - length + 1)
            inner = np.minimum(self.segment[i + 1, i + length], self.segment[i, i + length - 1])
            self.segment[i, i + length] = np.minimum(self.segment[i, i + length], inner)
        i, j = np.triu_indices(P, 0)
        one = self.segment[i, j + 1]
        bags = np.full_like(one, NEVER)
        bags[:, 0] = 0
        for s in range(1, bags.shape[1]):
            bags[:, s] = (one[:, 1 : s + 1] + bags[:, s - 1 :: -1][:, :s]).min(1)
        self.bag = np.full((P + 1, P + 1, bags.shape[1]), NEVER)
        self.bag[:, :, 0] = np.where(np.tri(P + 1, dtype=bool).T, 0, NEVER)
        self.bag[i, j + 1] = capped(bags)

    def traced(self, first: int, behind: int, size: int) -> Iterator[Segment]:
        """The segments of the cheapest multiset of a size inside a window."""
        while size:
            one, bag = self.segment[first, behind], self.bag[first, behind]
            taken = 1 + int(np.flatnonzero(one[1 : size + 1] + bag[:size][::-1] == bag[size])[0])
            inside = self.segments.ends[first:behind, first + 1 : behind + 1, taken]
            i, j = np.argwhere(inside == one[taken])[0] + first
            yield int(i), self.segments.ended(int(i), int(j) + 1, taken)
            size -= taken
