"""Refunds for planes that a domain holds whole: the detours of a pass over windows.

A domain that holds all D * C units of stage s does not pay that stage's plane. Then D segments run
through s at full height and nothing else is there, so the content left of s and the content right
of s meet only in those D segments. A pass over the stages therefore needs two kinds of states:
*closed* in front of a place (nothing runs across it) and *full* at a stage.

    opening[i, s, e]   closed in front of i -> full at s: D heads that begin at i or later,
                       and a bag of segments inside i..s-1
    linking[s, t, e]   full at s -> full at t: D times either one segment all through or a tail
                       and a head, and a bag inside s+1..t-1
    closing[s, j, e]   full at s -> closed in front of j: D tails, and a bag inside s+1..j-1

Each pays the planes strictly between. Sizes e leave out the plane that is entered, so they stay
below capacity - D * C. The sum of D independent choices is a (min,+) power.
"""

import numpy as np

from planner_models.units.heights import Ints, Segment
from planner_models.units.pricing import NEVER, Segments, Windows, add_up

Heights = tuple[int, ...]


class Planes:
    """Tables of the detours, for capacities that can hold a whole plane.

    Args:
        windows: prices of segments and bags.
        paid: planes of the stages i..j-1, [P + 1, P + 1].

    Attributes:
        weight: size of each whole plane, [P].
        opening, linking, closing: see above, [P, P, R + 1], [P, P, R + 1], [P, P + 1, R + 1].
    """

    def __init__(self, windows: Windows, paid: Ints) -> None:
        self.windows = windows
        self.segments = windows.segments
        pipeline = self.segments.pipeline
        self.stages, self.copies = pipeline.stages, pipeline.copies
        self.weight = pipeline.copies * pipeline.slices * pipeline.size
        room = windows.bag.shape[-1] - int(self.weight.min())
        self.tail = np.minimum.accumulate(self.segments.ends[self.stages :, :, :room], axis=1)
        self.head, self.through = _entered(self.segments, room)
        i, s = np.triu_indices(self.stages, 0)
        a, b = np.triu_indices(self.stages, 1)
        self.link = np.full_like(self.through, NEVER)
        apart = add_up(self.tail[a, b], self.head[a + 1, b])
        self.link[a, b] = np.minimum(self.through[a, b], apart)
        bag = windows.bag[:, :, :room]
        self.opening = np.full_like(self.head, NEVER)
        self.opening[i, s] = paid[i, s, None] + self._filled(bag[i, s], self.head[i, s])
        self.linking = np.full_like(self.link, NEVER)
        self.linking[a, b] = paid[a + 1, b, None] + self._filled(bag[a + 1, b], self.link[a, b])
        self.closing = np.full_like(self.tail, NEVER)
        ended = self._filled(bag[i + 1, s + 1], self.tail[i, s + 1])
        self.closing[i, s + 1] = paid[i + 1, s + 1, None] + ended

    def _filled(self, bag: Ints, one: Ints) -> Ints:
        """D of one kind beside a bag."""
        return add_up(bag, _powered(one, self.copies))

    def opened(self, i: int, s: int, size: int, suffixes: list[Heights]) -> list[Segment]:
        """The segments that `opening[i, s, size]` completes, given the heights behind s."""
        bag, sizes = self._shared(self.windows.bag[i, s], self.head[i, s], size)
        heads = [self._headed(i, s, e, suffix) for e, suffix in zip(sizes, suffixes, strict=True)]
        return heads + list(self.windows.traced(i, s, bag))

    def linked(
        self, s: int, t: int, size: int, suffixes: list[Heights]
    ) -> tuple[list[Segment], list[Heights]]:
        """The segments that `linking[s, t, size]` completes, and the heights behind s."""
        bag, sizes = self._shared(self.windows.bag[s + 1, t], self.link[s, t], size)
        found, before = list(self.windows.traced(s + 1, t, bag)), []
        whole = int(self.segments.pipeline.slices[t])
        for e, suffix in zip(sizes, suffixes, strict=True):
            if self.through[s, t, e] == self.link[s, t, e]:
                taken = e + int(self.weight[t]) // self.copies
                inner = self.segments.traced(self.stages + s, t, whole, taken)
                before.append(inner + suffix)
            else:
                cut = int((self.tail[s, t, : e + 1] + self.head[s + 1, t, e::-1]).argmin())
                before.append(self._tailed(s, t, cut))
                found.append(self._headed(s + 1, t, e - cut, suffix))
        return found, before

    def closed(self, s: int, j: int, size: int) -> tuple[list[Segment], list[Heights]]:
        """The bag that `closing[s, j, size]` stands for, and the heights behind s."""
        bag, sizes = self._shared(self.windows.bag[s + 1, j], self.tail[s, j], size)
        return list(self.windows.traced(s + 1, j, bag)), [self._tailed(s, j, e) for e in sizes]

    def _shared(self, bag: Ints, one: Ints, size: int) -> tuple[int, list[int]]:
        """Size of the bag, and sizes of the D others, of the cheapest way to reach a size."""
        others = _powered(one, self.copies)
        rest = int((bag[: size + 1] + others[size::-1]).argmin())
        return rest, _split(one, self.copies, size - rest)

    def _headed(self, i: int, s: int, size: int, suffix: Heights) -> Segment:
        """The segment that reaches s as `head[i, s, size]` and goes on with the suffix."""
        whole = int(self.segments.pipeline.slices[s])
        taken = size + int(self.weight[s]) // self.copies
        starts = self.segments.held[s, i : s + 1, whole, taken]
        first = i + int(np.flatnonzero(starts == self.head[i, s, size])[0])
        return first, self.segments.traced(first, s, whole, taken) + suffix

    def _tailed(self, s: int, j: int, size: int) -> Heights:
        """The heights behind s of `tail[s, j, size]`."""
        ends = self.segments.ends[self.stages + s, : j + 1, size]
        place = int(np.flatnonzero(ends == self.tail[s, j, size])[0])
        return self.segments.ended(self.stages + s, place, size)


def _entered(segments: Segments, room: int) -> tuple[Ints, Ints]:
    """Cheapest starts by the stage they reach at full height, [P, P, room] each.

    The first begin at stage i or later, the second continue from full height at stage i.
    """
    P = segments.pipeline.stages
    head = np.full((P, P, room), NEVER)
    through = np.full((P, P, room), NEVER)
    for s in range(P):
        whole = int(segments.pipeline.slices[s])
        taken = whole * int(segments.pipeline.size[s])
        reached = segments.held[s][:, whole, taken : taken + room]
        fit = reached.shape[-1]
        head[: s + 1, s, :fit] = np.minimum.accumulate(reached[s::-1], axis=0)[::-1]
        through[:s, s, :fit] = reached[P : P + s]
    return head, through


def _powered(one: Ints, times: int) -> Ints:
    """The cheapest way to add up `times` entries, (min,+) along the last axis."""
    result: Ints | None = None
    while times:
        if times & 1:
            result = one if result is None else add_up(result, one)
        times >>= 1
        one = add_up(one, one) if times else one
    assert result is not None
    return result


def _split(one: Ints, times: int, size: int) -> list[int]:
    """The sizes of the entries that `_powered(one, times)[size]` adds up."""
    if times == 1:
        return [size]
    left, right = _powered(one, times // 2), _powered(one, times - times // 2)
    cut = int((left[: size + 1] + right[size::-1]).argmin())
    return _split(one, times // 2, cut) + _split(one, times - times // 2, size - cut)
