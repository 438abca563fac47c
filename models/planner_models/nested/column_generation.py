"""Good prices: the linear programme over the columns met so far, and where it looks next.

The programme of `relaxation`. A slack of either sign on every row with a price keeps that price
within reach of the best so far. It only proposes prices; what they prove is evaluated in integers.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from ortools.linear_solver import pywraplp  # type: ignore[import-untyped]  # ships no stubs

from planner_models.interruption import over
from planner_models.nested.relaxation import Columns, Evaluation, Prices, Relaxation
from planner_models.shapes.column_generation import rounded
from planner_models.shapes.planes import SCALE

_KEEP = 24
"""Patterns of each kind, and ways to cut a block, that join the programme a round."""

_SLACK = 1e-6
"""What counts as zero in floating point."""

_MOST_ROUNDS = 3_000
"""Rounds at most, also where there is no deadline."""

_FIRST_REACH = 16
"""Share of the dearest own cost that prices may move at first."""

_LEAST_REACH = 0.25
"""The same at least, as a doubled cost."""

_GREATEST_REACH = 1 << 20
"""Times the first: no price lies beyond."""

Row = tuple[str, int, int]
"""A coupling row: "shapes", "split" or "held", class of leaves, graph row."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """An optimum of the linear programme.

    Attributes:
        value: doubled cost, constant included.
        prices: its prices, rounded.
        slack: whether slack is part of it, so that `value` says nothing about the bound.
    """

    value: float
    prices: Prices
    slack: bool


class Master:
    """The linear programme.

    Args:
        relaxation: the problem.
        centre: prices to stay close to.
        reach: how close, as a doubled cost.
    """

    def __init__(self, relaxation: Relaxation, centre: Prices, reach: float) -> None:
        self._relaxation = relaxation
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        self._objective = self._solver.Objective()
        self._objective.SetMinimization()
        self._rows: dict[Row, pywraplp.Constraint] = {}
        self._slacks: dict[Row, tuple[pywraplp.Variable, ...]] = {}
        self._nodes = [self._exactly(count) for _, _, count in relaxation.nodes]
        self._leaves = [self._exactly(leaf.count) for leaf in relaxation.leaves]
        self._blocks = [self._exactly(relaxation.blocks) for _ in relaxation.node_graph.module]
        self._centre, self.reach = centre, reach
        self.columns: dict[Hashable, pywraplp.Variable] = {}

    def add(self, met: Columns) -> int:
        """Give variables to columns; answers how many were new."""
        before = len(self.columns)
        offset = self._relaxation.node_graph.offset
        for i, (l, pricing, _) in enumerate(self._relaxation.nodes):
            for pattern in met.nodes[i]:
                rows = [("shapes", l, row) for row in pricing.rows_of_all(pattern)]
                cost = float(pricing.cost(pattern))
                self._column(("node", i, pattern), cost, rows, [], self._nodes[i])
        for l, patterns in enumerate(met.leaves):
            for leaf in patterns:
                rows = [("held", l, row) for row in leaf.rows]
                key = ("leaf", l, leaf.rows, leaf.cost)
                self._column(key, leaf.cost / SCALE, rows, [], self._leaves[l])
        for s, cut in met.cuts:
            rows = [(kind, l, offset[s] + x) for l, x in cut for kind in ("split", "held")]
            self._column(("cut", s, cut), 0.0, [], rows, self._blocks[s])
        for (l, s, x), shapes in met.splits:
            rows = [("shapes", l, offset[s] + y) for y in shapes]
            self._column(("split", l, s, x, shapes), 0.0, [("split", l, offset[s] + x)], rows, None)
        return len(self.columns) - before

    def solve(self) -> Proposal | None:
        """Optimum over the columns; nothing if the solver reports trouble."""
        if self._solver.Solve() != pywraplp.Solver.OPTIMAL:
            return None
        size = (len(self._relaxation.leaves), self._relaxation.node_graph.rows)
        duals = {kind: np.zeros(size) for kind in ("shapes", "split", "held")}
        for (kind, l, row), constraint in self._rows.items():
            duals[kind][l, row] = constraint.dual_value()
        slack = sum(s.solution_value() for pair in self._slacks.values() for s in pair)
        value = self._objective.Value() + self._relaxation.constant
        prices = Prices(*(np.rint(SCALE * duals[k]).astype(np.int64) for k in ("shapes", "held")))
        return Proposal(value, prices, slack > _SLACK)

    def confine(self, centre: Prices, reach: float) -> None:
        """Let prices differ from `centre` by at most `reach` (a doubled cost)."""
        self._centre, self.reach = centre, reach
        for row in self._slacks:
            self._box(row)

    def _box(self, row: Row) -> None:
        kind, l, number = row
        table = self._centre.shapes if kind == "shapes" else self._centre.contents
        price = int(table[l, number]) / SCALE
        for slack, centre in zip(self._slacks[row], (price, -price), strict=True):
            self._objective.SetCoefficient(slack, centre + self.reach)

    def _exactly(self, count: int) -> pywraplp.Constraint:
        return self._solver.Constraint(float(count), float(count))

    def _row(self, row: Row) -> pywraplp.Constraint:
        if row not in self._rows:
            self._rows[row] = self._solver.Constraint(0.0, 0.0)
            if row[0] != "split":
                pair = tuple(self._solver.NumVar(0.0, self._solver.infinity(), "") for _ in "+-")
                self._slacks[row] = pair
                for slack, sign in zip(pair, (1.0, -1.0), strict=True):
                    self._rows[row].SetCoefficient(slack, sign)
                self._box(row)
        return self._rows[row]

    def _column(
        self,
        key: Hashable,
        cost: float,
        held: Iterable[Row],
        given: Iterable[Row],
        convexity: pywraplp.Constraint | None,
    ) -> None:
        if key in self.columns:
            return
        column = self._solver.NumVar(0.0, self._solver.infinity(), "")
        uses = Counter(held)
        uses.subtract(given)
        for row, times in uses.items():
            self._row(row).SetCoefficient(column, float(times))
        if convexity is not None:
            convexity.SetCoefficient(column, 1.0)
        if cost:
            self._objective.SetCoefficient(column, cost)
        self.columns[key] = column


def best_prices(
    relaxation: Relaxation,
    start: Prices,
    *,
    enough: int,
    granularity: int = 1,
    deadline: float | None = None,
) -> Evaluation:
    """Prices with the greatest bound found.

    The programme's prices are looked for in a box around the best so far. The box grows where the
    programme was right, shrinks where it was far off, and has grown past its borders before the
    search ends.

    Args:
        relaxation: the problem.
        start: prices to begin with.
        enough: stop once the bound reaches this cost.
        granularity: costs are multiples of this.
        deadline: `time.monotonic` to stop at; the prices so far are valid as they are.
    """
    reach = max(_LEAST_REACH, relaxation.dearest / _FIRST_REACH)
    master = Master(relaxation, start, reach)
    best = relaxation.evaluate(start, keep=_KEEP)
    master.add(best.met)
    for _ in range(_MOST_ROUNDS):
        if rounded(best.total, granularity) >= enough or over(deadline):
            break
        proposal = master.solve()
        if proposal is None:
            break
        proven = best.total / SCALE
        if 2 * rounded(best.total, granularity) >= proposal.value - _SLACK:
            if not proposal.slack or master.reach > _GREATEST_REACH * reach:
                break
            master.confine(best.prices, 4 * master.reach)
            continue
        seen = relaxation.evaluate(proposal.prices, keep=_KEEP)
        new = master.add(seen.met)
        hoped, gained = proposal.value - proven, seen.total / SCALE - proven
        if gained > 0:
            best = seen
            master.confine(best.prices, master.reach * (2 if 2 * gained > hoped else 1))
        elif not new:
            break
        elif -gained > hoped:
            master.confine(best.prices, max(master.reach / 1.5, _LEAST_REACH))
    return best
