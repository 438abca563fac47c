"""Segments: what a domain holds of one block copy over connected stages.

What a domain holds of one block copy falls into pieces connected by arcs of the stage graph. A
piece, or segment, names a shape for each of its stages and is credited every arc inside it. So its
cost is a lower estimate of what the piece adds to the level's cost, counted from all pair links
being cut (`StageGraph.constant`).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from planner_models.shapes.stages import StageGraph
from planner_models.shapes.tilings import Ints


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
