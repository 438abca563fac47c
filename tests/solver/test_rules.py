"""Plans under footprint and hierarchical rules, against every placement and by their definition."""

import random
from typing import Any

import numpy as np
import pytest

import planner
from planner.errors import Infeasible
from planner.feasibility import broken_constraints
from planner.grid import Grid
from planner.solver.translation import model_job, model_weights, shape_rules
from planner.solver.weighing import weigh
from planner.spec.problem import Problem
from tests.oracle import all_placements
from tests.problems import problem


def ruled(rng: random.Random) -> Problem:
    """A tiny problem under one of the rules or both."""
    while True:
        tp, cp, pp = rng.choice([1, 2, 2, 3]), rng.choice([2, 3, 4]), rng.choice([1, 1, 2])
        dp = rng.choice([1, 2])
        world = tp * cp * pp * dp
        gpus = rng.choice([2, 3, 4, 5])
        nodes = -(-world // gpus) + rng.choice([0, 1])
        if world > 8 or gpus >= world:
            continue
        inner = rng.choice([None, [2, cp // 2], [cp]]) if cp % 2 == 0 else rng.choice([None, [cp]])
        symmetry = "footprint" if inner is None or rng.random() < 0.3 else "mapping"
        job: dict[str, Any] = {"decoder": {"tp": tp, "cp": cp, "pp": pp}, "dp": dp}
        if inner:
            job["hierarchical_cp"] = inner
        weights = {k: rng.choice([0, 1, 2, 5, 30]) for k in ("tp", "cp", "dp", "pp")}
        return problem(
            {"nodes": nodes, "gpus_per_node": gpus},
            job,
            constraints={"cp_symmetry": symmetry},
            objective={"weights": weights},
        )


def optimum(made: Problem) -> int | None:
    """Least integer cost over all placements on nodes that hold the rules."""
    grid, machines = Grid.of(made), made.cluster.machines
    weighing = weigh(made, grid, machines)
    capacities = machines.capacities(machines.level("node")).tolist()
    placed = all_placements.deals(grid.world, capacities)
    costs = all_placements.costs(
        model_job(grid),
        model_weights(weighing, grid),
        [(w, np.arange(len(capacities))) for w in weighing.levels],
        placed,
    )
    for i in np.argsort(costs, kind="stable"):
        nodes = np.empty(grid.world, np.int64)
        nodes[grid.canonical] = placed[i]
        order = np.argsort(nodes, kind="stable")
        nth = np.empty_like(nodes)
        nth[order] = np.arange(grid.world) - np.searchsorted(nodes[order], nodes[order])
        seats = machines.first_device[nodes] + nth
        if not broken_constraints(made, grid, seats):
            return int(costs[i])
    return None


@pytest.mark.parametrize("seed", range(12))
def test_tiny_ruled_problems_are_solved_to_the_optimum(seed: int) -> None:
    made = ruled(random.Random(seed))
    best = optimum(made)
    if best is None:
        with pytest.raises(Infeasible):
            planner.solve(made, time_limit=20, workers=1)
        return
    plan = planner.solve(made, time_limit=20, workers=1)
    unit = weigh(made, plan.grid, plan.machines).unit
    assert planner.verify(plan) == []
    assert plan.solver["status"] == "optimal"
    assert plan.solver["cost"] == pytest.approx(float(best * unit))


DEAD = [{"name": f"n{i}", "gpus": 8, "offline": [0] if i % 4 == 0 else []} for i in range(13)]

# problem, cost of the optimal plan
INSTANCES: dict[str, tuple[Problem, int]] = {
    "innermost pairs, tp 3": (
        problem(9, {"decoder": {"tp": 3, "cp": 4, "pp": 3}, "dp": 2, "hierarchical_cp": [2, 2]}),
        21_431,
    ),
    "innermost pairs, dead GPUs": (
        problem(
            {"nodes": DEAD},
            {"decoder": {"tp": 2, "cp": 4, "pp": 3}, "dp": 4, "hierarchical_cp": [2, 2]},
        ),
        9_428,
    ),
    "alike": (
        problem(
            10,
            {"decoder": {"tp": 3, "cp": 4, "pp": 3}, "dp": 2},
            constraints={"cp_symmetry": "footprint"},
        ),
        12_436,
    ),
}


@pytest.mark.parametrize("name", INSTANCES)
def test_ruled_jobs_are_solved_to_proven_optimum(name: str) -> None:
    made, best = INSTANCES[name]
    plan = planner.solve(made, time_limit=30, workers=1)
    assert planner.verify(plan) == []
    assert (plan.solver["status"], plan.solver["cost"]) == ("optimal", best)


def test_a_looser_rule_never_costs_more() -> None:
    job = {"decoder": {"tp": 2, "cp": 4, "pp": 2}, "dp": 2}
    costs = []
    for hierarchy in (None, [2, 2], [4]):
        inner = {} if hierarchy is None else {"hierarchical_cp": hierarchy}
        plan = planner.solve(
            problem({"nodes": 8, "gpus_per_node": 5}, {**job, **inner}), time_limit=20, workers=1
        )
        assert plan.solver["status"] == "optimal"
        assert planner.verify(plan) == []
        costs.append(plan.solver["cost"])
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]


def test_finer_levels_part_innermost_groups() -> None:
    pairs = [{"name": "pair", "gpus_per_domain": 2}]
    made = problem(
        {"nodes": 4, "gpus_per_node": 6, "levels": pairs},
        {"decoder": {"tp": 1, "cp": 6, "pp": 2}, "dp": 2, "hierarchical_cp": [3, 2]},
    )
    grid = Grid.of(made)
    assert [shape_rules(made, grid, level).tied for level in (0, 1)] == [1, 3]
    plan = planner.solve(made, time_limit=10, workers=1)
    assert planner.verify(plan) == []


def test_experts_are_planned_without_the_rule_and_mended() -> None:
    made = problem(
        {"nodes": 6, "gpus_per_node": 7},
        {
            "decoder": {"tp": 2, "cp": 4, "pp": 2, "ep": 4, "etp": 1},
            "dp": 2,
            "hierarchical_cp": [2, 2],
        },
    )
    assert shape_rules(made, Grid.of(made), 0).tied == 1
    plan = planner.solve(made, time_limit=4, workers=1)
    assert planner.verify(plan) == []


def test_rules_on_domains_too_large_for_shapes_are_mended() -> None:
    made = problem(
        {"nodes": [{"name": "a[1-2]", "gpus": 14}, {"name": "b[1-2]", "gpus": 13}]},
        {"decoder": {"tp": 4, "cp": 2, "pp": 2}, "dp": 3},
        constraints={"cp_symmetry": "footprint"},
    )
    free = problem(
        {"nodes": [{"name": "a[1-2]", "gpus": 14}, {"name": "b[1-2]", "gpus": 13}]},
        {"decoder": {"tp": 4, "cp": 2, "pp": 2}, "dp": 3},
    )
    plan = planner.solve(made, time_limit=3, workers=1)
    assert planner.verify(plan) == []
    assert plan.solver["cost"] >= planner.solve(free, time_limit=3, workers=1).solver["bound"]
