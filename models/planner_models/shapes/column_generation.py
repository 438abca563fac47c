"""Prices for the shapes: column generation, and the bound any prices give.

Sets
    k: capacities, q[k] domains of each. s: stages, D blocks each. rows: (s, shape).
Data
    cost[p]: doubled cost of node pattern p. use[p, row], use[t, row]: pieces of a shape in a
    pattern, in a tiling.
Variables
    node[k, p] >= 0: domains of capacity k that hold pattern p.
    tile[s, t] >= 0: blocks of stage s cut by tiling t.
Subject to
    domains[k]:  sum_p node[k, p] = q[k]
    blocks[s]:   sum_t tile[s, t] = D
    coupling[row]: sum node[k, p] use[p, row] = sum tile[s, t] use[t, row]
Minimise
    sum cost[p] node[k, p]

Relaxing the coupling at prices mu leaves problems that part, so for *any* mu

    L(mu) = sum_k q[k] min_p (cost[p] - mu use[p]) + sum_s D min_t (mu use[t])

is a lower bound. Prices are rounded to multiples of 1 / SCALE and L is evaluated in integers; the
linear programme over the columns found so far only proposes where to look.
"""

from dataclasses import dataclass
from time import monotonic

import numpy as np
from ortools.linear_solver import pywraplp  # type: ignore[import-untyped]  # ships no stubs

from planner_models.shapes.blocks import Ints
from planner_models.shapes.planes import SCALE
from planner_models.shapes.pricing import FAR, NodePricing, Pattern
from planner_models.shapes.stages import StageGraph
from planner_models.shapes.tilings import TilingGraph

_KEEP = 5
"""Patterns of each capacity that join the programme a round."""

