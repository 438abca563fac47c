"""The cuts of all blocks of a stage as flows of whole numbers, for `integer_master`.

Only arcs on paths of small enough excess over the cheapest path get a variable.
"""

from collections import defaultdict

import numpy as np
from ortools.sat.python import cp_model

from planner_models.nested.relaxation import Prices, Relaxation
from planner_models.shapes.tilings import Ints, TilingGraph

_FAR = np.iinfo(np.int64).max // 8


class CutFlows:
    """Variables and constraints of the cuts on one stage, added to a model.

    Args:
        model: the model to add to.
        relaxation: the problem.
        prices: the prices behind the bound.
        gap: greatest excess, in units of 1 / SCALE of a doubled cost.

    Attributes:
        shapes, contents: (class of leaves, row) flows of the arcs that remove it.
        arcs: number of variables added.
    """

    def __init__(
        self,
        model: cp_model.CpModel,
        relaxation: Relaxation,
        prices: Prices,
        gap: int,
    ) -> None:
        self._model = model
        self._relaxation = relaxation
        self._prices = prices
        self._gap = gap
        self.shapes: defaultdict[tuple[int, int], list[cp_model.IntVar]] = defaultdict(list)
        self.contents: defaultdict[tuple[int, int], list[cp_model.IntVar]] = defaultdict(list)
        self.arcs = 0

    def add(self, stage: int) -> None:
        """Add the cuts of a stage."""
        cuts = self._relaxation.cuts_on(stage)
        first = self._relaxation.node_graph.offset[stage]
        rows = first + np.arange(cuts.outer.vertices - 1)
        shapes, contents = self._prices.shapes[:, rows], self._prices.contents[:, rows]
        inner = cuts.inner.to_empty(shapes)
        price = inner[:, 1:] + contents
        cheapest = price.min(axis=0, keepdims=True)
        below, above = cuts.outer.to_empty(cheapest)[0], cuts.outer.from_whole(cheapest)[0]
        around = above[cuts.outer.tail] + below[cuts.outer.head] - below[-1]
        begun = self._cut(stage, cuts.outer, around + price[:, cuts.outer.shape])
        for l, _ in enumerate(self._relaxation.leaves):
            start = np.full(cuts.outer.vertices, _FAR, dtype=np.int64)
            np.minimum.at(start, cuts.outer.shape + 1, around + contents[l, cuts.outer.shape])
            excess = _through(cuts.inner, start, shapes[l], inner[l])
            self._split(l, stage, cuts.inner, excess, begun[l])

    def _cut(
        self, stage: int, graph: TilingGraph, excess: Ints
    ) -> list[defaultdict[int, list[cp_model.IntVar]]]:
        """Flow of blocks into contents; answers what is cut out, per class and content."""
        begun: list[defaultdict[int, list[cp_model.IntVar]]]
        begun = [defaultdict(list) for _ in self._relaxation.leaves]
        balance: defaultdict[int, list[cp_model.LinearExprT]] = defaultdict(list)
        first = self._relaxation.node_graph.offset[stage]
        for l, arc in np.argwhere(excess <= self._gap).tolist():
            name = f"outer[{stage},{l},{arc}]"
            cut = self._variable(graph, arc, self._relaxation.blocks, name, balance)
            begun[l][int(graph.shape[arc])].append(cut)
            self.contents[l, first + int(graph.shape[arc])].append(cut)
        for vertex in sorted(balance.keys() - {0}):
            leaving = self._relaxation.blocks if vertex == graph.vertices - 1 else 0
            path = self._model.add(sum(balance[vertex]) == leaving)
            path.with_name(f"path[{stage},{vertex}]")
        return begun

    def _split(
        self,
        l: int,
        stage: int,
        graph: TilingGraph,
        excess: Ints,
        begun: dict[int, list[cp_model.IntVar]],
    ) -> None:
        """Flow of the contents of a class into shapes."""
        balance: defaultdict[int, list[cp_model.LinearExprT]] = defaultdict(list)
        first = self._relaxation.node_graph.offset[stage]
        most = self._relaxation.blocks * self._relaxation.node_graph.block(stage).cells
        for arc in np.flatnonzero(excess <= self._gap).tolist():
            cut = self._variable(graph, arc, most, f"inner[{l},{stage},{arc}]", balance)
            self.shapes[l, first + int(graph.shape[arc])].append(cut)
        for content, cuts in begun.items():
            balance[content + 1] += [-cut for cut in cuts]
        for vertex in sorted(balance.keys() - {0}):
            split = self._model.add(sum(balance[vertex]) == 0)
            split.with_name(f"split[{l},{stage},{vertex}]")

    def _variable(
        self,
        graph: TilingGraph,
        arc: int,
        most: int,
        name: str,
        balance: defaultdict[int, list[cp_model.LinearExprT]],
    ) -> cp_model.IntVar:
        cut = self._model.new_int_var(0, most, name)
        balance[int(graph.tail[arc])].append(cut)
        balance[int(graph.head[arc])].append(-cut)
        self.arcs += 1
        return cut


def _through(graph: TilingGraph, start: Ints, price: Ints, to_empty: Ints) -> Ints:
    """[arc] least price of a path through it that begins anywhere, given [vertex] its start."""
    reached = start.copy()
    for layer in reversed(graph.layers):
        onward = reached[graph.tail[layer]] + price[graph.shape[layer]]
        np.minimum.at(reached, graph.head[layer], onward)
    through: Ints = reached[graph.tail] + price[graph.shape] + to_empty[graph.head]
    return through
