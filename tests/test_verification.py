"""Lies in a plan file: each gives exactly the violations it should."""

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from planner.errors import InputError, VerificationError
from planner.plan import Plan
from planner.planfile import PlanFile
from planner.spec.problem import Problem
from planner.verification import read_verified, verify
from tests.problems import MISFIT, problem


def plan_of(made: Problem, placement: Any = None, **solver: Any) -> Plan:
    own = made.resolved
    machines = own.cluster.machines
    if placement is None:
        placement = machines.usable[: own.world_size]
    plan = Plan(own, np.asarray(placement), {})
    cost = plan.cost
    claims = {"status": "feasible", "cost": cost, "bound": 0, "gap": 1.0 if cost else 0, "seed": 0}
    plan.solver.update({**claims, **solver})
    return plan


HONEST = plan_of(
    problem(
        {"nodes": ["a", {"name": "b", "offline": [7]}, "c"], "gpus_per_node": 8},
        {"encoder": {"tp": 2}, "decoder": {"tp": 4, "pp": 2}, "dp": 2},
    )
).document()


def kinds(document: dict[str, Any]) -> list[str]:
    return sorted({v.kind for v in verify(PlanFile.of(document))})


def swap_two_ranks(d: dict[str, Any]) -> None:
    a, b = d["ranks"][0], d["ranks"][-1]
    for key in ("host", "gpu"):
        a[key], b[key] = b[key], a[key]


def swap_within_a_host(d: dict[str, Any]) -> None:
    a, b = d["ranks"][1], d["ranks"][2]
    a["gpu"], b["gpu"] = b["gpu"], a["gpu"]


def set_at(*path: Any) -> Callable[[Any], Callable[[dict[str, Any]], None]]:
    def to(value: Any) -> Callable[[dict[str, Any]], None]:
        def change(d: dict[str, Any]) -> None:
            here = d
            for key in path[:-1]:
                here = here[key]
            here[path[-1]] = value(here[path[-1]]) if callable(value) else value

        return change

    return to


def duplicate_device(d: dict[str, Any]) -> None:
    d["ranks"][1] |= {"host": d["ranks"][0]["host"], "gpu": d["ranks"][0]["gpu"]}


def use_offline(d: dict[str, Any]) -> None:
    d["ranks"][-1] |= {"host": "b", "gpu": 7}


def lie_optimal(d: dict[str, Any]) -> None:
    d["solver"]["status"] = "optimal"


LIES: dict[str, tuple[Callable[[dict[str, Any]], None], list[str]]] = {
    "nothing": (lambda d: None, []),
    "swap two ranks": (swap_two_ranks, ["cost", "host_rank", "hosts", "links", "local_rank"]),
    "swap inside a host": (swap_within_a_host, ["host_rank"]),
    "duplicate a device": (duplicate_device, ["one_device"]),
    "drop a rank": (lambda d: d["ranks"].pop(3), ["ranks"]),
    "repeat a rank": (lambda d: d["ranks"].append(d["ranks"][3]), ["ranks"]),
    "unknown GPU": (set_at("ranks", 0, "gpu")(99), ["machines"]),
    "unknown host": (set_at("ranks", 0, "host")("zz"), ["machines"]),
    "change a group": (set_at("groups", "tp", 0)(lambda g: g[::-1]), ["groups"]),
    "move a member": (set_at("groups", "pp", 0, 1)(lambda r: r + 1), ["groups"]),
    "drop a group": (lambda d: d["groups"]["cp"].pop(), ["groups"]),
    "drop a family": (lambda d: d["groups"].pop("embd"), ["groups"]),
    "invent a family": (set_at("groups", "hcp_0")([[0]]), ["groups"]),
    "change the bridge": (set_at("bridge", 0, 0)(lambda r: r + 1), ["bridge"]),
    "lie about the cost": (set_at("solver", "cost")(lambda c: c - 1), ["cost"]),
    "lie about the bound": (set_at("solver", "bound")(lambda b: 10**9), ["bound"]),
    "lie about the gap": (set_at("solver", "gap")(0.25), ["gap"]),
    "lie about the proof": (lie_optimal, ["status"]),
    "negative bound": (set_at("solver", "bound")(-1), ["bound"]),
    "lie about links": (set_at("links", "node", "pp")(lambda n: n + 1), ["links"]),
    "leave a kind out": (lambda d: d["links"]["node"].pop("ep"), ["links"]),
    "invent a level": (set_at("links", "leaf")({}), ["links"]),
    "lie about the baseline": (set_at("baseline", "cost")(1), ["baseline"]),
    "lie about baseline links": (set_at("baseline", "links", "node", "tp")(9), ["baseline"]),
    "lie about datasets": (set_at("ranks", 1, "dataset")(lambda f: not f), ["dataset"]),
    "lie about a coordinate": (set_at("ranks", 4, "tp")(lambda t: t + 1), ["coordinates"]),
    "lie about a module": (set_at("ranks", 0, "module")("decoder"), ["coordinates"]),
    "lie about a local rank": (set_at("ranks", 4, "local_rank")(lambda r: r + 1), ["local_rank"]),
    "lie about a host rank": (set_at("ranks", 4, "host_rank")(lambda r: r + 1), ["host_rank"]),
    "reorder the hosts": (set_at("hosts")(lambda h: h[::-1]), ["hosts"]),
    "hide an idle GPU": (lambda d: d["idle"].pop(), ["idle"]),
    "lie about the world": (set_at("world_size")(lambda n: n + 1), ["world_size"]),
    "change the hash": (set_at("problem_sha256")("0" * 64), ["problem"]),
}


