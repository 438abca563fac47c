"""Segments: what a domain holds of one block copy over connected stages.

Stages of the encoder, then of the decoder, are the vertices of a graph whose arcs are the links a
pipeline has: neighbours, the bridge, the wrap of interleaved stages, tied embeddings. A path, and a
cycle where wrap or embeddings close it. What a domain holds of one block copy falls into connected
pieces; a piece names a shape for each of its stages, and every arc inside it is credited the
greatest overlap of the two shapes. So a segment's cost is a lower estimate of what that piece adds
to the level's cost, up to the constant `StageGraph.constant` (all pair links cut).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations
from math import factorial

import numpy as np
import numpy.typing as npt

from planner_models.job import Job, Weights
from planner_models.shapes.blocks import Block, Ints, copies_in_block

_MOST_ORDERS = 200
"""Pairs of column orders tried one by one across a bridge between unequal cp."""


@dataclass(frozen=True, slots=True)
class Arc:
    """A kind of link between two stages of every lane.

    Attributes:
        ends: stage indices, ascending.
        credit: [shape of the first, shape of the second] doubled weight saved at most.
    """

    ends: tuple[int, int]
    credit: Ints


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
    weight, constant = _pair_weights(job, weights)
    arcs = [
        Arc(ends, 2 * w * blocks[module[ends[0]]].overlap)
        for ends, w in sorted(weight.items())
        if w > 0
    ]
    if len(blocks) == 2:
        first, last = job.modules[0].pp - 1, job.modules[0].pp
        credit, links = _bridge(blocks[0], blocks[1])
        constant += 2 * weights.pp * links * job.dp
        if weights.pp > 0:
            arcs.append(Arc((first, last), 2 * weights.pp * credit))
    return StageGraph(blocks, module, tuple(int(o) for o in offset), tuple(arcs), constant)


def _pair_weights(job: Job, weights: Weights) -> tuple[dict[tuple[int, int], int], int]:
    """Weight a lane pays between two stages of one module, parallel links added up."""
    weight: dict[tuple[int, int], int] = {}
    constant = first = 0
    for i, m in enumerate(job.modules):
        last = first + m.pp - 1
        own = {(p, p + 1): weights.pp for p in range(first, last)}
        if m.pp > 1:
            closing = weights.pp if m.vpp > 1 else 0
            closing += weights.embd if job.tied and i == len(job.modules) - 1 else 0
            own[first, last] = own.get((first, last), 0) + closing
        constant += 2 * sum(own.values()) * m.tp * m.cp * job.dp
        weight |= own
        first = last + 1
    return weight, constant


def longest_runs(lanes: int, other: int) -> Ints:
    """[k] links of the k busiest of `lanes` lanes when `other` lanes are matched with them."""
    if lanes >= other:
        return np.arange(lanes + 1)
    runs = [other // lanes + (lane < other % lanes) for lane in range(lanes)]
    return np.concatenate([[0], np.cumsum(runs)])


def _bridge(encoder: Block, decoder: Block) -> tuple[Ints, int]:
    """Inner bridge links at most [encoder shape, decoder shape], and all of one data copy."""
    lanes = encoder.module.tp, decoder.module.tp
    left, right = longest_runs(*lanes), longest_runs(*lanes[::-1])
    cuts = encoder.module.cp, decoder.module.cp
    feeds = np.array(
        [
            [
                i * cuts[1] < (j + 1) * cuts[0] and j * cuts[0] < (i + 1) * cuts[1]
                for j in range(cuts[1])
            ]
            for i in range(cuts[0])
        ]
    )
    held = [[b.slice_counts(s) for s in range(len(b))] for b in (encoder, decoder)]
    credit = np.zeros((len(encoder), len(decoder)), dtype=np.int64)
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    for a, xs in enumerate(held[0]):
        for b, ys in enumerate(held[1]):
            for x in xs:
                for y in ys:
                    if (x, y) not in known:
                        known[x, y] = _most_links(left[list(x)], right[list(y)], feeds)
                    credit[a, b] = max(credit[a, b], known[x, y])
    return credit, int(feeds.sum()) * max(lanes)


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


@dataclass(frozen=True, slots=True)
class Segments:
    """All segments of a job, as arrays over segments.

    Attributes:
        rows: [segment, place] coupling rows used, padded with the number of rows.
        size: [segment] slots.
        cost: [segment] doubled cost without dp planes, pair credits taken off.
    """

    rows: Ints
    size: Ints
    cost: Ints

    def __len__(self) -> int:
        return self.size.size


def all_segments(graph: StageGraph, largest: int) -> Segments:
    """Every segment of at most `largest` slots."""
    parts = [_segments_on(graph, stages, largest) for stages in _connected(graph, largest)]
    width = max(rows.shape[1] for rows, _, _ in parts)
    padded = [
        np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=graph.rows)
        for rows, _, _ in parts
    ]
    return Segments(
        np.concatenate(padded),
        np.concatenate([size for _, size, _ in parts]),
        np.concatenate([cost for _, _, cost in parts]),
    )


def _connected(graph: StageGraph, most: int) -> Iterable[tuple[int, ...]]:
    """Connected sets of at most `most` stages, each in an order that grows along arcs."""
    neighbours: dict[int, set[int]] = {s: set() for s in range(len(graph.module))}
    for arc in graph.arcs:
        a, b = arc.ends
        neighbours[a].add(b)
        neighbours[b].add(a)
    layer: dict[frozenset[int], tuple[int, ...]] = {frozenset([s]): (s,) for s in neighbours}
    for _ in range(most):
        yield from layer.values()
        layer = {
            held | {s}: (*order, s)
            for held, order in layer.items()
            for s in sorted({n for v in held for n in neighbours[v]} - held)
        }


def _segments_on(
    graph: StageGraph, stages: tuple[int, ...], largest: int
) -> tuple[Ints, Ints, Ints]:
    """Rows, sizes and costs of the segments on exactly these stages."""
    credit = {arc.ends: arc.credit for arc in graph.arcs}
    held = np.zeros((1, 0), dtype=np.int64)
    size, cost = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for place, stage in enumerate(stages):
        block = graph.block(stage)
        room = largest - (len(stages) - place - 1)
        before, shape = np.nonzero(size[:, None] + block.size <= room)
        cost = cost[before] + block.own[shape]
        size = size[before] + block.size[shape]
        for earlier, other in enumerate(stages[:place]):
            if (other, stage) in credit:
                cost = cost - credit[other, stage][held[before, earlier], shape]
            elif (stage, other) in credit:
                cost = cost - credit[stage, other][shape, held[before, earlier]]
        held = np.column_stack([held[before], shape])
    return held + np.array(graph.offset)[list(stages)], size, cost
