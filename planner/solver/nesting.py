"""Nodes inside leaves, bounded together where both cut tensor groups."""

from collections.abc import Iterator

import numpy as np

from planner.solver.state import Search
from planner_models import nested

BY = "nodes and leaves together"
_BOUND_SHARE = 0.4  # of the time left


def solve_nested(search: Search) -> None:
    """Bound the two finest levels that cost something together, where neither alone suffices."""
    costly = [i for i, weight in enumerate(search.weighing.levels) if weight]
    if search.done or len(costly) < 2:
        return
    fine, coarse = costly[:2]
    weights = search.weighing.levels[fine], search.weighing.levels[coarse]
    leaves = list(_nodes_of_leaves(search, fine, coarse))
    if not nested.applies(search.job, search.weights, weights, leaves):
        return
    others = sum(
        search.weighing.levels[i] * search.level_bounds[i]
        for i in costly
        if i not in {fine, coarse}
    )
    found = nested.bound(
        search.job,
        search.weights,
        weights,
        leaves,
        incumbent=None if search.placement is None else search.cost - others,
        deadline=search.share(_BOUND_SHARE),
    )
    search.raise_whole(others + found.value, BY)


def _nodes_of_leaves(search: Search, fine: int, coarse: int) -> Iterator[list[int]]:
    """Usable devices of every domain of the fine level, for each domain of the coarse one."""
    machines = search.machines
    inner, outer = machines.levels[fine], machines.levels[coarse]
    usable = machines.capacities(inner)
    parent = np.zeros(len(inner.names), dtype=np.int64)
    parent[inner.domain] = outer.domain
    for leaf in range(len(outer.names)):
        yield usable[parent == leaf].tolist()