@pytest.mark.parametrize("lie", LIES)
def test_each_lie_gives_exactly_its_violations(lie: str) -> None:
    change, wanted = LIES[lie]
    document = copy.deepcopy(HONEST)
    change(document)
    assert kinds(document) == wanted


def test_an_offline_gpu_is_no_place_for_a_rank() -> None:
    document = copy.deepcopy(HONEST)
    use_offline(document)
    assert "offline" in kinds(document)


def test_a_changed_problem_no_longer_fits_its_hash_and_costs() -> None:
    document = copy.deepcopy(HONEST)
    document["problem"]["objective"]["weights"]["pp"] = 11
    assert kinds(document) == ["baseline", "cost", "problem"]


def test_a_plan_for_another_problem_is_named() -> None:
    plan = plan_of(Problem.model_validate(MISFIT))
    assert verify(plan) == []
    other = Problem.model_validate({**MISFIT, "cluster": {"nodes": 8}})
    assert [v.kind for v in verify(plan, other)] == ["problem"]
    assert verify(plan, Problem.model_validate(MISFIT)) == []


CONSTRAINED: dict[str, tuple[dict[str, Any], list[int], list[int]]] = {
    # constraint, a placement that holds it, one that breaks it (4 devices, 2 nodes of 2)
    "within": ({"constraints": {"within": {"tp": "node"}}}, [0, 1, 2, 3], [0, 2, 1, 3]),
    "launch": ({"constraints": {"launch": "node-contiguous"}}, [2, 3, 0, 1], [0, 2, 1, 3]),
    "pins": (
        {
            "constraints": {
                "pins": [{"slot": {"pp": 0, "dp": 1, "cp": 0, "tp": 1}, "host": "node1", "gpu": 1}]
            }
        },
        [0, 1, 2, 3],
        [0, 1, 3, 2],
    ),
}


@pytest.mark.parametrize("kind", CONSTRAINED)
def test_hard_constraints_are_checked(kind: str) -> None:
    more, good, bad = CONSTRAINED[kind]
    made = problem({"nodes": 2, "gpus_per_node": 2}, {"decoder": {"tp": 2}}, **more)
    assert verify(plan_of(made, good)) == []
    assert [v.kind for v in verify(plan_of(made, bad))] == [kind]


def test_innermost_hierarchical_groups_stay_in_a_node() -> None:
    job = {"decoder": {"cp": 4}, "hierarchical_cp": [2, 2]}
    made = problem({"nodes": 2, "gpus_per_node": 2}, job)
    assert verify(plan_of(made, [0, 1, 2, 3])) == []
    assert [v.kind for v in verify(plan_of(made, [0, 2, 1, 3]))] == ["hierarchical_cp"]


