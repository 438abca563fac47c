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
from planner_models.job import Job, ModuleShape, Weights
from planner_models.shapes.atoms import SplitBlock, TooManyContentsError
from planner_models.shapes.blocks import MAX_CELLS, Block, copies_in_block
from planner_models.shapes.tilings import Ints

MOST_SHAPES = 400
"""Shapes of a block whose tilings are known; with more, prices are split."""


@dataclass(frozen=True, slots=True)
class Arc:
    """A kind of link between two stages of every lane.

    Attributes:
        ends: stage indices, ascending.
        modules: modules of the ends; arcs of the same modules differ in weight alone.
        weight: cost of one link a lane pays, parallel links added up.
        overlap: [shape of the first, shape of the second] links inside a domain at most.
        linked: [cell of the first, cell of the second] whether a link joins them.
    """

    ends: tuple[int, int]
    modules: tuple[int, int]
    weight: int
    overlap: Ints
    linked: npt.NDArray[np.bool_]

    @property
    def credit(self) -> Ints:
        """[shape, shape] doubled cost saved at most."""
        return 2 * self.weight * self.overlap

    def links(self, first: Ints, second: Ints) -> Ints:
        """[mask of the first, mask of the second] links between the cells of two masks."""
        cells = self.linked.shape
        reached = _bits(first, cells[0]) @ self.linked.astype(np.float32)
        links: Ints = (reached @ _bits(second, cells[1]).T).astype(np.int64)
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

    blocks: tuple[Block | SplitBlock, ...]
    module: tuple[int, ...]
    offset: tuple[int, ...]
    arcs: tuple[Arc, ...]
    constant: int

    @property
    def rows(self) -> int:
        """Number of (stage, shape) pairs."""
        return self.offset[-1]

    @property
    def split(self) -> bool:
        """Whether some block is too large for its tilings to be known."""
        return any(isinstance(block, SplitBlock) for block in self.blocks)

    def block(self, stage: int) -> Block | SplitBlock:
        """The block a stage is made of."""
        return self.blocks[self.module[stage]]

    def members(self, stage: int, shape: int) -> Ints:
        """Masks of a shape; blocks that are split have none."""
        block = self.block(stage)
        assert isinstance(block, Block)
        return block.members[shape]

    def stage_and_shape(self, row: int) -> tuple[int, int]:
        """The stage a row belongs to, and the shape on it."""
        stage = bisect_right(self.offset, row) - 1
        return stage, row - self.offset[stage]

    def stage_of_row(self) -> Ints:
        """[row] the stage a row belongs to."""
        return np.repeat(np.arange(len(self.module)), np.diff(self.offset))


def stage_graph(
    job: Job, weights: Weights, largest: int, *, spread: int | None = None
) -> StageGraph:
    """Blocks, stages and arcs of a job whose domains hold at most `largest` slots.

    Args:
        job: the job.
        weights: cost of a link of each kind.
        largest: slots of the largest domain.
        spread: see `blocks.Block`.
    """
    copies = copies_in_block(job)
    blocks = tuple(_block(m, job.dp, copies, weights, largest, spread) for m in job.modules)
    module = tuple(i for i, m in enumerate(job.modules) for _ in range(m.pp))
    offset = np.concatenate([[0], np.cumsum([len(blocks[i]) for i in module])])
    weight = _pair_weights(job, weights)
    lanes = [m.tp * m.cp * job.dp for m in job.modules]
    constant = 2 * sum(w * lanes[module[first]] for (first, _), w in weight.items())
    arcs = []
    for ends, w in weight.items():
        m = module[ends[0]]
        same = np.eye(blocks[m].cells, dtype=bool)
        arcs.append(Arc(ends, (m, m), w, blocks[m].overlap, same))
    if len(blocks) == 2:
        ends = (job.modules[0].pp - 1, job.modules[0].pp)
        linked = _linked(job, copies)
        crossing = _crossing(linked, blocks[0], blocks[1], largest)
        arcs.append(Arc(ends, (0, 1), weights.pp, crossing, linked))
        constant += 2 * weights.pp * bridge.count(job)
    return StageGraph(
        blocks,
        module,
        tuple(int(o) for o in offset),
        tuple(arc for arc in arcs if arc.weight > 0),
        constant,
    )


def _block(
    shape: ModuleShape, dp: int, copies: int, weights: Weights, largest: int, spread: int | None
) -> Block | SplitBlock:
    """All subsets of a small block; small contents of one that is large or has too many shapes.

    The latter forget the footprint rule.
    """
    small = None
    if shape.tp * shape.cp * copies <= MAX_CELLS:
        small = Block(shape, dp=dp, copies=copies, weights=weights, largest=largest, spread=spread)
        if len(small) <= MOST_SHAPES:
            return small
    try:
        return SplitBlock(shape, dp=dp, copies=copies, weights=weights, largest=largest)
    except TooManyContentsError:
        if small is None:
            raise
        return small


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


def _crossing(
    linked: npt.NDArray[np.bool_],
    encoder: Block | SplitBlock,
    decoder: Block | SplitBlock,
    largest: int,
) -> Ints:
    """[encoder shape, decoder shape] greatest inner bridge links over all members of both.

    Shapes too large to lie in one domain together are left at 0. Without members, every cell is
    taken to have as many links as any.
    """
    if isinstance(encoder, SplitBlock) or isinstance(decoder, SplitBlock):
        busiest = [int(linked.sum(axis=axis).max()) for axis in (1, 0)]
        upper: Ints = np.minimum.outer(busiest[0] * encoder.size, busiest[1] * decoder.size)
        return upper
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
