"""Nodes inside leaves: links that close a lane, which leaves are not credited."""

from dataclasses import replace

import pytest

from benchmarks.nested_bruteforce import optimum
from planner_models import nested
from planner_models.job import Job, ModuleShape, Weights


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
