"""Where the cells of a segment can lie so that the overlaps it was credited are real.

A segment names shapes, up to symmetry a stage; a *placement* names cells: one mask a stage, each a
member of its shape, such that neighbouring masks have exactly the links in common that the
segment's cost counts. Overlaps of three shapes in a row, or round a cycle, need not all be possible
at once: then a segment has no placement, and no plan holds it at its price.
"""

import numpy as np
import numpy.typing as npt

from planner_models.shapes.blocks import Ints
from planner_models.shapes.stages import StageGraph

MOST_PLACEMENTS = 4_000
"""Placements kept of one segment; of more, an even selection."""

_MOST_TRIED = 4_000_000


class Placements:
    """Placements of segments, each listed once.

    Args:
        graph: stages, shapes and credits.
    """

    def __init__(self, graph: StageGraph) -> None:
        self._graph = graph
        self._arcs = {arc.ends: arc for arc in graph.arcs}
        self._known: dict[tuple[int, ...], Ints] = {}

    def of(self, rows: tuple[int, ...]) -> Ints:
        """[placement, stage] cell masks of the segment that uses these coupling rows."""
        if rows not in self._known:
            self._known[rows] = self._list(rows)
        return self._known[rows]

    def _list(self, rows: tuple[int, ...]) -> Ints:
        stages = [int(s) for s in np.searchsorted(self._graph.offset, rows, side="right") - 1]
        shapes = [row - self._graph.offset[s] for row, s in zip(rows, stages, strict=True)]
        masks = np.zeros((1, 0), dtype=np.int64)
        for place, (stage, shape) in enumerate(zip(stages, shapes, strict=True)):
            members = self._graph.block(stage).members[shape]
            masks = _thin(masks, _MOST_TRIED // members.size)
            fits = np.ones((masks.shape[0], members.size), dtype=bool)
            for earlier in range(place):
                fits &= self._realised(
                    (stages[earlier], shapes[earlier], masks[:, earlier]), (stage, shape, members)
                )
            before, member = np.nonzero(fits)
            masks = np.column_stack([masks[before], members[member]])
        return _thin(masks, MOST_PLACEMENTS)

    def _realised(
        self, one: tuple[int, int, Ints], other: tuple[int, int, Ints]
    ) -> npt.NDArray[np.bool_]:
        """[mask of one, mask of other] whether the overlap credited between two stages is there."""
        if one[0] > other[0]:
            return self._realised(other, one).T
        arc = self._arcs.get((one[0], other[0]))
        if arc is None:
            return np.ones((one[2].size, other[2].size), dtype=bool)
        realised: npt.NDArray[np.bool_] = (
            arc.links(one[2], other[2]) >= arc.overlap[one[1], other[1]]
        )
        return realised


def _thin(masks: Ints, most: int) -> Ints:
    """At most `most` rows, evenly chosen."""
    if masks.shape[0] <= most:
        return masks
    return masks[np.linspace(0, masks.shape[0] - 1, most).astype(np.int64)]
