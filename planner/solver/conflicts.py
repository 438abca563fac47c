"""Which of the user's lines are needed for a conflict, and the nearest change that would help.

Lines are left out in turn; what remains without a plan did not need them. Every remedy named has
been tried: the problem with that change has a plan.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Literal

from planner.errors import Infeasible, InputError, NoPlan
from planner.explain import refuse_by_counting
from planner.explain.lines import offline_lines, without_lines, written_lines
from planner.grid import Grid
from planner.solver.outcome import Options
from planner.solver.search import search
from planner.solver.translation import OFFLINE
from planner.spec.problem import Problem

_SECONDS = 20.0  # for the whole explanation, or the time limit of the search if that is less
_STEP = 5.0  # for one question whether a plan exists
_MOST_LINES = 60  # lines up to which each is left out in turn
_REMEDIES = 2

Verdict = Literal["plan", "no plan", "invalid", "unknown"]


@dataclass(frozen=True)
class _Judge:
    """Says whether a problem has a plan, until its time is up."""

    options: Options
    ends: float

    def __call__(self, data: dict[str, Any]) -> Verdict:
        left = self.ends - monotonic()
        if left <= 0 or self.options.stop.is_set():
            return "unknown"
        limits = replace(self.options, time_limit=min(_STEP, left), gap=1.0, progress=None)
        try:
            problem = Problem.model_validate(data).resolved
            grid = Grid.of(problem)
            refuse_by_counting(problem, grid)
            search(problem, grid, replace(limits, deterministic=False))
        except InputError:
            return "invalid"
        except Infeasible:
            return "no plan"
        except NoPlan:
            return "unknown"
        return "plan"


def explained(problem: Problem, refusal: Infeasible, options: Options) -> Infeasible:
    """The same refusal with no line too many, and with a remedy that was tried.

    Args:
        problem: the problem as the user wrote it.
        refusal: proven, maybe with more lines than needed.
        options: of the search that found it.
    """
    judge = _Judge(options, monotonic() + min(_SECONDS, options.time_limit))
    written = written_lines(problem)
    named = [line for label in refusal.conflict for line in _lines(problem, label)]
    if len(written) > _MOST_LINES:
        return Infeasible(named, refusal.reason, refusal.remedy)
    kept = _needed(problem, written, named, judge)
    remedies = list(_remedies(problem, kept, judge))
    remedy = " or ".join(remedies) if remedies else refusal.remedy
    return Infeasible(kept, refusal.reason, remedy)


def _lines(problem: Problem, label: str) -> list[str]:
    return offline_lines(problem) if label == OFFLINE else [label]


def _needed(
    problem: Problem, written: list[str], named: list[str], judge: Callable[..., Verdict]
) -> list[str]:
    """Lines that conflict, none of which can be left out.

    Lines the argument did not name go first, at once if that works; then each in turn. A line whose
    absence makes the others meaningless stays in the problem and is not named.
    """
    dropped = [line for line in written if line not in named]
    if judge(without_lines(problem, dropped)) != "no plan":
        dropped = []
    kept, silent = [line for line in written if line not in dropped], []
    for line in list(kept):
        verdict = judge(without_lines(problem, [*dropped, line]))
        if verdict == "no plan":
            dropped.append(line)
            kept.remove(line)
        elif verdict == "invalid":
            silent.append(line)
    return [line for line in kept if line not in silent]


def _remedies(problem: Problem, kept: list[str], judge: Callable[..., Verdict]) -> Iterator[str]:
    """The first changes that give a plan, smaller ones first."""
    found = 0
    for text, data in _changes(problem, kept):
        if judge(data) == "plan":
            yield text
            found += 1
        if found == _REMEDIES:
            return


def _changes(problem: Problem, kept: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(words, problem data) of changes to the lines in conflict, at most one a line."""
    levels = [level.name for level in problem.cluster.machines.levels]
    for line in kept:
        steps = line.removeprefix("$.").split(".")
        if steps[:2] == ["constraints", "within"]:
            for level in levels[levels.index(problem.constraints.within[steps[2]]) + 1 :]:
                yield f"set {line} to {level}", _with(problem, steps, level)
    for line in kept:
        steps = line.removeprefix("$.").split(".")
        value = _at(problem, steps)
        if steps[0] == "job" and isinstance(value, int):
            for smaller in range(value - 1, 0, -1):
                if steps[-1] == "dp" or value % smaller == 0:
                    yield f"set {line} to {smaller}", _with(problem, steps, smaller)
    yield from ((f"drop {line}", without_lines(problem, [line])) for line in kept)


def _at(problem: Problem, steps: list[str]) -> object:
    value: object = problem
    for step in steps:
        value = getattr(value, step, None)
    return value


def _with(problem: Problem, steps: list[str], value: object) -> dict[str, Any]:
    """The problem's data with another value on one line."""
    data = without_lines(problem, [])
    inner = data
    for step in steps[:-1]:
        inner = inner[step]
    inner[steps[-1]] = value
    return data
