"""Where the cells of a segment can lie, and the credited links that costs.

A segment names shapes, up to symmetry a stage; a *placement* names cells: one mask a stage, each a
member of its shape. The segment's cost on paper credits every arc inside it with the greatest
overlap of the two shapes. Overlaps of three shapes in a row, or round a cycle, need not all be
possible at once, and other segments may be in the way, so a placement can have fewer links than
credited: its *loss*, doubled like all costs.
"""

import numpy as np

from planner_models.shapes.stages import StageGraph
from planner_models.shapes.tilings import Ints

MOST_PLACEMENTS = 4_000
"""Placements kept of one segment; of more, an even selection of the cheapest."""

_MOST_TRIED = 4_000_000
"""Pairs of a placement so far and a mask on the next stage looked at together."""


class Placements:
    """Placements of segments, each listed once.

    Args:
        graph: stages, shapes and arcs.
    """

    def __init__(self, graph: StageGraph) -> None:
        self._graph = graph
        self._arcs = {arc.ends: arc for arc in graph.arcs}
        self._known: dict[tuple[tuple[int, ...], int], tuple[Ints, Ints]] = {}

    def of(self, rows: tuple[int, ...], slack: int = 0) -> tuple[Ints, Ints]:
        """Placements of the segment that uses these coupling rows.

        Args:
            rows: the segment.
            slack: greatest loss.

        Returns:
            [placement, stage] cell masks, [placement] loss.
        """
        key = rows, slack
        if key not in self._known:
            self._known[key] = self._list(rows, slack)
        return self._known[key]

    def _list(self, rows: tuple[int, ...], slack: int) -> tuple[Ints, Ints]:
        held = [self._graph.stage_and_shape(row) for row in rows]
        masks, loss = np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64)
        for place, (stage, shape) in enumerate(held):
            members = self._graph.members(stage, shape)
            masks, loss = _thin(masks, loss, _MOST_TRIED // members.size)
            total = np.repeat(loss[:, None], members.size, axis=1)
            for earlier in range(place):
                total += self._loss(held[earlier], masks[:, earlier], held[place], members)
            before, member = np.nonzero(total <= slack)
            masks = np.column_stack([masks[before], members[member]])
            loss = total[before, member]
        return _thin(masks, loss, MOST_PLACEMENTS)

    def _loss(
        self, one: tuple[int, int], first: Ints, other: tuple[int, int], second: Ints
    ) -> Ints:
        """[mask of one, mask of other] loss on the arc between two (stage, shape), if any."""
        if one[0] > other[0]:
            return self._loss(other, second, one, first).T
        arc = self._arcs.get((one[0], other[0]))
        if arc is None:
            return np.zeros((first.size, second.size), dtype=np.int64)
        lost: Ints = int(arc.overlap[one[1], other[1]]) - arc.links(first, second)
        return 2 * arc.weight * lost


def _thin(masks: Ints, loss: Ints, most: int) -> tuple[Ints, Ints]:
    """At most `most` placements, evenly chosen, half of them of least loss if that is enough."""
    if loss.size <= most:
        return masks, loss
    order = np.argsort(loss, kind="stable")
    cheap = order[: np.count_nonzero(loss == loss.min())]
    dear = order[cheap.size :]
    of_dear = min(dear.size, most // 2)
    chosen = np.concatenate([_evenly(cheap, most - of_dear), _evenly(dear, of_dear)])
    return masks[chosen], loss[chosen]


def _evenly(items: Ints, most: int) -> Ints:
    if items.size <= most:
        return items
    return items[np.linspace(0, items.size - 1, most).astype(np.int64)]
