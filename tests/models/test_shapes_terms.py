"""Shapes: every term of the costs, credits and limits, by its right value."""

import random
from itertools import combinations_with_replacement

import pytest

from benchmarks.shapes_bruteforce import random_problem
from planner_models.job import Weights
from planner_models.shapes.bounding import relax
from planner_models.shapes.planes import SCALE, RowPlanes


@pytest.mark.parametrize("seed", range(10))
def test_shares_of_the_planes_are_never_above_what_pieces_pay_together(seed):
    """Otherwise the search for the cheapest pattern cuts it off; and some share is all there is."""
    rng = random.Random(seed)
    job, weights, capacities = random_problem(rng, experts=seed % 2 == 1, most=10)
    weights = Weights(weights.tp, weights.cp, 7, weights.pp, ep=weights.ep, expt_dp=3)
    graph = relax(job, weights, capacities).graph
    planes = RowPlanes(graph)
    for stage, start in enumerate(graph.offset[:-1]):
        block = graph.block(stage)
        rows = range(start, start + len(block))
        for capacity in range(1, max(capacities) + 1):
            share = planes.share(capacity)
            for count in range(1, min(block.blocks, 3) + 1):
                for held in combinations_with_replacement(rows, count):
                    if sum(int(block.size[row - start]) for row in held) <= capacity:
                        assert share[list(held)].sum() <= SCALE * planes.cost(held)
