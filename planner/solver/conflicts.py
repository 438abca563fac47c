"""Which of the user's lines are needed for a conflict, and the nearest change that would help.

Lines are left out in turn; what remains without a plan did not need them. Where the number of
copies is left open, there is no plan only if there is none for any number. Every remedy named has
been tried: the problem with that change has a plan.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Literal

from planner.errors import Infeasible, InputError, NoPlan
from planner.explain import refuse_by_counting
from planner.explain.lines import (
    CONSTRAINTS,
    DP,
    narrows,
    offline_lines,
    without_lines,
    written_lines,
)
from planner.grid import Grid
from planner.solver.outcome import Options
from planner.solver.search import search
from planner.solver.translation import OFFLINE
from planner.spec.copies import allowed_copies
from planner.spec.job import PATH as JOB
from planner.spec.job import Job
from planner.spec.problem import Problem
from planner.spec.traffic import Traffic

_SECONDS = 20.0  # for the whole explanation, or the time limit of the search if that is less
_STEP = 5.0  # for one question whether a plan exists
_MOST_LINES = 60  # lines up to which each is left out in turn
_REMEDIES = 2
_PLAIN = "these lines exclude one another"

Verdict = Literal["plan", "no plan", "invalid", "unknown"]
Data = dict[str, Any]


@dataclass(frozen=True)
class _Judge:
    """Says whether a problem on so many devices has a plan, until its time is up."""

    options: Options
    ends: float
    devices: int

    def __call__(self, data: Data) -> Verdict:
        verdict, _ = self.refusal(data)
        return verdict

    def refusal(self, data: Data) -> tuple[Verdict, Infeasible | None]:
        """The verdict and, where there is no plan, how that was said."""
        left = self.ends - monotonic()
        if left <= 0 or self.options.stop.is_set():
            return "unknown", None
        limits = replace(self.options, time_limit=min(_STEP, left), gap=1.0, progress=None)
        try:
            problem = Problem.model_validate(data).resolved
            grid = Grid.of(problem)
            refuse_by_counting(problem, grid)
            search(problem, grid, replace(limits, deterministic=False))
        except InputError:
            return "invalid", None
        except Infeasible as refusal:
            return "no plan", refusal
        except NoPlan:
            return "unknown", None
        return "plan", None

    def any_copies(self, data: Data) -> tuple[Verdict, Infeasible | None]:
        """The same, for the best number of copies if the data leave it open.

        A plan without its last copy is a plan, so the least number decides.
        """
        return self.refusal(_with_least_copies(data, self.devices))


def explained(problem: Problem, refusal: Infeasible, options: Options) -> Infeasible:
    """The same refusal with no line too many, and with a remedy that was tried.

    Args:
        problem: the problem as the user wrote it.
        refusal: proven, maybe with more lines than needed.
        options: of the search that found it.
    """
    ends = monotonic() + min(_SECONDS, options.time_limit)
    judge = _Judge(options, ends, len(problem.cluster.machines.online))
    named = _expanded(problem, refusal)
    written = written_lines(problem)
    if len(written) > _MOST_LINES:
        lines = [line for line in written if line in named]
        return Infeasible(lines, refusal.reason, refusal.remedy)
    taken = ""
    if problem.job.dp == "auto" and judge.any_copies(without_lines(problem, []))[0] == "plan":
        # Only the number of copies is too large: it stands in the conflict as if written.
        problem = Problem.model_validate(_with(problem, ["job", "dp"], problem.dp))
        taken = f" (dp is auto, which took {problem.dp})"
    kept, dropped = _needed(problem, named, judge)
    reason = _words(problem, refusal, kept, dropped, judge)
    remedies = list(_remedies(problem, kept, judge))
    general = refusal.remedy if reason == refusal.reason else None
    return Infeasible(kept, reason + taken, " or ".join(remedies) or general)


def _expanded(problem: Problem, refusal: Infeasible) -> list[str]:
    """The lines a refusal names, nodes with offline GPUs each by its own path."""
    return [
        line
        for label in refusal.conflict
        for line in (offline_lines(problem) if label == OFFLINE else [label])
    ]


def _with_least_copies(data: Data, devices: int) -> Data:
    """The data with the least number of copies that pins, batch and experts allow, if left open."""
    own = data.get("job", {})
    if own.get("dp", "auto") != "auto":
        return data
    job = Job.model_validate(own)
    traffic = data.get("objective", {}).get("traffic")
    batch = None if traffic is None else Traffic.model_validate(traffic)
    pinned = max((pin["slot"]["dp"] for pin in data["constraints"]["pins"]), default=0)
    allowed = allowed_copies(job, batch, devices // job.copy_size)
    enough = allowed[allowed > pinned]
    return {**data, "job": {**own, "dp": int(enough[0])}} if len(enough) else data


def _needed(problem: Problem, named: Sequence[str], judge: _Judge) -> tuple[list[str], list[str]]:
    """Lines that conflict, none of which can be left out, and the lines that were left out.

    Lines the argument did not name go first, at once if that works; then each in turn, until none
    goes. A line whose absence makes the others meaningless stays in the problem and is not named.
    """
    written = written_lines(problem)
    unnamed = [line for line in written if line not in named]
    dropped: list[str] = []
    for some in (unnamed, [line for line in unnamed if narrows(line)]):
        if judge.any_copies(without_lines(problem, some))[0] == "no plan":
            dropped = some
            break
    kept = [line for line in [*unnamed, *(x for x in written if x in named)] if line not in dropped]
    while True:
        silent, before = [], len(kept)
        for line in list(kept):
            verdict, _ = judge.any_copies(without_lines(problem, [*dropped, line]))
            if verdict == "no plan":
                dropped = [*dropped, line]
                kept.remove(line)
            elif verdict == "invalid":
                silent.append(line)
        if len(kept) == before:
            return [line for line in written if line in kept and line not in silent], dropped


def _words(
    problem: Problem,
    refusal: Infeasible,
    kept: Sequence[str],
    dropped: Sequence[str],
    judge: _Judge,
) -> str:
    """The argument in words that speak of the lines in conflict and of no others.

    That of the refusal if it does; else that of the problem with no other rules, which has the
    user's own rank numbers; else that of the lines in conflict alone.
    """
    rules = [line for line in dropped if narrows(line)]
    others = [without_lines(problem, rules)]
    if not any("pins" in line for line in kept):
        others.append(_with_least_copies(without_lines(problem, dropped), judge.devices))
    said: Infeasible | None = refusal
    while True:
        if said is not None and _speaks_of(kept, _expanded(problem, said)):
            return said.reason
        if not others:
            return _PLAIN
        _, said = judge.refusal(others.pop(0))


def _speaks_of(kept: Sequence[str], named: Sequence[str]) -> bool:
    rules = [{line for line in lines if narrows(line)} for lines in (kept, named)]
    return rules[0] == rules[1] and set(kept) <= set(named)


def _remedies(problem: Problem, kept: Sequence[str], judge: _Judge) -> Iterator[str]:
    """The first changes that give a plan, smaller ones first, at most one a line."""
    found: set[str] = set()
    for line, text, data in _changes(problem, kept, judge):
        if line not in found and judge(data) == "plan":
            yield text
            found.add(line)
        if len(found) == _REMEDIES:
            return


def _changes(
    problem: Problem, kept: Sequence[str], judge: _Judge
) -> Iterator[tuple[str, str, Data]]:
    """(line, words, problem data) of changes to the lines in conflict."""
    yield from _coarser(problem, kept)
    if DP in kept:
        yield from _fewer_copies(problem, judge)
    yield from _smaller(problem, kept)
    for line in kept:
        if line != DP:
            yield line, f"drop {line}", without_lines(problem, [line])


def _coarser(problem: Problem, kept: Sequence[str]) -> Iterator[tuple[str, str, Data]]:
    levels = [level.name for level in problem.cluster.machines.levels]
    for name, at in problem.constraints.within.items():
        line = f"{CONSTRAINTS}.within.{name}"
        for level in levels[levels.index(at) + 1 :] if line in kept else ():
            data = _with(problem, ["constraints", "within", name], level)
            yield line, f"set {line} to {level}", data


def _smaller(problem: Problem, kept: Sequence[str]) -> Iterator[tuple[str, str, Data]]:
    for name, module in problem.job.modules.items():
        for size, value in module.model_dump(exclude_unset=True, exclude_none=True).items():
            line = f"{JOB}.{name}.{size}"
            for smaller in range(value // 2, 0, -1) if line in kept else ():
                if value % smaller == 0:
                    data = _with(problem, ["job", name, size], smaller)
                    yield line, f"set {line} to {smaller}", data


def _fewer_copies(problem: Problem, judge: _Judge) -> Iterator[tuple[str, str, Data]]:
    """The largest number of copies with a plan: what holds does so up to some number."""
    allowed = allowed_copies(problem.job, problem.objective.traffic, problem.dp - 1)

    def has_none(dp: int) -> bool:
        return judge(_with(problem, ["job", "dp"], int(dp))) != "plan"

    at = bisect_left(allowed, True, key=has_none)
    if at:
        dp = int(allowed[at - 1])
        yield DP, f"set {DP} to {dp}", _with(problem, ["job", "dp"], dp)


def _with(problem: Problem, steps: Sequence[str], value: object) -> Data:
    """The problem's data with another value on one line."""
    data = without_lines(problem, [])
    inner = data
    for step in steps[:-1]:
        inner = inner.setdefault(step, {})
    inner[steps[-1]] = value
    return data
