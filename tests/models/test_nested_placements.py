"""The columns of a placement solve the relaxation, at no more than the placement costs."""

import random

import numpy as np
import pytest

from benchmarks.nested_bruteforce import random_problem
from planner_models.nested.column_generation import Master
from planner_models.nested.fabric import leaves_of
from planner_models.nested.relaxation import Prices, Relaxation
from tests.models.nested_columns import columns_of
from tests.oracle.slots_cost import cost


def random_placement(rng, job, leaves):
    """[slot] node, and [slot] leaf."""
    seats = [
        n for n, slots in enumerate(s for nodes in leaves for s in nodes) for _ in range(slots)
    ]
    rng.shuffle(seats)
    leaf_of = [leaf for leaf, nodes in enumerate(leaves) for _ in nodes]
    nodes = seats[: job.world]
    return nodes, [leaf_of[n] for n in nodes]


@pytest.mark.parametrize("seed", range(60))
def test_columns_of_a_placement_fit_together_and_cost_no_more(seed) -> None:
    rng = random.Random(seed)
    job, weights, levels, leaves = random_problem(rng, most=24)
    nodes, in_leaves = random_placement(rng, job, leaves)
    relaxation = Relaxation(job, weights, levels, leaves_of(leaves))
    size = len(relaxation.leaves), relaxation.node_graph.rows
    free = Prices(np.zeros(size, np.int64), np.zeros(size, np.int64))
    master = Master(relaxation, free, 1e6)
    master.add(columns_of(relaxation, leaves, nodes))
    found = master.solve()
    if found is None:  # a node or a leaf of some class holds nothing: it has no column yet
        assert len(set(nodes)) < sum(map(len, leaves))
        return
    paid = levels[0] * cost(job, weights, nodes) + levels[1] * cost(job, weights, in_leaves)
    assert not found.slack
    assert found.value <= 2 * paid + 1e-6