def test_footprint_wants_equal_spans_and_even_counts() -> None:
    job = {"decoder": {"tp": 2, "cp": 2}, "dp": 1}
    footprint = {"constraints": {"cp_symmetry": "footprint"}}
    made = problem({"nodes": 2, "gpus_per_node": 3}, job, **footprint)
    assert verify(plan_of(made, [0, 1, 3, 4])) == []
    broken = verify(plan_of(made, [0, 1, 2, 3]))  # spans 1 and 2
    assert [v.kind for v in broken] == ["footprint"]
    assert "TP groups span [1, 2]" in broken[0].text
    made = problem({"nodes": 2, "gpus_per_node": 3}, {"decoder": {"cp": 4}, "dp": 1}, **footprint)
    assert verify(plan_of(made, [0, 1, 3, 4])) == []
    uneven = verify(plan_of(made, [0, 1, 2, 3]))
    assert [v.kind for v in uneven] == ["footprint"]
    assert "differ by more than one" in uneven[0].text


def test_a_plan_survives_its_file(tmp_path) -> None:
    plan = plan_of(Problem.model_validate(MISFIT))
    path = tmp_path / "plan.json"
    plan.save(path)
    again = read_verified(path)
    assert again.text() == plan.text()
    assert again.groups == plan.groups
    assert again.mesh("decoder").shape == (2, 2, 2, 6)


def test_a_lying_plan_is_not_read(tmp_path) -> None:
    document = copy.deepcopy(HONEST)
    document["solver"]["cost"] += 1
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document))
    with pytest.raises(VerificationError, match=r"plan\.json: \$\.solver\.cost: cost: states"):
        read_verified(path)


@pytest.mark.parametrize(
    ("change", "pattern"),
    [
        (set_at("version")(2), r"\$\.version: the plan is of a newer version .*got 2"),
        (set_at("version")("1"), r"\$\.version: unknown version"),
        (set_at("format")("x"), r"\$\.format: not a plan"),
        (set_at("ranks", 0, "host")("a; reboot"), r"\$\.ranks\[0\]\.host: not a host name; got 'a; reboot'"),
        (set_at("hosts", 1)("../b"), r"\$\.hosts\[1\]: not a host name"),
        (set_at("idle", 0, "host")("-x"), r"\$\.idle\[0\]\.host: not a host name"),
        (set_at("problem", "cluster", "nodes")(["$(reboot)"]), r"\$\.problem\.cluster\.nodes\[0\]: not a"),
        (set_at("solver", "cost")(float("nan")), r"\$\.solver\.cost: .*finite"),
        (lambda d: d.pop("ranks"), r"\$\.ranks: required"),
        (set_at("ranks", 2, "gpu")("0"), r"\$\.ranks\[2\]\.gpu: wrong kind of value; got .0.; expected a whole number"),
    ],
)  # fmt: skip
def test_files_that_are_no_plans(tmp_path, change, pattern: str) -> None:
    document = copy.deepcopy(HONEST)
    change(document)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=pattern):
        read_verified(path)


def test_rank_zero_is_host_rank_zero() -> None:
    made = problem({"nodes": 1, "gpus_per_node": 2}, {"decoder": {"tp": 2}})
    plan = plan_of(made, [1, 0], status="optimal")
    assert [v.kind for v in verify(plan)] == ["host_rank"]


def test_rank_zero_leads_its_host_unless_rules_inside_the_node_can_forbid_it() -> None:
    cluster = {"nodes": 1, "gpus_per_node": 4, "levels": [{"name": "socket", "gpus_per_domain": 2}]}
    free = problem(cluster, {"decoder": {"tp": 2}})
    assert "host_rank" in {v.kind for v in verify(plan_of(free, [1, 0, 2, 3]))}
    ruled = problem(cluster, {"decoder": {"tp": 2}}, constraints={"within": {"tp": "socket"}})
    assert "host_rank" not in {v.kind for v in verify(plan_of(ruled, [1, 0, 2, 3]))}
