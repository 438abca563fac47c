"""The story of a solve, in order: problem, search, numbering, plan, verification."""

import os
import threading
from pathlib import Path
from time import monotonic
from typing import Any

from planner import __version__
from planner.cost import as_number, level_cost, links, total
from planner.errors import Infeasible, VerificationError
from planner.explain import refuse_by_counting
from planner.feasibility import Violation
from planner.grid import Grid, Ints
from planner.plan import Plan
from planner.planfile import read_plan_file
from planner.solver.memory import Memory
from planner.solver.numbering import number
from planner.solver.outcome import Options, Outcome, Progress
from planner.spec.problem import Problem
from planner.verification import read_verified
from planner.verification import verify as violations


def solve(
    problem: Problem,
    *,
    time_limit: float = 60.0,
    gap: float = 0.0,
    workers: int | None = None,
    seed: int = 0,
    deterministic: bool = False,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    memory: Memory | None = None,
) -> Plan:
    """Find a plan and a proven lower bound on the cost of every plan.

    Args:
        problem: machines, job, objective, constraints.
        time_limit: seconds; deterministic work units of about a second each if `deterministic`.
        gap: stop once (cost - bound) / cost is this small.
        workers: threads; default all cores.
        seed: of every random decision.
        deterministic: equal input, seed, worker count and version give equal plans.
        progress: called with (cost or None, bound, seconds) as they improve.
        stop: set it to end the search early with the best plan so far.
        memory: of earlier solves in this process; what they worked out is not worked out again.

    Returns:
        A plan that verification has passed.

    Raises:
        Infeasible: no plan satisfies the hard constraints; carries the conflicting lines.
        NoPlan: nothing was found within the limit.

    Example:
        >>> problem = Problem.model_validate({"cluster": {"nodes": 2, "gpus_per_node": 4},
        ...     "job": {"decoder": {"tp": 4, "pp": 2}}})
        >>> solve(problem).solver["cost"]
        40
    """
    from planner.solver.conflicts import explained  # noqa: PLC0415 - OR-tools only when solving
    from planner.solver.search import search  # noqa: PLC0415

    started = monotonic()
    own = problem.resolved
    grid = Grid.of(own)
    options = Options(
        time_limit,
        gap,
        workers or os.cpu_count() or 1,
        seed,
        deterministic,
        progress,
        stop or threading.Event(),
        memory or Memory(),
    )
    try:
        refuse_by_counting(own, grid)
        outcome = search(own, grid, options)
    except Infeasible as refusal:
        raise explained(problem, refusal, options) from None
    placement = number(own, grid, outcome.placement)
    plan = Plan(own, placement, statement(own, grid, placement, outcome, options))
    plan.solver["seconds"] = {
        "total": round(monotonic() - started, 3),
        "proofs": {proof.level: round(proof.seconds, 3) for proof in outcome.proofs},
    }
    found = violations(plan)
    if found:
        raise VerificationError("the plan just made (a bug of the planner)", found)
    return plan


def read_plan(path: str | Path) -> Plan:
    """Read a plan file and check everything it states; ``-`` reads standard input.

    Raises:
        InputError: not a plan file.
        VerificationError: it states something wrong.
    """
    return read_verified(path)


def verify(plan: Plan | str | Path, problem: Problem | None = None) -> list[Violation]:
    """Violations of a plan or plan file; an empty list means that every statement holds.

    Args:
        plan: a plan, or the path of a plan file.
        problem: a problem the plan must be for, if given.
    """
    return violations(plan if isinstance(plan, Plan) else read_plan_file(plan), problem)


def statement(
    problem: Problem, grid: Grid, placement: Ints, outcome: Outcome, options: Options
) -> dict[str, Any]:
    """The plan's `solver` block, costs recomputed from the placement."""
    machines = problem.cluster.machines
    counted = links(grid, machines, placement)
    cost = total(problem, machines, counted)
    bound = outcome.bound
    own = {level.name: level_cost(problem, level, counted[level.name]) for level in machines.levels}
    levels = [
        {
            "level": proof.level,
            "cost": as_number(own.get(proof.level, cost)),
            "bound": as_number(proof.bound),
            "proof": proof.by,
        }
        for proof in outcome.proofs
    ]
    return {
        "status": "optimal" if bound == cost else "feasible",
        "cost": as_number(cost),
        "bound": as_number(bound),
        "gap": float((cost - bound) / cost) if cost else 0,
        "seed": options.seed,
        "workers": options.workers,
        "deterministic": options.deterministic,
        "time_limit": options.time_limit,
        # Rank 0 leads its host, which may cost links that the search did not count.
        "stopped": "exhausted"
        if outcome.stopped == "optimal" and bound < cost
        else outcome.stopped,
        "found_by": outcome.found_by,
        "levels": levels,
        "version": __version__,
    }
