"""CP-SAT neighbourhoods under the hard constraints that annealing's moves do not know.

A few nodes that share cut groups are freed, everything else stays, and the exact model finds the
best way to deal them again; equal cost is accepted, so that the search drifts over plateaus.
"""

import numpy as np

from planner.grid import Ints
from planner.solver.anneal import moves_know
from planner.solver.state import Search
from planner.solver.translation import exact_problem
from planner_models import assignment

BY = "CP-SAT neighbourhoods"
_SECONDS = 3.0  # of one neighbourhood
_SIZES = (2, 3, 4, 6)  # nodes freed at once
_PATIENCE = 40  # neighbourhoods in a row without gain before giving up


def improve_by_neighbourhoods(search: Search) -> None:
    """Improve the incumbent, node by node, until time is up or nothing helps any more."""
    if search.placement is None or moves_know(search) or len(search.machines.hosts) < 2:
        return
    problem = exact_problem(search.problem, search.grid, search.weighing, (), 0)
    rng = np.random.default_rng(search.options.seed)
    stale = 0
    current = search.placement
    while not search.done and stale < _PATIENCE:
        freed = _freed(search, current, rng, _SIZES[int(rng.integers(len(_SIZES)))])
        cells = problem.levels[0].domain
        result = assignment.solve(
            problem,
            _limits(search),
            start=cells[current],
            neighbourhood=assignment.Neighbourhood(
                np.flatnonzero(np.isin(search.machines.device_node[current], freed)),
                np.unique(cells[np.isin(search.machines.device_node, freed)]),
            ),
            stop=search.options.stop,
        )
        search.spend(_SECONDS)
        stale += 1
        if result.devices is None or result.cost is None:
            continue
        if search.offer(result.devices, BY):
            stale = 0
        if result.cost <= search.score(current):
            current = result.devices


def _limits(search: Search) -> assignment.Limits:
    budget = min(_SECONDS, max(search.left, 0.1))
    deterministic = search.options.deterministic
    return assignment.Limits(
        seconds=None if deterministic else budget,
        work=budget if deterministic else None,
        workers=search.options.workers,
        seed=search.options.seed,
    )


def _freed(search: Search, placement: Ints, rng: np.random.Generator, count: int) -> Ints:
    """Nodes to free: a random one and those it shares the most links with, by chance."""
    node = search.machines.device_node
    at = node[placement]
    first = int(rng.choice(np.unique(at)))
    shared = np.zeros(len(search.machines.hosts))
    for kind, family in search.grid.rings.items():
        weight = search.weighing.kinds[kind]
        for groups in family:
            touching = (at[groups] == first).any(axis=1)
            np.add.at(shared, at[groups[touching]].ravel(), weight / groups.shape[1])
    for kind, ends in search.grid.pairs.items():
        for a, b in ((0, 1), (1, 0)):
            here = ends[at[ends[:, a]] == first]
            np.add.at(shared, at[here[:, b]], search.weighing.kinds[kind])
    shared[first] = 0
    order = np.argsort(-shared * rng.random(len(shared)), kind="stable")
    freed: Ints = np.concatenate([[first], order[order != first][: count - 1]])
    return freed
