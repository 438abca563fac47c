"""The bridge: pair links from the encoder's last stage to the decoder's first.

Inside every data copy, encoder slice i is joined to decoder slice j if their shares of the sequence
overlap, and then encoder lane x to decoder lane y if y is in x's run (lanes of the larger side are
dealt to the smaller one in contiguous runs, the longer runs first).

Lower bounds need to know how many bridge links lie inside a domain that holds given sets of
boundary lanes, once both modules are pushed towards lane 0, slice 0, copy 0. Along an axis on which
one module's size divides the other's, runs are even and pushing never loses a link. Along an uneven
axis only the *number* of lanes held survives the push: their links are over-estimated by the
largest degrees, on either side, which pushing along the other axes never decreases. (Uneven on both
axes, that is only true of the number of lanes in all copies together.)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner_models.job import Job, ModuleShape
from planner_models.minplus import IntArray

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Side:
    """How one module's held boundary lanes are counted for the estimate.

    Attributes:
        groups: [lanes, K] incidence of the lanes looked at in the K places where they are counted.
        links: [count] most links that so many held lanes of one place can have.
    """

    groups: IntArray
    links: IntArray

    def most_links(self, held: IntArray) -> IntArray:
        """[sets, lanes] zero-one rows -> [sets, K] links each place can have at most."""
        return np.asarray(self.links[held @ self.groups])


def is_even(job: Job) -> bool:
    """Whether the bridge deals lanes, and slices, in runs of one length."""
    return all(_even_axes(job))


def count(job: Job) -> int:
    """Number of bridge links."""
    if len(job.modules) == 1:
        return 0
    return job.dp * int(lanes_joined(job).sum()) * int(slices_joined(job).sum())


def lanes_joined(job: Job) -> BoolArray:
    """[encoder tp, decoder tp] whether two lanes of joined slices are joined."""
    left, right = (m.tp for m in job.modules)
    small, large = sorted((left, right))
    runs = [large // small + (x < large % small) for x in range(small)]
    owner = np.repeat(np.arange(small), runs)
    joined = np.arange(small)[:, None] == owner[None, :]
    return np.asarray(joined if left <= right else joined.T)


def slices_joined(job: Job) -> BoolArray:
    """[encoder cp, decoder cp] whether two slices hold a common piece of the sequence."""
    left, right = (m.cp for m in job.modules)
    i, j = np.arange(left)[:, None], np.arange(right)[None, :]
    return np.asarray((i * right < (j + 1) * left) & (j * left < (i + 1) * right))


def degrees(job: Job) -> tuple[int, int]:
    """Most bridge links of one slot, in the encoder and in the decoder."""
    lanes, slices = lanes_joined(job), slices_joined(job)
    left, right = (int(lanes.sum(k).max() * slices.sum(k).max()) for k in (1, 0))
    return left, right


def estimate(job: Job, lanes: tuple[IntArray, IntArray]) -> tuple[Side, Side]:
    """How to over-estimate the links between held lanes, encoder side and decoder side.

    Args:
        job: two modules.
        lanes: per module the lanes r = t + tp * (c + cp * d) that sets may hold.

    Returns:
        Sides such that pushed sets E and F (zero-one rows) have at most
        sum over k of min(encoder.most_links(E)[k], decoder.most_links(F)[k]) links.
    """
    encoder, decoder = map(_coordinates, job.modules, lanes)
    joined = [lanes_joined(job), slices_joined(job)]
    even = _even_axes(job)
    if all(even):  # a place for every link
        meet = encoder.copy[:, None] == decoder.copy[None, :]
        for axis in (0, 1):
            meet &= joined[axis][np.ix_(encoder.axes[axis], decoder.axes[axis])]
        ends = np.nonzero(meet)
        groups = [_one_hot(end, len(r)) for end, r in zip(ends, lanes, strict=True)]
        links = [np.arange(2), np.arange(2)]
    elif any(even):  # a place for every pair joined on the even axis
        axis = even.index(True)
        groups = _places(joined[axis], axis, encoder, decoder)
        links = [_prefix_sums(joined[1 - axis].sum(1 - m)) for m in (0, 1)]
    else:
        groups = [np.ones((len(r), 1), dtype=np.int64) for r in lanes]
        links = [d * np.arange(len(r) + 1) for d, r in zip(degrees(job), lanes, strict=True)]
    return Side(groups[0], links[0]), Side(groups[1], links[1])


@dataclass(frozen=True, slots=True)
class _Coordinates:
    axes: tuple[IntArray, IntArray]  # lane and slice of each
    copy: IntArray


def _coordinates(shape: ModuleShape, r: IntArray) -> _Coordinates:
    return _Coordinates((r % shape.tp, r // shape.tp % shape.cp), r // (shape.tp * shape.cp))


def _places(joined: BoolArray, axis: int, *sides: _Coordinates) -> list[IntArray]:
    """Incidence of either side's lanes in the places (copy, joined pair of values on `axis`)."""
    pairs = np.nonzero(joined)
    copies = np.intersect1d(sides[0].copy, sides[1].copy)
    copy = np.repeat(copies, len(pairs[0]))
    incidence = []
    for side, pair in zip(sides, pairs, strict=True):
        here = side.copy[:, None] == copy[None, :]
        here &= side.axes[axis][:, None] == np.tile(pair, len(copies))[None, :]
        incidence.append(here.astype(np.int64))
    return incidence


def _prefix_sums(degree: IntArray) -> IntArray:
    """[count] sum of the `count` largest."""
    return np.concatenate([[0], np.cumsum(np.sort(degree)[::-1])])


def _one_hot(index: IntArray, size: int) -> IntArray:
    return np.asarray(np.arange(size)[:, None] == index[None, :], dtype=np.int64)


def _even_axes(job: Job) -> list[bool]:
    """Whether runs have one length, for lanes and for slices."""
    return [_divides(*(m.tp for m in job.modules)), _divides(*(m.cp for m in job.modules))]


def _divides(a: int, b: int) -> bool:
    return a % b == 0 or b % a == 0
