"""Whole numbers of patterns: the programme of `column_generation` over a given list of columns.

Sets
    k classes of domains, patterns of each class, places p, arcs of each place; and for the copies
    laid out one by one: segment types g, copies d, stages p.
Data
    q[k] domains of class k, uses of every pair by patterns and arcs, costs of patterns, D copies,
    heights h[g, p], slices C[p].
Variables
    taken[k, pattern] in 0..q[k], arc[p, arc] in 0..D, laid[g, d] segments of type g in copy d.
Subject to
    classes[k]        sum of taken over the patterns of k  =  q[k]
    flow[p, part]     arcs into a partition of stage p  =  arcs out of it; D copies start
    coupling[p,a,b]   uses of the pair by the patterns  =  uses of it by the arcs
    window            low <= cost <= high
  and if the copies are laid out
    used[g]           sum of laid over the copies  =  segments of the type in the patterns taken
    filled[p,d]       sum of h[g, p] laid[g, d]    =  C[p]
Minimise
    constant + cost of the patterns

Over the columns of the linear programme its optimum is a plan's cost if the patterns can be
assembled, which they can if the copies are laid out. Over *all* columns that a plan below `high`
may use (see `gap`) it is a bound.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from time import monotonic

import numpy as np
from ortools.sat.python import cp_model

from planner_models import interruption
from planner_models.units.branch_and_cut import searched
from planner_models.units.copies import Arcs, copy_arcs
from planner_models.units.heights import (
    Ints,
    Pattern,
    Pipeline,
    Segment,
    pattern_cost,
    pattern_pairs,
)
from planner_models.units.programme import Domains

SHORT, LONG = 1.0, 4.0
"""Deterministic seconds of CP-SAT before and after it is given a hint."""

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
        patterns: columns of each class; unless the copies are laid out, those with equal uses and
            cost are taken once.
        laid: whether to lay out the copies one by one.
        low, high: the cost looked for.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        domains: Domains,
        patterns: list[list[Pattern]],
        *,
        low: int,
        high: int,
        laid: bool = False,
    ) -> None:
        self.pipeline, self.domains, self.low, self.high = pipeline, domains, low, high
        self.model = cp_model.CpModel()
        self.coupled: dict[tuple[int, int, int], Terms] = defaultdict(list)
        self.used: dict[Segment, Terms] = defaultdict(list)
        self.paid: Terms = []
        self.taken = [self._patterns(k, found, laid=laid) for k, found in enumerate(patterns)]
        self._arcs(copy_arcs(pipeline))
        for pair, terms in self.coupled.items():
            self._equal(terms, 0, f"coupling{list(pair)}")
        if laid:
            self._copies()
        cost = linear(self.paid)
        limits = low - pipeline.constant, high - pipeline.constant
        self.model.add_linear_constraint(cost, *limits).with_name("window")
        self.model.minimize(cost)

    def _equal(self, terms: Terms, value: int, name: str) -> None:
        """One equation."""
        self.model.add_linear_constraint(linear(terms), value, value).with_name(name)

    def _patterns(
        self, k: int, patterns: list[Pattern], *, laid: bool
    ) -> dict[Pattern, cp_model.IntVar]:
        """Variables and uses of the patterns of one class."""
        taken: dict[Pattern, cp_model.IntVar] = {}
        known: set[object] = set()
        count = int(self.domains.count[k])
        for pattern in patterns:
            uses = pattern_pairs(self.pipeline, pattern)
            cost = pattern_cost(self.pipeline, pattern)
            key = pattern if laid else (cost, uses.tobytes())
            if key in known:
                continue
            known.add(key)
            variable = self.model.new_int_var(0, count, f"taken[{k},{len(taken)}]")
            taken[pattern] = variable
            self.paid.append((variable, cost))
            self._use(variable, uses, 1)
            for segment, times in Counter(pattern).items():
                self.used[segment].append((variable, times))
        self._equal([(v, 1) for v in taken.values()], count, f"classes[{k}]")
        return taken

    def _arcs(self, arcs: list[Arcs]) -> None:
        """Variables, flow and uses of the arcs whose pairs some pattern has."""
        D = self.pipeline.copies
        known = np.zeros(self.pipeline.credit.shape, bool)
        known[tuple(np.array(list(self.coupled)).T)] = True
        leaving: list[Terms] = [[]]
        for p, here in enumerate(arcs):
            entering: list[Terms] = [[] for _ in range(here.heads)]
            usable = ~here.uses[:, ~known[p].ravel()].any(1)
            for index in np.flatnonzero(usable).tolist():
                uses = here.uses[index]
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

    def _copies(self) -> None:
        """Lay the segments of the patterns taken into copies."""
        laid = lay_out(self.model, self.pipeline, list(self.used))
        for g, (segment, terms) in enumerate(self.used.items()):
            self._equal([(v, -1) for v in laid[segment]] + terms, 0, f"used[{g}]")

    def solve(self, deadline: float | None = None) -> Choice:
        """The cheapest choice, with what is proven when time is up."""
        answer, values = solved(self.model, self.low - self.pipeline.constant, deadline)
        if answer == cp_model.INFEASIBLE:
            return Choice(self.high + 1, None, ())
        if values is None:
            return Choice(self.low, None, ())
        cost = self.pipeline.constant + sum(c * int(values[v.index]) for v, c in self.paid)
        patterns = tuple(
            tuple(p for p, v in taken.items() for _ in range(values[v.index]))
            for taken in self.taken
        )
        return Choice(cost if answer == cp_model.OPTIMAL else self.low, cost, patterns)


def lay_out(
    model: cp_model.CpModel, pipeline: Pipeline, segments: list[Segment]
) -> dict[Segment, list[cp_model.IntVar]]:
    """Variables of the segments in each copy, which fill every stage of it."""
    D = pipeline.copies
    laid: dict[Segment, list[cp_model.IntVar]] = {}
    for g, (first, heights) in enumerate(segments):
        most = min(int(pipeline.slices[p]) // h for p, h in enumerate(heights, first))
        laid[first, heights] = [model.new_int_var(0, most, f"laid[{g},{d}]") for d in range(D)]
    for p, slices in enumerate(pipeline.slices.tolist()):
        here = [(s, s[1][p - s[0]]) for s in segments if 0 <= p - s[0] < len(s[1])]
        for d in range(D):
            filled = linear([(laid[s][d], h) for s, h in here])
            model.add_linear_constraint(filled, slices, slices).with_name(f"filled[{p},{d}]")
    return laid


def solved(
    model: cp_model.CpModel, low: int, deadline: float | None
) -> tuple[cp_model.CpSolverStatus, Ints | None]:
    """CP-SAT's answer and its best values; where it has none soon, branch and cut gives it a hint.

    Args:
        model: with an objective that is never below `low`.
        low: that bound, which needs no proof when it is met.
        deadline: `time.monotonic()` at which to stop.
    """
    status, values = _proven(model, SHORT, deadline)
    if status in {cp_model.OPTIMAL, cp_model.INFEASIBLE}:
        return status, values
    left = None if deadline is None else deadline - monotonic()
    hint = searched(model, left) if left is None or left > 0 else None
    if hint is None:
        return status, values
    objective = model.proto.objective
    if int(hint[list(objective.vars)] @ np.array(objective.coeffs)) == low:
        return cp_model.OPTIMAL, hint
    for index, value in enumerate(hint.tolist()):
        model.add_hint(model.get_int_var_from_proto_index(index), value)
    status, values = _proven(model, LONG, deadline)
    return (cp_model.FEASIBLE, hint) if values is None else (status, values)


def _proven(
    model: cp_model.CpModel, effort: float, deadline: float | None
) -> tuple[cp_model.CpSolverStatus, Ints | None]:
    """CP-SAT's answer within some deterministic seconds."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = effort
    if deadline is not None:
        solver.parameters.max_time_in_seconds = max(0.0, deadline - monotonic())
    status = interruption.solve(solver, model)
    if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return status, None
    return status, np.array(solver.response_proto.solution, np.int64)


def linear(terms: Terms) -> cp_model.LinearExprT:
    """Sum of coefficient times variable."""
    return cp_model.LinearExpr.weighted_sum([v for v, _ in terms], [c for _, c in terms])
