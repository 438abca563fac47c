"""The bound that any prices give, for nodes and leaves together.

Sets
    l: classes of leaves, n[l] each. k: capacities of nodes, q[l, k] in all leaves of a class.
    s: stages, D blocks each. x: contents, classes of subsets of a block. y: shapes, those contents
    that fit a node.
Data
    costs of patterns: doubled, each with its level's weight.
Variables
    node[l, k, p]: nodes that hold node pattern p. leaf[l, p]: leaves that hold leaf pattern p.
    cut[s, t]: blocks cut into contents, each for a class of leaves. split[l, s, x, t]: contents cut
    into shapes.
Subject to
    nodes[l, k]:     sum_p node = q[l, k]
    leaves[l]:       sum_p leaf = n[l]
    blocks[s]:       sum_t cut = D
    shapes[l, s, y]: pieces of y in node patterns = pieces of y in split contents
    split[l, s, x]:  contents x split = contents x cut out of blocks
    held[l, s, x]:   pieces of x in leaf patterns = contents x cut out of blocks
Minimise
    cost of node patterns + cost of leaf patterns

With prices mu on shapes and nu on held, the rest parts into the cheapest node patterns, the
cheapest leaf patterns and, a stage, the cheapest way to cut up a block: a content x of class l
costs nu and what its cheapest split costs at mu. Their sum is a lower bound for *any* mu and nu.
That a block may visit a leaf twice only makes the minimum smaller.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from planner_models.job import Job, Weights
from planner_models.nested.contents import Cuts, cheap_paths, cheapest_path, cuts_of
from planner_models.nested.fabric import Leaf
from planner_models.nested.leaf_pricing import LeafPattern, LeafPricing
from planner_models.shapes.blocks import Block
from planner_models.shapes.planes import SCALE
from planner_models.shapes.pricing import FAR, NodePricing, Pattern
from planner_models.shapes.segments import all_segments
from planner_models.shapes.stages import StageGraph, stage_graph
from planner_models.shapes.tilings import Ints


@dataclass(frozen=True, slots=True)
class Prices:
    """In units of 1 / SCALE of a doubled cost.

    Attributes:
        shapes: [class of leaves, row] prices of what nodes hold; 0 for contents above a node.
        contents: [class of leaves, row] prices of what leaves hold.
    """

    shapes: Ints
    contents: Ints


Outer = tuple[tuple[int, int], ...]
"""How a block is cut: (class of leaves, content), ascending."""


Split = tuple[tuple[int, int, int], tuple[int, ...]]
"""(class, stage, content), and the shapes it is split into, ascending."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What may get variables of its own.

    Attributes:
        nodes: per (class, capacity) node patterns.
        leaves: per class leaf patterns.
        cuts: (stage, how a block is cut).
        splits: how contents are split.
    """

    nodes: list[list[Pattern]]
    leaves: list[list[LeafPattern]]
    cuts: list[tuple[int, Outer]]
    splits: list[Split]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The bound at some prices, and what it met.

    Attributes:
        prices: the prices.
        total: the bound, in units of 1 / SCALE of a doubled cost.
        cheapest: per (class, capacity) the least value of a node pattern.
        leaves: per class the least value of a leaf pattern.
        met: cheap patterns of each kind, cheap cuts, and splits of what they cut out.
    """

    prices: Prices
    total: int
    cheapest: tuple[int, ...]
    leaves: tuple[int, ...]
    met: Columns


