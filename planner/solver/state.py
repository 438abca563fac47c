"""A search under way: the incumbent, what is proven so far, and the clock."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import gcd
from time import monotonic

from planner.baseline import score
from planner.cost import links_at
from planner.feasibility import broken_constraints
from planner.grid import Grid, Ints
from planner.machines import Machines
from planner.solver.outcome import Options, Outcome, Proof, Stopped
from planner.solver.translation import model_job, model_weights
from planner.solver.weighing import Weighing, weigh
from planner.spec.problem import Problem
from planner_models import assignment
from planner_models.job import Job, Weights

_NEVER = 10  # times all weights together: dearer than whatever a cut could save
_RING_OF = {"tp": "tp", "cp": "cp", "dp_cp": "dp"}  # groups that are rings of a kind, by name

FREE = "nothing (links cost nothing here)"
UNSEEN = "nothing (not looked into)"


class Search:
    """State shared by the steps of a search.

    Attributes:
        problem, grid, machines, weighing: the problem in its forms.
        job, weights: the same for the models.
        placement: [world] device of each trainer rank, the cheapest found; None before the first.
        cost: its integer cost.
        found_by: the step that found it.
        level_bounds: proven bound of each level, level weight not included, finest first.
        level_proofs, level_times: the formulation behind each, and when it was done.
        whole_bound: a bound on the whole cost by a formulation that sees all levels.
        whole_proof, whole_time: that formulation, and when it was done.
    """

    def __init__(self, problem: Problem, grid: Grid, options: Options) -> None:
        self.problem = problem
        self.grid = grid
        self.machines: Machines = problem.cluster.machines
        self.options = options
        self.weighing: Weighing = weigh(problem, grid, self.machines)
        self.job: Job = model_job(grid)
        self.weights: Weights = model_weights(self.weighing, grid)
        self.placement: Ints | None = None
        self.cost = 0
        self.found_by = ""
        self.level_bounds = [0] * len(self.machines.levels)
        self.level_proofs = [UNSEEN if w else FREE for w in self.weighing.levels]
        self.level_times = [0.0] * len(self.machines.levels)
        self.whole_bound = 0
        self.whole_proof = ""
        self.whole_time = 0.0
        self._started = monotonic()
        self._spent = 0.0

    # The clock

    @property
    def deadline(self) -> float | None:
        """`time.monotonic` at which to stop; None when work is counted instead of time."""
        return None if self.options.deterministic else self._started + self.options.time_limit

    def share(self, fraction: float) -> float | None:
        """A deadline that leaves the rest of the time to later steps; None as for `deadline`."""
        if self.deadline is None:
            return None
        return monotonic() + fraction * self.left

    @property
    def seconds(self) -> float:
        """Wall time so far."""
        return monotonic() - self._started

    @property
    def left(self) -> float:
        """Seconds left, or deterministic units of about a second."""
        used = self._spent if self.options.deterministic else self.seconds
        return max(0.0, self.options.time_limit - used)

    def spend(self, work: float) -> None:
        """Count deterministic work."""
        self._spent += work

    @property
    def interrupted(self) -> bool:
        """Whether the user asked to stop."""
        return self.options.stop.is_set()

    def asked(self) -> bool:
        """The same, as a callback."""
        return self.options.stop.is_set()

    def limits(self, most: float) -> assignment.Limits:
        """Limits of a run of the exact model: at most that long, and no longer than is left."""
        budget = max(min(self.left, most), 0.1)
        deterministic = self.options.deterministic
        return assignment.Limits(
            seconds=None if deterministic else budget,
            work=budget if deterministic else None,
            workers=self.options.workers,
            seed=self.options.seed,
            gap=self.options.gap,
        )

    # The incumbent

    @cached_property
    def constrained(self) -> bool:
        """Whether the user's own hard constraints make some placements plans and others not."""
        c = self.problem.constraints
        free = c.launch == "free" and c.cp_symmetry == "mapping"
        return bool(c.within or c.pins or self.grid.hierarchy) or not free

    def offer(self, placement: Ints, by: str) -> bool:
        """Keep a placement if it is a plan and cheaper than the incumbent; whether it was."""
        cost = self.score(placement)
        if self.placement is not None and cost >= self.cost:
            return False
        if self.constrained and broken_constraints(self.problem, self.grid, placement):
            return False
        self.placement, self.cost, self.found_by = placement, cost, by
        self.report()
        return True

    def score(self, placement: Ints) -> int:
        """Integer cost of a placement."""
        return score(self.grid, self.machines, self.weighing.kinds, self.weighing.levels, placement)

    def level_cost(self, level: int) -> int:
        """Integer cost of the incumbent at one level, level weight not included."""
        assert self.placement is not None
        counted = links_at(self.grid, self.machines.levels[level].domain[self.placement])
        return sum(self.weighing.kinds[kind] * n for kind, n in counted.items())

    # What is proven

    def settled(self, level: int) -> bool:
        """Whether the incumbent costs what is proven at a level: that bound cannot rise."""
        return self.placement is not None and self.level_cost(level) <= self.level_bounds[level]

    def weights_at(self, level: int) -> Weights:
        """Link weights for the bound of a level.

        Kinds whose groups may not be cut there by the user's `within` weigh so much that no cheap
        content cuts them: no plan pays for it, so the bound still holds, and it sees the rule.
        """
        names = [lv.name for lv in self.machines.levels]
        heavy = _NEVER * sum(self.weighing.kinds.values())
        kept = {
            _RING_OF[name]: heavy
            for name, at in self.problem.constraints.within.items()
            if name in _RING_OF and names.index(at) <= level and not self._exchanged(name)
        }
        return replace(self.weights, **kept)

    def _exchanged(self, group: str) -> bool:
        return group == "cp" and self.grid.context_exchanged

    @cached_property
    def granularity(self) -> int:
        """Every cost is a multiple of this."""
        kinds = gcd(*self.weighing.kinds.values())
        levels = gcd(*self.weighing.levels)
        return kinds * levels or 1

    @property
    def bound(self) -> int:
        """Proven lower bound on the integer cost of every plan."""
        summed = sum(w * b for w, b in zip(self.weighing.levels, self.level_bounds, strict=True))
        best = max(summed, self.whole_bound)
        return -(-best // self.granularity) * self.granularity

    def raise_level(self, level: int, value: int, by: str) -> None:
        """Take a bound on one level (level weight not included) if it is the best so far."""
        if value > self.level_bounds[level] or self.level_proofs[level] in {FREE, UNSEEN}:
            self.level_bounds[level] = max(value, self.level_bounds[level])
            self.level_proofs[level] = by
            self.level_times[level] = self.seconds
            self.report()

    def raise_whole(self, value: int, by: str) -> None:
        """Take a bound on the whole cost if it is the best so far."""
        if value > self.whole_bound:
            self.whole_bound, self.whole_proof = value, by
            self.whole_time = self.seconds
            self.report()

    def enough_at(self, level: int) -> int | None:
        """The bound of a level at which the incumbent would be proven; None without incumbent."""
        if self.placement is None or not self.weighing.levels[level]:
            return None
        others = sum(
            w * b
            for i, (w, b) in enumerate(zip(self.weighing.levels, self.level_bounds, strict=True))
            if i != level
        )
        return -(-(self.cost - others) // self.weighing.levels[level])

    @property
    def enough(self) -> int:
        """Largest cost that is within the wanted gap of the bound."""
        return int(self.bound / (1 - self.options.gap)) if self.options.gap < 1 else self.cost

    @property
    def proven(self) -> bool:
        """Whether the incumbent is optimal."""
        return self.placement is not None and self.bound >= self.cost

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do or no time left to do it."""
        if self.proven or self.interrupted or self.left <= 0:
            return True
        return self.placement is not None and self.cost - self.bound <= self.options.gap * self.cost

    def report(self) -> None:
        """Tell the caller about the incumbent and the bound."""
        if self.options.progress is not None:
            unit = float(self.weighing.unit)
            cost = None if self.placement is None else self.cost * unit
            self.options.progress(cost, self.bound * unit, self.seconds)

    # The answer

    def outcome(self) -> Outcome:
        """The search's answer; there is an incumbent."""
        assert self.placement is not None
        unit = self.weighing.unit
        proofs: Sequence[Proof] = [
            Proof(level.name, unit * weight * bound, by, seconds)
            for level, weight, bound, by, seconds in zip(
                self.machines.levels,
                self.weighing.levels,
                self.level_bounds,
                self.level_proofs,
                self.level_times,
                strict=True,
            )
        ]
        if self.whole_bound >= self.bound and not self._levels_suffice:
            proofs = [
                *proofs,
                Proof("all", unit * self.whole_bound, self.whole_proof, self.whole_time),
            ]
        return Outcome(
            self.placement, unit * self.bound, tuple(proofs), self.found_by, self._stopped
        )

    @property
    def _levels_suffice(self) -> bool:
        summed = sum(w * b for w, b in zip(self.weighing.levels, self.level_bounds, strict=True))
        return summed >= self.whole_bound

    @property
    def _stopped(self) -> Stopped:
        if self.proven:
            return "optimal"
        if self.interrupted:
            return "interrupted"
        if self.cost - self.bound <= self.options.gap * self.cost:
            return "gap"
        return "time" if self.left <= 0 else "exhausted"
