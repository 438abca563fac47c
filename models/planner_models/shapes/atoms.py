"""Shapes of blocks too large to list all subsets of: counts on atoms, prices on groups.

An *atom* is a set of cells that lie in the same groups of every family, so which of its cells a
domain holds does not matter: a content is a count for each atom. Two atoms that can trade places,
with every group going onto a group, are twins. Only small contents are listed, with descending
counts on twins.

What is too large to list is the ways to cut up the block. So the coupling is split: each family
couples what contents hold of its groups, with tilings of one group at a time. A partition of the
block partitions every group, so every placement still satisfies all of it: the bound stays valid,
and only forgets that the partitions of different groups hang together. Contents that are alike in
the pieces of all their groups cannot be told apart by prices and form one shape.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import combinations, product

import numpy as np

from planner_models.job import ModuleShape, Weights
from planner_models.shapes.blocks import Family, inner_families, plane_families
from planner_models.shapes.tilings import Ints, Tiler, TilingGraph, graph_of

MOST_CONTENTS = 60_000
"""Contents listed at most."""

MOST_CLASSES = 400
"""Shapes at most, if pieces tell the atoms of a group apart."""

_MOST_TYPED = 4
"""Atoms of a group at most that its pieces tell apart; beyond, they tell the number of cells."""

Counts = tuple[int, ...]


class TooManyContentsError(ValueError):
    """A block has more small contents than are listed."""


class SplitBlock:
    """A block known by its small contents and the tilings of its groups; see `blocks.Block`.

    Raises:
        TooManyContentsError: more than `MOST_CONTENTS` contents.
    """

    def __init__(
        self, shape: ModuleShape, *, dp: int, copies: int, weights: Weights, largest: int
    ) -> None:
        self.module = shape
        self.copies = copies
        self.cells = shape.tp * shape.cp * copies
        self.blocks = dp // copies
        self.planes = plane_families(shape, self.cells, dp, weights)
        whole = Family("block", 0, ((1 << self.cells) - 1,))
        self._families = (*inner_families(shape, self.cells, weights), whole)
        self._find_atoms()
        self._largest = largest
        self._classify(np.array(list(self._list_contents()), dtype=np.int64))
        self.own = self._own()
        self.rows, self.full = self._plane_counts()

    def __len__(self) -> int:
        return len(self.uses)

    def _find_atoms(self) -> None:
        """Atoms, their sizes, the atoms of every group, and which atoms are twins."""
        keys = np.array(
            [
                [next(g for g, m in enumerate(f.masks) if m >> r & 1) for f in self._families]
                for r in range(self.cells)
            ]
        )
        _, atom, sizes = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
        self._atom = atom.ravel()
        self._sizes: list[int] = sizes.tolist()
        self._groups = [[self._atoms_in(m) for m in f.masks] for f in self._families]
        n = len(self._sizes)
        self._twin = list(range(n))
        for i, j in combinations(range(n), 2):
            if self._twin[j] == j and self._are_twins(i, j):
                self._twin[j] = self._twin[i]

    def _atoms_in(self, mask: int) -> tuple[int, ...]:
        held = {int(self._atom[r]) for r in range(self.cells) if mask >> r & 1}
        return tuple(sorted(held))

    def _are_twins(self, i: int, j: int) -> bool:
        """Whether swapping two atoms moves every group onto a group."""
        swap = {i: j, j: i}
        return self._sizes[i] == self._sizes[j] and all(
            {tuple(sorted(swap.get(a, a) for a in g)) for g in groups} == set(groups)
            for groups in self._groups
        )

    def _list_contents(self) -> Iterator[Counts]:
        """Counts on atoms, at least one cell, few enough for a domain, descending on twins."""
        listed = 0
        before = [
            max((j for j in range(i) if t == self._twin[j]), default=None)
            for i, t in enumerate(self._twin)
        ]
        stack: list[Counts] = [()]
        while stack:
            held = stack.pop()
            if len(held) == len(self._sizes):
                if any(held):
                    listed += 1
                    if listed > MOST_CONTENTS:
                        raise TooManyContentsError
                    yield held
                continue
            i = len(held)
            most = min(self._sizes[i], self._largest - sum(held))
            earlier = before[i]
            if earlier is not None:
                most = min(most, held[earlier])
            stack += [(*held, count) for count in range(most + 1)]

    def _classify(self, contents: Ints) -> None:
        """Contents that use the same pieces cost the same and are one class."""
        self._typed = _MOST_TYPED
        self.tilers, pieces = self._tilers(contents)
        if len(set(pieces)) > MOST_CLASSES:
            self._typed = 0
            self.tilers, pieces = self._tilers(contents)
        size = contents.sum(axis=1)
        classes: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for i, used in enumerate(pieces):
            classes.setdefault((int(size[i]), used), []).append(i)
        ordered = sorted(classes)
        self.size = np.array([s for s, _ in ordered])
        self.uses = [used for _, used in ordered]
        self._contents = contents[[i for key in ordered for i in classes[key]]]
        self._starts = np.cumsum([0, *(len(classes[key]) for key in ordered)])

    def _held(self, contents: Ints, groups: list[Counts]) -> Ints:
        """[content, group] cells held of each group."""
        return np.stack([contents[:, list(g)].sum(axis=1) for g in groups], axis=1)

    def _own(self) -> Ints:
        leaders = self._contents[self._starts[:-1]]
        own = np.zeros(len(self), dtype=np.int64)
        for family, groups in zip(self._families, self._groups, strict=True):
            held = self._held(leaders, groups)
            out = np.array([sum(self._sizes[a] for a in g) for g in groups]) - held
            if family.kind == "ep":
                own += family.weight * (held * out).sum(axis=1)
            else:
                own += 2 * family.weight * ((held > 0) & (out > 0)).sum(axis=1)
        return own

    def _plane_counts(self) -> tuple[Ints, Ints]:
        """Least rows touched, most rows filled, from runs of cells that lie in one row each.

        A run holds at least what its own atoms hold, at most what all atoms it shares in hold.
        """
        rows = np.zeros((len(self.planes), len(self)), dtype=np.int64)
        full = np.zeros_like(rows)
        for f, plane in enumerate(self.planes):
            length = len(plane.masks)
            inside = np.array(
                [
                    np.bincount(run, minlength=len(self._sizes))
                    for run in self._atom.reshape(-1, length)
                ]
            )
            surely = (self._contents @ (inside == np.array(self._sizes)).T).max(axis=1)
            possibly = (self._contents @ (inside > 0).T).min(axis=1)
            deep = self.cells // length
            touched = np.maximum(surely, -(-self._contents.sum(axis=1) // deep))
            filled = np.minimum(possibly, self._contents.sum(axis=1) // deep)
            rows[f] = np.minimum.reduceat(touched, self._starts[:-1])
            full[f] = np.maximum.reduceat(filled, self._starts[:-1])
        return rows, full

    @cached_property
    def overlap(self) -> Ints:
        """[shape, shape] greatest number of common cells; 0 if too large for one domain."""
        common = np.zeros((len(self), len(self)), dtype=np.int64)
        for a in range(len(self)):
            fitting = int(np.searchsorted(self.size, self._largest - self.size[a], side="right"))
            if fitting:
                ours = self._contents[self._starts[a] : self._starts[a + 1], None]
                theirs = self._contents[: self._starts[fitting]]
                meet = np.minimum(ours, theirs).sum(axis=2).max(axis=0)
                common[a, :fitting] = np.maximum.reduceat(meet, self._starts[:fitting])
        return common

    def _tilers(self, contents: Ints) -> tuple[tuple[Tiler, ...], list[tuple[int, ...]]]:
        """A tiler for each kind of group, and the pieces every content has of all groups."""
        tilers: list[Tiler] = []
        uses: list[list[int]] = [[] for _ in contents]
        first = 0
        for groups in self._groups:
            kinds: dict[Counts, list[Counts]] = {}
            for group in groups:
                kinds.setdefault(self._kind(group), []).append(group)
            for kind, alike in kinds.items():
                graph, number = _group_tilings(kind, self._largest)
                tilers.append(Tiler(len(alike) * self.blocks, graph, len(number)))
                for used, content in zip(uses, contents, strict=True):
                    held = (self._piece(content, group) for group in alike)
                    used += [first + number[piece] for piece in held if any(piece)]
                first += len(number)
        return tuple(tilers), [tuple(sorted(used)) for used in uses]

    def _kind(self, group: tuple[int, ...]) -> Counts:
        """Sizes of a group's atoms, or its size if atoms are not told apart."""
        sizes = sorted(self._sizes[a] for a in group)
        return tuple(sizes) if len(sizes) <= self._typed else (sum(sizes),)

    def _piece(self, content: Ints, group: tuple[int, ...]) -> Counts:
        """What a content holds of a group: counts on its atoms, or in all."""
        if len(group) > self._typed:
            return (int(content[list(group)].sum()),)
        atoms = sorted(group, key=lambda a: self._sizes[a])
        counts = tuple(int(content[a]) for a in atoms)
        return _canonical(counts, tuple(self._sizes[a] for a in atoms))


