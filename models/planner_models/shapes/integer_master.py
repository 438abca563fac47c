"""The master in integers, over the patterns and tilings that a plan below a target can use.

With prices that prove L, a plan of cost at most T uses only node patterns and tilings whose excess
over the cheapest is at most T - L, since excesses add up. That leaves tens to thousands of
patterns, all of which are listed. The segments they are made of are then dealt to block copies: a
copy needs a tiling on every stage *at once*, which (stage, shape) coupling alone does not ask for.

Sets
    k: capacities. p: patterns. j: segments in them. s: stages.
Variables
    node[k, p] in 0..q[k]: domains of capacity k that hold pattern p.
    cut[s, arc] in 0..D: blocks of stage s whose tiling path runs through an arc.
    deal, part, lost: see `dealing`, with a lot for every segment j.
Subject to
    domains[k]:       sum_p node[k, p] = q[k]
    path[s, v]:       as many paths leave a vertex as reach it; D leave the whole block
    coupling[row]:    pieces of a shape held = pieces of it cut
    dealt[j]:         segments dealt = sum node[k, p] use[p, j]
    parts, tiled, core: see `dealing`; apart: see `parting`
    target:           cost <= T
Minimise
    cost: of the patterns, and of the links lost

If nothing satisfies it, every plan costs more than T; otherwise the optimum bounds every plan.
Paths and coupling are implied by the deal; they make the linear relaxation tight.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from time import monotonic

import numpy as np
from ortools.sat.python import cp_model

from planner_models import interruption
from planner_models.shapes.column_generation import Evaluation, Relaxation
from planner_models.shapes.dealing import Dealing, Rows, TooManyTilingsError
from planner_models.shapes.packing import Packing
from planner_models.shapes.parting import Parting
from planner_models.shapes.planes import SCALE
from planner_models.shapes.pricing import Pattern

MOST_PATTERNS = 20_000
"""Patterns of one capacity listed at most."""

MOST_ARCS = 50_000
"""Tiling arcs of all stages listed at most."""

MOST_DEALS = 100_000
"""Most lots times copies that are dealt; beyond, the deal is left out and the bound is weaker."""


@dataclass(frozen=True, slots=True)
class Solution:
    """What the domains hold.

    Attributes:
        paper: doubled cost of the patterns.
        loss: doubled cost of the links that copies must lose, at least.
        contents: per capacity the pattern of every domain.
    """

    paper: int
    loss: int
    contents: tuple[tuple[Pattern, ...], ...]

    @property
    def cost(self) -> int:
        """Doubled cost, losses included."""
        return self.paper + self.loss


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known once a target has been looked at.

    Attributes:
        lower: doubled cost every plan has at least, or just above the doubled target.
        solution: the cheapest contents found.
        decided: whether the search was complete.
    """

    lower: int
    solution: Solution | None
    decided: bool


