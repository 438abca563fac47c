"""Search for a plan near an old one: few ranks move, the cost is good enough.

The old plan is mended, and neighbourhoods around the hole push its cost down: a few nodes are dealt
again by the exact model with move literals, everything else stays. A fresh search says what cost
can be had elsewhere. Then the same neighbourhoods bring moves down to the fewest that are good
enough, and at last the cost to the least those moves reach. Small problems are solved by the model
as a whole, with proof.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from planner.errors import Infeasible, NoPlan
from planner.grid import Grid, Ints
from planner.solver.counting import bound_by_counting
from planner.solver.mending import attraction, mend
from planner.solver.near import BY, Kept, Near, Wish
from planner.solver.outcome import Options, Outcome
from planner.solver.overlap import laid_over
from planner.solver.search import STEPS
from planner.solver.state import Search
from planner.spec.problem import Problem
from planner_models import assignment, moves

_TINY_BITS = 1_200  # model size up to which the model is solved as a whole and nothing else
_PROOF_BITS = 20_000  # and up to which it is tried after the neighbourhoods
_PROOF_SECONDS = 5.0
_SECONDS = 2.0  # of one neighbourhood
_SIZES = {False: (2, 3, 4), True: (4, 6, 9, 12)}
"""Nodes dealt again at once, rank by rank or by whole tensor groups."""
_WHOLE_HOLE = 8  # nodes around the hole up to which all are dealt again at once, first of all
_SHARES = {"cost": 0.25, "fresh": 0.6, "moves": 0.85, "fresh plan": 0.95, "polish": 1.0}
"""Share of the time after which each phase ends."""
_PATIENCE = {"cost": 16, "moves": 16, "fresh plan": 16, "polish": 6}
"""Neighbourhoods in a row without gain before giving up."""


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
    fresh = Search(
        problem, grid, replace(options, time_limit=options.time_limit * _SHARES["fresh"])
    )
    near = Near(fresh, options, wish)
    mended = near.cells(mend(fresh, wish.home, wish.origin))
    near.offer(mended)
    small = near.model.size <= _TINY_BITS
    _look_afresh(near, mended, small=small)
    if small:
        _solve_whole(near, mended, near.left)
        near.freeze_moves()
        _solve_whole(near, mended, near.left)
        return _moved(near)
    walk(near, "moves", mended)
    if near.model.size <= _PROOF_BITS:
        _solve_whole(near, mended, _PROOF_SECONDS)
    if near.answer is None or near.value(near.answer)[0] > 0:
        _take_fresh_plan(near)
        walk(near, "fresh plan", mended)
    near.freeze_moves()
    walk(near, "polish", mended)
    return _moved(near)


def _look_afresh(near: Near, mended: Ints, *, small: bool) -> None:
    """Bounds, and what cost can be had; of a large problem, until it is good enough anyway."""
    bound_by_counting(near.fresh)
    if not small:
        near.aim_at_bound = True
        walk(near, "cost", mended)
        near.aim_at_bound = False
    for step in STEPS:
        if near.within_slack_of_bound and (near.settled or not small):
            return
        step(near.fresh)
        if near.fresh.done and near.fresh.placement is not None:
            break
    near.spend(near.options.time_limit * (_SHARES["fresh"] - _SHARES["cost"]))


def _take_fresh_plan(near: Near) -> None:
    """The cheapest plan, as near to the old one as it can be laid."""
    if near.fresh.placement is not None:
        near.offer(laid_over(near.machines, near.fresh.placement, near.wish.home))


def _solve_whole(near: Near, mended: Ints, seconds: float) -> None:
    """The model over all slots."""
    if near.settled or near.left <= 0 or near.options.stop.is_set():
        return
    start = mended if near.best is None else near.cells(near.best.placement)
    result = _solve(near, start, seconds)
    near.spend(seconds)
    if result.status == "infeasible":
        if near.wish.most is None:
            reason = "the exact model proves that these lines exclude one another"
            raise Infeasible(near.model.labels, reason)
        reason = f"no plan is within {near.wish.most} moves of the old one"
        raise Infeasible(["--moves"], reason)
    if near.wish.most is None:
        near.least_moves = max(near.least_moves, result.bound)
    if result.cells is not None:
        near.offer(result.cells)


def walk(near: Near, phase: str, mended: Ints) -> None:
    """Neighbourhoods around the hole and around whatever moved, until nothing helps.

    Args:
        near: the search.
        phase: the phase of `_SHARES` whose end is the walk's.
        mended: [world] cells to start from where no plan is known yet.
    """
    rng = np.random.default_rng([near.options.seed, list(_SHARES).index(phase)])
    reserve = near.options.time_limit * (1 - _SHARES[phase])
    stale = 0
    current = mended if near.best is None else near.cells(near.best.placement)
    while stale < _PATIENCE[phase] and near.left > reserve and not near.settled:
        if near.options.stop.is_set() or (phase == "cost" and near.within_slack_of_bound):
            return
        before = near.best
        whole = stale == 0 or bool(rng.integers(2))
        hood = _neighbourhood(near, current, rng, whole=whole, first=stale <= 1)
        together = _whole_groups(near) if whole else None
        result = _solve(near, current, _SECONDS, hood, together)
        near.spend(_SECONDS)
        stale += 1
        if result.cells is None:
            continue
        if near.offer(result.cells) and _better(near, before):
            stale = 1
        # Plateaus are crossed: equal plans are gone on from.
        current = result.cells if near.best is before else near.cells(_known(near).placement)


def _known(near: Near) -> Kept:
    assert near.best is not None
    return near.best


def _better(near: Near, before: Kept | None) -> bool:
    return before is None or near.value(_known(near)) < near.value(before)


def _whole_groups(near: Near) -> Ints:
    """Tensor groups that had one node to themselves or shared it: [groups, tp]; one size only."""
    size = max(f.shape[1] for f in near.fresh.grid.groups["tp"])
    groups = np.concatenate([f for f in near.fresh.grid.groups["tp"] if f.shape[1] == size])
    origin = near.wish.origin[groups]
    whole: Ints = groups[(origin == origin[:, :1]).all(axis=1)]
    return whole


def _solve(
    near: Near,
    start: Ints,
    seconds: float,
    hood: assignment.Neighbourhood | None = None,
    together: Ints | None = None,
) -> moves.Result:
    budget = max(0.1, min(seconds, near.left))
    deterministic = near.options.deterministic
    limits = assignment.Limits(
        seconds=None if deterministic else budget,
        work=budget if deterministic else None,
        workers=near.options.workers,
        seed=near.options.seed,
    )
    return moves.solve(
        near.model,
        near.homes(),
        limits,
        start=start,
        neighbourhood=hood,
        together=together,
        stop=near.options.stop,
    )


def _neighbourhood(
    near: Near, current: Ints, rng: np.random.Generator, *, whole: bool, first: bool
) -> assignment.Neighbourhood:
    """A node that ranks left or came to, nodes it is linked to, and some with room."""
    machines, cell_node = near.machines, _node_of_cell(near)
    at = cell_node[current]
    seeds = _seeds(near, current, at, rng)
    seed = int(rng.choice(seeds))
    pull = attraction(near.fresh, _some_device(near)[current], np.flatnonzero(at == seed))
    pull[seeds] += pull.max()  # what moved together is best dealt together
    pull[seed] = 0
    room = machines.capacities(machines.levels[machines.node_level]) - np.bincount(
        at, minlength=len(machines.hosts)
    )
    roomy = np.flatnonzero(room > 0)
    roomy = roomy[np.argsort(-pull[roomy] - room[roomy] * rng.random(len(roomy)), kind="stable")]
    if first and len(seeds) <= _WHOLE_HOLE:
        chosen, roomy = seeds, roomy[:3]
    else:
        order = np.argsort(-pull * rng.random(len(pull)), kind="stable")
        count = int(rng.choice(_SIZES[whole]))
        chosen = np.concatenate([[seed], order[order != seed][: count - 1]])
        roomy = roomy[:2]
    dealt = np.union1d(chosen, roomy)
    return assignment.Neighbourhood(
        np.flatnonzero(np.isin(at, dealt)), np.flatnonzero(np.isin(cell_node, dealt))
    )


def _seeds(near: Near, current: Ints, at: Ints, rng: np.random.Generator) -> Ints:
    """Nodes that ranks left or came to; any used node now and then, if cost is the trouble."""
    away = current != near.home_cells
    usable = near.machines.device_node[near.machines.usable]
    seeds = np.union1d(at[away], np.intersect1d(near.wish.origin[away], usable))
    best = near.answer
    costly = best is None or near.wish.most is not None or best.cost > near.enough
    if len(seeds) == 0 or (costly and rng.random() < 0.3):
        return np.unique(at)
    return seeds


def _node_of_cell(near: Near) -> Ints:
    """[cells] node of each finest domain."""
    return near.machines.device_node[_some_device(near)]


def _some_device(near: Near) -> Ints:
    """[cells] a device of each finest domain."""
    return np.unique(near.machines.levels[0].domain, return_index=True)[1]


def _moved(near: Near) -> Moved:
    """The best plan kept and what is proven."""
    best = near.answer
    if best is None:
        limit = near.options.time_limit
        raise NoPlan(
            f"no plan near the old one was found within {limit:g} s; raise --time-limit or allow "
            "more moves"
        )
    outcome = replace(near.fresh.outcome(), placement=best.placement, found_by=BY)
    cheapest = near.fresh.cost * near.fresh.weighing.unit
    return Moved(outcome, cheapest, min(near.least_moves, best.moved))
