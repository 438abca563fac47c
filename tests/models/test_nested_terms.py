"""Nodes inside leaves: links that close a lane, which leaves are not credited."""

from dataclasses import replace

import pytest

from benchmarks.nested_bruteforce import optimum
from planner_models import nested
from planner_models.job import Job, ModuleShape, Weights
from planner_models.shapes.column_generation import rounded


@pytest.mark.parametrize(
    ("shape", "dp", "tied", "weights", "levels", "leaves"),
    [
        (ModuleShape(1, 1, 3, vpp=2), 2, False, Weights(0, 0, 1, 10), (1, 2), ((2, 1), (2, 1))),
        (ModuleShape(1, 1, 3, vpp=2), 2, False, Weights(0, 0, 1, 10), (1, 2), ((2, 2), (2,))),
        (ModuleShape(2, 1, 3, vpp=2), 1, False, Weights(5, 0, 1, 3), (1, 2), ((3,), (3,))),
        (ModuleShape(1, 1, 4), 2, True, Weights(0, 0, 1, 2, embd=3), (1, 1), ((2, 2), (2, 2))),
        (ModuleShape(2, 1, 3, vpp=2), 1, True, Weights(5, 0, 1, 3, embd=7), (1, 2), ((2, 1), (3,))),
    ],
)
def test_links_that_close_a_lane_only_add_to_the_bound(shape, dp, tied, weights, levels, leaves):
    """Below the optimum, and no weaker than for lanes that are not closed."""
    job = Job((shape,), dp, tied=tied)
    opened = Job((replace(shape, vpp=1),), dp)
    closed, chain = (nested.bound(j, weights, levels, leaves).value for j in (job, opened))
    assert 0 < chain <= closed <= optimum(job, weights, levels, leaves)


@pytest.mark.parametrize(
    ("modules", "dp", "weights", "levels", "leaves", "linear"),
    [
        ([ModuleShape(1, 2, 1)], 4, Weights(0, 21, 21, 0), (1, 1), ((1, 2, 3), (3,)), 148),
        ([ModuleShape(3, 1, 1)], 2, Weights(7, 0, 14, 0), (1, 1), ((2, 3), (3,)), 64),
        ([ModuleShape(3, 3, 1)], 1, Weights(21, 14, 14, 0), (1, 2), ((1, 3), (3, 3)), 435),
        ([ModuleShape(3, 3, 1)], 1, Weights(3, 2, 2, 0), (7, 14), ((1, 3), (3, 3)), 435),
    ],
)
def test_bounds_are_rounded_up_to_what_weights_and_levels_have_in_common(
    modules, dp, weights, levels, leaves, linear
):
    """All of these costs are multiples of 7 or 21, and what prices prove is not."""
    job = Job(tuple(modules), dp)
    bound = nested.bound(job, weights, levels, leaves)
    assert rounded(bound.prices.total, 1) <= linear
    assert bound.value == optimum(job, weights, levels, leaves)
