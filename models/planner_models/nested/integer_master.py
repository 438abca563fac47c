"""The relaxation in integers, over what a plan below a target can use.

With prices that prove a bound L, a plan of cost at most T uses only node patterns and cuts whose
excess over the cheapest is at most T - L, since excesses add up. All of them are listed. Leaves
keep their prices: contents cost nu, and leaf patterns what the cheapest does at nu, so that nothing
has to be known about what a leaf can hold. The segments of nodes are dealt to block copies, which
have to be tiled on every stage at once (`shapes.dealing`).

Sets
    l: classes of leaves. k: capacities. s: stages. p: node patterns. x: contents. y: shapes.
Data
    nu[l, s, x]: prices of contents. leaf[l]: least value of a leaf pattern at those prices.
Variables
    node[l, k, p] in 0..q[l, k]: nodes that hold a pattern.
    outer[s, l, arc], inner[l, s, arc] >= 0: see `cut_flows`.
    deal, part: see `shapes.dealing`, with a lot for every segment in the patterns.
Subject to
    nodes[l, k]:     sum_p node = q[l, k]
    path, split:     see `cut_flows`
    shapes[l, s, y]: pieces of y in node patterns = inner arcs that remove y
    dealt, parts, tiled: see `shapes.dealing`
    target:          cost <= T
Minimise
    cost: of node patterns, plus nu of what outer arcs remove, plus sum_l n[l] leaf[l]

If nothing satisfies it, every plan costs more than T; otherwise the optimum bounds every plan.
"""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

from ortools.sat.python import cp_model

from planner_models import interruption
from planner_models.nested.cut_flows import CutFlows
from planner_models.nested.relaxation import Evaluation, Relaxation
from planner_models.shapes.column_generation import Relaxation as OneLevel
from planner_models.shapes.coupling import Coupling
from planner_models.shapes.dealing import Dealing, TooManyTilingsError
from planner_models.shapes.planes import SCALE
from planner_models.shapes.pricing import Priced

MOST_PATTERNS = 5_000
"""Node patterns of one class and capacity listed at most."""

MOST_ARCS = 20_000
"""Arcs of all stages and classes at most."""

MOST_DEALS = 20_000
"""Most lots times copies that are dealt; beyond, the deal is left out and the bound is weaker."""

MOST_WORK = 60.0
"""Deterministic seconds spent on a target at most, also where there is no deadline."""

_Lots = defaultdict[tuple[int, ...], list[cp_model.IntVar]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known once a target has been looked at.

    Attributes:
        lower: least cost of a plan, or just above the target, in units of 1 / SCALE, doubled.
        met: whether there is a solution.
        decided: whether the search was complete.
    """

    lower: int
    met: bool
    decided: bool


class IntegerMaster:
    """The model for one target; `build` refuses targets that allow too much.

    Args:
        relaxation: the problem.
        seen: prices and their bound.
        gap: how far the target lies above it, in units of 1 / SCALE of a doubled cost.
        patterns: node patterns of small enough excess, in order of `Relaxation.nodes`.
    """

    def __init__(
        self,
        relaxation: Relaxation,
        seen: Evaluation,
        gap: int,
        patterns: Sequence[Sequence[Priced]],
    ) -> None:
        self._relaxation = relaxation
        self._above = seen.total + gap + 1
        self._least = seen.total
        self.model = cp_model.CpModel()
        self._cost: list[cp_model.LinearExprT] = [SCALE * relaxation.constant]
        self._shapes: defaultdict[tuple[int, int], list[cp_model.LinearExprT]] = defaultdict(list)
        self._lots: _Lots = defaultdict(list)
        for i, found in enumerate(patterns):
            self._hold(i, found)
        self.flows = CutFlows(self.model, relaxation, seen.prices, gap)
        for stage in range(len(relaxation.node_graph.module)):
            self.flows.add(stage)
        for (l, row), cuts in self.flows.shapes.items():
            self._shapes[l, row] += [-cut for cut in cuts]
        for (l, row), held in self._shapes.items():
            self.model.add(sum(held) == 0).with_name(f"shapes[{l},{row}]")
        for (l, row), cuts in self.flows.contents.items():
            self._cost.append(int(seen.prices.contents[l, row]) * sum(cuts))
        for leaf, value in zip(relaxation.leaves, seen.leaves, strict=True):
            self._cost.append(leaf.count * value)
        self._deal()
        cost = sum(self._cost)
        self.model.add(cost <= seen.total + gap).with_name("target")
        self.model.minimize(cost)

    @classmethod
    def build(cls, relaxation: Relaxation, seen: Evaluation, target: int) -> "IntegerMaster | None":
        """The model, unless the target lies too far above the bound to list what it allows."""
        gap = 2 * SCALE * target - seen.total
        patterns = []
        for (l, pricing, _), cheapest in zip(relaxation.nodes, seen.cheapest, strict=True):
            limit = cheapest + gap + 1
            found = pricing.within(seen.prices.shapes[l], limit, most=MOST_PATTERNS)
            if found is None:
                return None
            patterns.append(found)
        made = cls(relaxation, seen, gap, patterns)
        return made if made.flows.arcs <= MOST_ARCS else None

    def _hold(self, i: int, found: Sequence[Priced]) -> None:
        l, pricing, count = self._relaxation.nodes[i]
        node = []
        for p, priced in enumerate(found):
            held = self.model.new_int_var(0, count, f"node[{i},{p}]")
            node.append(held)
            self._cost.append(SCALE * pricing.cost(priced.pattern) * held)
            for row in pricing.rows_of_all(priced.pattern):
                self._shapes[l, row].append(held)
            for segment in priced.pattern:
                self._lots[pricing.rows_of(segment)].append(held)
        self.model.add(sum(node) == count).with_name(f"nodes[{i}]")

    def _deal(self) -> None:
        if self._relaxation.blocks * len(self._lots) > MOST_DEALS:
            return
        graph = self._relaxation.node_graph
        nodes_alone = OneLevel(graph, Coupling(graph), (), ())
        lots = [(rows, sum(held)) for rows, held in self._lots.items()]
        with suppress(TooManyTilingsError):
            Dealing(self.model, nodes_alone, lots)

    def solve(self, deadline: float | None = None) -> Answer:
        """The optimum, or what is known of it when time runs out."""
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.linearization_level = 2
        solver.parameters.max_deterministic_time = MOST_WORK
        if deadline is not None:
            solver.parameters.max_time_in_seconds = max(0.0, deadline - monotonic())
        status = interruption.solve(solver, self.model)
        if status == cp_model.INFEASIBLE:
            return Answer(self._above, met=False, decided=True)
        lower = max(self._least, min(self._above, round(solver.best_objective_bound)))
        met = status in {cp_model.OPTIMAL, cp_model.FEASIBLE}
        return Answer(lower, met, decided=status == cp_model.OPTIMAL)
