"""Whole numbers of patterns: the programme of `column_generation` over a given list of columns.

Sets
    k classes of domains, patterns of each class, places p, arcs of each place.
Data
    q[k] domains of class k, uses of every pair by patterns and arcs, costs of patterns, D copies.
Variables
    taken[k, pattern] in 0..q[k], arc[p, arc] in 0..D.
Subject to
    classes[k]        sum of taken over the patterns of k  =  q[k]
    flow[p, part]     arcs into a partition of stage p  =  arcs out of it; D copies start
    coupling[p,a,b]   uses of the pair by the patterns  =  uses of it by the arcs
    window            low <= cost <= high
Minimise
    constant + cost of the patterns

Over the columns of the linear programme its optimum is a plan's cost if the patterns can be
assembled. Over *all* columns that a plan below `high` may use, it is a bound: see `gap`.
"""

from collections import defaultdict
from dataclasses import dataclass
from time import monotonic

import numpy as np
from ortools.sat.python import cp_model

from planner_models.units.copies import Arcs, copy_arcs
from planner_models.units.heights import Ints, Pattern, Pipeline, pattern_cost, pattern_pairs
from planner_models.units.programme import Domains

EFFORT = 20.0
"""Deterministic seconds that one model gets."""

Terms = list[tuple[cp_model.IntVar, int]]


@dataclass(frozen=True)
class Choice:
    """What the integer programme answers.

    Attributes:
        proven: no choice of these columns costs less than this.
        cost: of the choice found, None if there is none.
        patterns: for each class one pattern a domain; empty without a choice.
    """

    proven: int
    cost: int | None
    patterns: tuple[tuple[Pattern, ...], ...]


class IntegerMaster:
    """The model over given columns.

    Args:
        pipeline: units and what cutting them costs.
        domains: where they go.
        patterns: columns of each class; those with equal uses and cost are taken once.
        low, high: the cost looked for.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        domains: Domains,
        patterns: list[list[Pattern]],
        *,
        low: int,
        high: int | None = None,
    ) -> None:
        self.pipeline, self.domains, self.low, self.high = pipeline, domains, low, high
        self.model = cp_model.CpModel()
        self.coupled: dict[tuple[int, int, int], Terms] = defaultdict(list)
        self.paid: Terms = []
        self.taken = [self._patterns(k, found) for k, found in enumerate(patterns)]
        self._arcs(copy_arcs(pipeline))
        for pair, terms in self.coupled.items():
            self._equal(terms, 0, f"coupling{list(pair)}")
        cost = pipeline.constant + _linear(self.paid)
        most = pipeline.constant + sum(abs(c) * pipeline.total for _, c in self.paid)
        self.model.add_linear_constraint(cost, low, most if high is None else high).with_name(
            "window"
        )
        self.model.minimize(cost)

    def _equal(self, terms: Terms, value: int, name: str) -> None:
        """One equation."""
        self.model.add(_linear(terms) == value).with_name(name)

    def _patterns(self, k: int, patterns: list[Pattern]) -> dict[Pattern, cp_model.IntVar]:
        """Variables and uses of the patterns of one class."""
        taken: dict[Pattern, cp_model.IntVar] = {}
        known = set()
        count = int(self.domains.count[k])
        for pattern in patterns:
            uses = pattern_pairs(self.pipeline, pattern)
            cost = pattern_cost(self.pipeline, pattern)
            key = (cost, uses.tobytes())
            if key in known:
                continue
            known.add(key)
            variable = self.model.new_int_var(0, count, f"taken[{k},{len(taken)}]")
            taken[pattern] = variable
            self.paid.append((variable, cost))
            self._use(variable, uses, 1)
        self._equal([(v, 1) for v in taken.values()], count, f"classes[{k}]")
        return taken

    def _arcs(self, arcs: list[Arcs]) -> None:
        """Variables, flow and uses of the arcs."""
        D = self.pipeline.copies
        leaving: list[Terms] = [[]]
        for p, here in enumerate(arcs):
            entering: list[Terms] = [[] for _ in range(here.heads)]
            for index, uses in enumerate(here.uses):
                y = self.model.new_int_var(0, D, f"arc[{p},{index}]")
                leaving[here.tail[index]].append((y, 1))
                entering[here.head[index]].append((y, -1))
                at_place = np.zeros_like(self.pipeline.credit)
                at_place[p] = uses.reshape(at_place[p].shape)
                self._use(y, at_place, -1)
            for part, terms in enumerate(leaving):
                self._equal(terms, D if p == 0 else 0, f"flow[{p},{part}]")
            leaving = entering
        self._equal(leaving[0], -D, f"flow[{len(arcs)},0]")

    def _use(self, variable: cp_model.IntVar, uses: Ints, sign: int) -> None:
        """Count the pairs that a column uses."""
        for p, a, b in np.argwhere(uses).tolist():
            self.coupled[p, a, b].append((variable, sign * int(uses[p, a, b])))

    def solve(self, deadline: float | None = None) -> Choice:
        """The cheapest choice, with what is proven when time is up."""
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_deterministic_time = EFFORT
        if deadline is not None:
            solver.parameters.max_time_in_seconds = max(0.0, deadline - monotonic())
        status = solver.solve(self.model)
        if status == cp_model.INFEASIBLE:
            nothing = self.low if self.high is None else self.high + 1
            return Choice(nothing, None, ())
        proven = max(self.low, round(solver.best_objective_bound))
        if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
            return Choice(self.low, None, ())
        patterns = tuple(
            tuple(p for p, v in taken.items() for _ in range(solver.value(v)))
            for taken in self.taken
        )
        return Choice(proven, round(solver.objective_value), patterns)


def _linear(terms: Terms) -> cp_model.LinearExprT:
    """Sum of coefficient times variable."""
    return cp_model.LinearExpr.weighted_sum([v for v, _ in terms], [c for _, c in terms])
