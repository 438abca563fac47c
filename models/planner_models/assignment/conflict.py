"""Which of the user's lines cannot hold together."""

import threading
from dataclasses import dataclass, replace

import numpy as np

from planner_models.assignment.data import Assignment
from planner_models.assignment.model import build
from planner_models.assignment.search import Limits, run, solver_for


@dataclass(frozen=True, slots=True)
class Conflict:
    """Lines that exclude each other.

    Attributes:
        labels: their names, in the problem's order; empty if the job does not fit even without.
        minimal: whether each was proven necessary: without any one of them, the others can hold.
    """

    labels: tuple[str, ...]
    minimal: bool


def conflict(
    problem: Assignment, limits: Limits, *, stop: threading.Event | None = None
) -> Conflict | None:
    """Find a minimal set of labels that conflict, or None if that is not proven.

    One model with a literal a label gives a first set from the solver's own proof; then each label
    is left out in turn and stays out if the rest is still infeasible. `limits` are for each step.

    Example:
        A pair that must stay together on nodes of one:

        >>> pair = np.array([[0, 1]])
        >>> problem = Assignment(
        ...     slots=2,
        ...     levels=(Level(weight=1, domain=np.array([0, 1])),),
        ...     usable=np.ones(2, dtype=bool),
        ...     shapes=(pair,),
        ...     within=(Within("within.tp", 0, pair),),
        ... )
        >>> conflict(problem, Limits(seconds=5))
        Conflict(labels=('within.tp',), minimal=True)
    """
    labels = _core(problem, limits, stop)
    if labels is None:
        # The guards can hide what the presolve sees at once: try the plain model too.
        if not _infeasible(problem, limits, stop):
            return None
        labels = problem.labels
    minimal = True
    for label in labels:
        rest = tuple(other for other in labels if other != label)
        verdict = _infeasible(keeping(problem, rest), limits, stop)
        if verdict:
            labels = rest
        minimal = minimal and verdict is not None
    return Conflict(labels, minimal)


def keeping(problem: Assignment, labels: tuple[str, ...]) -> Assignment:
    """The problem with only those of its user's lines."""
    kept = set(labels)
    online = problem.offline_label in kept
    footprint, contiguous = problem.footprint, problem.contiguous
    return replace(
        problem,
        usable=problem.usable if online else np.ones_like(problem.usable),
        within=tuple(c for c in problem.within if c.label in kept),
        hierarchical_cp=tuple(c for c in problem.hierarchical_cp if c.label in kept),
        footprint=footprint if footprint and footprint.label in kept else None,
        contiguous=contiguous if contiguous and contiguous.label in kept else None,
        pins=tuple(c for c in problem.pins if c.label in kept),
    )


def _core(
    problem: Assignment, limits: Limits, stop: threading.Event | None
) -> tuple[str, ...] | None:
    f = build(problem, guards=problem.labels, priced=False).formulation
    f.cp.add_assumptions(list(f.guards.values()))
    solver = solver_for(limits)
    if run(solver, f.cp, stop=stop) != "infeasible":
        return None
    core = set(solver.sufficient_assumptions_for_infeasibility())
    return tuple(label for label, guard in f.guards.items() if guard.index in core)


def _infeasible(problem: Assignment, limits: Limits, stop: threading.Event | None) -> bool | None:
    """Whether no placement exists; None if the limits came first."""
    solver = solver_for(limits)
    status = run(solver, build(problem, priced=False).formulation.cp, stop=stop)
    return None if status == "unknown" else status == "infeasible"
