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
        first = rng.choice(np.unique(search.machines.device_node[current]), 1)
        count = _SIZES[int(rng.integers(len(_SIZES)))] - 1
        freed = np.union1d(first, linked_nodes(search, current, first, rng, count))
        result = assignment.solve(
            problem,
            search.limits(_SECONDS),
            start=problem.levels[0].domain[current],
            neighbourhood=neighbourhood_of(search, problem, current, freed),
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


def neighbourhood_of(
    search: Search, problem: assignment.Assignment, placement: Ints, nodes: Ints
) -> assignment.Neighbourhood:
    """What the exact model may change when the contents of some nodes are dealt again."""
    node = search.machines.device_node
    return assignment.Neighbourhood(
        np.flatnonzero(np.isin(node[placement], nodes)),
        np.unique(problem.levels[0].domain[np.isin(node, nodes)]),
    )


def linked_nodes(
    search: Search, placement: Ints, nodes: Ints, rng: np.random.Generator, count: int
) -> Ints:
    """Other nodes that share much weight of links with some nodes, drawn by chance."""
    at = search.machines.device_node[placement]
    shared = np.zeros(len(search.machines.hosts))
    for kind, family in search.grid.rings.items():
        weight = search.weighing.kinds[kind]
        for groups in family:
            touching = np.isin(at[groups], nodes).any(axis=1)
            np.add.at(shared, at[groups[touching]].ravel(), weight / groups.shape[1])
    for kind, ends in search.grid.pairs.items():
        for a, b in ((0, 1), (1, 0)):
            here = ends[np.isin(at[ends[:, a]], nodes)]
            np.add.at(shared, at[here[:, b]], search.weighing.kinds[kind])
    order = np.argsort(-shared * rng.random(len(shared)), kind="stable")
    others: Ints = order[~np.isin(order, nodes)][:count]
    return others
