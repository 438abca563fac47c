"""Links and cost of any placement, from the definition; the reference for everything else.

A placement is an array [world]: the device of each trainer rank. At a level a ring that touches
two or more domains pays one link for each, an all-to-all one for each member pair in two domains,
a pair one when its ends lie in two domains.
"""

from fractions import Fraction

import numpy as np

from planner.grid import Grid, Ints
from planner.machines import Level, Machines
from planner.spec.names import LINK_KINDS
from planner.spec.problem import Problem
from planner.traffic.weights import exact, kind_weights

Links = dict[str, dict[str, int]]
"""Links by level name and link kind."""


def links(grid: Grid, machines: Machines, placement: Ints) -> Links:
    """Links of every kind that leave a domain, for every level from the finest to the coarsest.

    Args:
        grid: the job.
        machines: the devices.
        placement: [world] device of each trainer rank.

    Example:
        >>> problem = Problem.model_validate({"cluster": {"nodes": 2, "gpus_per_node": 2},
        ...     "job": {"decoder": {"tp": 2, "pp": 2}, "dp": 1}})
        >>> links(Grid.of(problem), problem.cluster.machines, np.array([0, 2, 1, 3]))["node"]["tp"]
        4
    """
    return {level.name: links_at(grid, level.domain[placement]) for level in machines.levels}


def links_at(grid: Grid, domain: Ints) -> dict[str, int]:
    """Links of every kind at one level, given the domain of each trainer rank ([world])."""
    out = dict.fromkeys(LINK_KINDS, 0)
    for kind, family in grid.rings.items():
        out[kind] += sum(ring_links(domain[groups]) for groups in family)
    for kind, family in grid.exchanges.items():
        out[kind] += sum(exchange_links(domain[groups]) for groups in family)
    for kind, pairs in grid.pairs.items():
        out[kind] = int(np.count_nonzero(domain[pairs[:, 0]] != domain[pairs[:, 1]]))
    return out


def domains_touched(domain: Ints) -> Ints:
    """Number of distinct values in each row of an array [groups, members]."""
    ordered = np.sort(domain, axis=1)
    touched: Ints = 1 + np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1)
    return touched


def ring_links(domain: Ints) -> int:
    """Links of rings whose members lie in the given domains ([groups, members])."""
    touched = domains_touched(domain)
    return int(touched[touched > 1].sum())


def exchange_links(domain: Ints) -> int:
    """Member pairs in two domains, over all groups ([groups, members])."""
    groups, size = domain.shape
    if groups == 0:
        return 0
    group = np.repeat(np.arange(groups), size)
    order = np.lexsort((domain.ravel(), group))
    key_g, key_d = group[order], domain.ravel()[order]
    starts = np.flatnonzero(
        np.concatenate([[True], (key_g[1:] != key_g[:-1]) | (key_d[1:] != key_d[:-1])])
    )
    together = np.diff(np.concatenate([starts, [len(order)]]))
    return int((groups * size * size - int((together * together).sum())) // 2)


def level_cost(problem: Problem, level: Level, counted: dict[str, int]) -> Fraction:
    """Cost of the links counted at one level: level weight x sum of kind weight x links."""
    weights = kind_weights(problem)
    inner = sum((weights[kind] * n for kind, n in counted.items()), Fraction(0))
    return exact(level.weight) * inner


def total(problem: Problem, machines: Machines, counted: Links) -> Fraction:
    """Cost of counted links, summed over the levels."""
    return sum(
        (level_cost(problem, level, counted[level.name]) for level in machines.levels), Fraction(0)
    )


def as_number(value: Fraction) -> int | float:
    """An exact value as JSON writes it: an integer where it is one."""
    return value.numerator if value.denominator == 1 else float(value)
