"""The linear programme of `column_generation`: rows, arcs of the copies, and the columns so far."""

from dataclasses import dataclass

import numpy as np
from ortools.linear_solver import pywraplp  # type: ignore[import-untyped]  # ships no marker

from planner_models.units.copies import Arcs
from planner_models.units.heights import Ints, Pattern, Pipeline, pattern_pairs

SCALE = 720_720
"""Price units in one unit of cost: prices that are fractions up to sixteenths are met exactly."""

LISTED = 1000
"""Arcs of a place up to which all are in the programme from the first; beyond, as they are met."""

MODEST = 16
"""Part of the dearest cost that prices may move at first, either way."""

LEAST_REACH = 0.25
"""How far they may move at least."""

FALLBACKS = ("use_preprocessing:false", "use_dual_simplex:true", "use_scaling:false")
"""Parameters of GLOP for programmes that it gives up on."""


@dataclass(frozen=True, eq=False)
class Domains:
    """Classes of domains of equal capacity.

    Attributes:
        capacity: what a domain of the class can hold, ascending, [K].
        count: domains of the class, [K].
        least: what a domain of the class holds at least, [K].
    """

    capacity: Ints
    count: Ints
    least: Ints


def domains_of(pipeline: Pipeline, capacities: Ints) -> Domains | None:
    """The classes of some capacities (in `grain` GPUs), or None if the units do not fit."""
    idle = int(capacities.sum()) - pipeline.total
    if idle < 0:
        return None
    capacity, count = np.unique(capacities, return_counts=True)
    return Domains(capacity, count, np.maximum(capacity - idle, 0))


