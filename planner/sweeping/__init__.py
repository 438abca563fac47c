"""Sweeps: many parallel sizes on the same machines, solved anywhere, compared in one table."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.files import write_whole
from planner.spec.job import DEFAULT_ORDER
from planner.spec.problem import Problem
from planner.sweeping.journal import Journal
from planner.sweeping.points import Axes, Dp, Point, Values, expand
from planner.sweeping.running import Done, run_by, run_here, run_in_processes
from planner.sweeping.solving import Answer, Answers, Effort, Task, failure, key_of, tasks_of
from planner.sweeping.tables import Sort, check_format, table, write_table

if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[[int, int], None]
"""Called with (points done, points to solve)."""


def sweep(
    problem: Problem | Mapping[str, Any],
    *,
    encoder: Mapping[str, Values] | None = None,
    decoder: Mapping[str, Values] | None = None,
    dp: Dp = "auto",
    order: Sequence[str] = (),
    max_idle: float = 0.05,
    executor: Executor | None = None,
    workers: int | None = None,
    time_limit: float = 10.0,
    gap: float = 0.01,
    seed: int = 0,
    deterministic: bool = True,
    sort: Sort = "auto",
    output: str | Path | None = None,
    plans: str | Path | None = None,
    progress: Progress | None = None,
) -> "pd.DataFrame":
    """Solve every combination of parallel sizes and compare them.

    With `output` each result is kept as it comes in a journal beside it (`<output>.journal`); the
    same call after an interruption goes on where it stopped, and solves only what is new after a
    change of the axes. A point that breaks down is in the table with its reason and is tried again.

    Args:
        problem: machines, objective, constraints and the sizes not swept; or a problem file's data.
        encoder: values of tp, cp, pp, vpp, ep, etp to combine, e.g. ``{"tp": [4, 8]}``.
        decoder: the same for the decoder.
        dp: data parallel copies; ``auto`` is the largest that each point can hold and that divides
            batch and experts, whatever dp the problem states: its number fits its own sizes.
        order: order strings to combine; default the problem's own.
        max_idle: points that leave more than this share of the GPUs idle, although another data
            copy would fit, are refused: they do not fill the machines.
        executor: any `concurrent.futures.Executor`; None solves here, or in `workers` processes.
        workers: processes of our own, if no executor is given.
        time_limit: of each point, in seconds, or deterministic units of about a second.
        gap: each point stops once (cost - bound) / cost is this small; sizes differ by far more.
        seed: of each point.
        deterministic: equal sweeps give equal tables, wherever and in whatever order they run.
        sort: what the table is sorted by, best first; see `planner.sweeping.tables.table`.
        output: results file, .csv, .json or .parquet.
        plans: folder that keeps every plan, named by its sizes.
        progress: called as points are done.

    Returns:
        A DataFrame, a row a point: sizes; status, and the reason of refused points; GPUs used and
        idle; cost, bound, gap and the cost of Megatron's order; with `objective.traffic` GB a step
        out of the domains of each level (ours, the busiest domain's, and in Megatron's order) and
        out of the nodes by kind, seconds that implies with a bandwidth, pipeline bubble, GB of
        model state on the fullest GPU; whether it is on the Pareto front. `attrs["worked_out"]`
        tells how often bounds and candidate scores were asked for and computed.

    Raises:
        InputError: bad machines or axes, no combination that makes a problem, or unusable files.

    Example:
        >>> frame = sweep({"cluster": {"nodes": 2}}, decoder={"tp": [4, 8, 32]})
        >>> frame[["tp", "dp", "status"]].values.tolist()
        [[4, 4, 'optimal'], [8, 2, 'optimal'], [32, <NA>, 'infeasible']]
    """
    points = expand(problem, Axes(encoder or {}, decoder or {}, dp, order, max_idle))
    effort = Effort(time_limit, gap, seed, deterministic)
    if output is not None:
        check_format(output)
    keys = [None if p.problem is None else key_of(p.problem, effort) for p in points]
    names = {key: plan_name(p) for key, p in zip(keys, points, strict=True) if key is not None}
    with Journal(None if output is None else Path(f"{output}.journal")) as journal:
        shelf = _Shelf(journal, names, None if plans is None else Path(plans))
        left = [p for p, key in zip(points, keys, strict=True) if key and shelf.lacks(key)]
        tasks = tasks_of(left, effort, keep_plans=plans is not None)
        total, done = sum(len(task.problems) for task in tasks), 0
        for task, outcome in _run(tasks, executor, workers):
            shelf.take(task, outcome)
            done += len(task.problems)
            if progress is not None:
                progress(done, total)
    rows = [
        _row(p, None if key is None else shelf.records[key])
        for p, key in zip(points, keys, strict=True)
    ]
    frame = table(rows, sort)
    frame.attrs["worked_out"] = {
        name: (shelf.asked[name], shelf.computed[name]) for name in shelf.asked
    }
    if output is not None:
        write_table(frame, output)
    return frame


class _Shelf:
    """Where answers go: the journal, the folder of plans, and this run's records."""

    def __init__(self, journal: Journal, names: Mapping[str, str], plans: Path | None) -> None:
        self.records: dict[str, dict[str, Any]] = dict(journal.known)
        self.asked: Counter[str] = Counter()
        self.computed: Counter[str] = Counter()
        self._journal = journal
        self._plans = plans
        self._names = names
        if plans is not None:
            plans.mkdir(parents=True, exist_ok=True)

    def lacks(self, key: str) -> bool:
        """Whether a point must be solved: never was, or its plan is wanted and not there."""
        if key not in self.records:
            return True
        solved = "cost" in self.records[key]
        return self._plans is not None and solved and not self._plan_file(key).exists()

    def _plan_file(self, key: str) -> Path:
        assert self._plans is not None
        return self._plans / self._names[key]

    def take(self, task: Task, outcome: Answers | BaseException) -> None:
        """Keep a task's answers; if it broke down, that of each of its points."""
        if isinstance(outcome, BaseException):
            record = failure(outcome)
            outcome = Answers([Answer(key, record, failed=True) for key in task.problems])
        self.asked += outcome.asked
        self.computed += outcome.computed
        for answer in outcome.points:
            self.records[answer.key] = answer.record
            if answer.plan is not None:  # before the journal: what it lists has its plan
                write_whole(self._plan_file(answer.key), answer.plan)
            if not answer.failed:
                self._journal.add(answer)


def _run(tasks: Sequence[Task], executor: Executor | None, workers: int | None) -> Iterator[Done]:
    if executor is not None:
        return run_by(executor, tasks)
    return run_in_processes(workers, tasks) if workers else run_here(tasks)


def plan_name(point: Point) -> str:
    """File name of a point's plan: its sizes other than 1, and an unusual order.

    Example:
        >>> plan_name(Point({"tp": 4, "cp": 1, "dp": 8, "order": DEFAULT_ORDER}, None, None))
        'tp4-dp8.json'
    """
    sizes = {k: v for k, v in point.columns.items() if k != "order" and v != 1}
    parts = [f"{name}{value}" for name, value in sizes.items()]
    order = point.columns["order"]
    return "-".join([*parts, *([order] if order != DEFAULT_ORDER else [])] or ["one"]) + ".json"


def _row(point: Point, record: Mapping[str, Any] | None) -> dict[str, Any]:
    if record is None:
        record = {"status": "infeasible", "reason": "; ".join(str(point.reason).splitlines())}
    return {**point.columns, "status": record["status"], "reason": record.get("reason"), **record}
