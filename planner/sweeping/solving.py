"""Solving the points of a sweep, here or in a worker process on any machine."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from json import dumps
from typing import Any

from planner import __version__
from planner.errors import Infeasible, NoPlan
from planner.pipeline import solve
from planner.plan import Plan
from planner.solver.memory import Memory
from planner.spec.names import LINK_KINDS
from planner.spec.problem import Problem
from planner.sweeping.points import Point
from planner.traffic.measuring import TrafficReport, measure

_MEMORY = Memory()
"""What this process has worked out; a worker keeps it from task to task."""


@dataclass(frozen=True)
class Effort:
    """How hard each point is tried; see `planner.solve`."""

    time_limit: float
    gap: float
    seed: int
    deterministic: bool


@dataclass(frozen=True)
class Task:
    """Points one worker solves one after the other; they share what is worked out for them.

    Attributes:
        problems: by key of the point.
        effort: how hard each is tried.
        keep_plans: whether the answers carry the plan files.
    """

    problems: dict[str, Problem]
    effort: Effort
    keep_plans: bool


@dataclass(frozen=True)
class Answer:
    """What became of one point.

    Attributes:
        key: of the point.
        record: its columns of the table: status, cost, bound, traffic.
        plan: the plan file, if kept.
        seconds: wall time.
        failed: whether it broke down; then it is tried again when the sweep is resumed.
    """

    key: str
    record: dict[str, Any]
    plan: str | None = None
    seconds: float = 0.0
    failed: bool = False


@dataclass(frozen=True)
class Answers:
    """A task's answers, and how often what was shared was asked for and computed."""

    points: list[Answer]
    asked: Counter[str] = field(default_factory=Counter)
    computed: Counter[str] = field(default_factory=Counter)


def key_of(problem: Problem, effort: Effort) -> str:
    """Equal for points that would be solved alike: same problem, effort and version."""
    told = {"problem": problem.sha256, "effort": asdict(effort), "version": __version__}
    return sha256(dumps(told, sort_keys=True).encode()).hexdigest()


def tasks_of(points: Sequence[Point], effort: Effort, *, keep_plans: bool) -> list[Task]:
    """Tasks for points with a problem; those that differ in their order alone go together."""
    bundles: dict[str, dict[str, Problem]] = {}
    for point in points:
        if point.problem is not None:
            alike = dumps({k: v for k, v in point.columns.items() if k != "order"})
            bundles.setdefault(alike, {})[key_of(point.problem, effort)] = point.problem
    return [Task(problems, effort, keep_plans) for problems in bundles.values()]


def solve_task(task: Task) -> Answers:
    """Solve the points of a task; never raises for what goes wrong in one of them."""
    asked, computed = _MEMORY.asked.copy(), _MEMORY.computed.copy()
    points = [_answer(key, problem, task) for key, problem in task.problems.items()]
    return Answers(points, _MEMORY.asked - asked, _MEMORY.computed - computed)


def _answer(key: str, problem: Problem, task: Task) -> Answer:
    started = time.monotonic()
    plan, failed = None, False
    try:
        plan = solve(problem, workers=1, memory=_MEMORY, **asdict(task.effort))
        record = _record(plan)
    except Infeasible as error:
        record = {"status": "infeasible", "reason": str(error)}
    except NoPlan as error:
        record = {"status": "no plan", "reason": str(error)}
    except Exception as error:  # noqa: BLE001 - one failed point does not end the sweep
        record, failed = failure(error), True
    text = plan.text() if plan is not None and task.keep_plans else None
    return Answer(key, record, text, round(time.monotonic() - started, 3), failed)


def failure(error: BaseException) -> dict[str, Any]:
    """The record of a point that broke down."""
    return {"status": "failed", "reason": f"{type(error).__name__}: {error}".strip(": ")}


def _record(plan: Plan) -> dict[str, Any]:
    record = {
        "status": plan.solver["status"],
        "gpus": plan.grid.world,
        "idle": len(plan.idle),
        "cost": plan.solver["cost"],
        "bound": plan.solver["bound"],
        "gap": plan.solver["gap"],
        "megatron_cost": plan.baseline["cost"],
    }
    if plan.traffic is not None:
        own = measure(plan.problem, plan.grid, plan.machines, plan.placement)
        record |= {"bubble": own.bubble, "state_gb": round(own.state_bytes / 1e9, 6)}
        record |= _traffic_columns(plan.traffic, plan.baseline["traffic"], own)
    return record


def _traffic_columns(
    own: dict[str, Any], megatron: dict[str, Any], report: TrafficReport
) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for level, stated in own.items():
        columns[f"{level}_gb"] = stated["total_gb"]
        columns[f"{level}_gb_busiest"] = stated["busiest"]["gb"]
        columns[f"{level}_gb_megatron"] = megatron[level]["total_gb"]
    columns |= {f"node_gb_{kind}": own["node"]["gb"][kind] for kind in LINK_KINDS}
    if any(level.seconds is not None for level in report.levels):
        for name, traffic in (("seconds", own), ("seconds_megatron", megatron)):
            columns[name] = max(stated.get("seconds", 0.0) for stated in traffic.values())
    return columns
