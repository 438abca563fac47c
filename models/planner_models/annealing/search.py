"""Annealing of a task: runs of a schedule on one or more chains, the best placement of all.

Chains take the same number of proposals between two looks at the clock, whatever their speed, so
the result depends on task, start, schedule, seed and number of workers alone, unless a deadline or
a caller cuts it short.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from time import monotonic

import numpy as np

from planner_models.annealing import kernel as interpreted
from planner_models.annealing.chain import Chain
from planner_models.annealing.compiled import best_kernel
from planner_models.annealing.problem import Ints, Task, broken, cost
from planner_models.annealing.schedule import Schedule, Stop, Why
from planner_models.annealing.state import tables

LOOKS = {True: 1 << 14, False: 1 << 11}  # proposals between two looks, compiled or not: 5 to 50 ms


@dataclass(frozen=True, eq=False)
class Result:
    """The best placement seen.

    Attributes:
        place: [slots] device of each slot.
        cost: its cost, counted afresh by `problem.cost`.
        broken: groups that are not inside one domain though `within` asks for it; 0 if all is well.
        proposals: moves proposed by all workers together.
        accepted: how many of them were made.
        runs: runs begun.
        why: what ended the search; "proposals" is the schedule's end.
    """

    place: Ints
    cost: int
    broken: int
    proposals: int
    accepted: int
    runs: int
    why: Why


def anneal(
    task: Task,
    start: Ints | None = None,
    schedule: Schedule | None = None,
    stop: Stop | None = None,
    *,
    seed: int = 0,
    workers: int = 1,
    on_incumbent: Callable[[Ints, int], None] | None = None,
    compiled: bool = True,
) -> Result:
    """Search for a cheap placement.

    Args:
        task: the problem.
        start: [slots] placement every run starts from; slot i on the i-th usable device if None.
        schedule: lengths and temperatures of the runs; one run of default length if None.
        stop: reasons to end early.
        seed: of the random numbers.
        workers: independent chains, in threads when compiled.
        on_incumbent: called with every new best placement and its cost, a few times a second.
        compiled: use numba where it is installed. The result is the same without, later.

    Raises:
        ValueError: `start` is no placement on the usable devices.

    Example:
        Two rings of two on two nodes of two::

            >>> from planner_models.annealing import Family, Level, Pairs, Task
            >>> rings = Family(10, np.array([0, 1, 0, 1]))
            >>> node = Level(1, np.array([0, 0, 1, 1]))
            >>> task = Task(4, (rings,), Pairs(), (node,), devices=np.arange(4))
            >>> anneal(task, schedule=Schedule(1000), compiled=False).cost
            0
    """
    place = task.first_fit() if start is None else np.asarray(start, dtype=np.int64)
    if np.unique(place).size != task.slots or not np.isin(place, task.devices).all():
        raise ValueError("start: every slot needs a usable device of its own")
    search = _Search(task, place, stop or Stop(), on_incumbent)
    search.run(schedule or Schedule(), seed, workers, compiled=compiled)
    return search.result()


class _Search:
    """The incumbent, and what is counted on the way to it."""

    def __init__(
        self,
        task: Task,
        start: Ints,
        stop: Stop,
        on_incumbent: Callable[[Ints, int], None] | None,
    ) -> None:
        self.task, self.start, self.stop, self.tell = task, start, stop, on_incumbent
        self.place, self.cost, self.broken = start, cost(task, start), broken(task, start)
        self.least: int | None = None  # cost with penalties, as chains count it
        self.proposals = self.accepted = self.runs = 0
        self.look = LOOKS[False]
        self.since, self.timed = 0.0, 0  # proposals of one worker since then
        self.why: Why | None = None

    def run(self, schedule: Schedule, seed: int, workers: int, *, compiled: bool) -> None:
        """All runs of the schedule, or as many as the reasons to stop allow."""
        if self._stopped() or self.task.scale == (0, 0):
            return
        kernel = best_kernel() if compiled else interpreted
        fixed = tables(self.task)
        streams = np.random.SeedSequence(seed).spawn(workers)
        chains = [Chain(self.task, fixed, kernel, np.random.default_rng(s)) for s in streams]
        self.look = LOOKS[kernel is not interpreted]
        heat = schedule.range(self.task)
        with ThreadPoolExecutor(workers) as pool:
            for length in schedule.lengths(self.task):
                for chain in chains:
                    chain.begin(self.start, *heat, length)
                self.runs += 1
                self._cool(chains, pool, length)
                self.accepted += sum(chain.accepted for chain in chains)
                if self.why:
                    return

    def result(self) -> Result:
        """The best placement, recounted."""
        return Result(
            place=self.place,
            cost=self.cost,
            broken=self.broken,
            proposals=self.proposals,
            accepted=self.accepted,
            runs=self.runs,
            why=self.why or "proposals",
        )

    def _cool(self, chains: list[Chain], pool: ThreadPoolExecutor, length: int) -> None:
        """One run: all chains side by side from look to look."""
        done, left = 0, self._fitting(length)
        while left > 0:
            for chain in chains if left < length - done else ():
                chain.cool_in(left)
            step = min(self.look, left)
            list(pool.map(Chain.advance, chains, repeat(step)))
            done += step
            self._count(step, len(chains))
            best = min(chains, key=lambda chain: chain.least)
            if self.least is None or best.least < self.least:
                self.least = best.least
                self._accept(best.best())
            if self._stopped():
                return
            left = self._fitting(length - done)

    def _count(self, step: int, workers: int) -> None:
        """Count a look's proposals; the pace leaves out the first, which loads the kernel."""
        if self.proposals == 0:
            self.since = monotonic()
        else:
            self.timed += step
        self.proposals += step * workers

    def _fitting(self, proposals: int) -> int:
        """Proposals of a worker that the time left allows, at most those planned.

        A run that the deadline cuts short would never get cold: its cooling has to end with it.
        """
        if self.stop.deadline is None or self.timed == 0 or proposals <= self.look:
            return proposals
        speed = self.timed / max(monotonic() - self.since, 1e-9)
        return min(proposals, max(self.look, int(speed * self.stop.seconds_left())))

    def _accept(self, place: Ints) -> None:
        """A new incumbent."""
        self.place, self.cost = place, cost(self.task, place)
        self.broken = broken(self.task, place)
        if self.tell is not None and self.broken == 0:
            self.tell(place, self.cost)

    def _stopped(self) -> bool:
        """Whether there is a reason to stop now; it is kept."""
        self.why = self.stop.why(self.cost if self.broken == 0 else None)
        return self.why is not None
