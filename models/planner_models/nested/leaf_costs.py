"""What a leaf pays for what it holds: the terms of `leaf_pricing`, in units of 1 / SCALE."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from planner_models.shapes.planes import SCALE
from planner_models.shapes.stages import StageGraph
from planner_models.shapes.tilings import Ints

MOST_OPEN = 6
"""Stages that are told apart by whether they are open; of more, none is open, nothing wide."""


class LeafCosts:
    """Costs of contents on stages, doubled.

    Args:
        graph: stages and contents, every subset of a block among them.
        capacity: slots of a leaf.

    Attributes:
        offset: [stage] first row.
        size, own: [stage][content] cells, and the cost of rings inside the block.
        share: [stage][content] what it pays for planes where the stage is not open.
        wide: [stage][content] whether it lies on open stages only.
        credit: [stage][content, content] what two contents on a stage and the next save.
        opening: [set of stages, as bits] cost of opening them; only the empty set with many stages.
        refund: what a leaf saves at most by holding plane groups whole.
    """

    def __init__(self, graph: StageGraph, capacity: int) -> None:
        blocks = [graph.block(stage) for stage in range(len(graph.module))]
        told = len(blocks) <= MOST_OPEN
        self.offset = graph.offset
        self.size = [b.size for b in blocks]
        self.own = [SCALE * b.own for b in blocks]
        self.share, self.wide = _planes(graph, told=told)
        self.credit = _chain(graph)
        paid = [SCALE * sum(2 * p.weight * len(p.masks) for p in b.planes) for b in blocks]
        self.opening = np.array(
            [
                sum(cost for stage, cost in enumerate(paid) if o >> stage & 1)
                for o in range(1 << len(blocks) if told else 1)
            ]
        )
        self.refund = _refund(graph, capacity)

    def priced(self, price: Ints, stage: int, *, opened: bool) -> Ints:
        """[content] value of what lies on a stage, given [row] prices."""
        first = self.offset[stage]
        value: Ints = self.own[stage] - price[first : first + self.own[stage].size]
        return value if opened else value + self.share[stage]

    def contents(self, rows: Sequence[int]) -> list[tuple[int, int]]:
        """(stage, content) of rows."""
        stages = np.searchsorted(self.offset, rows, side="right") - 1
        return [(s, row - self.offset[s]) for s, row in zip(stages.tolist(), rows, strict=True)]

    def slots(self, rows: Sequence[int]) -> int:
        """Slots of a segment."""
        return sum(int(self.size[s][x]) for s, x in self.contents(rows))

    def of_segment(self, rows: Sequence[int], opened: int) -> int:
        """Cost of a segment on stages of which these are open."""
        held = self.contents(rows)
        cost = sum(int(self.own[s][x]) for s, x in held)
        cost += sum(int(self.share[s][x]) for s, x in held if not opened >> s & 1)
        return cost - sum(int(self.credit[s][x, y]) for (s, x), (_, y) in pairwise(held))


def _planes(graph: StageGraph, *, told: bool) -> tuple[list[Ints], list[npt.NDArray[np.bool_]]]:
    """[stage][content] share of the planes where a stage is not open, and what is wide."""
    shares, wide = [], []
    for block in (graph.block(stage) for stage in range(len(graph.module))):
        share = np.zeros(block.size.size, dtype=np.int64)
        all_touched = np.full(block.size.size, told and bool(block.planes))
        for f, plane in enumerate(block.planes):
            share += SCALE * 2 * plane.weight * block.rows[f] // block.blocks
            all_touched &= block.rows[f] == len(plane.masks)
        shares.append(share)
        wide.append(all_touched)
    return shares, wide


def _chain(graph: StageGraph) -> list[Ints]:
    """[content, content] credit between each stage and the next."""
    credit = {arc.ends: SCALE * arc.credit for arc in graph.arcs}
    sizes = [graph.block(stage).size.size for stage in range(len(graph.module))]
    return [
        credit.get((s, s + 1), np.zeros((sizes[s], sizes[s + 1]), dtype=np.int64))
        for s in range(len(sizes) - 1)
    ]


def _refund(graph: StageGraph, capacity: int) -> int:
    """What a leaf saves at most by holding plane groups whole."""
    sizes: dict[str, list[int]] = {}
    weight = {}
    for block in (graph.block(stage) for stage in range(len(graph.module))):
        for plane in block.planes:
            slots = plane.masks[0].bit_count() * block.blocks
            sizes.setdefault(plane.kind, []).extend([slots] * len(plane.masks))
            weight[plane.kind] = SCALE * 2 * plane.weight
    return sum(
        weight[kind] * int(np.searchsorted(np.cumsum(np.sort(slots)), capacity, side="right"))
        for kind, slots in sizes.items()
    )
