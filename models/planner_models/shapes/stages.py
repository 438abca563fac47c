"""The stages of a job as a graph whose arcs are the links of a pipeline.

Stages of the encoder, then of the decoder, are the vertices. Arcs are pipeline neighbours, the
bridge, the wrap of interleaved stages and tied embeddings: a path, and a cycle where wrap or
embeddings close it. An arc credits two shapes with the greatest number of links they can share,
over all members of both, so what it says is saved is an upper estimate.
"""

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner_models import bridge
from planner_models.job import Job, Weights
from planner_models.shapes.blocks import Block, Ints, copies_in_block


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
    lanes = [m.tp * m.cp * job.dp for m in job.modules]
    constant = 2 * sum(w * lanes[module[first]] for (first, _), w in weight.items())
    arcs = []
    for ends, w in weight.items():
        m = module[ends[0]]
        arcs.append(Arc(ends, (m, m), w, blocks[m].overlap, 1 << np.arange(blocks[m].cells)))
    if len(blocks) == 2:
        ends = (job.modules[0].pp - 1, job.modules[0].pp)
        linked = _linked(job, copies)
        crossing = _crossing(linked, *blocks, largest)
        targets = linked @ (1 << np.arange(blocks[1].cells))
        arcs.append(Arc(ends, (0, 1), weights.pp, crossing, targets))
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


def _linked(job: Job, copies: int) -> npt.NDArray[np.bool_]:
    """[encoder cell, decoder cell] whether the bridge joins them."""
    inside = np.kron(bridge.slices_joined(job), bridge.lanes_joined(job))
    return np.kron(np.eye(copies, dtype=np.int64), inside) > 0


def _crossing(linked: npt.NDArray[np.bool_], encoder: Block, decoder: Block, largest: int) -> Ints:
    """[encoder shape, decoder shape] greatest inner bridge links over all members of both.

    Shapes too large to lie in one domain together are left at 0.
    """
    most = np.zeros((len(encoder), len(decoder)), dtype=np.int64)
    bits = _bits(np.concatenate(decoder.members), decoder.cells)
    starts = np.cumsum([0, *(masks.size for masks in decoder.members)])
    for a, masks in enumerate(encoder.members):
        fitting = int(np.searchsorted(decoder.size, largest - encoder.size[a], side="right"))
        if fitting:
            reached = _bits(masks, encoder.cells) @ linked.astype(np.float32)
            links = (reached @ bits[: starts[fitting]].T).max(axis=0)
            most[a, :fitting] = np.maximum.reduceat(links, starts[:fitting])
    return most


def _bits(masks: Ints, cells: int) -> npt.NDArray[np.float32]:
    """[mask, cell] in floating point, for fast products; sums of links are exact in it."""
    return (masks[:, None] >> np.arange(cells) & 1).astype(np.float32)
