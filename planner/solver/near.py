"""A search near an old plan under way: what is wanted, the plans kept, and how moves are counted.

Beside the cheapest plan (`Search`) it keeps the plans met that no other beats in both cost and
moves, since what cost is good enough is known only when the search for the cheapest ends.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from time import monotonic

import numpy as np

from planner.feasibility import broken_constraints
from planner.grid import Ints
from planner.solver.mending import deal
from planner.solver.numbering import rank_zero_first
from planner.solver.outcome import Options
from planner.solver.state import Search
from planner.solver.translation import exact_problem
from planner_models import moves

BY = "few moves"


@dataclass(frozen=True, eq=False)
class Wish:
    """Where ranks are, and what is wanted of the new plan.

    Attributes:
        home: [world] device of each rank, -1 where it is gone.
        origin: [world] node each rank sat on; numbers below 0 tell nodes apart that are gone.
        slack: cost may exceed the best found by this share, to save moves; unused with `most`.
        most: largest number of moves; the cost is then minimised. None: moves are minimised.
    """

    home: Ints
    origin: Ints
    slack: Fraction
    most: int | None


@dataclass(frozen=True, eq=False)
class Kept:
    """A plan near the old one."""

    placement: Ints
    cost: int
    moved: int


Value = tuple[int, int, int]
"""What is minimised, lexicographically."""


class Near:
    """Plans near an old one.

    Attributes:
        fresh: the search for the cheapest plan, with its bound; it is offered every plan met.
        wish: what is wanted.
        kept: plans that no other met beats in cost and moves, by rising moves.
        least_moves: proven lower bound on the moves of a plan that is good enough.
        aim_at_bound: whether "good enough" is measured at the bound instead of the best cost found,
            to push the cost down before it is known what can be had.
    """

    def __init__(self, fresh: Search, options: Options, wish: Wish) -> None:
        self.fresh, self.options, self.wish = fresh, options, wish
        self.machines = fresh.machines
        self.model = exact_problem(fresh.problem, fresh.grid, fresh.weighing, (), 0)
        self.kept: list[Kept] = []
        self.least_moves = int(np.count_nonzero(wish.home < 0))
        self.aim_at_bound = False
        self.home_cells: Ints = np.where(
            wish.home >= 0, self.machines.levels[0].domain[wish.home], -1
        )
        self._ends = monotonic() + options.time_limit
        self._spent = 0.0

    # What is wanted

    @property
    def enough(self) -> int:
        """Largest integer cost that is good enough."""
        best = self.fresh.bound if self.aim_at_bound else self.fresh.cost
        return int(best * (1 + self.wish.slack))

    def value(self, plan: Kept) -> Value:
        """Cost above what is enough, moves, cost; or cost and moves within `most`."""
        if self.wish.most is None:
            return (max(0, plan.cost - self.enough), plan.moved, plan.cost)
        return (max(0, plan.moved - self.wish.most), plan.cost, plan.moved)

    @property
    def best(self) -> Kept | None:
        """The plan kept that comes nearest to what is wanted."""
        return min(self.kept, key=self.value, default=None)

    @property
    def answer(self) -> Kept | None:
        """The same, unless it takes more moves than allowed."""
        best = self.best
        if best is not None and self.wish.most is not None and best.moved > self.wish.most:
            return None
        return best

    @property
    def settled(self) -> bool:
        """Whether nothing better can be found."""
        best = self.answer
        if best is None:
            return False
        if self.wish.most is not None:
            return best.cost <= self.fresh.bound
        return best.cost <= self.enough and best.moved <= self.least_moves

    @property
    def within_slack_of_bound(self) -> bool:
        """Whether the cheapest plan met is good enough however cheap others may be."""
        if self.answer is None:
            return False
        slack = 0 if self.wish.most is not None else self.wish.slack
        return min(k.cost for k in self.kept) <= self.fresh.bound * (1 + slack)

    def freeze_moves(self) -> None:
        """From here on the least cost is wanted that the moves found so far reach."""
        best = self.best
        if best is not None and self.wish.most is None:
            self.wish = replace(self.wish, most=best.moved)

    # The clock

    @property
    def left(self) -> float:
        """Seconds left, or deterministic units of about a second."""
        if self.options.deterministic:
            return max(0.0, self.options.time_limit - self._spent)
        return max(0.0, self._ends - monotonic())

    def spend(self, work: float) -> None:
        """Count deterministic work."""
        self._spent += work

    # Plans

    def offer(self, cells: Ints) -> bool:
        """Keep a placement ([world] cells) if it is a plan that nothing kept beats; whether so."""
        placement = self._seated(cells)
        plan = Kept(
            placement,
            self.fresh.score(placement),
            int(np.count_nonzero(placement != self.wish.home)),
        )
        if any(k.cost <= plan.cost and k.moved <= plan.moved for k in self.kept):
            return False
        if broken_constraints(self.fresh.problem, self.fresh.grid, placement):
            return False
        self.fresh.offer(placement, BY)
        self.kept = [k for k in self.kept if k.cost < plan.cost or k.moved < plan.moved]
        self.kept = sorted([*self.kept, plan], key=lambda k: k.moved)
        return True

    def cells(self, placement: Ints) -> Ints:
        """[world] finest domain of each rank."""
        return self.machines.levels[0].domain[placement]

    def _seated(self, cells: Ints) -> Ints:
        placement = deal(self.machines, self.wish.home, cells)
        if self.fresh.problem.constraints.pins:
            return placement
        return rank_zero_first(self.machines, placement)

    def homes(self) -> moves.Homes:
        """The same wish for the model."""
        return moves.Homes(
            self.home_cells,
            enough=self.enough if self.wish.most is None else None,
            most=self.wish.most,
            leader=self._leader(),
        )

    def _leader(self) -> moves.Leader | None:
        """Rank 0 leads its node, unless there are pins."""
        if self.fresh.problem.constraints.pins:
            return None
        cell, node = self.machines.levels[0].domain, self.machines.device_node
        home, online = self.wish.home, self.machines.usable
        rank_at = np.full(len(self.machines.online), -1, np.int64)
        rank_at[home[home >= 0]] = np.flatnonzero(home >= 0)
        cells, first = np.unique(cell[online], return_index=True)
        blockers = np.full(len(self.machines.levels[0].names), -1, np.int64)
        blockers[cells] = rank_at[online[first]]
        below = 0
        if home[0] >= 0:
            below = int(np.count_nonzero((cell[online] == cell[home[0]]) & (online < home[0])))
        houses = node[np.unique(cell, return_index=True)[1]]
        return moves.Leader(0, houses, blockers, below)
