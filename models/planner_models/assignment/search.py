"""Solving the model: limits, progress, interruption, and an answer that no solver has touched."""

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np
from ortools.sat.python import cp_model

from planner_models import interruption
from planner_models.assignment.data import Assignment, IntArray
from planner_models.assignment.evaluate import cost, devices
from planner_models.assignment.formulation import Formulation, Neighbourhood
from planner_models.assignment.model import build

Status = Literal["optimal", "feasible", "infeasible", "unknown"]
Progress = Callable[[int | None, int | None], None]

_STATUS: dict[cp_model.CpSolverStatus, Status] = {
    cp_model.OPTIMAL: "optimal",
    cp_model.FEASIBLE: "feasible",
    cp_model.INFEASIBLE: "infeasible",
    cp_model.UNKNOWN: "unknown",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop and how to search.

    Attributes:
        seconds: wall time, or None.
        work: deterministic work units (about a second each), or None. With `work` set and
            `seconds` None the answer is reproducible for one number of workers, seed and version.
        workers: threads.
        seed: of the random decisions.
        gap: stop once (cost − bound) / cost is this small.
    """

    seconds: float | None = None
    work: float | None = None
    workers: int = 1
    seed: int = 0
    gap: float = 0.0


@dataclass(frozen=True, eq=False, slots=True)
class Result:
    """Answer of `solve`.

    Attributes:
        status: `optimal` (the bound is the cost) and `infeasible` are proven, in a neighbourhood
            for that alone.
        bound: lower bound on the cost, in a neighbourhood for that alone; 0 if infeasible.
        cells: [slots] cell of each slot, or None if no placement was found.
        devices: [slots] device of each slot, or None.
        cost: cost of the placement, recomputed from its definition, or None.
    """

    status: Status
    bound: int
    cells: IntArray | None = None
    devices: IntArray | None = None
    cost: int | None = None


def solve(
    problem: Assignment,
    limits: Limits,
    *,
    start: IntArray | None = None,
    neighbourhood: Neighbourhood | None = None,
    without: Collection[str] = (),
    progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Result:
    """Place the slots at least cost.

    Args:
        problem: what to place where.
        limits: when to stop.
        start: [slots] cells of a placement to start from, ideally feasible; hinted completely.
        neighbourhood: what may change against `start`.
        without: families left out, `redundant` and `symmetry` without consequence for the answer.
        progress: called with (cost, bound) whenever one of them improves, from other threads.
        stop: set it to end the search with the best placement so far.

    Example:
        Two tp pairs on nodes of 3 and 1: one pair has to be cut, at two links.

        >>> pairs = np.array([[0, 1], [2, 3]])
        >>> answer = solve(
        ...     Assignment(
        ...         slots=4,
        ...         levels=(Level(weight=1, domain=np.array([0, 0, 0, 1])),),
        ...         usable=np.ones(4, dtype=bool),
        ...         shapes=(pairs,),
        ...         rings=(Groups("tp", 1000, pairs),),
        ...     ),
        ...     Limits(seconds=5),
        ... )
        >>> answer.status, answer.cost
        ('optimal', 2000)
    """
    model = build(problem, start=start, neighbourhood=neighbourhood, without=without)
    solver = solver_for(limits)
    # Presolve may break symmetries against the hint; it then starts from nothing.
    solver.parameters.keep_all_feasible_solutions_in_presolve = start is not None
    status = run(solver, model.formulation.cp, progress=progress, stop=stop)
    if status == "infeasible":
        return Result(status, 0)
    bound = max(0, _ceil(solver.best_objective_bound))
    if status == "unknown":
        return Result(status, bound)
    cells = _cells(model.formulation, solver)
    found = cost(problem, cells)
    # CP-SAT also calls optimal what is within the gap.
    status = "optimal" if bound >= found else "feasible"
    return Result(status, bound, cells, devices(problem, cells), found)


def solver_for(limits: Limits) -> cp_model.CpSolver:
    """A CP-SAT solver set up for some limits."""
    solver = cp_model.CpSolver()
    p = solver.parameters
    p.num_workers = limits.workers
    p.random_seed = limits.seed
    p.relative_gap_limit = limits.gap
    # Reproducible if work is limited; and one thread alone then runs neighbourhoods as well.
    p.interleave_search = True
    if limits.seconds is not None:
        p.max_time_in_seconds = limits.seconds
    if limits.work is not None:
        p.max_deterministic_time = limits.work
    return solver


def run(
    solver: cp_model.CpSolver,
    cp: cp_model.CpModel,
    *,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Status:
    """Solve with reports, hearing signals and the stop event."""
    report = None if progress is None else _Report(progress)
    if report is not None:
        solver.best_bound_callback = report.bounded
    return _STATUS[interruption.solve(solver, cp, report, stop=stop)]


class _Report(cp_model.CpSolverSolutionCallback):
    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress

    def on_solution_callback(self) -> None:
        self._progress(round(self.objective_value), _ceil(self.best_objective_bound))

    def bounded(self, bound: float) -> None:
        self._progress(None, _ceil(bound))


def _ceil(bound: float) -> int:
    """Costs are integers, so a bound may be rounded up; the solver's is a float."""
    return ceil(bound - 1e-6)


def _cells(f: Formulation, solver: cp_model.CpSolver) -> IntArray:
    cells = np.empty(f.problem.slots, dtype=np.int64)
    for s, held in enumerate(f.at[0]):
        cells[s] = next(n for n, bit in held.items() if solver.value(bit.expr))
    return cells
