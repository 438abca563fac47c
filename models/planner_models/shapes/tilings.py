"""Every way to cut a block into shapes, as paths of an acyclic graph.

A vertex is a class of "cells left", a path runs from the whole block to nothing, and each arc
removes a piece that holds the first cell left, so every partition of the block is a path. Only the
classes matter: what is left after a piece has been removed is itself looked at up to symmetry.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


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

    def multisets(self, available: Counter[int], most: int) -> list[Counter[int]] | None:
        """Distinct multisets of available shapes that tile a block, unless far more than `most`.

        Args:
            available: shapes to use, and how many of each at most.
            most: distinct multisets listed at most for anything that can be left of the block.
        """
        known: dict[int, set[tuple[int, ...]]] = {v: set() for v in range(self.vertices)}
        known[0] = {()}
        arcs = zip(self.tail.tolist(), self.head.tolist(), self.shape.tolist(), strict=True)
        for tail, head, shape in arcs:  # tails in ascending order, every head before its tail
            if not available[shape]:
                continue
            known[tail] |= {
                tuple(sorted((*rest, shape)))
                for rest in known[head]
                if rest.count(shape) < available[shape]
            }
            if len(known[tail]) > most:
                return None
        return [Counter(tiling) for tiling in sorted(known[self.vertices - 1])]


@dataclass(frozen=True, slots=True)
class Tiler:
    """Things of one kind that a stage has, each tiled by pieces.

    Attributes:
        count: how many of them a stage has.
        graph: their tilings; shapes are pieces here.
        pieces: number of different pieces.
    """

    count: int
    graph: TilingGraph
    pieces: int


def graph_of(
    whole: int, cells: Callable[[int], int], pieces: Callable[[int], Iterable[tuple[int, int]]]
) -> TilingGraph:
    """The graph of everything that can be left of something.

    Args:
        whole: number of the class of the whole; 0 is nothing.
        cells: number of cells of a class.
        pieces: of a class, distinct (class left, shape removed) among the pieces that hold the
            first cell left.
    """
    arcs: dict[int, list[tuple[int, int]]] = {}
    waiting = {whole}
    while waiting:
        tail = waiting.pop()
        arcs[tail] = list(pieces(tail))
        waiting |= {head for head, _ in arcs[tail] if head and head not in arcs}
    order = [0, *sorted(arcs, key=lambda label: (cells(label), label))]
    number = {label: i for i, label in enumerate(order)}
    tails = np.array([number[tail] for tail in order[1:] for _ in arcs[tail]])
    heads = np.array([number[head] for tail in order[1:] for head, _ in arcs[tail]])
    shapes = np.array([shape for tail in order[1:] for _, shape in arcs[tail]])
    size = np.array([cells(label) for label in order])[tails]
    starts = [*np.flatnonzero(np.diff(size, prepend=-1)), size.size]
    layers = tuple(slice(int(a), int(b)) for a, b in pairwise(starts))
    return TilingGraph(len(order), tails, heads, shapes, layers)
