"""How long and how hot to anneal, and when to stop; plain values."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, count, islice, repeat
from time import monotonic
from typing import Literal

from planner_models.annealing.problem import Task

Why = Literal["target", "asked", "deadline", "proposals"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """Runs of falling temperature: short ones, and long ones that double.

    Every run starts anew from the start placement. Some problems need one long run, others many
    tries, so time is split between both: run lengths are 1, 2, 1, 1, 4, 1, 1, 1, 1, 8, ... times
    the first.

    Attributes:
        proposals: length of the first run, for each worker; None for 5,000 a slot (at least
            400,000).
        runs: how many runs at most; None for as many as the deadline allows.
        hot: temperature at the start of a run, in units of the dearest link.
        cold: temperature at its end, in units of the cheapest link that costs anything. Stopping
            higher never settles the cheap kinds.
    """

    proposals: int | None = None
    runs: int | None = 1
    hot: float = 1.0
    cold: float = 0.3

    def lengths(self, task: Task) -> Iterator[int]:
        """Proposals of each run."""
        first = self.proposals or max(400_000, 5_000 * task.slots)
        rounds = (chain(repeat(first, 1 << k), (first << k + 1,)) for k in count())
        return islice(chain.from_iterable(rounds), self.runs)

    def range(self, task: Task) -> tuple[float, float]:
        """Temperatures at the two ends of a run, in units of cost."""
        dearest, cheapest = task.scale
        return self.hot * dearest, self.cold * cheapest


@dataclass(frozen=True, slots=True)
class Stop:
    """When to stop before the schedule ends.

    Attributes:
        target: a cost known to be a lower bound: reached is done.
        deadline: a time of `time.monotonic()`; a run that would pass it cools faster.
        asked: called some ten times a second or more; stop when it returns True.
    """

    target: int | None = None
    deadline: float | None = None
    asked: Callable[[], bool] | None = None

    def why(self, cost: int | None) -> Why | None:
        """The reason to stop now, given the best valid cost so far (None: none yet)."""
        if self.target is not None and cost is not None and cost <= self.target:
            return "target"
        if self.asked is not None and self.asked():
            return "asked"
        if self.deadline is not None and monotonic() >= self.deadline:
            return "deadline"
        return None

    def seconds_left(self) -> float:
        """Seconds until the deadline; infinite without one."""
        return float("inf") if self.deadline is None else self.deadline - monotonic()
