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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from ortools.linear_solver import pywraplp  # type: ignore[import-untyped]  # ships no stubs

from planner_models.interruption import over
from planner_models.shapes.coupling import Coupling
from planner_models.shapes.planes import SCALE
from planner_models.shapes.pricing import FAR, NodePricing, Pattern
from planner_models.shapes.stages import StageGraph
from planner_models.shapes.tilings import Ints

_KEEP = 5
"""Patterns of each capacity that join the programme a round."""

_SLACK = 1e-6
"""What counts as zero in floating point."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """L at some prices.

    Attributes:
        price: [line] prices in units of 1 / SCALE of a doubled cost.
        total: L, in the same units, pair links' constant included.
        cheapest: least pattern value of each capacity; `FAR` if there is no pattern.
        patterns: per capacity the patterns met on the way to it, cheapest first.
        tilings: per tiled thing (`Coupling.tiled`) the lines of a cheapest tiling.
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
        coupling: what is priced.
        pricing: node patterns of each capacity.
        count: domains of each capacity.
    """

    graph: StageGraph
    coupling: Coupling
    pricing: tuple[NodePricing, ...]
    count: tuple[int, ...]

    def evaluate(self, price: Ints, *, keep: int = 1) -> Evaluation:
        """L at integer prices, exactly, and `keep` cheap patterns of each capacity."""
        of_shapes = self.coupling.of_shapes(price)
        found = [pricing.search(of_shapes, FAR, keep=keep) for pricing in self.pricing]
        cheapest = tuple(patterns[0].value if patterns else FAR for patterns in found)
        total = SCALE * self.graph.constant
        total += sum(q * value for q, value in zip(self.count, cheapest, strict=True))
        paths: list[tuple[int, ...]] = []
        for batch in self.coupling.batches:
            table = price[batch.lines]
            rest = batch.tiler.graph.to_empty(table)
            total += batch.tiler.count * int(rest[:, -1].sum())
            pieces = batch.tiler.graph.cheapest_paths(table, rest)
            paths += [
                tuple(int(lines[piece]) for piece in path)
                for lines, path in zip(batch.lines, pieces, strict=True)
            ]
        patterns = tuple(tuple(p.pattern for p in priced) for priced in found)
        return Evaluation(price, total, cheapest, patterns, tuple(paths))


class Master:
    """The linear programme over the columns found so far, with a slack of either sign a row.

    Attributes:
        patterns: per capacity the node patterns that have a column.
        tilings: per tiled thing the tilings that have a column.
    """

    def __init__(self, relaxation: Relaxation) -> None:
        coupling = relaxation.coupling
        self._relaxation = relaxation
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        self._objective = self._solver.Objective()
        self._objective.SetMinimization()
        self._coupling = [self._solver.Constraint(0.0, 0.0) for _ in range(coupling.lines)]
        self._domains = [self._exactly(q) for q in relaxation.count]
        self._tiled = [self._exactly(count) for count in coupling.tiled]
        self._slacks = [self._column({row: sign}) for row in self._coupling for sign in (1.0, -1.0)]
        self._penalty = 0.0
        dearest = max(int(block.own.max()) for block in relaxation.graph.blocks)
        self._set_penalty(float(max(2, dearest)))
        self.patterns: list[dict[Pattern, pywraplp.Variable]] = [{} for _ in relaxation.count]
        self.tilings: list[dict[tuple[int, ...], pywraplp.Variable]] = [{} for _ in coupling.tiled]

    def add(self, evaluation: Evaluation) -> int:
        """Give columns to what an evaluation met; answers how many were new."""
        new = 0
        for k, patterns in enumerate(evaluation.patterns):
            pricing = self._relaxation.pricing[k]
            for pattern in patterns:
                if pattern not in self.patterns[k]:
                    lines = self._relaxation.coupling.lines_of(pricing.rows_of_all(pattern))
                    column = self._column(self._uses(lines, 1.0) | {self._domains[k]: 1.0})
                    self._objective.SetCoefficient(column, float(pricing.cost(pattern)))
                    self.patterns[k][pattern] = column
                    new += 1
        for s, tiling in enumerate(evaluation.tilings):
            if tiling not in self.tilings[s]:
                uses = self._uses(tiling, -1.0)
                self.tilings[s][tiling] = self._column(uses | {self._tiled[s]: 1.0})
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

    def _uses(self, lines: Sequence[int], sign: float) -> dict[pywraplp.Constraint, float]:
        return {self._coupling[line]: sign * lines.count(line) for line in lines}

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
        price: [line] its prices, rounded, in units of 1 / SCALE.
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
    best = relaxation.evaluate(np.zeros(relaxation.coupling.lines, dtype=np.int64), keep=_KEEP)
    master.add(best)
    while rounded(best.total, granularity) < enough and not over(deadline):
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
