"""Every way to cut a block into shapes, as paths of an acyclic graph.

A vertex is a class of "cells left", a path runs from the whole block to nothing, and each arc
removes a piece that holds the first cell left, so every partition of the block is a path. Only the
classes matter: what is left after a piece has been removed is itself looked at up to symmetry.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from planner_models.shapes.blocks import Block, Ints


@dataclass(frozen=True, slots=True)
class TilingGraph:
    """Paths of shapes that tile a block, vertices ordered from nothing to the whole block.

    Attributes:
        vertices: number of vertices; vertex 0 is the empty class, the last one the whole block.
        tail, head, shape: per arc the larger class, the smaller one, and the shape removed; sorted
            by tail.
        layers: arc ranges whose tails have equally many cells, smallest first.
    """

    vertices: int
    tail: Ints
    head: Ints
    shape: Ints
    layers: tuple[slice, ...]

    def to_empty(self, price: Ints) -> Ints:
        """[stage, vertex] price of the cheapest way to cut up what is left.

        Args:
            price: [stage, shape] price of a piece.
        """
        cheapest = np.zeros((price.shape[0], self.vertices), dtype=np.int64)
        for layer in self.layers:
            tails = self.tail[layer]
            first = np.flatnonzero(np.diff(tails, prepend=-1))
            through = price[:, self.shape[layer]] + cheapest[:, self.head[layer]]
            cheapest[:, tails[first]] = np.minimum.reduceat(through, first, axis=1)
        return cheapest

    def from_whole(self, price: Ints) -> Ints:
        """[stage, vertex] price of the cheapest way to leave exactly a vertex's cells."""
        unreached = np.iinfo(np.int64).max // 4
        cheapest = np.full((price.shape[0], self.vertices), unreached, dtype=np.int64)
        cheapest[:, -1] = 0
        for layer in reversed(self.layers):
            through = price[:, self.shape[layer]] + cheapest[:, self.tail[layer]]
            np.minimum.at(cheapest.T, self.head[layer], through.T)
        return cheapest

    def excess(self, price: Ints) -> Ints:
        """[stage, arc] how much the cheapest path through an arc exceeds the cheapest path."""
        below, above = self.to_empty(price), self.from_whole(price)
        through = above[:, self.tail] + price[:, self.shape] + below[:, self.head]
        return through - below[:, -1:]

    def cheapest_paths(self, price: Ints, to_empty: Ints) -> list[tuple[int, ...]]:
        """Shapes on one cheapest path of each stage, in ascending order."""
        starts = np.searchsorted(self.tail, np.arange(self.vertices + 1))
        paths = []
        for stage in range(price.shape[0]):
            at, pieces = self.vertices - 1, []
            while at:
                arcs = slice(starts[at], starts[at + 1])
                through = price[stage, self.shape[arcs]] + to_empty[stage, self.head[arcs]]
                best = starts[at] + int(np.argmin(through))
                pieces.append(int(self.shape[best]))
                at = int(self.head[best])
            paths.append(tuple(sorted(pieces)))
        return paths

    def multisets(self, available: Counter[int]) -> list[Counter[int]]:
        """Distinct multisets of available shapes that tile a block."""
        known: dict[int, set[tuple[int, ...]]] = {v: set() for v in range(self.vertices)}
        known[0] = {()}
        arcs = zip(self.tail.tolist(), self.head.tolist(), self.shape.tolist(), strict=True)
        for tail, head, shape in arcs:  # tails in ascending order, every head before its tail
            known[tail] |= {
                tuple(sorted((*rest, shape)))
                for rest in known[head]
                if rest.count(shape) < available[shape]
            }
        return [Counter(tiling) for tiling in sorted(known[self.vertices - 1])]


def tiling_graph(block: Block) -> TilingGraph:
    """All cuts of a block into the shapes it lists.

    Raises:
        ValueError: some cells can never be covered (domains hold nothing).
    """
    whole = (1 << block.cells) - 1
    arcs: dict[int, Ints] = {}  # tail label -> [arc, (head label, shape)]
    waiting = {int(block.label[whole])}
    while waiting:
        tail = waiting.pop()
        arcs[tail] = _pieces(block, tail)
        waiting |= {int(h) for h in np.unique(arcs[tail][:, 0]) if h and int(h) not in arcs}
    order = sorted(arcs, key=lambda label: (label.bit_count(), label))
    number = {label: i for i, label in enumerate([0, *order])}
    tails = np.concatenate([np.full(len(arcs[label]), number[label]) for label in order])
    heads = np.array([number[int(h)] for label in order for h in arcs[label][:, 0]])
    shapes = np.concatenate([arcs[label][:, 1] for label in order])
    cells = np.array([label.bit_count() for label in [0, *order]])[tails]
    starts = [*np.flatnonzero(np.diff(cells, prepend=-1)), cells.size]
    layers = tuple(slice(int(a), int(b)) for a, b in pairwise(starts))
    return TilingGraph(len(number), tails, heads, shapes, layers)


def _pieces(block: Block, left: int) -> Ints:
    """Distinct (class left, shape removed) among the pieces that hold the first cell left."""
    subsets = np.array([left & -left], dtype=np.int64)
    rest = left & (left - 1)
    while rest:
        subsets = np.concatenate([subsets, subsets | (rest & -rest)])
        rest &= rest - 1
    subsets = subsets[block.shape_of[subsets] >= 0]
    return np.unique(
        np.column_stack([block.label[left ^ subsets], block.shape_of[subsets]]), axis=0
    )