class Relaxation:
    """Patterns, cuts and counts of a job on nodes inside leaves.

    Args:
        job: the job.
        weights: of a link of each kind.
        levels: weights of the node level and of the leaf level.
        leaves: classes of leaves.

    Attributes:
        leaves: the classes.
        node_graph, leaf_graph: stages and contents at the costs of either level.
        constant: doubled cost of all pair links, at both levels.
        nodes: (class, pricing, nodes) of every class and capacity.
        leaf_pricing: leaf patterns of each class.
        cuts: [module] graphs of a block.
    """

    def __init__(
        self, job: Job, weights: Weights, levels: tuple[int, int], leaves: Sequence[Leaf]
    ) -> None:
        self.leaves = tuple(leaves)
        largest = max(capacity for leaf in leaves for capacity, _ in leaf.nodes)
        idle = sum(leaf.capacity * leaf.count for leaf in leaves) - job.world
        everything = sum(m.tp * m.cp for m in job.modules) * job.dp
        self.node_graph = stage_graph(job, scaled(weights, levels[0]), everything)
        self.leaf_graph = stage_graph(job, scaled(weights, levels[1]), everything)
        self.constant = self.node_graph.constant + self.leaf_graph.constant
        self.constant -= _closing(self.leaf_graph)
        segments = all_segments(self.node_graph, largest)
        self.nodes = [
            (l, NodePricing(self.node_graph, segments, capacity=k, idle=idle), q * leaf.count)
            for l, leaf in enumerate(leaves)
            for k, q in leaf.nodes
        ]
        self.leaf_pricing = [
            LeafPricing(self.leaf_graph, capacity=leaf.capacity, idle=idle) for leaf in leaves
        ]
        self.cuts = [cuts_of(_listed(block), largest) for block in self.node_graph.blocks]

    @property
    def blocks(self) -> int:
        """Blocks of a stage."""
        return self.node_graph.blocks[0].blocks

    @property
    def dearest(self) -> int:
        """Greatest doubled own cost of a content."""
        graphs = self.node_graph, self.leaf_graph
        return max(int(block.own.max()) for graph in graphs for block in graph.blocks)

    def cuts_on(self, stage: int) -> Cuts:
        """Graphs of the blocks of a stage."""
        return self.cuts[self.node_graph.module[stage]]

    def evaluate(self, prices: Prices, *, keep: int = 1) -> Evaluation:
        """The bound at integer prices, exactly, and `keep` cheap columns of each kind."""
        total = SCALE * self.constant
        met = Columns([], [], [], [])
        nodes, leaves = [], []
        for l, pricing, count in self.nodes:
            found = pricing.search(prices.shapes[l], FAR, keep=keep)
            nodes.append(found[0].value)
            total += count * found[0].value
            met.nodes.append([p.pattern for p in found])
        for l, leaf in enumerate(self.leaves):
            cheap = self.leaf_pricing[l].search(prices.contents[l], keep)
            leaves.append(cheap[0].value)
            total += leaf.count * cheap[0].value
            met.leaves.append(cheap)
        for m, cuts in enumerate(self.cuts):
            stages = [s for s, module in enumerate(self.node_graph.module) if module == m]
            total += self._cut(stages, cuts, prices, keep, met)
        return Evaluation(prices, total, tuple(nodes), tuple(leaves), met)

    def _cut(
        self, stages: Sequence[int], cuts: Cuts, prices: Prices, keep: int, met: Columns
    ) -> int:
        """Price of the blocks of some stages of one module; how they are cut is added."""
        first = np.array(self.node_graph.offset)[stages][:, None]
        rows = first + np.arange(cuts.outer.vertices - 1)
        inner = np.stack([cuts.inner.to_empty(prices.shapes[l][rows]) for l in self._classes])
        price = inner[:, :, 1:] + np.stack([prices.contents[l][rows] for l in self._classes])
        chosen, cheapest = price.argmin(axis=0), price.min(axis=0)
        rest = cuts.outer.to_empty(cheapest)
        for i, stage in enumerate(stages):
            found = {
                tuple(sorted((int(chosen[i, x]), x) for x in path))
                for path in cheap_paths(cuts.outer, cheapest[i], rest[i], keep)
            }
            met.cuts.extend((stage, cut) for cut in sorted(found))
            for l, x in sorted({piece for cut in found for piece in cut}):
                shapes = prices.shapes[l][rows[i]]
                split = cheapest_path(cuts.inner, shapes, inner[l, i], x + 1)
                met.splits.append(((l, stage, x), split))
        return self.blocks * int(rest[:, -1].sum())

    @property
    def _classes(self) -> range:
        return range(len(self.leaves))


def scaled(weights: Weights, by: int) -> Weights:
    """The weights times a number."""
    return Weights(**{f.name: by * getattr(weights, f.name) for f in fields(weights)})


def _listed(block: object) -> Block:
    assert isinstance(block, Block)
    return block


def _closing(graph: StageGraph) -> int:
    """Doubled cost of all links of arcs between stages that are not neighbours."""
    return sum(
        2 * arc.weight * graph.block(arc.ends[0]).cells * graph.block(arc.ends[0]).blocks
        for arc in graph.arcs
        if arc.ends[1] - arc.ends[0] > 1
    )
