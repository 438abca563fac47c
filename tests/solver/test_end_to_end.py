"""`planner.solve` against every placement of tiny problems, and its promises."""

import threading

import numpy as np
import pytest

import planner
from planner.errors import Infeasible, NoPlan
from planner.feasibility import broken_constraints
from planner.grid import Grid
from planner.machines import Machines
from planner.solver import exact
from planner.solver.translation import model_job, model_weights, to_canonical
from planner.solver.weighing import weigh
from planner.spec.problem import Problem
from tests.oracle import all_placements
from tests.problems import MISFIT, REGULAR, problem, random_problem


def node_levels(machines: Machines, weights: tuple[int, ...]) -> list[tuple[int, np.ndarray]]:
    first = machines.first_device
    return [(w, level.domain[first]) for level, w in zip(machines.levels, weights, strict=True)]


def optimum(made: Problem) -> int:
    """Least integer cost over all placements that hold the constraints."""
    grid, machines = Grid.of(made), made.cluster.machines
    weighing = weigh(made, grid, machines)
    capacities = machines.capacities(machines.level("node")).tolist()
    placed = all_placements.deals(grid.world, capacities)
    costs = all_placements.costs(
        model_job(grid),
        model_weights(weighing, grid),
        node_levels(machines, weighing.levels),
        placed,
    )
    if not made.constraints.within:
        return int(costs.min())
    for i in np.argsort(costs):
        nodes = np.empty(grid.world, np.int64)
        nodes[grid.canonical] = placed[i]
        if not broken_constraints(made, grid, seated(machines, nodes)):
            return int(costs[i])
    raise AssertionError("no placement holds the constraints")


def seated(machines: Machines, nodes: np.ndarray) -> np.ndarray:
    taken = {
        n: iter(machines.usable[machines.device_node[machines.usable] == n]) for n in set(nodes)
    }
    return np.array([next(taken[n]) for n in nodes])


@pytest.mark.parametrize("seed", range(60))
def test_tiny_problems_are_solved_to_the_optimum(seed: int) -> None:
    made = Problem.model_validate(random_problem(seed, most_slots=8))
    plan = planner.solve(made, time_limit=20, workers=1, seed=seed)
    grid = plan.grid
    weighing = weigh(made, grid, plan.machines)
    best = optimum(made) * weighing.unit
    assert plan.solver["bound"] <= best
    assert plan.solver["cost"] == best
    assert plan.solver["status"] == "optimal"
    assert planner.verify(plan) == []
    again = all_placements.costs(
        model_job(grid),
        model_weights(weighing, grid),
        node_levels(plan.machines, weighing.levels),
        to_canonical(grid, plan.machines.device_node[plan.placement])[None],
    )
    assert again[0] * weighing.unit == plan.solver["cost"]


@pytest.mark.parametrize("seed", range(12))
def test_loosening_machines_or_constraints_never_costs(seed: int) -> None:
    data = random_problem(seed + 500, most_slots=8)
    cost = planner.solve(Problem.model_validate(data), time_limit=20, workers=1).solver["cost"]
    data["cluster"]["nodes"].append({"name": "spare", "gpus": 2})
    roomier = planner.solve(Problem.model_validate(data), time_limit=20, workers=1)
    assert roomier.solver["cost"] <= cost


def test_constraints_hold_at_the_least_cost_they_allow() -> None:
    cluster = {"nodes": [{"name": "a[1-3]", "gpus": 3}, {"name": "b", "gpus": 2}]}
    job = {"decoder": {"tp": 2, "pp": 2}, "dp": 2}
    made = problem(
        cluster,
        job,
        objective={"weights": {"tp": 1, "pp": 50, "dp": 40}},
        constraints={"within": {"tp": "node"}},
    )
    plan = planner.solve(made, time_limit=20, workers=1)
    assert plan.solver["status"] == "optimal"
    assert plan.solver["cost"] == optimum(made)
    assert plan.links["node"]["tp"] == 0
    free = problem(cluster, job, objective={"weights": {"tp": 1, "pp": 50, "dp": 40}})
    assert planner.solve(free, time_limit=20, workers=1).solver["cost"] < plan.solver["cost"]