def _canonical(counts: Counts, sizes: Counts) -> Counts:
    """Counts descending among atoms of equal size (sizes ascending)."""
    return tuple(
        c for _, c in sorted(zip(sizes, counts, strict=True), key=lambda sc: (sc[0], -sc[1]))
    )


def _group_tilings(sizes: Counts, largest: int) -> tuple[TilingGraph, dict[Counts, int]]:
    """Ways to cut up one group, and the number of every piece."""
    number: dict[Counts, int] = {}
    code: dict[Counts, int] = {(0,) * len(sizes): 0}
    left: dict[int, Counts] = {0: (0,) * len(sizes)}

    def coded(counts: Counts) -> int:
        if counts not in code:
            code[counts] = len(code)
            left[code[counts]] = counts
        return code[counts]

    def pieces(label: int) -> set[tuple[int, int]]:
        whole = left[label]
        first = next(a for a, count in enumerate(whole) if count)
        found = set()
        for held in product(*(range(count + 1) for count in whole)):
            if held[first] and sum(held) <= largest:
                piece = number.setdefault(_canonical(held, sizes), len(number))
                rest = tuple(count - h for count, h in zip(whole, held, strict=True))
                found.add((coded(_canonical(rest, sizes)), piece))
        return found

    graph = graph_of(coded(sizes), lambda label: sum(left[label]), pieces)
    return graph, number
