"""Context groups that work by all-to-all: member pairs are counted, and the bound stays valid."""

from itertools import permutations

import numpy as np
import pytest

from planner import solve
from planner.cost import links, total
from planner.grid import Grid
from planner.traffic import kind_weights
from tests.problems import problem

STACK = {"layers": 2, "hidden": 64, "heads": 8, "ffn": 64}


def example(gpus, job, kind):
    cluster = {"nodes": [{"name": f"n{i}", "gpus": g} for i, g in enumerate(gpus)]}
    traffic = {"model": {"decoder": STACK}, "sequence": 64, "global_batch": 4, "cp": kind}
    return problem(cluster, job, objective={"traffic": traffic})


def test_links_of_a_cut_group_are_its_member_pairs():
    """cp 4 cut 3 + 1: a ring crosses 2 borders, an all-to-all has 3 pairs apart."""
    job = {"decoder": {"cp": 4}}
    placement = np.arange(4)
    for kind, expected in {"p2p": 2, "all-gather": 2, "a2a": 3}.items():
        p = example([3, 1], job, kind)
        assert links(Grid.of(p), p.cluster.machines, placement)["node"]["cp"] == expected


def test_weight_of_a_pair_beside_the_weight_of_a_ring_link():
    """Ring: 3 K a layer and micro-batch. Pair: both directions of 2 (Q + O + K) / 2, Q + O = K."""
    ring = kind_weights(example([2], {"decoder": {"cp": 2}}, "p2p"))["cp"]
    pair = kind_weights(example([2], {"decoder": {"cp": 2}}, "a2a"))["cp"]
    keys = 2 * 32 * 64 * 2  # b s/c x width x bytes, keys and values
    assert ring == 2 * 4 * 3 * keys
    assert pair == 2 * (2 * 4 * 2 * (2 * keys) / 2)


@pytest.mark.parametrize(
    ("gpus", "job"),
    [
        ([3, 1], {"decoder": {"cp": 4}}),
        ([3, 3], {"decoder": {"cp": 2, "pp": 2}, "dp": 1}),
        ([3, 3], {"decoder": {"cp": 2, "tp": 1}, "dp": 2}),
        ([4, 2], {"decoder": {"cp": 2, "tp": 2}, "dp": 1}),
        ([2, 2, 2], {"decoder": {"cp": 4}, "dp": 1}),
    ],
)
def test_no_bound_above_the_optimum_and_the_optimum_found(gpus, job):
    p = example(gpus, job, "a2a")
    grid, machines = Grid.of(p), p.cluster.machines
    best = min(
        total(p, machines, links(grid, machines, np.array(order)))
        for order in permutations(machines.usable.tolist(), p.world_size)
    )
    plan = solve(p, workers=1, time_limit=20)
    assert plan.solver["cost"] == best
    assert plan.solver["bound"] <= best
