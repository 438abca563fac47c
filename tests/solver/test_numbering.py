"""Rank 0 leads its host; what that costs where domains inside nodes are of several sizes."""

from itertools import permutations

import numpy as np
import pytest

import planner
from planner.cost import links, total
from planner.errors import Infeasible, InputError
from planner.feasibility import broken_constraints
from planner.grid import Grid
from planner.plan import seats
from planner.spec.problem import Problem
from tests.problems import problem

FIVE = {"nodes": 1, "gpus_per_node": 5, "levels": [{"name": "sock", "gpus_per_domain": 3}]}
CASES = {
    "a pair goes to the smaller socket": (FIVE, {"decoder": {"tp": 2}, "dp": 2}, {}),
    "and must": (FIVE, {"decoder": {"tp": 2}, "dp": 2}, {"within": {"tp": "sock"}}),
    "slices": (FIVE, {"decoder": {"cp": 2}, "dp": 2, "hierarchical_cp": [1, 2]}, {}),
    "stages": (FIVE, {"decoder": {"pp": 2}, "dp": 2}, {}),
    "three and two": (FIVE, {"encoder": {"tp": 2}, "decoder": {"tp": 3}, "dp": 1}, {}),
    "a dead GPU in the first pair": (
        {"nodes": [{"name": "a", "gpus": 5, "offline": [0]}, {"name": "b", "gpus": 2}],
         "levels": [{"name": "pair", "gpus_per_domain": 2}]},
        {"decoder": {"tp": 2}, "dp": 3},
        {},
    ),
}  # fmt: skip


def least(made: Problem) -> float:
    """Optimum over all placements whose rank 0 leads its host."""
    grid, machines = Grid.of(made), made.cluster.machines
    costs = [
        total(made, machines, links(grid, machines, np.array(placement)))
        for placement in permutations(machines.usable.tolist(), grid.world)
        if seats(machines, np.array(placement)).host_rank[0] == 0
        and not broken_constraints(made, grid, np.array(placement))
    ]
    return float(min(costs))


@pytest.mark.parametrize("name", CASES)
def test_rank_0_leads_its_host_at_the_least_cost(name: str) -> None:
    cluster, job, constraints = CASES[name]
    made = problem(cluster, job, constraints=constraints)
    plan = planner.solve(made, time_limit=5, workers=1)
    assert planner.verify(plan) == []
    assert plan.solver["cost"] == least(made)
    assert (plan.solver["stopped"] == "optimal") == (plan.solver["status"] == "optimal")


@pytest.mark.parametrize("gpus", [3, 4, 5, 7])
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("dead", [[], [0], [1]])
def test_groups_kept_together_stay_so(gpus: int, size: int, dead: list[int]) -> None:
    for tp, dp, nodes in [(2, 1, 1), (2, 2, 1), (2, 3, 2), (3, 1, 1), (3, 2, 2), (2, 2, 3)]:
        data = {
            "cluster": {
                "nodes": [{"name": f"a[1-{nodes}]", "offline": dead}],
                "gpus_per_node": gpus,
                "levels": [{"name": "sock", "gpus_per_domain": size}],
            },
            "job": {"decoder": {"tp": tp}, "dp": dp},
            "constraints": {"within": {"tp": "sock"}},
        }
        try:
            plan = planner.solve(Problem.model_validate(data), time_limit=5, workers=1)
        except (Infeasible, InputError):
            continue
        assert planner.verify(plan) == []
