"""The columns of a placement: what its nodes and leaves hold, and how it cuts every block.

Together they are a solution of the relaxation, at no more than the placement costs: what makes every
bound on the relaxation one on placements.
"""

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from planner_models.nested.fabric import Leaf, leaves_of
from planner_models.nested.leaf_pricing import LeafPattern, LeafPricing
from planner_models.nested.relaxation import Columns, Relaxation
from planner_models.shapes.blocks import Block
from planner_models.shapes.pricing import NodePricing, Pattern
from planner_models.shapes.stages import StageGraph

Held = dict[int, dict[int, int]]
"""{block copy: {stage: row}} of what a domain holds."""


def columns_of(
    relaxation: Relaxation, leaves: Sequence[Sequence[int]], node_of: Sequence[int]
) -> Columns:
    """Columns of a placement.

    Args:
        relaxation: the problem.
        leaves: usable slots of each node of each leaf.
        node_of: [slot] node that holds it, numbered leaf by leaf as in `leaves`.
    """
    leaf_of = np.repeat(np.arange(len(leaves)), [len(nodes) for nodes in leaves])
    class_of = [relaxation.leaves.index(_class(relaxation, nodes)) for nodes in leaves]
    nodes = _held(relaxation.node_graph, np.asarray(node_of))
    whole = _held(relaxation.node_graph, leaf_of[np.asarray(node_of)])
    capacity = [slots for within in leaves for slots in within]
    columns = Columns([[] for _ in relaxation.nodes], [[] for _ in relaxation.leaves], [], [])
    place = {(l, pricing.capacity): i for i, (l, pricing, _) in enumerate(relaxation.nodes)}
    numbers = _numbers(relaxation.nodes[0][1])
    for n, held in nodes.items():
        i = place[class_of[leaf_of[n]], capacity[n]]
        columns.nodes[i].append(_node_pattern(relaxation.node_graph, numbers, held))
    for leaf, held in whole.items():
        pricing = relaxation.leaf_pricing[class_of[leaf]]
        columns.leaves[class_of[leaf]].append(_leaf_pattern(pricing, held))
    _add_cuts(relaxation, columns, nodes, whole, leaf_of.tolist(), class_of)
    return columns


def _class(relaxation: Relaxation, nodes: Sequence[int]) -> Leaf:
    alone = leaves_of([nodes])[0]
    return next(leaf for leaf in relaxation.leaves if leaf.nodes == alone.nodes)


def _held(graph: StageGraph, domain_of: np.ndarray) -> dict[int, Held]:
    """What every domain holds of every block."""
    out: dict[int, Held] = {}
    first = 0
    for stage in range(len(graph.module)):
        block = graph.block(stage)
        assert isinstance(block, Block)
        for copy in range(block.blocks):
            inside = domain_of[first : first + block.cells]
            for domain in np.unique(inside).tolist():
                mask = int(((inside == domain) << np.arange(block.cells)).sum())
                row = graph.offset[stage] + int(block.shape_of[mask])
                out.setdefault(domain, {}).setdefault(copy, {})[stage] = row
            first += block.cells
    return dict(sorted(out.items()))


def _numbers(pricing: NodePricing) -> dict[tuple[int, ...], int]:
    """Number of each segment, by its rows in ascending order."""
    return {tuple(sorted(pricing.rows_of(j))): j for j in range(len(pricing.segments))}


def _node_pattern(graph: StageGraph, numbers: dict[tuple[int, ...], int], held: Held) -> Pattern:
    segments = []
    for rows in held.values():
        left = set(rows)
        while left:
            joined, waiting = set[int](), {min(left)}
            while waiting:
                stage = waiting.pop()
                joined.add(stage)
                ends = [set(arc.ends) - {stage} for arc in graph.arcs if stage in arc.ends]
                waiting |= {other for pair in ends for other in pair & left} - joined
            segments.append(numbers[tuple(sorted(rows[s] for s in joined))])
            left -= joined
    return tuple(sorted(segments))


def _leaf_pattern(pricing: LeafPricing, held: Held) -> LeafPattern:
    costs = pricing.costs
    everything = sorted(row for rows in held.values() for row in rows.values())
    opened = 0
    for stage, content in costs.contents(everything):
        opened |= int(costs.wide[stage][content]) << stage
    cost = int(costs.opening[opened]) - costs.refund
    for rows in held.values():
        for _, run in groupby(enumerate(sorted(rows)), key=lambda at: at[1] - at[0]):
            cost += costs.of_segment([rows[stage] for _, stage in run], opened)
    return LeafPattern(cost, cost, tuple(everything))


def _add_cuts(
    relaxation: Relaxation,
    columns: Columns,
    nodes: dict[int, Held],
    whole: dict[int, Held],
    leaf_of: Sequence[int],
    class_of: Sequence[int],
) -> None:
    offset = relaxation.node_graph.offset
    cuts: dict[tuple[int, int], list[tuple[int, int]]] = {}
    splits: dict[tuple[int, int, int], list[int]] = {}
    for leaf, held in whole.items():
        for copy, rows in held.items():
            for stage, row in rows.items():
                cuts.setdefault((stage, copy), []).append((class_of[leaf], row - offset[stage]))
    for n, held in nodes.items():
        for copy, rows in held.items():
            for stage, row in rows.items():
                splits.setdefault((leaf_of[n], copy, stage), []).append(row - offset[stage])
    columns.cuts.extend((stage, tuple(sorted(cut))) for (stage, _), cut in cuts.items())
    for (leaf, copy, stage), shapes in splits.items():
        content = whole[leaf][copy][stage] - offset[stage]
        columns.splits.append(((class_of[leaf], stage, content), tuple(sorted(shapes))))
