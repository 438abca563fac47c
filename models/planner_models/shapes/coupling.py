"""What carries a price: on every stage, the pieces its tilers cut things into.

A block that is tiled as a whole has a line for each shape. A large block is split (`atoms`): it has
a line for each piece of a group, and a shape uses the lines of all groups it holds something of.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from planner_models.shapes.stages import StageGraph
from planner_models.shapes.tilings import Ints, Tiler


@dataclass(frozen=True, slots=True)
class Batch:
    """One tiler on all stages of a module: `lines` is [stage, piece]."""

    tiler: Tiler
    lines: Ints


class Coupling:
    """Lines of all stages, and the lines every (stage, shape) row uses.

    Attributes:
        lines: number of lines.
        batches: tilers with their lines.
        tiled: how many things are tiled, for each batch and stage in turn.
    """

    def __init__(self, graph: StageGraph) -> None:
        self.lines = 0
        self.batches: list[Batch] = []
        self._of_row: list[tuple[int, ...]] = []
        for m, block in enumerate(graph.blocks):
            stages = graph.module.count(m)
            width = sum(tiler.pieces for tiler in block.tilers)
            first = self.lines + width * np.arange(stages)[:, None]
            self._of_row += [
                tuple(int(start) + piece for piece in pieces)
                for start in first[:, 0]
                for pieces in block.uses
            ]
            piece = 0
            for tiler in block.tilers:
                lines = first + np.arange(piece, piece + tiler.pieces)
                self.batches.append(Batch(tiler, lines))
                piece += tiler.pieces
            self.lines += width * stages
        self.tiled = [batch.tiler.count for batch in self.batches for _ in batch.lines]
        most = max(map(len, self._of_row))
        self._padded = np.array(
            [(*lines, *[self.lines] * (most - len(lines))) for lines in self._of_row]
        )

    def of_shapes(self, price: Ints) -> Ints:
        """[row] price of every (stage, shape), given those of the lines."""
        total: Ints = np.append(price, 0)[self._padded].sum(axis=1)
        return total

    def lines_of(self, rows: Iterable[int]) -> list[int]:
        """Lines used by rows, with repeats."""
        return [line for row in rows for line in self._of_row[row]]
