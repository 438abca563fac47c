"""What a leaf can hold of a block, and how that is cut into what its nodes hold.

A *content* is a class of non-empty subsets of a block's cells (`shapes.blocks`). A block is cut
twice: into contents, one a leaf, and each content into shapes, one a node. Both cuts are paths of
one acyclic graph whose vertices are nothing (0) and every content (its number plus 1); an arc
removes a content that holds the first cell left. The arcs that remove shapes small enough for a
node are the second graph.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from planner_models.shapes.blocks import Block
from planner_models.shapes.tilings import Ints, TilingGraph


@dataclass(frozen=True, slots=True)
class Cuts:
    """The two graphs of a block.

    Attributes:
        outer: the whole block into contents.
        inner: any content into shapes.
        shapes: number of shapes; they are the first contents.
    """

    outer: TilingGraph
    inner: TilingGraph
    shapes: int


def cuts_of(block: Block, largest: int) -> Cuts:
    """The graphs of a block whose contents are all known.

    Args:
        block: the block.
        largest: slots of the largest node.
    """
    arcs = [
        np.column_stack([np.full(len(found), vertex), found])
        for vertex, left in enumerate(block.leader.tolist(), 1)
        for found in [_pieces(block, left)]
    ]
    outer = np.concatenate(arcs)
    inner = outer[block.size[outer[:, 2]] <= largest]
    return Cuts(
        _graph(block, outer), _graph(block, inner), int(np.searchsorted(block.size, largest + 1))
    )


def _pieces(block: Block, left: int) -> Ints:
    """[piece, (vertex left, content removed)] of the pieces that hold the first cell left."""
    subsets = np.array([left & -left], dtype=np.int64)
    rest = left & (left - 1)
    while rest:
        subsets = np.concatenate([subsets, subsets | (rest & -rest)])
        rest &= rest - 1
    pieces = np.column_stack([block.shape_of[left ^ subsets] + 1, block.shape_of[subsets]])
    unique: Ints = np.unique(pieces, axis=0)
    return unique


def _graph(block: Block, arcs: Ints) -> TilingGraph:
    tail, head, content = arcs.T
    size = block.size[tail - 1]
    starts = [*np.flatnonzero(np.diff(size, prepend=-1)), size.size]
    layers = tuple(slice(int(a), int(b)) for a, b in pairwise(starts))
    return TilingGraph(len(block) + 1, tail, head, content, layers)


def cheapest_path(graph: TilingGraph, price: Ints, to_empty: Ints, vertex: int) -> tuple[int, ...]:
    """What one cheapest path from a vertex removes, in ascending order.

    Args:
        graph: the graph.
        price: [content] prices.
        to_empty: [vertex] price of the cheapest path to nothing.
        vertex: where to start.
    """
    removed = []
    while vertex:
        low, high = np.searchsorted(graph.tail, [vertex, vertex + 1])
        through = price[graph.shape[low:high]]
        best = low + int(np.argmin(through + to_empty[graph.head[low:high]]))
        removed.append(int(graph.shape[best]))
        vertex = int(graph.head[best])
    return tuple(sorted(removed))


def cheap_paths(
    graph: TilingGraph, price: Ints, to_empty: Ints, keep: int
) -> list[tuple[int, ...]]:
    """Paths from the whole block, cheapest first: a cheapest one for each of `keep` first steps."""
    first = int(np.searchsorted(graph.tail, graph.vertices - 1))
    through = price[graph.shape[first:]] + to_empty[graph.head[first:]]
    steps = first + np.argsort(through, kind="stable")[:keep]
    return [
        (
            int(graph.shape[step]),
            *cheapest_path(graph, price, to_empty, int(graph.head[step])),
        )
        for step in steps.tolist()
    ]
