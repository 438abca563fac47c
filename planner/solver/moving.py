"""Search for a plan near an old one: few ranks move, the cost is good enough.

First the old plan is mended and the bound raised; where that does not settle it, a fresh search
says what cost can be had. Then small problems are solved by the exact model with move literals,
and larger ones by its neighbourhoods around the hole: a few nodes are dealt again, everything else
stays.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from time import monotonic

import numpy as np

from planner.errors import Infeasible, NoPlan
from planner.feasibility import broken_constraints
from planner.grid import Grid, Ints
from planner.solver.mending import attraction, deal, mend
from planner.solver.numbering import rank_zero_first
from planner.solver.outcome import Options, Outcome
from planner.solver.overlap import laid_over
from planner.solver.search import STEPS
from planner.solver.state import Search
from planner.solver.translation import exact_problem
from planner.spec.problem import Problem
from planner_models import assignment, moves

BY = "few moves"
_EXACT_BITS = 6_000  # model size up to which the exact model is tried before neighbourhoods
_SECONDS = 3.0  # of one neighbourhood
_SIZES = (2, 3, 4, 6)  # nodes dealt again at once
_PATIENCE = 30  # neighbourhoods in a row without gain before giving up
_FRESH = 0.5  # share of the time for the fresh search


@dataclass(frozen=True, eq=False)
class Wish:
    """Where ranks are, and what is wanted of the new plan.

    Attributes:
        home: [world] device of each rank, -1 where it is gone.
        origin: [world] a number that ranks of one old node share.
        slack: cost may exceed the best found by this share, to save moves; unused with `most`.
        most: largest number of moves; the cost is then minimised. None: moves are minimised.
    """

    home: Ints
    origin: Ints
    slack: Fraction
    most: int | None


@dataclass(frozen=True)
class Moved:
    """The answer.

    Attributes:
        outcome: the plan and what is proven of its cost.
        best: least cost found for the machines, whatever it moves.
        least_moves: proven lower bound on the moves of every plan that is good enough.
    """

    outcome: Outcome
    best: Fraction
    least_moves: int


def search_near(problem: Problem, grid: Grid, options: Options, wish: Wish) -> Moved:
    """The best plan found near an old one.

    Raises:
        Infeasible: proven that there is none.
        NoPlan: none was found.
    """
    near = _Near(Search(problem, grid, _shortened(options)), options, wish)
    near.mend()
    near.look_afresh()
    if near.exact_problem.size <= _EXACT_BITS:
        near.solve_exactly()
    near.walk()
    return near.answer()


def _shortened(options: Options) -> Options:
    return replace(options, time_limit=options.time_limit * _FRESH)


Value = tuple[int, int]
"""What is minimised, lexicographically: cost above what is enough and moves, or cost and moves."""


class _Near:
    """The search under way: the incumbent near the old plan beside the cheapest of all."""

    def __init__(self, fresh: Search, options: Options, wish: Wish) -> None:
        self.fresh, self.options, self.wish = fresh, options, wish
        self.machines = fresh.machines
        self.exact_problem = exact_problem(fresh.problem, fresh.grid, fresh.weighing, (), 0)
        self.placement: Ints | None = None
        self.least_moves = int(np.count_nonzero(wish.home < 0))
        self._ends = monotonic() + options.time_limit
        self._spent = 0.0

    # What is wanted

    @property
    def enough(self) -> int:
        """Largest integer cost that is good enough."""
        return int(self.fresh.cost * (1 + self.wish.slack))

    def value(self, placement: Ints) -> Value:
        cost = self.fresh.score(placement)
        moved = self.moved(placement)
        return (cost if self.wish.most is not None else max(0, cost - self.enough), moved)

    def moved(self, placement: Ints) -> int:
        """Ranks that do not sit where they sat."""
        return int(np.count_nonzero(placement != self.wish.home))

    def allowed(self, placement: Ints) -> bool:
        """Whether a placement is a plan within the moves allowed."""
        few = self.wish.most is None or self.moved(placement) <= self.wish.most
        return few and not broken_constraints(self.fresh.problem, self.fresh.grid, placement)

    def offer(self, placement: Ints) -> bool:
        """Keep a placement if it is allowed and no worse than the incumbent; whether better."""
        if not self.allowed(placement):
            return False
        self.fresh.offer(placement, BY)
        if self.placement is not None and self.value(placement) > self.value(self.placement):
            return False
        better = self.placement is None or self.value(placement) < self.value(self.placement)
        self.placement = placement
        return better

    @property
    def settled(self) -> bool:
        """Whether nothing better can be found."""
        if self.placement is None:
            return False
        first, moved = self.value(self.placement)
        if self.wish.most is not None:
            return first <= self.fresh.bound
        return first == 0 and moved <= self.least_moves

    @property
    def within_bound(self) -> bool:
        """Whether the incumbent would be good enough even if the bound were reached."""
        if self.placement is None or not self.settled:
            return False
        slack = 0 if self.wish.most is not None else self.wish.slack
        return self.fresh.score(self.placement) <= self.fresh.bound * (1 + slack)

    @property
    def left(self) -> float:
        """Seconds left, or deterministic units of about a second."""
        if self.options.deterministic:
            return max(0.0, self.options.time_limit - self._spent)
        return max(0.0, self._ends - monotonic())

    # Steps

    def mend(self) -> None:
        """The old plan with its lost ranks on free devices."""
        mended = mend(self.fresh, self.wish.home, self.wish.origin)
        self.offer(self._seated(self.machines.levels[0].domain[mended]))

    def look_afresh(self) -> None:
        """What cost can be had, and the bound, unless the mended plan is good enough already."""
        for step in STEPS:
            if self.within_bound:
                return
            step(self.fresh)
            if self.fresh.done and self.fresh.placement is not None:
                break
        self._spent = self.options.time_limit * _FRESH
        if self.fresh.placement is not None:
            cells = laid_over(self.machines, self.fresh.placement, self.wish.home)
            self.offer(self._seated(cells))

    def solve_exactly(self) -> None:
        """The exact model with move literals, over all slots."""
        if self.within_bound or self.left <= 0:
            return
        start = self.placement if self.placement is not None else self.fresh.placement
        result = self._solve(start, None, self.left)
        if result.status == "infeasible":
            raise Infeasible(
                ["--moves"], f"no plan is within {self.wish.most} moves of the old one"
            )
        if self.wish.most is None:
            self.least_moves = max(self.least_moves, result.bound)
        if result.cells is not None:
            self.offer(self._seated(result.cells))

    def walk(self) -> None:
        """Neighbourhoods around the hole and around whatever moved, until nothing helps."""
        rng = np.random.default_rng(self.options.seed)
        current = self.placement
        if current is None:
            current = mend(self.fresh, self.wish.home, self.wish.origin)
        stale = 0
        while not self._over() and stale < _PATIENCE:
            near = self._neighbourhood(current, rng)
            result = self._solve(current, near, min(_SECONDS, self.left))
            self._spent += _SECONDS
            stale += 1
            if result.cells is None:
                continue
            found = self._seated(result.cells)
            stale = 0 if self.offer(found) else stale
            current = self.placement if self.placement is not None else found

    def _over(self) -> bool:
        return self.settled or self.left <= 0 or self.options.stop.is_set()

    def _solve(
        self, start: Ints | None, near: assignment.Neighbourhood | None, seconds: float
    ) -> moves.Result:
        cells = self.machines.levels[0].domain
        assert start is not None
        deterministic = self.options.deterministic
        limits = assignment.Limits(
            seconds=None if deterministic else max(seconds, 0.1),
            work=max(seconds, 0.1) if deterministic else None,
            workers=self.options.workers,
            seed=self.options.seed,
        )
        return moves.solve(
            self.exact_problem,
            self._homes(),
            limits,
            start=cells[start],
            neighbourhood=near,
            stop=self.options.stop,
        )

    def _homes(self) -> moves.Homes:
        home, cell = self.wish.home, self.machines.levels[0].domain
        return moves.Homes(
            np.where(home >= 0, cell[home], -1),
            enough=self.enough if self.wish.most is None else None,
            most=self.wish.most,
            leader=self._leader(),
        )

    def _leader(self) -> moves.Leader | None:
        """Rank 0 leads its node, unless pins forbid it or the finest cells are no nodes."""
        if self.fresh.problem.constraints.pins or self.machines.node_level != 0:
            return None
        home, online = self.wish.home, self.machines.usable
        rank_at = np.full(len(self.machines.online), -1, np.int64)
        rank_at[home[home >= 0]] = np.flatnonzero(home >= 0)
        nodes, first = np.unique(self.machines.device_node[online], return_index=True)
        blockers = np.full(len(self.machines.hosts), -1, np.int64)
        blockers[nodes] = rank_at[online[first]]
        below = 0
        if home[0] >= 0:
            same = self.machines.device_node[online] == self.machines.device_node[home[0]]
            below = int(np.count_nonzero(same & (online < home[0])))
        return moves.Leader(0, blockers, below)

    def _seated(self, cells: Ints) -> Ints:
        placement = deal(self.machines, self.wish.home, cells)
        if self.fresh.problem.constraints.pins:
            return placement
        return rank_zero_first(self.machines, placement)

    def _neighbourhood(self, current: Ints, rng: np.random.Generator) -> assignment.Neighbourhood:
        """A node that lost, gained or will lose ranks, nodes it is linked to, and free ones."""
        node = self.machines.device_node
        cells = self.machines.levels[0].domain
        at = node[current]
        seeds = self._seeds(current, rng)
        first = int(rng.choice(seeds))
        pull = attraction(self.fresh, current, np.flatnonzero(at == first))
        pull[first] = 0
        pull[seeds[seeds != first]] += pull.max()  # what moved together is best mended together
        order = np.argsort(-pull * rng.random(len(pull)), kind="stable")
        count = _SIZES[int(rng.integers(len(_SIZES)))]
        chosen = np.concatenate([[first], order[order != first][: count - 1]])
        free = self.machines.online.copy()
        free[current] = False
        roomy = np.unique(node[free])
        roomy = roomy[np.argsort(-pull[roomy] - rng.random(len(roomy)), kind="stable")][:2]
        open_nodes = np.union1d(chosen, roomy)
        return assignment.Neighbourhood(
            np.flatnonzero(np.isin(at, open_nodes)),
            np.unique(cells[np.isin(node, open_nodes)]),
        )

    def _seeds(self, current: Ints, rng: np.random.Generator) -> Ints:
        """Nodes that ranks left or came to; any used node now and then, if cost is the trouble."""
        home, node = self.wish.home, self.machines.device_node
        away = np.flatnonzero(current != home)
        seeds = np.union1d(node[current[away]], node[home[away[home[away] >= 0]]])
        costly = self.placement is None or self.value(self.placement)[0] > 0
        if len(seeds) == 0 or (costly and rng.random() < 0.3):
            return np.unique(node[current])
        return seeds

    # The answer

    def answer(self) -> Moved:
        """The incumbent and what is proven."""
        if self.placement is None:
            raise NoPlan(
                f"no plan near the old one was found within {self.options.time_limit:g} s; raise "
                "--time-limit or allow more moves"
            )
        best, unit = self.fresh.cost, self.fresh.weighing.unit
        outcome = replace(self.fresh.outcome(), placement=self.placement, found_by=BY)
        return Moved(outcome, best * unit, min(self.least_moves, self.moved(self.placement)))
