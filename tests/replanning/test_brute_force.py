"""Replanning tiny plans against every placement of their ranks."""

import random
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import planner
from planner.cost import links, total
from planner.grid import Grid
from planner.plan import Plan
from planner.replanning.fleet import without
from planner.solver.translation import model_job, model_weights
from planner.solver.weighing import weigh
from planner.spec.problem import Problem
from tests.oracle import all_placements
from tests.problems import random_problem
from tests.solver.test_end_to_end import node_levels


def old_plan(seed: int, rng: random.Random) -> Plan:
    """A solved or a random plan of a tiny problem with a spare node."""
    data = random_problem(seed, most_slots=6)
    data["cluster"]["nodes"].append({"name": "spare", "gpus": rng.choice([1, 2])})
    data["constraints"] = constraints(seed)
    problem = Problem.model_validate(data).resolved
    if data["constraints"] or rng.random() < 0.5:
        return planner.solve(problem, time_limit=20, workers=1)
    usable = problem.cluster.machines.usable.tolist()
    placed = np.array(rng.sample(usable, problem.world_size))
    node = problem.cluster.machines.device_node
    mates = np.flatnonzero(node[placed] == node[placed[0]])
    first = mates[np.argmin(placed[mates])]
    placed[[0, first]] = placed[[first, 0]]
    return Plan(problem, placed, {})


def constraints(seed: int) -> dict[str, Any]:
    if seed % 4 == 1:
        return {"within": {"tp": "node"}}
    return {"launch": "node-contiguous"} if seed % 4 == 3 else {}


def every_placement(problem: Problem) -> np.ndarray:
    """[placements, world] devices: every plan there is, rank 0 first on its node."""
    machines = problem.cluster.machines
    placed = np.array(list(permutations(machines.usable.tolist(), problem.world_size)))
    node = machines.device_node[placed]
    before = (node == node[:, :1]) & (placed < placed[:, :1])
    keep = ~before.any(axis=1)
    if problem.constraints.within:
        for groups in Grid.of(problem).groups["tp"]:
            keep &= (node[:, groups] == node[:, groups[:, :1]]).all(axis=(1, 2))
    if problem.constraints.launch == "node-contiguous":
        runs = 1 + (node[:, 1:] != node[:, :-1]).sum(axis=1)
        keep &= runs == 1 + (np.diff(np.sort(node, axis=1), axis=1) != 0).sum(axis=1)
    return placed[keep]


def costs(problem: Problem, placed: np.ndarray) -> Any:
    grid, machines = Grid.of(problem), problem.cluster.machines
    weighing = weigh(problem, grid, machines)
    nodes = machines.device_node[placed][:, grid.canonical]
    levels = node_levels(machines, weighing.levels)
    found = all_placements.costs(model_job(grid), model_weights(weighing, grid), levels, nodes)
    return np.array([c * weighing.unit for c in found.tolist()])


def lose(plan: Plan, rng: random.Random) -> list[str]:
    """As many used or idle GPUs as may go."""
    machines = plan.machines
    spare = len(machines.usable) - plan.grid.world
    gone = rng.sample(machines.usable.tolist(), rng.randint(1, max(1, spare)))
    return [f"{machines.hosts[machines.device_node[d]]}:{machines.device_gpu[d]}" for d in gone]


@pytest.mark.parametrize("seed", range(40))
def test_tiny_plans_move_no_more_ranks_than_they_must(seed: int) -> None:
    rng = random.Random(seed)
    try:
        old = old_plan(seed, rng)
    except planner.Infeasible:
        return
    lost = lose(old, rng)
    slack = rng.choice([0.0, 0.1, 0.5, 3.0])
    try:
        new = planner.replan(old, lost=lost, slack=slack, time_limit=20, workers=1)
    except planner.Infeasible:
        broken = Problem.model_validate(
            old.document()["problem"] | {"cluster": without(old.problem.cluster, lost)}
        )
        assert len(every_placement(broken)) == 0
        return
    placed = every_placement(new.problem)
    cost, moved = costs(new.problem, placed), (placed != old.placement).sum(axis=1)
    best = cost.min()
    assert new.replan is not None
    assert new.solver["bound"] <= best <= new.replan["best_cost"]
    fewest = int(moved[cost <= best * (1 + slack)].min())
    assert len(new.replan["moves"]) == new.replan["moves_bound"] == fewest
    assert new.cost == cost[moved == fewest].min() <= best * (1 + slack)
    assert planner.verify(new) == []

    most = rng.randint(fewest, new.grid.world)
    capped = planner.replan(old, lost=lost, moves=most, time_limit=20, workers=1)
    assert capped.cost == cost[moved <= most].min()
    assert capped.replan is not None
    assert len(capped.replan["moves"]) <= most


@pytest.mark.parametrize("seed", [0, 3, 7, 11, 13, 19, 22, 28])
def test_levels_inside_a_node_count_too(seed: int) -> None:
    """Rank 0 must lead its host, which there means being in the right part of it."""
    rng = random.Random(seed)
    plain = old_plan(seed * 4, rng)
    data = plain.document()["problem"]
    pair = {"name": "pair", "gpus_per_domain": 2, "weight": rng.choice([1, 2])}
    data["cluster"]["levels"] = [pair, *data["cluster"].get("levels", [])]
    old = Plan(Problem.model_validate(data).resolved, plain.placement, {})
    slack = rng.choice([0.0, 0.1, 0.5])
    new = planner.replan(old, lost=lose(old, rng), slack=slack, time_limit=20, workers=1)
    placed = every_placement(new.problem)
    assert new.replan is not None
    found = [total(new.problem, new.machines, links(new.grid, new.machines, p)) for p in placed]
    best, cost = new.solver["bound"], np.array(found)
    assert best <= cost.min() <= new.replan["best_cost"]
    moved = (placed != old.placement).sum(axis=1)
    fewest = moved[cost <= cost.min() * (1 + slack)].min()
    assert new.replan["moves_bound"] == len(new.replan["moves"]) == fewest
