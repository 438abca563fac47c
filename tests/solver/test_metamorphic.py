"""Answers to related problems are related: end to end, on random tiny problems of all features.

Every problem is solved to its optimum with all steps of the search. A second search without the
exact model, which sees through problems this small before any other bound is asked, shows that the
bounds by levels keep to the same relations.
"""

import random
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from itertools import combinations, count
from typing import Any

import numpy as np
import pytest

import planner
from planner.errors import Infeasible
from planner.grid import Ints
from planner.plan import Plan
from planner.solver import search
from planner.solver.exact import solve_exactly, solve_tiny_exactly
from planner.solver.neighbourhoods import improve_by_neighbourhoods
from planner.solver.state import Search
from planner.spec.problem import Problem
from tests.problems import random_problem

Document = dict[str, Any]

ALL = search.STEPS
LATE = {solve_tiny_exactly, solve_exactly, improve_by_neighbourhoods, search.anneal}
BY_LEVELS = tuple(step for step in ALL if step not in LATE)


FEATURES = (
    *("idle GPUs", "dead GPUs", "uneven nodes", "two levels", "unequal cp", "unequal lanes"),
    *("vpp", "tied", "experts", "weights of 0"),
)
EACH = 4


def features(data: Document) -> set[str]:
    """Which of `FEATURES` a problem has."""
    cluster, job = data["cluster"], data["job"]
    decoder, encoder = job["decoder"], job.get("encoder", job["decoder"])
    gpus = {node["gpus"] - len(node.get("offline", [])) for node in cluster["nodes"]}
    problem = Problem.model_validate(data)
    found = {
        "idle GPUs": len(problem.cluster.machines.usable) > problem.world_size,
        "dead GPUs": any(node.get("offline") for node in cluster["nodes"]),
        "uneven nodes": len(gpus) > 1,
        "two levels": bool(cluster.get("levels")),
        "unequal cp": encoder["cp"] != decoder["cp"],
        "unequal lanes": encoder["tp"] != decoder["tp"],
        "vpp": decoder.get("vpp", 1) > 1,
        "tied": bool(job.get("tied_embeddings")) and decoder["pp"] > 1,
        "experts": decoder.get("ep", 1) > 1,
        "weights of 0": 0 in data["objective"]["weights"].values(),
    }
    return {name for name, present in found.items() if present}


def _drawn() -> list[Document]:
    """The first random problems that bring every feature some times, leaves named node by node."""
    found: list[Document] = []
    times = dict.fromkeys(FEATURES, 0)
    for seed in count(1000):
        data = random_problem(seed, most_slots=8)
        new = features(data)
        if all(times[name] >= EACH for name in new):
            continue
        times.update({name: times[name] + 1 for name in new})
        for level in data["cluster"].get("levels", []):
            names = [node["name"] for node in data["cluster"]["nodes"]]
            size = level.pop("nodes_per_domain")
            parts = range(0, len(names), size)
            level["domains"] = {f"leaf{i}": names[i : i + size] for i in parts}
        found.append(data)
        if min(times.values()) >= EACH:
            return found
    raise AssertionError


PROBLEMS = _drawn()
every_problem = pytest.mark.parametrize("number", range(len(PROBLEMS)))


def drawn(number: int) -> Document:
    return deepcopy(PROBLEMS[number])


def solved(data: Document) -> Plan:
    return planner.solve(Problem.model_validate(data), time_limit=20, workers=1)


def least(data: Document) -> float:
    """The cost of an optimal plan."""
    plan = solved(data)
    assert plan.solver["status"] == "optimal"
    assert plan.solver["bound"] == plan.solver["cost"]
    return plan.solver["cost"]


@cache
def optimum(number: int) -> float:
    return least(drawn(number))