INFEASIBLE = {
    "too large for a node": (
        {"nodes": 2},
        {"decoder": {"tp": 16}},
        {"within": {"tp": "node"}},
        {"$.constraints.within.tp", "$.job.decoder.tp"},
        "a tp group of the decoder has 16 ranks, but the largest node holds 8",
    ),
    "too many for the nodes": (
        {"nodes": 3},
        {"decoder": {"tp": 6}, "dp": 4},
        {"within": {"tp": "node"}},
        {"$.constraints.within.tp", "$.job.decoder.tp", "$.job.dp"},  # three copies would fit
        "4 tp groups of 6 ranks must each fit into one node",
    ),
    "a pin against a group": (
        {"nodes": 2, "gpus_per_node": 2},
        {"decoder": {"tp": 2}, "dp": 2},
        {
            "within": {"tp": "node"},
            "pins": [
                {"slot": {"pp": 0, "dp": 0, "cp": 0, "tp": 0}, "host": "node0", "gpu": 0},
                {"slot": {"pp": 0, "dp": 0, "cp": 0, "tp": 1}, "host": "node1", "gpu": 0},
            ],
        },
        {"$.constraints.within.tp", "$.constraints.pins[0]", "$.constraints.pins[1]"},
        "exclude one another",
    ),
    "a pin against the launcher": (
        {"nodes": 2, "gpus_per_node": 2},
        {"decoder": {"tp": 4}, "dp": 1},
        {
            "launch": "node-contiguous",
            "pins": [
                {"slot": {"pp": 0, "dp": 0, "cp": 0, "tp": 0}, "host": "node0", "gpu": 0},
                {"slot": {"pp": 0, "dp": 0, "cp": 0, "tp": 2}, "host": "node0", "gpu": 1},
            ],
        },
        {"$.constraints.launch", "$.constraints.pins[0]", "$.constraints.pins[1]"},
        "exclude one another",
    ),
}


@pytest.mark.parametrize("name", INFEASIBLE)
def test_what_cannot_be_is_refused_with_the_lines_that_conflict(name: str) -> None:
    cluster, job, constraints, lines, text = INFEASIBLE[name]
    with pytest.raises(Infeasible, match=text) as refused:
        planner.solve(problem(cluster, job, constraints=constraints), time_limit=20, workers=1)
    assert set(refused.value.conflict) == lines
    assert refused.value.exit_code == 3


def test_hierarchical_cp_is_refused_by_counting() -> None:
    job = {"decoder": {"tp": 2, "cp": 4}, "hierarchical_cp": [4], "dp": 1}
    made = problem({"nodes": 4, "gpus_per_node": 2}, job)
    with pytest.raises(Infeasible, match=r"an hcp_0 group of the decoder has 4 ranks"):
        planner.solve(made)


def test_a_constraint_no_regular_layout_meets_is_still_met() -> None:
    """cp 3 must straddle nodes evenly: counts 2 and 1, spans equal."""
    made = problem(
        {"nodes": 3, "gpus_per_node": 4},
        {"decoder": {"tp": 2, "cp": 3}, "dp": 2},
        constraints={"cp_symmetry": "footprint", "within": {"tp": "node"}},
    )
    plan = planner.solve(made, time_limit=20, workers=1)
    assert planner.verify(plan) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_deterministic_runs_agree_to_the_byte(workers: int) -> None:
    made = problem({"nodes": 3, "gpus_per_node": 6}, {"decoder": {"tp": 4, "pp": 2}, "dp": 2})

    def text() -> str:
        plan = planner.solve(made, time_limit=2, workers=workers, seed=3, deterministic=True)
        plan.solver["seconds"] = None
        return plan.text()

    assert text() == text()


def test_regular_jobs_are_proven_at_once() -> None:
    plan = planner.solve(Problem.model_validate(REGULAR))
    assert (plan.solver["status"], plan.solver["cost"]) == ("optimal", 1024)


def test_a_stopped_search_returns_the_best_so_far() -> None:
    stop = threading.Event()
    stop.set()
    plan = planner.solve(Problem.model_validate(MISFIT), stop=stop)
    assert plan.solver["stopped"] == "interrupted"
    assert planner.verify(plan) == []


def test_nothing_found_is_told_apart_from_nothing_there(monkeypatch) -> None:
    monkeypatch.setattr(exact, "_MOST_BITS_FIRST", 0)
    made = problem(
        {"nodes": 3, "gpus_per_node": 3},
        {"decoder": {"tp": 2, "cp": 2}, "dp": 2},
        constraints={"within": {"tp_cp": "node"}, "cp_symmetry": "footprint"},
    )
    with pytest.raises((NoPlan, Infeasible)):
        planner.solve(made, time_limit=1)