class IntegerMaster:
    """The model for one target; `build` refuses targets with too many patterns.

    Args:
        relaxation: the problem.
        prices: prices and their L.
        target: T, a cost (not doubled).
        patterns: per capacity the patterns of small enough excess.

    Attributes:
        listed: most patterns of one capacity.
    """

    def __init__(
        self,
        relaxation: Relaxation,
        prices: Evaluation,
        target: int,
        patterns: list[list[Pattern]],
    ) -> None:
        self._relaxation = relaxation
        self._target = target
        self.listed = max(map(len, patterns))
        self.model = cp_model.CpModel()
        self._pieces: defaultdict[int, list[cp_model.LinearExprT]] = defaultdict(list)
        self._used: defaultdict[Rows, list[cp_model.IntVar]] = defaultdict(list)
        self._node = [self._nodes(k, found) for k, found in enumerate(patterns)]
        self._cut(prices, 2 * SCALE * target - prices.total)
        for line, pieces in self._pieces.items():
            self.model.add(sum(pieces) == 0).with_name(f"coupling[{line}]")
        self._dealing = self._dealt()
        self._parting = self._parted()
        cost = relaxation.graph.constant + sum(
            relaxation.pricing[k].cost(pattern) * count
            for k, counts in enumerate(self._node)
            for pattern, count in counts.items()
        )
        if self._dealing:
            cost += self._dealing.loss
        self.model.add(cost <= 2 * target).with_name("target")
        self.model.minimize(cost)

    @classmethod
    def build(
        cls,
        relaxation: Relaxation,
        prices: Evaluation,
        target: int,
        *,
        most: int | None = None,
    ) -> "IntegerMaster | None":
        """The model, unless the target allows more than `most` patterns of one capacity."""
        most = MOST_PATTERNS if most is None else min(most, MOST_PATTERNS)
        gap = 2 * SCALE * target - prices.total
        patterns = []
        price = relaxation.coupling.of_shapes(prices.price)
        for pricing, cheapest in zip(relaxation.pricing, prices.cheapest, strict=True):
            found = pricing.within(price, cheapest + gap + 1, most=most)
            if found is None:
                return None
            patterns.append([p.pattern for p in found])
        arcs = sum(
            np.count_nonzero(batch.tiler.graph.excess(prices.price[batch.lines]) <= gap)
            for batch in relaxation.coupling.batches
        )
        if arcs > MOST_ARCS:
            return None
        return cls(relaxation, prices, target, patterns)

    def _nodes(self, k: int, patterns: list[Pattern]) -> dict[Pattern, cp_model.IntVar]:
        pricing, count = self._relaxation.pricing[k], self._relaxation.count[k]
        node = {}
        for p, pattern in enumerate(patterns):
            node[pattern] = held = self.model.new_int_var(0, count, f"node[{k},{p}]")
            for segment in pattern:
                rows = pricing.rows_of(segment)
                self._used[rows].append(held)
                for line in self._relaxation.coupling.lines_of(rows):
                    self._pieces[line].append(held)
        self.model.add(sum(node.values()) == count).with_name(f"domains[{k}]")
        return node

    def _cut(self, prices: Evaluation, gap: int) -> None:
        thing = 0
        for batch in self._relaxation.coupling.batches:
            graph = batch.tiler.graph
            excess = graph.excess(prices.price[batch.lines])
            for lines, useful in zip(batch.lines, excess <= gap, strict=True):
                balance: defaultdict[int, list[cp_model.LinearExprT]] = defaultdict(list)
                for arc in np.flatnonzero(useful).tolist():
                    cut = self.model.new_int_var(0, batch.tiler.count, f"cut[{thing},{arc}]")
                    balance[int(graph.tail[arc])].append(cut)
                    balance[int(graph.head[arc])].append(-cut)
                    self._pieces[int(lines[graph.shape[arc]])].append(-cut)
                for vertex in balance.keys() - {0}:
                    leaving = batch.tiler.count if vertex == graph.vertices - 1 else 0
                    path = self.model.add(sum(balance[vertex]) == leaving)
                    path.with_name(f"path[{thing},{vertex}]")
                thing += 1

    def _dealt(self) -> Dealing | None:
        graph = self._relaxation.graph
        if graph.split or graph.blocks[0].blocks * len(self._used) > MOST_DEALS:
            return None
        lots = [(rows, sum(used)) for rows, used in self._used.items()]
        try:
            return Dealing(self.model, self._relaxation, lots)
        except TooManyTilingsError:
            return None

    def _parted(self) -> Parting | None:
        if self._dealing is None:
            return None
        held = [
            (pricing.rows_of_all(pattern), count)
            for pricing, node in zip(self._relaxation.pricing, self._node, strict=True)
            for pattern, count in node.items()
        ]
        return Parting(self.model, self._relaxation, held, self._dealing)

    def solve(self, packing: Packing, deadline: float | None = None) -> Answer:
        """The optimum, or what is known of it when time runs out.

        Args:
            packing: cores known; those of optima found on the way are added to it.
            deadline: `time.monotonic` to stop at.
        """
        if self._dealing:
            for core in packing.cores:
                self._dealing.avoid(core)
        lower = 0
        while True:
            solver = quiet_solver(deadline)
            answer = self._answer(solver, interruption.solve(solver, self.model), lower)
            if answer.solution is None or self._dealing is None or self._parting is None:
                return answer
            cores, crowds = self._dealing.cores(solver, packing), self._parting.crowds(solver)
            if not cores and not crowds:
                return answer
            for core in cores:
                self._dealing.avoid(core)
            for module, shapes in crowds:
                self._parting.part(module, shapes)
            lower = answer.lower

    def _answer(
        self, solver: cp_model.CpSolver, status: cp_model.CpSolverStatus, lower: int
    ) -> Answer:
        above = 2 * self._target + 1
        if status == cp_model.INFEASIBLE:
            return Answer(above, None, decided=True)
        lower = max(lower, min(above, round(solver.best_objective_bound)))
        if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
            return Answer(lower, None, decided=False)
        contents = tuple(
            tuple(pattern for pattern, held in node.items() for _ in range(solver.value(held)))
            for node in self._node
        )
        cost = round(solver.objective_value)
        loss = solver.value(self._dealing.loss) if self._dealing else 0
        solution = Solution(cost - loss, loss, contents)
        return Answer(lower, solution, decided=status == cp_model.OPTIMAL)

    def forbid(self, solution: Solution) -> None:
        """Exclude the contents of a solution (domains of one capacity are alike)."""
        changed = []
        for node, held in zip(self._node, solution.contents, strict=True):
            for pattern, times in Counter(held).items():
                fewer, more = self.model.new_bool_var(""), self.model.new_bool_var("")
                self.model.add(node[pattern] < times).only_enforce_if(fewer)
                self.model.add(node[pattern] > times).only_enforce_if(more)
                changed += [fewer, more]
        self.model.add_bool_or(changed).with_name("forbidden")


def quiet_solver(deadline: float | None, seed: int = 0) -> cp_model.CpSolver:
    """One worker that stops at a `time.monotonic`."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.linearization_level = 2
    solver.parameters.random_seed = seed
    if deadline is not None:
        solver.parameters.max_time_in_seconds = max(0.0, deadline - monotonic())
    return solver
