"""What a domain pays for the dp planes it cuts, from the shapes it holds.

A plane group takes the same cells of every block of a stage. Pieces of several blocks in one domain
can share its groups: a domain with pieces of n blocks touches at least the rows the largest piece
touches, and holds a group in full only if it has a piece of *every* block, each with that row full.
So a stage costs at least, doubled, a plane family,

    2 w (most rows of any piece - [pieces = blocks] fewest full rows of any piece)
"""

from collections.abc import Iterable

import numpy as np

from planner_models.shapes.stages import StageGraph
from planner_models.shapes.tilings import Ints

SCALE = 256
"""Denominator of the prices."""


class RowPlanes:
    """Plane rows of every coupling row, and what a set of coupling rows pays for them."""

    def __init__(self, graph: StageGraph) -> None:
        self.stage = graph.stage_of_row().tolist()
        self.blocks = graph.blocks[0].blocks
        self.families: list[list[tuple[int, int, int]]] = [
            [
                (2 * plane.weight, int(block.rows[f, s]), int(block.full[f, s]))
                for f, plane in enumerate(block.planes)
            ]
            for stage in range(len(graph.module))
            for block in [graph.block(stage)]
            for s in range(len(block))
        ]
        self._whole = [
            [plane.masks[0].bit_count() * block.blocks for plane in block.planes]
            for stage in range(len(graph.module))
            for block in [graph.block(stage)]
            for _ in range(len(block))
        ]

    def share(self, capacity: int) -> Ints:
        """[row] optimistic share of the plane cost, in units of 1 / SCALE."""
        return np.array(
            [
                sum(
                    SCALE * w * (rows - full) // self.blocks
                    if whole <= capacity
                    else SCALE * w * rows // min(self.blocks, capacity)
                    for (w, rows, full), whole in zip(families, wholes, strict=True)
                )
                for families, wholes in zip(self.families, self._whole, strict=True)
            ],
            dtype=np.int64,
        )

    def cost(self, rows: Iterable[int]) -> int:
        """Doubled plane cost of the pieces a domain holds."""
        pieces: dict[int, list[int]] = {}
        for row in rows:
            pieces.setdefault(self.stage[row], []).append(row)
        total = 0
        for held in pieces.values():
            for family in zip(*(self.families[row] for row in held), strict=True):
                most = max(rows for _, rows, _ in family)
                full = min(full for _, _, full in family) if len(held) == self.blocks else 0
                total += family[0][0] * (most - full)
        return total

    def crowded(self, rows: tuple[int, ...]) -> bool:
        """Whether some stage would hold more pieces than it has blocks."""
        if len(rows) <= self.blocks:
            return False
        stages = [self.stage[row] for row in rows]
        return max(map(stages.count, stages)) > self.blocks
