"""Mending a plan after failures: few ranks move, and the cost stays good."""

import os
import threading
from collections.abc import Iterable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from planner.cost import as_number
from planner.errors import Complaint, Infeasible, InputError, VerificationError
from planner.explain import refuse_by_counting
from planner.grid import Grid
from planner.lineage import move_entries, same_device
from planner.pipeline import statement, verify
from planner.plan import Plan
from planner.replanning.fitting import on_machines, with_largest_dp
from planner.replanning.fleet import extended, without
from planner.solver.outcome import Options, Progress
from planner.spec.cluster import Cluster
from planner.spec.loading import read_text, source_name
from planner.spec.problem import Problem
from planner.verification import verified
from planner.wording import counted

DEFAULT_SLACK = 0.02


def replan(
    plan: Plan | str | Path,
    *,
    lost: Iterable[str] = (),
    added: Iterable[str] = (),
    cluster: Problem | Cluster | None = None,
    moves: int | None = None,
    slack: float | None = None,
    time_limit: float = 60.0,
    workers: int | None = None,
    seed: int = 0,
    deterministic: bool = False,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Plan:
    """A plan for the same job on changed machines that moves few ranks.

    Without `moves` the fewest ranks move that reach a cost within `slack` of the best found; with
    it, the least cost within that many moves is looked for.

    Args:
        plan: the old plan or the path of its file.
        lost: what is dead, ``HOST`` or ``HOST:GPU,GPU``, HOST a hostlist; it stays listed, offline.
        added: nodes that come, ``HOSTLIST`` or ``DOMAIN=HOSTLIST``; a listed node comes back.
        cluster: the machines as they are now, in place of the old ones; `added` and `lost` are
            applied to them.
        moves: most ranks that may change their device.
        slack: share of the best cost that may be paid to save moves; 0.02 by default.
        time_limit: seconds; deterministic work units of about a second each if `deterministic`.
        workers: threads; default all cores.
        seed: of every random decision.
        deterministic: equal input, seed, worker count and version give equal plans.
        progress: called with (cost or None, bound, seconds) as they improve.
        stop: set it to end the search early with the best plan so far.

    Returns:
        A plan that verification has passed; its `replan` block holds the hash of the old plan file,
        the moves, a lower bound on them, and the best cost found.

    Raises:
        InputError: unknown names, or both `moves` and `slack`.
        Infeasible: the machines no longer hold the job, or not within that many moves.
        NoPlan: nothing was found within the limit.

    Example:
        >>> import planner
        >>> old = planner.solve(planner.Problem.model_validate({"cluster": {"nodes": 3,
        ...     "gpus_per_node": 2}, "job": {"decoder": {"tp": 2}, "dp": 2}}))
        >>> new = planner.replan(old, lost=[f"{old.hosts[0]}:0"])
        >>> len(new.replan["moves"]), new.replan["moves_bound"], new.solver["cost"]
        (2, 2, 4)
    """
    started = monotonic()
    old, digest = _old(plan)
    if moves is not None and slack is not None:
        raise InputError(Complaint("", "moves and slack exclude one another"))
    options = Options(
        time_limit,
        0.0,
        workers or os.cpu_count() or 1,
        seed,
        deterministic,
        progress,
        stop or threading.Event(),
    )
    machines = without(extended(_base(old, cluster), added), lost)
    problem = on_machines(old.problem, machines, options).resolved
    new = _searched(old, problem, options, moves, DEFAULT_SLACK if slack is None else slack)
    assert new.replan is not None
    new.replan["from_sha256"] = digest
    new.solver["seconds"] = {"total": round(monotonic() - started, 3)}
    found = verify(new)
    if found:
        raise VerificationError("the plan just made (a bug of the planner)", found)
    return new


def _old(plan: Plan | str | Path) -> tuple[Plan, str]:
    """The old plan, verified, and the hash of its file."""
    if isinstance(plan, Plan):
        return plan, sha256(plan.text().encode()).hexdigest()
    text = read_text(plan)
    return verified(text, source_name(plan)), sha256(text.encode()).hexdigest()


def _base(old: Plan, cluster: Problem | Cluster | None) -> Cluster:
    if cluster is None:
        return old.problem.cluster
    return cluster.cluster if isinstance(cluster, Problem) else cluster


def _searched(
    old: Plan, problem: Problem, options: Options, most: int | None, slack: float
) -> Plan:
    from planner.solver.moving import search_near  # noqa: PLC0415 - OR-tools when solving
    from planner.solver.near import Wish  # noqa: PLC0415

    grid, machines = Grid.of(problem), problem.cluster.machines
    seen = same_device(old.machines, old.placement, machines)
    home = np.where((seen >= 0) & machines.online[seen], seen, -1)
    lost = int(np.count_nonzero(home < 0))
    if most is not None and most < lost:
        reason = (
            f"{counted(lost, 'rank')} lost their GPU, more than the {counted(most, 'move')} allowed"
        )
        raise Infeasible(["--moves"], reason, f"allow {lost} or more")
    gone = -1 - old.machines.device_node[old.placement]
    origin = np.where(seen >= 0, machines.device_node[seen], gone)
    try:
        refuse_by_counting(problem, grid)
        found = search_near(problem, grid, options, Wish(home, origin, Fraction(slack), most))
    except Infeasible as refusal:
        if "--moves" in refusal.conflict:
            raise
        raise with_largest_dp(refusal, old.problem, problem.cluster, options) from None
    placement = found.outcome.placement
    stated = statement(problem, grid, placement, found.outcome, options)
    record: dict[str, Any] = {
        "from_sha256": "",
        **({"most_moves": most} if most is not None else {"slack": slack}),
        "best_cost": as_number(found.best),
        "moves_bound": found.least_moves,
        "moves": move_entries(old.machines, old.placement, machines, placement),
    }
    return Plan(problem, placement, stated, record)
