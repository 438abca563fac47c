"""What one domain can hold of one block, up to symmetry: shapes, their own costs, their overlaps.

A *block* is `copies` data copies of one (module, stage); `copies` is 1 unless expert groups span
several. Its cells are the slots r = t + tp * (c + cp * d), one bit each, so a piece of the block is
a bit mask. Permutations of the cells that map every ring and every all-to-all group inside the
block onto another one split the masks into classes, the *shapes*. All costs are doubled, so that
half a pair link is an integer.

Two statements carry every bound built on this table, and both stay true if fewer permutations are
used, or some that do not respect the dp planes:

* own cost and touched plane rows of a shape are the least over its members,
* full plane rows and overlaps are the greatest over its members.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import lcm

import numpy as np

from planner_models.job import Job, ModuleShape, Weights
from planner_models.shapes.footprint import Footprint, TooManyStatesError, tilings
from planner_models.shapes.tilings import Ints, Tiler, TilingGraph, graph_of

MAX_CELLS = 16
"""Largest block whose subsets are listed (2 ** 16 masks)."""


@dataclass(frozen=True, slots=True)
class Family:
    """Groups of one kind as cell masks, with the weight of a link.

    Attributes:
        kind: "tp", "cp", "dp", "ep", "expt_tp" or "expt_dp".
        weight: cost of one link, not doubled.
        masks: the groups, or for a plane the cells a block adds to each of its groups.
    """

    kind: str
    weight: int
    masks: tuple[int, ...]


def copies_in_block(job: Job) -> int:
    """Data copies a block spans for every tp, cp, ep and expt_tp group to lie inside one block."""
    spans = [
        lcm(m.tp * m.cp, m.etp * m.ep) // (m.tp * m.cp) if m.ep > 1 else 1 for m in job.modules
    ]
    return lcm(*spans)


def _fibres(cells: int, key: Ints) -> tuple[int, ...]:
    """Masks of the cells that agree in `key`, in order of the key."""
    groups: dict[int, int] = {}
    for r in range(cells):
        groups[int(key[r])] = groups.get(int(key[r]), 0) | 1 << r
    return tuple(groups[k] for k in sorted(groups))


def inner_families(shape: ModuleShape, cells: int, w: Weights) -> tuple[Family, ...]:
    """Families whose groups lie inside a block, weightless ones left out."""
    r = np.arange(cells)
    found = [
        Family("tp", w.tp, _fibres(cells, r // shape.tp)) if shape.tp > 1 else None,
        Family("cp", w.cp, _fibres(cells, r % shape.tp + r // (shape.tp * shape.cp) * shape.tp))
        if shape.cp > 1
        else None,
    ]
    if shape.ep > 1:
        group = shape.etp * shape.ep
        found.append(Family("ep", w.ep, _fibres(cells, r // group * shape.etp + r % shape.etp)))
        if shape.etp > 1:
            found.append(Family("expt_tp", w.expt_tp, _fibres(cells, r // shape.etp)))
    return tuple(f for f in found if f is not None and f.weight > 0)


def plane_families(shape: ModuleShape, cells: int, dp: int, w: Weights) -> tuple[Family, ...]:
    """Families whose groups run across the blocks of a stage, weightless ones left out."""
    r = np.arange(cells)
    found = []
    if shape.cp * dp > 1:
        found.append(Family("dp", w.dp, _fibres(cells, r % shape.tp)))
    group = shape.etp * shape.ep
    if shape.ep > 1 and shape.tp * shape.cp * dp > group:
        found.append(Family("expt_dp", w.expt_dp, _fibres(cells, r % group)))
    return tuple(f for f in found if f.weight > 0)


def _digit_swaps(shape: ModuleShape, cells: int) -> Iterator[list[int]]:
    """Permutations of cells that may respect the groups: swaps of digit values, and a reversal.

    Digits are cut at 1, etp, etp * ep, tp, tp * cp and the block's size. Two values of a digit
    trade places everywhere, or, with experts, in one run of the next digit only.
    """
    cuts = {1, shape.tp, shape.tp * shape.cp, cells}
    if shape.ep > 1:
        cuts |= {shape.etp, shape.etp * shape.ep}
    for low, high in combinations(sorted(cuts), 2):
        if high % low or cells % high:
            continue
        runs: list[range] = [range(cells)]
        if shape.ep > 1:
            runs += [range(q * high, (q + 1) * high) for q in range(cells // high)]
        for run in runs:
            for value in range(high // low - 1):
                image = list(range(cells))
                for r in run:
                    digit = r // low % (high // low)
                    if digit == value:
                        image[r], image[r + low] = r + low, r
                yield image
    if shape.ep > 1:
        yield list(range(cells))[::-1]


def _move(masks: Ints, image: Sequence[int]) -> Ints:
    """Masks with bit r sent to bit image[r]."""
    moved = np.zeros_like(masks)
    for r, target in enumerate(image):
        moved |= (masks >> r & 1) << target
    return moved


class Block:
    """Shapes of a block of one module, for domains of at most `largest` slots.

    Args:
        shape: the module.
        dp: data copies of it.
        copies: data copies in a block.
        weights: cost of a link of each kind.
        largest: slots of the largest domain.
        spread: with the footprint rule, the most that the numbers of a context group in two domains
            differ by; shapes that no tiling under the rule uses are left out.

    Attributes:
        cells: slots of a block.
        blocks: blocks of a stage (data copies / copies in a block).
        planes: the dp and expt_dp families that run across the blocks of a stage.
        footprint: the rule that tilings keep, if any.
        shape_of: shape index of every mask, -1 for those that no domain holds, as the empty one.
        members: masks of each shape.
        size, own: cells and doubled own cost of each shape.
        rows, full: [plane, shape] plane groups touched at least, held in full at most.

    Example:
        >>> block = Block(ModuleShape(2, 2, 1), dp=1, copies=1, weights=Weights(10, 1, 0, 0),
        ...               largest=2)
        >>> [int(m[0]) for m in block.members], block.own.tolist()
        ([1, 3, 5, 6], [22, 4, 40, 44])
    """

    def __init__(
        self,
        shape: ModuleShape,
        *,
        dp: int,
        copies: int,
        weights: Weights,
        largest: int,
        spread: int | None = None,
    ) -> None:
        self.module = shape
        self.copies = copies
        self.cells = shape.tp * shape.cp * copies
        if self.cells > MAX_CELLS:
            raise ValueError(f"a block of {self.cells} cells exceeds {MAX_CELLS}")
        self.blocks = dp // copies
        self.families = inner_families(shape, self.cells, weights)
        self.planes = plane_families(shape, self.cells, dp, weights)
        self.footprint = None
        if spread is not None and shape.cp > 1:
            self.footprint = Footprint.of(shape.tp, shape.cp, cells=self.cells, spread=spread)
        images = self._symmetries()
        self.label = self._classify(images)
        bits = np.bitwise_count(self.label).astype(np.int64)
        leaders = np.unique(self.label)
        small = leaders[(leaders > 0) & (bits[leaders] <= largest)]
        self._number(small[np.lexsort((small, bits[small]))])
        self._ruled = self._keep_ruled(images)
        self.members = self._members()
        self.size = bits[self.leader]
        self.own = self._own()
        self.rows, self.full = self._plane_counts()

    def __len__(self) -> int:
        return self.leader.size

    def _symmetries(self) -> list[list[int]]:
        """Permutations of the cells that map groups of each kind onto such groups."""
        groups = [set(f.masks) for f in self.families]
        if self.footprint:
            groups += self.footprint.families
        return [
            image
            for image in _digit_swaps(self.module, self.cells)
            if all(set(_move(np.array([*f]), image).tolist()) == f for f in groups)
        ]

    def _classify(self, images: Sequence[Sequence[int]]) -> Ints:
        """Least member of every mask's class, by label propagation over the generators."""
        label = masks = np.arange(1 << self.cells, dtype=np.int64)
        moves = [_move(masks, image) for image in images]
        while True:
            before = label
            for moved in moves:
                label = np.minimum(label, label[moved])
            label = label[label]
            if np.array_equal(before, label):
                return label

    def _number(self, leaders: Ints) -> None:
        """Give the classes of these leaders, and no others, a shape each."""
        self.leader = leaders
        self.shape_of = np.full(1 << self.cells, -1, dtype=np.int64)
        self.shape_of[leaders] = np.arange(leaders.size)
        self.shape_of = self.shape_of[self.label]

    def _keep_ruled(self, images: Sequence[Sequence[int]]) -> TilingGraph | None:
        """The tilings under the rule, shapes left out that none of them uses."""
        if self.footprint is None:
            return None
        try:
            graph = tilings(self.footprint, self.shape_of, images)
        except TooManyStatesError:
            return None
        used = np.unique(graph.shape)
        self._number(self.leader[used])
        return replace(graph, shape=np.searchsorted(used, graph.shape))

    def _members(self) -> tuple[Ints, ...]:
        held = np.flatnonzero(self.shape_of >= 0)
        order = np.argsort(self.shape_of[held], kind="stable")
        counts = np.bincount(self.shape_of[held], minlength=len(self))
        return tuple(np.split(held[order], np.cumsum(counts)[:-1]))

    def _own(self) -> Ints:
        own = np.zeros(len(self), dtype=np.int64)
        for family in self.families:
            for mask in family.masks:
                held = np.bitwise_count(self.leader & mask).astype(np.int64)
                out = mask.bit_count() - held
                if family.kind == "ep":
                    own += family.weight * held * out
                else:
                    own += 2 * family.weight * ((held > 0) & (out > 0))
        return own

    def _plane_counts(self) -> tuple[Ints, Ints]:
        rows = np.zeros((len(self.planes), len(self)), dtype=np.int64)
        full = np.zeros_like(rows)
        for f, plane in enumerate(self.planes):
            for s, masks in enumerate(self.members):
                cells = masks[:, None] & np.array(plane.masks, dtype=np.int64)
                rows[f, s] = np.count_nonzero(cells, axis=1).min()
                full[f, s] = np.count_nonzero(cells == np.array(plane.masks), axis=1).max()
        return rows, full

    @cached_property
    def overlap(self) -> Ints:
        """[shape, shape] greatest number of common cells over all members of both."""
        common = np.zeros((len(self), len(self)), dtype=np.int64)
        for b, masks in enumerate(self.members):
            meet = np.bitwise_count(self.leader[:, None] & masks)
            common[:, b] = meet.max(axis=1)
        return common

    @cached_property
    def tilers(self) -> tuple[Tiler, ...]:
        """The blocks of a stage, cut into shapes."""
        graph = self._ruled or graph_of(int(self.label[-1]), int.bit_count, self._pieces)
        return (Tiler(self.blocks, graph, len(self)),)

    @property
    def uses(self) -> list[tuple[int, ...]]:
        """Per shape the pieces it is: itself."""
        return [(s,) for s in range(len(self))]

    def _pieces(self, left: int) -> list[tuple[int, int]]:
        """Distinct (class left, shape removed) among the pieces that hold the first cell left."""
        subsets = np.array([left & -left], dtype=np.int64)
        rest = left & (left - 1)
        while rest:
            subsets = np.concatenate([subsets, subsets | (rest & -rest)])
            rest &= rest - 1
        subsets = subsets[self.shape_of[subsets] >= 0]
        pieces = np.column_stack([self.label[left ^ subsets], self.shape_of[subsets]])
        return [(head, shape) for head, shape in np.unique(pieces, axis=0).tolist()]