_SLACK = 1e-6
"""What counts as zero in floating point."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """L at some prices.

    Attributes:
        price: [row] prices in units of 1 / SCALE of a doubled cost.
        total: L, in the same units, pair links' constant included.
        cheapest: least pattern value of each capacity.
        patterns: per capacity the patterns met on the way to it, cheapest first.
        tilings: per stage the shapes of a cheapest tiling.
    """

    price: Ints
    total: int
    cheapest: tuple[int, ...]
    patterns: tuple[tuple[Pattern, ...], ...]
    tilings: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Relaxation:
    """Everything L needs.

    Attributes:
        graph: stages and shapes.
        tilings: tiling graph of each module.
        pricing: node patterns of each capacity.
        count: domains of each capacity.
    """

    graph: StageGraph
    tilings: tuple[TilingGraph, ...]
    pricing: tuple[NodePricing, ...]
    count: tuple[int, ...]

    def evaluate(self, price: Ints, *, keep: int = 1) -> Evaluation:
        """L at integer prices, exactly, and `keep` cheap patterns of each capacity."""
        cheapest, patterns = [], []
        for pricing in self.pricing:
            found = pricing.search(price, FAR, keep=keep)
            cheapest.append(found[0].value)
            patterns.append(tuple(p.pattern for p in found))
        total = SCALE * self.graph.constant
        total += sum(q * value for q, value in zip(self.count, cheapest, strict=True))
        paths: list[tuple[int, ...]] = []
        for m, tilings in enumerate(self.tilings):
            table = self.price_table(price, m)
            rest = tilings.to_empty(table)
            total += self.graph.blocks[m].blocks * int(rest[:, -1].sum())
            paths += tilings.cheapest_paths(table, rest)
        return Evaluation(price, total, tuple(cheapest), tuple(patterns), tuple(paths))

    def price_table(self, price: Ints, module: int) -> Ints:
        """[stage of the module, shape] prices."""
        stages = [s for s, m in enumerate(self.graph.module) if m == module]
        first, last = self.graph.offset[stages[0]], self.graph.offset[stages[-1] + 1]
        return price[first:last].reshape(len(stages), -1)


class Master:
    """The linear programme over the columns found so far, with a slack of either sign a row.

    Attributes:
        patterns: per capacity the node patterns that have a column.
        tilings: per stage the tilings that have a column.
    """

    def __init__(self, relaxation: Relaxation) -> None:
        graph = relaxation.graph
        self._relaxation = relaxation
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        self._objective = self._solver.Objective()
        self._objective.SetMinimization()
        self._coupling = [self._solver.Constraint(0.0, 0.0) for _ in range(graph.rows)]
        self._domains = [self._exactly(q) for q in relaxation.count]
        self._blocks = [self._exactly(graph.block(s).blocks) for s in range(len(graph.module))]
        self._slacks = [self._column({row: sign}) for row in self._coupling for sign in (1.0, -1.0)]
        self._penalty = 0.0
        self._set_penalty(max(2.0, *(float(b.own.max()) for b in graph.blocks)))
        self.patterns: list[dict[Pattern, pywraplp.Variable]] = [{} for _ in relaxation.count]
        self.tilings: list[dict[tuple[int, ...], pywraplp.Variable]] = [{} for _ in graph.module]

    def add(self, evaluation: Evaluation) -> int:
        """Give columns to what an evaluation met; answers how many were new."""
        new = 0
        for k, patterns in enumerate(evaluation.patterns):
            pricing = self._relaxation.pricing[k]
            for pattern in patterns:
                if pattern not in self.patterns[k]:
                    rows = [row for j in pattern for row in pricing.rows_of(j)]
                    column = self._column(self._uses(rows, 1.0) | {self._domains[k]: 1.0})
                    self._objective.SetCoefficient(column, float(pricing.cost(pattern)))
                    self.patterns[k][pattern] = column
                    new += 1
        for s, tiling in enumerate(evaluation.tilings):
            if tiling not in self.tilings[s]:
                rows = [self._relaxation.graph.offset[s] + shape for shape in tiling]
                uses = self._uses(rows, -1.0)
                self.tilings[s][tiling] = self._column(uses | {self._blocks[s]: 1.0})
                new += 1
        return new

    def solve(self) -> "Proposal | None":
        """Optimum over the columns; nothing if the solver reports trouble."""
        if self._solver.Solve() != pywraplp.Solver.OPTIMAL:
            return None
        price = np.array([row.dual_value() for row in self._coupling])
        slack = sum(s.solution_value() for s in self._slacks)
        value = self._objective.Value() + self._relaxation.graph.constant
        return Proposal(value, np.rint(price * SCALE).astype(np.int64), slack > _SLACK)

    def raise_penalty(self) -> None:
        """Make slack four times dearer."""
        self._set_penalty(4.0 * self._penalty)

    def _set_penalty(self, penalty: float) -> None:
        self._penalty = penalty
        for slack in self._slacks:
            self._objective.SetCoefficient(slack, penalty)

    def _exactly(self, count: int) -> pywraplp.Constraint:
        return self._solver.Constraint(float(count), float(count))

    def _uses(self, rows: list[int], sign: float) -> dict[pywraplp.Constraint, float]:
        return {self._coupling[row]: sign * rows.count(row) for row in rows}

    def _column(self, entries: dict[pywraplp.Constraint, float]) -> pywraplp.Variable:
        column = self._solver.NumVar(0.0, self._solver.infinity(), "")
        for constraint, coefficient in entries.items():
            constraint.SetCoefficient(column, coefficient)
        return column


@dataclass(frozen=True, slots=True)
class Proposal:
    """An optimum of the linear programme.

    Attributes:
        value: doubled cost, constant included.
        price: [row] its prices, rounded, in units of 1 / SCALE.
        slack: whether slack is part of it, so that `value` says nothing about L.
    """

    value: float
    price: Ints
    slack: bool


def best_prices(
    relaxation: Relaxation,
    *,
    enough: int,
    granularity: int = 1,
    deadline: float | None = None,
) -> tuple[Evaluation, Master]:
    """Prices with the greatest L, and the programme whose columns led there.

    Each round evaluates halfway between the best prices so far and the programme's, and at the
    programme's own if that brings no column.

    Args:
        relaxation: the problem.
        enough: stop once the bound reaches this cost.
        granularity: costs are multiples of this.
        deadline: `time.monotonic` to stop at; the prices so far are valid as they are.
    """
    master = Master(relaxation)
    best = relaxation.evaluate(np.zeros(relaxation.graph.rows, dtype=np.int64), keep=_KEEP)
    master.add(best)
    while rounded(best.total, granularity) < enough and not _past(deadline):
        proposal = master.solve()
        if proposal is None:
            break
        reached = 2 * rounded(best.total, granularity) >= proposal.value - _SLACK
        if reached and not proposal.slack:
            break
        new = 0
        for price in ((best.price + proposal.price) // 2, proposal.price):
            seen = relaxation.evaluate(price, keep=_KEEP)
            best = max(best, seen, key=lambda e: e.total)
            new = master.add(seen)
            if new:
                break
        if not new and not proposal.slack:
            break
        if not new:
            master.raise_penalty()
    return best, master


def rounded(total: int, granularity: int) -> int:
    """Least cost a plan can have, given L in units of 1 / SCALE of a doubled cost."""
    unit = 2 * SCALE * granularity
    return max(0, -(-total // unit)) * granularity


def _past(deadline: float | None) -> bool:
    return deadline is not None and monotonic() >= deadline
