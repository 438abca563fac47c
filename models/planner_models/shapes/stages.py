"""The stages of a job as a graph whose arcs are the links of a pipeline.

Stages of the encoder, then of the decoder, are the vertices. Arcs are pipeline neighbours, the
bridge, the wrap of interleaved stages and tied embeddings: a path, and a cycle where wrap or
embeddings close it. An arc credits two shapes with the greatest number of links they can share,
over all members of both, so what it says is saved is an upper estimate.
"""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import permutations, product
from math import factorial

import numpy as np
import numpy.typing as npt

from planner_models import bridge
from planner_models.job import Job, Weights
from planner_models.shapes.blocks import Block, Ints, copies_in_block

_MOST_ORDERS = 200
"""Pairs of slice orders tried one by one across a bridge between unequal cp."""


@dataclass(frozen=True, slots=True)
class Arc:
    """A kind of link between two stages of every lane.

    Attributes:
        ends: stage indices, ascending.
        modules: modules of the ends; arcs of the same modules differ in weight alone.
        weight: cost of one link a lane pays, parallel links added up.
        overlap: [shape of the first, shape of the second] links inside a domain at most.
        linked: [cell of the first] mask of the cells of the second it is linked with.
    """

    ends: tuple[int, int]
    modules: tuple[int, int]
    weight: int
    overlap: Ints
    linked: Ints

    @property
    def credit(self) -> Ints:
        """[shape, shape] doubled cost saved at most."""
        return 2 * self.weight * self.overlap

    def links(self, first: Ints, second: Ints) -> Ints:
        """[mask of the first, mask of the second] links between the cells of two masks."""
        links = np.zeros((first.size, second.size), dtype=np.int64)
        for cell, linked in enumerate(self.linked.tolist()):
            links += (first[:, None] >> cell & 1) * np.bitwise_count(second & linked)
        return links


@dataclass(frozen=True, slots=True)
class StageGraph:
    """The stages of a job as one graph, with a row for every (stage, shape).

    Attributes:
        blocks: block of each module.
        module: module index of every stage, encoder stages first.
        offset: first row of every stage; one more entry for the number of rows.
        arcs: links between stages, parallel ones merged, weightless ones left out.
        constant: doubled cost of all pair links, as if every one were cut.
    """

    blocks: tuple[Block, ...]
    module: tuple[int, ...]
    offset: tuple[int, ...]
    arcs: tuple[Arc, ...]
    constant: int

    @property
    def rows(self) -> int:
        """Number of (stage, shape) pairs."""
        return self.offset[-1]

    def block(self, stage: int) -> Block:
        """The block a stage is made of."""
        return self.blocks[self.module[stage]]

    def stage_and_shape(self, row: int) -> tuple[int, int]:
        """The stage a row belongs to, and the shape on it."""
        stage = bisect_right(self.offset, row) - 1
        return stage, row - self.offset[stage]

    def stage_of_row(self) -> Ints:
        """[row] the stage a row belongs to."""
        return np.repeat(np.arange(len(self.module)), np.diff(self.offset))


def stage_graph(job: Job, weights: Weights, largest: int) -> StageGraph:
    """Blocks, stages and arcs of a job whose domains hold at most `largest` slots."""
    copies = copies_in_block(job)
    blocks = tuple(
        Block(m, dp=job.dp, copies=copies, weights=weights, largest=largest) for m in job.modules
    )
    module = tuple(i for i, m in enumerate(job.modules) for _ in range(m.pp))
    offset = np.concatenate([[0], np.cumsum([len(blocks[i]) for i in module])])
    weight = _pair_weights(job, weights)
    constant = (
        2
        * job.dp
        * sum(
            w * job.modules[module[a]].tp * job.modules[module[a]].cp
            for (a, _), w in weight.items()
        )
    )
    arcs = []
    for ends, w in weight.items():
        m = module[ends[0]]
        arcs.append(Arc(ends, (m, m), w, blocks[m].overlap, 1 << np.arange(blocks[m].cells)))
    if len(blocks) == 2:
        ends = (job.modules[0].pp - 1, job.modules[0].pp)
        linked = _linked(job, copies)
        arcs.append(Arc(ends, (0, 1), weights.pp, _bridge(job, *blocks), linked))
        constant += 2 * weights.pp * bridge.count(job)
    return StageGraph(
        blocks,
        module,
        tuple(int(o) for o in offset),
        tuple(arc for arc in arcs if arc.weight > 0),
        constant,
    )


def _pair_weights(job: Job, weights: Weights) -> dict[tuple[int, int], int]:
    """Weight a lane pays between two stages of one module, parallel links added up."""
    weight: dict[tuple[int, int], int] = {}
    first = 0
    for i, m in enumerate(job.modules):
        last = first + m.pp - 1
        weight |= {(p, p + 1): weights.pp for p in range(first, last)}
        if m.pp > 1:
            closing = weights.pp if m.vpp > 1 else 0
            closing += weights.embd if job.tied and i == len(job.modules) - 1 else 0
            weight[first, last] = weight.get((first, last), 0) + closing
        first = last + 1
    return weight


def _linked(job: Job, copies: int) -> Ints:
    """[encoder cell] mask of the decoder cells it is linked with."""
    inside = np.kron(bridge.slices_joined(job), bridge.lanes_joined(job))
    joined = np.kron(np.eye(copies, dtype=np.int64), inside)
    return joined @ (1 << np.arange(joined.shape[1]))


def _bridge(job: Job, encoder: Block, decoder: Block) -> Ints:
    """[encoder shape, decoder shape] inner bridge links at most."""
    lanes, feeds = bridge.lanes_joined(job), bridge.slices_joined(job)
    # the links of the k busiest lanes of either side, inside one pair of slices
    left, right = (
        np.concatenate([[0], np.cumsum(np.sort(lanes.sum(axis=axis))[::-1])]) for axis in (1, 0)
    )
    held = [[b.slice_counts(s) for s in range(len(b))] for b in (encoder, decoder)]
    most = np.zeros((len(encoder), len(decoder)), dtype=np.int64)
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    for a, xs in enumerate(held[0]):
        for b, ys in enumerate(held[1]):
            for pair in product(xs, ys):
                if pair not in known:
                    known[pair] = _most_links(left[list(pair[0])], right[list(pair[1])], feeds)
                most[a, b] = max(most[a, b], known[pair])
    return most


def _most_links(left: Ints, right: Ints, feeds: npt.NDArray[np.bool_]) -> int:
    """Greatest inner links over all orders of the slices, given the links each slice could have.

    Equal cp: the sorted order is the best one, since min(x, y) rewards large beside large. Unequal
    cp, one copy, few orders: all of them. Else slices weighted by how many they feed, on the
    cheaper side, which is an upper estimate.
    """
    if feeds.shape[0] == feeds.shape[1]:
        return int(np.minimum(left, right).sum())
    most_left = _weighted(left, feeds.sum(axis=1))
    most_right = _weighted(right, feeds.sum(axis=0))
    most = min(most_left, most_right)
    orders = factorial(feeds.shape[0]) * factorial(feeds.shape[1])
    if feeds.shape != (left.size, right.size) or orders > _MOST_ORDERS:
        return most
    found = 0
    for x in set(permutations(left.tolist())):
        for y in set(permutations(right.tolist())):
            found = max(found, int((np.minimum.outer(x, y) * feeds).sum()))
    return min(most, found)


def _weighted(links: Ints, degree: Ints) -> int:
    copies = links.size // degree.size
    return int((-np.sort(-links) * -np.sort(-np.tile(degree, copies))).sum())