def test_progress_reports_costs_that_fall_and_bounds_that_rise() -> None:
    seen: list[tuple[float | None, float]] = []
    planner.solve(
        Problem.model_validate(MISFIT),
        time_limit=2,
        workers=1,
        progress=lambda cost, bound, _seconds: seen.append((cost, bound)),
    )
    costs = [c for c, _ in seen if c is not None]
    bounds = [b for _, b in seen]
    assert costs == sorted(costs, reverse=True)
    assert bounds == sorted(bounds)
    assert len(seen) >= 2


def test_fractional_and_wild_weights_keep_the_bound_below_the_cost() -> None:
    for weights in ({"tp": 0.125, "pp": 0.3}, {"tp": 1e-9, "cp": 1e12, "pp": 3.7}, {"dp": 0}):
        data = {**MISFIT, "cluster": {"nodes": 3}, "objective": {"weights": weights}}
        data["job"] = {"decoder": {"tp": 3, "cp": 2, "pp": 2}, "dp": 2}
        plan = planner.solve(Problem.model_validate(data), time_limit=3, workers=1)
        assert plan.solver["bound"] <= plan.solver["cost"]
        assert planner.verify(plan) == []


def test_both_context_rules_cost_what_they_must() -> None:
    """Dead GPUs make the best free plan break the footprint in a few blocks only."""
    nodes = [{"name": "a[1-2]", "gpus": 8, "offline": [0]}, {"name": "b[1-4]", "gpus": 8}]
    job = {"decoder": {"tp": 4, "cp": 2, "pp": 1}, "dp": 5}
    free = planner.solve(problem({"nodes": nodes}, job), time_limit=10, workers=1)
    ruled = planner.solve(
        problem({"nodes": nodes}, job, constraints={"cp_symmetry": "footprint"}),
        time_limit=20,
        workers=1,
    )
    assert planner.verify(ruled) == []
    assert free.solver["cost"] <= ruled.solver["cost"] <= 3 * max(free.solver["cost"], 1000)
    assert ruled.solver["bound"] >= free.solver["bound"]


def test_rules_for_groups_of_hierarchical_cp_are_left_out_with_it() -> None:
    levels = [{"name": "pod", "nodes_per_domain": 8}]
    made = problem(
        {"nodes": 8, "gpus_per_node": 6, "levels": levels},
        {"decoder": {"tp": 2, "cp": 2, "pp": 4}, "dp": 2, "order": "cp-pp-dp-tp", "hierarchical_cp": [2]},
        constraints={"within": {"hcp_0": "pod"}, "cp_symmetry": "footprint"},
    )  # fmt: skip
    plan = planner.solve(made, time_limit=5, workers=1)
    assert planner.verify(plan) == []


def test_domains_too_small_for_any_content_are_no_overflow() -> None:
    """Thirty-two such domains and more at a price that stands for never; a remedy that is tried has them."""
    made = problem(
        {"nodes": 8, "gpus_per_node": 4, "levels": [{"name": "lone", "gpus_per_domain": 1, "weight": 0.1}]},
        {"encoder": {"tp": 3, "pp": 4, "etp": 2}, "decoder": {"tp": 2, "pp": 2}, "dp": 2},
        constraints={
            "within": {"expt_tp": "node", "tp_dp_cp": "node"},
            "pins": [{"slot": {"module": "encoder", "pp": 3, "dp": 1, "cp": 0, "tp": 2}, "host": "node3", "gpu": 3}],
        },
    )  # fmt: skip
    with pytest.raises(Infeasible, match="tp_dp_cp"):
        planner.solve(made, time_limit=2, workers=1)


def test_a_large_misfit_job_is_made_of_tiles() -> None:
    """Twelve times the misfit of two copies on seven nodes, whose optimum is 8,490."""
    job = {**MISFIT["job"], "dp": 24}
    plan = planner.solve(problem(84, job), time_limit=40, workers=2)
    assert plan.solver["cost"] <= 12 * 8490
    assert planner.verify(plan) == []


def test_a_rule_inside_the_node_may_keep_rank_zero_from_its_first_gpu() -> None:
    """Sockets of 2 and 1, footprint: every exchange that would lead the host breaks the rule."""
    cluster = {
        "nodes": 2,
        "gpus_per_node": 3,
        "levels": [{"name": "socket", "gpus_per_domain": 2, "weight": 2}],
    }
    made = problem(
        cluster,
        {"encoder": {"tp": 2}, "decoder": {"tp": 2, "cp": 2}, "dp": 1},
        constraints={"cp_symmetry": "footprint"},
    )
    plan = planner.solve(made, time_limit=10, workers=1)
    assert planner.verify(plan) == []
