"""Tilings of a block in which context peers look alike.

The rule, for every data copy in a block that is cut into pieces, one a domain:

* span: the tensor groups of all context slices are touched by equally many pieces;
* even: of a context group, any two pieces that hold some hold numbers that differ by at most
  `spread`.

Both speak of a tiling and not of a piece, so vertices of the tiling graph remember, beside the
cells left (`tilings`), as much of the pieces removed as can still matter:

* a tensor group, how many pieces it lags behind the most touched one of its copy. Where some group
  of the copy is used up, the others have to catch up exactly; in any case one with k cells left
  can catch up by at most k.
* a context group, the multisets of sizes that what is left of it may be cut into. At first these
  are the partitions of cp whose parts differ by at most `spread`; a piece of size n leaves those
  with a part n, less that part.

Permutations of the cells that move tensor groups, context groups and copies onto such move states
along. One state stands for all that it can be moved to; where the search for it ends early, there
are more vertices than need be, and the same tilings.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from planner_models.shapes.tilings import Ints, TilingGraph, graph_of

MOST_STATES = 6_000
"""Vertices looked at; a block with more is tiled as if there were no rule, a weaker bound."""

Sizes = tuple[int, ...]


class TooManyStatesError(ValueError):
    """A block has more states than are looked at."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """The groups of a block that the rule speaks of.

    Attributes:
        cells: slots of a block.
        peers: per data copy the masks of its tensor groups.
        rings: masks of the context groups.
        spread: most that the numbers of a context group in two domains differ by.

    Example:
        >>> Footprint.of(2, 3, cells=6, spread=1).rings
        (21, 42)
    """

    cells: int
    peers: tuple[tuple[int, ...], ...]
    rings: tuple[int, ...]
    spread: int

    @classmethod
    def of(cls, tp: int, cp: int, *, cells: int, spread: int) -> "Footprint":
        """The groups of a block of tp * cp slots, or of several copies of that."""
        column = (1 << tp) - 1
        lane = sum(1 << tp * c for c in range(cp))
        copies = range(0, cells, tp * cp)
        return cls(
            cells,
            tuple(tuple(column << k + tp * c for c in range(cp)) for k in copies),
            tuple(lane << k + t for k in copies for t in range(tp)),
            spread,
        )

    @property
    def families(self) -> list[set[int]]:
        """What a permutation has to respect: tensor groups, context groups, copies."""
        copies = {sum(columns) for columns in self.peers}
        return [{c for columns in self.peers for c in columns}, set(self.rings), copies]


def tilings(footprint: Footprint, shape_of: Ints, images: Sequence[Sequence[int]]) -> TilingGraph:
    """The graph of the tilings that keep the rule.

    Args:
        footprint: the rule.
        shape_of: [mask] shape of a piece, -1 where no domain holds such a piece.
        images: permutations of the cells that respect the shapes and `footprint.families`.

    Raises:
        TooManyStatesError: more than `MOST_STATES` states.
    """
    states = _States(footprint, shape_of, images)
    arcs: dict[int, list[tuple[int, int]]] = {}
    waiting = {states.whole}
    while waiting:
        state = waiting.pop()
        arcs[state] = states.pieces(state)
        waiting |= {head for head, _ in arcs[state] if head and head not in arcs}
        if len(arcs) + len(waiting) > MOST_STATES:
            raise TooManyStatesError
    alive = {0}
    for state in sorted(arcs, key=states.cells_left):
        arcs[state] = [(head, shape) for head, shape in arcs[state] if head in alive]
        if arcs[state]:
            alive.add(state)
    return graph_of(states.whole, states.cells_left, arcs.__getitem__)


@dataclass(frozen=True, slots=True)
class _Symmetry:
    """A permutation: the image of every mask, the source of every tensor and context group."""

    mask: Ints
    columns: Ints
    rings: Ints


class _States:
    """States as numbers: cells left in the low bits, then context groups, then lags.

    Nothing left is state 0.
    """

    def __init__(
        self, footprint: Footprint, shape_of: Ints, images: Sequence[Sequence[int]]
    ) -> None:
        self._shape_of = shape_of
        self._cells = footprint.cells
        self._columns = np.array([c for columns in footprint.peers for c in columns])
        self._rings = np.array(footprint.rings)
        self._copies = len(footprint.peers)
        self._next = _ring_states(footprint.rings[0].bit_count(), footprint.spread)
        deepest = footprint.peers[0][0].bit_count()
        ring_bits, lag_bits = len(self._next).bit_length(), deepest.bit_length()
        first_lag = self._cells + ring_bits * self._rings.size
        if first_lag + lag_bits * self._columns.size >= 63:
            raise TooManyStatesError
        self._ring_at = self._cells + ring_bits * np.arange(self._rings.size)
        self._lag_at = first_lag + lag_bits * np.arange(self._columns.size)
        self._ring_mask, self._lag_mask = (1 << ring_bits) - 1, (1 << lag_bits) - 1
        self._symmetries = [self._symmetry(image) for image in images]
        full = (1 << self._cells) - 1
        self.whole = full + sum((len(self._next) - 1) << int(at) for at in self._ring_at)

    def cells_left(self, state: int) -> int:
        """Number of cells left."""
        return (state & (1 << self._cells) - 1).bit_count()

    def pieces(self, state: int) -> list[tuple[int, int]]:
        """Distinct (state left, shape removed) among the pieces that hold the first cell left."""
        left = state & (1 << self._cells) - 1
        rings = state >> self._ring_at & self._ring_mask
        lags = state >> self._lag_at & self._lag_mask
        pieces = self._subsets(left, rings)
        rings = self._rings_after(rings, pieces)
        lags, kept = self._lags_after(lags, left, pieces)
        heads = self._canonical((left ^ pieces)[kept], rings[kept], lags[kept])
        found = np.unique(np.column_stack([heads, self._shape_of[pieces[kept]]]), axis=0)
        return [(head, shape) for head, shape in found.tolist()]

    def _subsets(self, left: int, rings: Ints) -> Ints:
        """Pieces of the cells left that hold the first and take an allowed part of each ring."""
        first = left & -left
        found = np.zeros(1, dtype=np.int64)
        for ring, at in zip(self._rings.tolist(), rings.tolist(), strict=True):
            sizes = np.flatnonzero(self._next[at] >= 0)
            parts = _subsets_of(ring & left)
            parts = parts[np.isin(np.bitwise_count(parts), sizes)]
            if ring & first:
                parts = parts[parts & first > 0]
            found = (found[:, None] | parts).ravel()
        return found[self._shape_of[found] >= 0]

    def _rings_after(self, rings: Ints, pieces: Ints) -> Ints:
        """[piece, ring] what the rings may still be cut into."""
        taken = np.bitwise_count(pieces[:, None] & self._rings)
        after: Ints = self._next[rings, taken]
        return after

    def _lags_after(self, lags: Ints, left: int, pieces: Ints) -> tuple[Ints, Ints]:
        """[piece, tensor group] lags, and the pieces after which none is hopeless."""
        behind = lags - (pieces[:, None] & self._columns > 0)
        behind = behind.reshape(len(pieces), self._copies, -1)
        behind -= behind.min(axis=2, keepdims=True)
        remaining = np.bitwise_count((left ^ pieces)[:, None] & self._columns).astype(np.int64)
        remaining = remaining.reshape(behind.shape)
        closing = (remaining == 0).any(axis=2, keepdims=True)
        hopeless = (behind > remaining) | (closing & (behind == 0) & (remaining > 0))
        kept = np.flatnonzero(~hopeless.any(axis=(1, 2)))
        return behind.reshape(len(pieces), -1), kept

    def _canonical(self, left: Ints, rings: Ints, lags: Ints) -> Ints:
        """Numbers of states, each moved downwards by symmetries as long as one does that."""
        state = self._numbered(left, rings, lags)
        moving = np.arange(state.size)
        while moving.size:
            before = state[moving]
            for symmetry in self._symmetries:
                image = symmetry.mask[left[moving]]
                ring, lag = rings[moving][:, symmetry.rings], lags[moving][:, symmetry.columns]
                moved = self._numbered(image, ring, lag)
                lower = moved < state[moving]
                to = moving[lower]
                state[to], left[to] = moved[lower], image[lower]
                rings[to], lags[to] = ring[lower], lag[lower]
            moving = moving[state[moving] < before]
        return state

    def _numbered(self, left: Ints, rings: Ints, lags: Ints) -> Ints:
        number: Ints = left + (rings << self._ring_at).sum(axis=1)
        number += (lags << self._lag_at).sum(axis=1)
        return number

    def _symmetry(self, image: Sequence[int]) -> _Symmetry:
        masks = np.arange(1 << self._cells, dtype=np.int64)
        moved = np.zeros_like(masks)
        for r, target in enumerate(image):
            moved |= (masks >> r & 1) << target
        return _Symmetry(
            moved,
            _sources(moved[self._columns], self._columns),
            _sources(moved[self._rings], self._rings),
        )


def _sources(moved: Ints, groups: Ints) -> Ints:
    """Index of the group that each group is the image of."""
    return np.array([int(np.flatnonzero(moved == g)[0]) for g in groups])


def _subsets_of(mask: int) -> Ints:
    subsets = np.zeros(1, dtype=np.int64)
    while mask:
        subsets = np.concatenate([subsets, subsets | (mask & -mask)])
        mask &= mask - 1
    return subsets


def _ring_states(size: int, spread: int) -> Ints:
    """[state, cells taken] the state after, -1 where that may not be; state 0 is used up.

    A state is the set of multisets that what is left may be cut into; the last one is the whole.
    """
    whole = frozenset(p for p in _partitions(size, size) if p[0] - p[-1] <= spread)
    after: dict[frozenset[Sizes], list[frozenset[Sizes]]] = {}
    waiting = [whole]
    while waiting:
        state = waiting.pop()
        after[state] = [state] + [
            frozenset(_without(sizes, n) for sizes in state if n in sizes)
            for n in range(1, size + 1)
        ]
        waiting += [s for s in after[state] if s and s not in after]
    ordered = sorted(after, key=lambda state: (sum(next(iter(state))), sorted(state)))
    number = {state: i for i, state in enumerate(ordered)}
    return np.array([[number.get(s, -1) for s in after[state]] for state in ordered])


def _partitions(total: int, largest: int) -> Iterator[Sizes]:
    """Ways to write a number as a sum of descending parts."""
    if not total:
        yield ()
    for part in range(min(total, largest), 0, -1):
        for rest in _partitions(total - part, part):
            yield (part, *rest)


def _without(sizes: Sizes, part: int) -> Sizes:
    at = sizes.index(part)
    return sizes[:at] + sizes[at + 1 :]
