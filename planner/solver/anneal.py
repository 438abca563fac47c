"""Annealing with structural moves: for whatever assembly leaves, and the first good plan."""

from collections.abc import Callable, Iterator, Sequence
from time import monotonic

import numpy as np

from planner.feasibility import pinned
from planner.grid import Ints
from planner.plan import megatron_order
from planner.solver.regular import with_pins
from planner.solver.state import Search
from planner.solver.translation import from_canonical
from planner_models import annealing

BY = "annealing"
_PROPOSALS = 250_000  # proposals of a worker that count as one unit of deterministic work
_COMPILING = 5.0  # seconds the first compilation may take: shorter searches are interpreted
_UNITS_SHARE = 0.4  # of the time left, for whole TP groups


def anneal(search: Search) -> None:
    """Improve the incumbent until the time is up or the bound is met.

    Without an incumbent the start breaks some groups' confinement, which the moves pay for until
    it holds. Rules the moves do not know are left to the neighbourhood search.
    """
    families = _confined(search)
    if families is None or not moves_know(search):
        return
    task = _task(search, families)
    _anneal_units(search, task)
    if not search.done:
        _run(search, task, _start(search), search.left, lambda placement: placement)


def _anneal_units(search: Search, task: annealing.Task) -> None:
    """Anneal whole TP groups first, where that is possible: moves reach further."""
    try:
        coarse = annealing.coarse(task, task.pieces[0])
    except (IndexError, ValueError):  # no TP groups, of several sizes, pinned, or too few seats
        return
    _run(search, coarse.task, None, search.left * _UNITS_SHARE, coarse.expand)


def _run(
    search: Search,
    task: annealing.Task,
    start: Ints | None,
    time: float,
    expand: Callable[[Ints], Ints],
) -> None:
    deterministic = search.options.deterministic
    schedule = annealing.Schedule(runs=None)
    if deterministic:
        schedule = annealing.Schedule(proposals=max(1, int(time * _PROPOSALS)), runs=1)
    annealing.anneal(
        task,
        start,
        schedule,
        annealing.Stop(
            target=max(search.bound, search.enough),
            deadline=None if deterministic else monotonic() + time,
            asked=search.asked,
        ),
        seed=search.options.seed,
        workers=search.options.workers,
        on_incumbent=lambda placement, _cost: _offer(search, expand(placement)),
        compiled=deterministic or time > _COMPILING,
    )
    if deterministic:
        search.spend(time)


def moves_know(search: Search) -> bool:
    """Whether the moves respect all the user's rules, or can be charged for breaking them."""
    c = search.problem.constraints
    return c.cp_symmetry == "mapping" and c.launch == "free"


def _start(search: Search) -> Ints:
    if search.placement is not None:
        return search.placement
    order = megatron_order(search.machines, search.grid.world)
    return with_pins(search.problem, search.grid, order)


def _offer(search: Search, placement: Ints) -> None:
    search.offer(placement.copy(), BY)


def _task(search: Search, confined: Sequence[annealing.Family]) -> annealing.Task:
    grid, kinds = search.grid, search.weighing.kinds
    families = [
        annealing.Family(kinds[kind], _numbers(search, family), all_to_all=shared)
        for several, shared in ((grid.rings, False), (grid.exchanges, True))
        for kind, family in several.items()
        if kinds[kind] and any(groups.shape[1] > 1 for groups in family)
    ]
    bundles = annealing.structure(search.job, search.weights)
    pairs = [(kinds[kind], ends) for kind, ends in grid.pairs.items() if kinds[kind]]
    return annealing.Task(
        slots=grid.world,
        families=(*families, *confined),
        pairs=annealing.Pairs(
            np.concatenate([ends[:, 0] for _, ends in pairs] or [np.empty(0, np.int64)]),
            np.concatenate([ends[:, 1] for _, ends in pairs] or [np.empty(0, np.int64)]),
            np.concatenate([np.full(len(e), w) for w, e in pairs] or [np.empty(0, np.int64)]),
        ),
        levels=tuple(
            annealing.Level(weight, level.domain)
            for weight, level in zip(search.weighing.levels, search.machines.levels, strict=True)
        ),
        devices=search.machines.usable,
        pieces=tuple(from_canonical(grid, piece) for piece in bundles.pieces),
        blocks=tuple(from_canonical(grid, block) for block in bundles.blocks),
        frozen=np.array([rank for rank, _ in pinned(search.problem, grid)], np.int64),
    )


def _numbers(search: Search, family: Sequence[Ints]) -> Ints:
    """[world] number of each rank's group; -1 where it is in none."""
    out = np.full(search.grid.world, -1, np.int64)
    first = 0
    for groups in family:
        out[groups] = first + np.arange(len(groups))[:, None]
        first += len(groups)
    return out


def _confined(search: Search) -> list[annealing.Family] | None:
    """Groups that must stay inside a domain, as families of weight 0; None if some overlap."""
    families = []
    names = [level.name for level in search.machines.levels]
    for name, level in _confining(search):
        groups = search.grid.groups[name]
        members = np.concatenate([g.ravel() for g in groups])
        if len(np.unique(members)) < len(members):
            return None
        families.append(annealing.Family(0, _numbers(search, groups), within=names.index(level)))
    return families


def _confining(search: Search) -> Iterator[tuple[str, str]]:
    yield from search.problem.constraints.within.items()
    if search.grid.hierarchy:
        yield "hcp_0", "node"