def bound_by_levels(data: Document) -> float:
    """What is proven without the exact model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "STEPS", BY_LEVELS)
        return solved(data).solver["bound"]


@cache
def bound(number: int) -> float:
    return bound_by_levels(drawn(number))


def test_the_problems_mix_all_features() -> None:
    """No feature comes alone: of any two most occur together."""
    mixed = {pair for data in PROBLEMS for pair in combinations(sorted(features(data)), 2)}
    assert len(mixed) >= 35


@every_problem
def test_bounds_by_levels_are_below_the_optimum(number: int) -> None:
    assert bound(number) <= optimum(number)


@every_problem
def test_names_and_order_of_nodes_do_not_matter(number: int) -> None:
    rng, data = random.Random(number), drawn(number)
    nodes = data["cluster"]["nodes"]
    names = [f"host-{n}" for n in rng.sample(range(100), len(nodes))]
    named = {node["name"]: name for node, name in zip(nodes, names, strict=True)}
    for node in nodes:
        node["name"] = named[node["name"]]
    rng.shuffle(nodes)
    for level in data["cluster"].get("levels", []):
        domains = [[named[n] for n in members] for members in level["domains"].values()]
        level["domains"] = {f"other-{i}": members for i, members in enumerate(domains)}
    assert least(data) == optimum(number)
    assert bound_by_levels(data) == bound(number)


@every_problem
def test_weights_scale_cost_and_bound(number: int) -> None:
    data = drawn(number)
    links, machines = random.Random(number).sample([0.375, 2, 5, 7.5], 2)
    weights = data["objective"]["weights"]
    data["objective"]["weights"] = {kind: links * weight for kind, weight in weights.items()}
    data["cluster"]["node_weight"] *= machines
    for level in data["cluster"].get("levels", []):
        level["weight"] *= machines
    assert least(data) == links * machines * optimum(number)
    assert bound_by_levels(data) == links * machines * bound(number)


@every_problem
def test_another_node_never_costs(number: int) -> None:
    rng, data = random.Random(number), drawn(number)
    data["cluster"]["nodes"].append({"name": "spare", "gpus": rng.choice([1, 2, 4])})
    for level in data["cluster"].get("levels", []):
        own = rng.choice([["spare"], [*level["domains"].popitem()[1], "spare"]])
        kept = {n for members in level["domains"].values() for n in members} | set(own)
        level["domains"]["last"] = own
        left = [node["name"] for node in data["cluster"]["nodes"] if node["name"] not in kept]
        if left:
            level["domains"]["left"] = left
    cost = least(data)
    assert cost <= optimum(number)
    assert bound_by_levels(data) <= cost


def constrained(number: int) -> list[Document]:
    """The problem under ever fewer of some random constraints, all of them first."""
    rng, data = random.Random(number), drawn(number)
    problem = Problem.model_validate(data)
    levels = [level.name for level in problem.cluster.machines.levels]
    rules: list[tuple[str, Any]] = [
        *(
            ("within", {group: rng.choice(levels)})
            for group in rng.sample(["tp", "cp", "dp_cp", "pp", "tp_cp"], 2)
        ),
        *[("cp_symmetry", "footprint")] * (rng.random() < 0.4),
        *[("launch", "node-contiguous")] * (rng.random() < 0.6),
    ]
    if rng.random() < 0.5:
        machines = problem.cluster.machines
        device = int(rng.choice(machines.usable.tolist()))
        slot = {"module": "decoder", "pp": 0, "dp": 0, "cp": 0, "tp": 0}
        host = machines.hosts[machines.device_node[device]]
        gpu = int(machines.device_gpu[device])
        rules.append(("pins", [{"slot": slot, "host": host, "gpu": gpu}]))
    rng.shuffle(rules)
    found = []
    for first in range(len(rules) + 1):
        ruled, within = deepcopy(data), {}
        ruled["constraints"] = {}
        for name, rule in rules[first:]:
            if name == "within":
                within |= rule
            else:
                ruled["constraints"][name] = rule
        ruled["constraints"]["within"] = within
        found.append(ruled)
    return found


@cache
def cheapest(number: int) -> list[tuple[Document, Plan | None]]:
    """Each of these with an optimal plan, or with None if there is no plan."""
    found: list[tuple[Document, Plan | None]] = []
    for data in constrained(number):
        try:
            found.append((data, solved(data)))
        except Infeasible:
            found.append((data, None))
    return found


def cost_of(plan: Plan | None) -> float:
    """Its cost, infinite without a plan."""
    if plan is None:
        return float("inf")
    assert plan.solver["status"] == "optimal"
    return plan.solver["cost"]


def test_fewer_constraints_never_cost() -> None:
    dearer = impossible = 0
    for number in range(len(PROBLEMS)):
        costs = [cost_of(plan) for _, plan in cheapest(number)]
        assert costs == sorted(costs, reverse=True), number
        assert costs[-1] == optimum(number)
        impossible += costs[0] == float("inf")
        dearer += len({c for c in costs if c < float("inf")}) > 1
    assert impossible >= 5
    assert dearer >= 5


def test_bounds_by_levels_see_constraints_and_stay_below_the_plans_that_keep_them() -> None:
    """With an optimal plan at hand, so that only the bounds are at work."""
    dearer = kept = 0
    for number in range(len(PROBLEMS)):
        for data, plan in cheapest(number)[:-1]:
            if plan is None:
                continue
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(search, "STEPS", (hinted(plan.placement), *BY_LEVELS))
                again = solved(data)
            assert again.solver["cost"] == plan.solver["cost"]
            assert again.solver["bound"] <= plan.solver["cost"], (number, data)
            kept += 1
            dearer += again.solver["bound"] > optimum(number)
    assert kept >= 30
    assert dearer >= 2


def hinted(placement: Ints) -> Callable[[Search], None]:
    def offer(state: Search) -> None:
        state.offer(placement, "a hint")

    return offer


@pytest.mark.parametrize("steps", [ALL, BY_LEVELS], ids=["all steps", "bounds by levels"])
def test_the_optimum_as_a_hint_is_kept_and_nothing_proven_above_it(monkeypatch, steps) -> None:
    proven = 0
    for number in range(len(PROBLEMS)):
        data = drawn(number)
        monkeypatch.setattr(search, "STEPS", ALL)
        plan = solved(data)
        monkeypatch.setattr(search, "STEPS", (hinted(plan.placement), *steps))
        again = solved(data)
        assert again.solver["cost"] == optimum(number)
        assert again.solver["bound"] <= optimum(number)
        proven += again.solver["status"] == "optimal"
        same = (
            plan.machines.device_node[again.placement] == plan.machines.device_node[plan.placement]
        )
        assert np.all(same)
    assert proven == len(PROBLEMS) if steps is ALL else proven >= 0.8 * len(PROBLEMS)