class Rows:
    """The coupling rows: one for each orbit of pairs under reading backwards.

    Attributes:
        real: which pairs exist, [P + 1, H + 1, H + 1].
        of: row of each pair, -1 where none exists, of the same shape.
        count: number of rows.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        ends, heights = pipeline.bordered, np.arange(pipeline.most + 1)
        left = heights[:, None] <= ends[:-1, None, None]
        right = heights <= ends[1:, None, None]
        index = np.arange(pipeline.credit.size).reshape(pipeline.credit.shape)
        if pipeline.symmetric:
            index = np.minimum(index, index[::-1].transpose(0, 2, 1))
        self.real = left & right & (heights[:, None] + heights > 0)
        names, rows = np.unique(index[self.real], return_inverse=True)
        self.of = np.full(index.shape, -1)
        self.of[self.real] = rows
        self.count = len(names)

    def summed(self, uses: Ints) -> Ints:
        """Uses of pairs added up by row, [rows]."""
        rows, weights = self.of[self.real], uses[self.real]
        return np.bincount(rows, weights, self.count).astype(np.int64)

    def spread(self, prices: Ints) -> Ints:
        """Prices of rows given to their pairs, [P + 1, H + 1, H + 1]."""
        return np.where(self.real, prices[self.of], 0)


@dataclass(frozen=True, eq=False)
class Solution:
    """An optimum of the programme.

    Attributes:
        value: its cost, the pipeline's constant included.
        prices: duals of the rows, in 1 / SCALE.
        slack: whether it uses slack.
    """

    value: float
    prices: Ints
    slack: bool


class Programme:
    """The programme over the columns found so far, its prices in a box.

    A slack of either sign on a coupling row costs what its price may become at most: the centre of
    the box and the reach beyond it. Wild prices bring many columns that nobody needs.

    Attributes:
        columns: number of its variables.
        listed: whether all arcs are in it from the first.
    """

    def __init__(self, pipeline: Pipeline, domains: Domains, rows: Rows, arcs: list[Arcs]) -> None:
        self.pipeline, self.rows, self.arcs = pipeline, rows, arcs
        self.known: set[tuple[int, int]] = set()
        self.columns = 0
        self.listed = all(len(here.uses) <= LISTED for here in arcs)
        self.solver = pywraplp.Solver.CreateSolver("GLOP")
        self.objective = self.solver.Objective()
        self.objective.SetMinimization()
        self.coupling = [self.solver.Constraint(0.0, 0.0) for _ in range(rows.count)]
        self.convexity = [self.solver.Constraint(float(q), float(q)) for q in domains.count]
        dearest = max(pipeline.own.max(), pipeline.credit.max(), pipeline.plane.max())
        self.reach = max(1.0, float(dearest) / MODEST)
        self.slacks = []
        for row in self.coupling:
            for sign in (1.0, -1.0):
                slack = self._variable(self.reach)
                row.SetCoefficient(slack, sign)
                self.slacks.append(slack)
        self._flow()

    def _variable(self, cost: float) -> pywraplp.Variable:
        """A new variable >= 0."""
        self.columns += 1
        variable = self.solver.NumVar(0.0, self.solver.infinity(), "")
        self.objective.SetCoefficient(variable, cost)
        return variable

    def _flow(self) -> None:
        """D copies, from the one partition before the pipeline to the one behind it."""
        D = float(self.pipeline.copies)
        self.flow = [[self.solver.Constraint(-D, -D)]]
        for here in self.arcs[:-1]:
            self.flow.append([self.solver.Constraint(0.0, 0.0) for _ in range(here.heads)])
        self.flow.append([self.solver.Constraint(D, D)])
        for here in {id(here): here for here in self.arcs}.values() if self.listed else ():
            for arc in range(len(here.uses)):
                self.add_arc(here, arc)

    def add_arc(self, kind: Arcs, arc: int) -> None:
        """An arc at all places of its kind, unless it is there."""
        if (id(kind), arc) not in self.known:
            self.known.add((id(kind), arc))
            for p, here in enumerate(self.arcs):
                if here is kind:
                    self._add_arc(p, here, arc)

    def _add_arc(self, p: int, here: Arcs, arc: int) -> None:
        """An arc of place p."""
        y = self._variable(0.0)
        self.flow[p][here.tail[arc]].SetCoefficient(y, -1.0)
        self.flow[p + 1][here.head[arc]].SetCoefficient(y, 1.0)
        used = np.flatnonzero(here.uses[arc])
        rows, uses = self.rows.of[p].ravel()[used], here.uses[arc, used]
        for row in np.unique(rows):
            self.coupling[row].SetCoefficient(y, -float(uses[rows == row].sum()))

    def add(self, k: int, pattern: Pattern, cost: int) -> None:
        """A new pattern of class k."""
        z = self._variable(float(cost))
        self.convexity[k].SetCoefficient(z, 1.0)
        uses = self.rows.summed(pattern_pairs(self.pipeline, pattern))
        for row in np.flatnonzero(uses):
            self.coupling[row].SetCoefficient(z, float(uses[row]))

    def solve(self) -> Solution | None:
        """An optimum, None if the solver reports trouble whatever is tried."""
        if self.solver.Solve() != pywraplp.Solver.OPTIMAL and not self._solved_otherwise():
            return None
        duals = np.array([row.dual_value() for row in self.coupling])
        return Solution(
            self.objective.Value() + self.pipeline.constant,
            np.rint(SCALE * duals).astype(np.int64),
            any(slack.solution_value() > 1e-7 for slack in self.slacks),
        )

    def _solved_otherwise(self) -> bool:
        """Solve in other ways, which helps where the usual one ends abnormally."""
        for parameters in FALLBACKS:
            self.solver.SetSolverSpecificParametersAsString(parameters)
            if self.solver.Solve() == pywraplp.Solver.OPTIMAL:
                return True
        return False

    def confine(self, centre: Ints, factor: float) -> None:
        """Move the box to other prices (in 1 / SCALE), and make it larger or smaller."""
        self.reach = max(LEAST_REACH, factor * self.reach)
        prices = (centre / SCALE).tolist()
        for price, above, below in zip(prices, self.slacks[::2], self.slacks[1::2], strict=True):
            self.objective.SetCoefficient(above, self.reach + price)
            self.objective.SetCoefficient(below, self.reach - price)
