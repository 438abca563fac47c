"""Infeasible problems: the lines named are a minimal conflict, the words and remedies hold."""

from typing import Any

import pytest

import planner
from planner.explain.lines import without_lines, written_lines
from planner.spec.problem import Problem
from tests.problems import problem


def pin(host: str, gpu: int = 0, **slot: int) -> dict[str, Any]:
    return {"slot": {"pp": 0, "dp": 0, "cp": 0, "tp": 0} | slot, "host": host, "gpu": gpu}


LEAVES = [{"name": "leaf", "nodes_per_domain": 2}]
DEAD = {"nodes": ["a", {"name": "b", "offline": [0]}, {"name": "c", "offline": [5]}]}
WITHIN = "$.constraints.within"
PINS = "$.constraints.pins"

CASES: dict[str, tuple[Any, Any, Any, set[str], str]] = {
    "a tensor group larger than a node": (
        2,
        {"decoder": {"tp": 16}},
        {"within": {"tp": "node"}},
        {f"{WITHIN}.tp", "$.job.decoder.tp"},
        "a tp group of the decoder has 16 ranks, but the largest node holds 8",
    ),
    "tensor groups that divide no node": (
        3,
        {"decoder": {"tp": 6}, "dp": 4},
        {"within": {"tp": "node"}},
        {f"{WITHIN}.tp", "$.job.decoder.tp"},
        "4 tp groups of 6 ranks must each fit into one node, but the nodes hold 3 such groups",
    ),
    "an encoder's tensor groups": (
        {"nodes": 4, "gpus_per_node": 4},
        {"encoder": {"tp": 8}, "decoder": {"tp": 2}, "dp": 1},
        {"within": {"tp": "node"}},
        {f"{WITHIN}.tp", "$.job.encoder.tp"},
        "a tp group of the encoder has 8 ranks",
    ),
    "two families that share ranks": (
        4,
        {"decoder": {"tp": 4, "cp": 4}},
        {"within": {"tp": "node", "cp": "node"}},
        {f"{WITHIN}.tp", f"{WITHIN}.cp", "$.job.decoder.tp", "$.job.decoder.cp"},
        "tp and cp groups that share ranks tie together 16 ranks, but the largest node holds 8",
    ),
    "a block at a coarser level": (
        {"nodes": 4, "gpus_per_node": 4, "levels": LEAVES},
        {"decoder": {"tp": 4, "pp": 4}},
        {"within": {"tp": "node", "pp": "leaf"}},
        {f"{WITHIN}.tp", f"{WITHIN}.pp", "$.job.decoder.tp", "$.job.decoder.pp"},
        "tie together 16 ranks, but the largest leaf holds 8",
    ),
    "a pipeline longer than a leaf": (
        {"nodes": 4, "gpus_per_node": 2, "levels": LEAVES},
        {"decoder": {"pp": 8}},
        {"within": {"pp": "leaf"}},
        {f"{WITHIN}.pp", "$.job.decoder.pp"},
        "a pp group of the decoder has 8 ranks, but the largest leaf holds 4",
    ),
    "data copies that must stay in a node": (
        {"nodes": 4, "gpus_per_node": 2},
        {"decoder": {"tp": 2}, "dp": 4},
        {"within": {"dp": "node"}},
        {f"{WITHIN}.dp"},
        "a dp group of the decoder has 4 ranks",
    ),
    "dead GPUs in two of three nodes": (
        DEAD,
        {"decoder": {"tp": 8, "pp": 2}, "dp": 1},
        {"within": {"tp": "node"}},
        {
            f"{WITHIN}.tp",
            "$.job.decoder.tp",
            "$.cluster.nodes[1].offline",
            "$.cluster.nodes[2].offline",
        },
        "2 tp groups of 8 ranks must each fit into one node",
    ),
    "innermost context groups": (
        {"nodes": 4, "gpus_per_node": 2},
        {"decoder": {"tp": 2, "cp": 4}, "hierarchical_cp": [4], "dp": 1},
        {},
        {"$.job.hierarchical_cp"},
        "a hcp_0 group of the decoder has 4 ranks",
    ),
    "two pins against a group": (
        {"nodes": 2, "gpus_per_node": 2},
        {"decoder": {"tp": 2}, "dp": 2},
        {"within": {"tp": "node"}, "pins": [pin("node0"), pin("node1", tp=1)]},
        {f"{WITHIN}.tp", f"{PINS}[0]", f"{PINS}[1]"},
        "ranks 0 and 1 share a tp group that must stay inside one node, but are pinned to node0",
    ),
    "two pins against two families": (
        {"nodes": 3, "gpus_per_node": 4},
        {"decoder": {"tp": 2, "cp": 2}, "dp": 2},
        {
            "within": {"tp": "node", "cp": "node"},
            "pins": [pin("node0"), pin("node1", tp=1, cp=1), pin("node2", gpu=1, dp=1)],
        },
        {f"{WITHIN}.tp", f"{WITHIN}.cp", f"{PINS}[0]", f"{PINS}[1]"},
        "ranks 0 and 3 are tied to one node through their tp and cp groups",
    ),
    "a group pinned to a node with a dead GPU": (
        {"nodes": ["a", {"name": "b", "offline": [3]}], "gpus_per_node": 4},
        {"decoder": {"tp": 4}, "dp": 1},
        {"within": {"tp": "node"}, "pins": [pin("b")]},
        {f"{WITHIN}.tp", f"{PINS}[0]", "$.job.decoder.tp", "$.cluster.nodes[1].offline"},
        "the pins bring 4 ranks that stay together to b, which holds 3",
    ),
    "two groups pinned to one node": (
        {"nodes": 2, "gpus_per_node": 4},
        {"decoder": {"tp": 3}, "dp": 2},
        {"within": {"tp": "node"}, "pins": [pin("node0"), pin("node0", gpu=1, dp=1)]},
        {f"{WITHIN}.tp", f"{PINS}[0]", f"{PINS}[1]", "$.job.decoder.tp"},
        "the pins bring 6 ranks that stay together to node0, which holds 4",
    ),
    "pins that stretch a run": (
        {"nodes": 2, "gpus_per_node": 2},
        {"decoder": {"tp": 4}, "dp": 1},
        {"launch": "node-contiguous", "pins": [pin("node0"), pin("node0", gpu=1, tp=2)]},
        {"$.constraints.launch", f"{PINS}[0]", f"{PINS}[1]"},
        "pins of ranks 0 and 2 put that run of 3 ranks on node0, which holds 2",
    ),
    "a foreign pin inside a run": (
        {"nodes": 2, "gpus_per_node": 4},
        {"decoder": {"tp": 4}, "dp": 1},
        {
            "launch": "node-contiguous",
            "pins": [pin("node0"), pin("node1", tp=1), pin("node0", gpu=2, tp=2)],
        },
        {"$.constraints.launch", f"{PINS}[0]", f"{PINS}[1]", f"{PINS}[2]"},
        "but rank 1 of that run is pinned to node1",
    ),
    "runs that cut tensor groups": (
        {"nodes": 3, "gpus_per_node": 3},
        {"decoder": {"tp": 2}, "dp": 4},
        {"launch": "node-contiguous", "within": {"tp": "node"}},
        {f"{WITHIN}.tp", "$.job.decoder.tp"},
        "4 tp groups of 2 ranks must each fit into one node",
    ),
    "equal footprints on unequal nodes": (
        {"nodes": [{"name": "a", "gpus": 3}, {"name": "b", "gpus": 1}]},
        {"decoder": {"cp": 4}},
        {"cp_symmetry": "footprint"},
        {"$.constraints.cp_symmetry", "$.job.decoder.cp"},
        "exclude one another",
    ),
    "experts that must stay in a node": (
        {"nodes": 4, "gpus_per_node": 4},
        {"decoder": {"tp": 2, "ep": 8, "etp": 1}, "dp": 8},
        {"within": {"ep": "node"}},
        {f"{WITHIN}.ep", "$.job.decoder.ep"},
        "a ep group of the decoder has 8 ranks, but the largest node holds 4",
    ),
}


def has_a_plan(data: Any) -> bool:
    made = Problem.model_validate(data)
    return planner.verify(planner.solve(made, time_limit=5, gap=1.0, workers=1)) == []


@pytest.mark.parametrize("name", CASES)
def test_dropping_any_one_named_line_makes_a_plan_possible(name: str) -> None:
    cluster, job, constraints, lines, words = CASES[name]
    made = problem(cluster, job, constraints=constraints)
    with pytest.raises(planner.Infeasible) as refused:
        planner.solve(made, time_limit=20, workers=1)
    refusal = refused.value
    assert set(refusal.conflict) == lines
    assert words in refusal.reason
    for line in refusal.conflict:
        assert has_a_plan(without_lines(made, [line])), line


@pytest.mark.parametrize("name", CASES)
def test_the_named_lines_alone_leave_no_plan(name: str) -> None:
    cluster, job, constraints, lines, _ = CASES[name]
    made = problem(cluster, job, constraints=constraints)
    others = [line for line in written_lines(made) if line not in lines]
    sizes = [line for line in others if line.startswith("$.job")]  # what pins and sizes refer to
    data = without_lines(made, [line for line in others if line not in sizes])
    with pytest.raises(planner.Infeasible):
        planner.solve(Problem.model_validate(data), time_limit=20, workers=1)


@pytest.mark.parametrize(
    ("name", "remedies"),
    [
        ("a tensor group larger than a node", ["set $.job.decoder.tp to 8"]),
        ("a pipeline longer than a leaf", ["set $.job.decoder.pp to 4"]),
        ("two pins against a group", ["drop $.constraints.pins[0]"]),
        ("dead GPUs in two of three nodes", ["set $.job.decoder.tp to 4"]),
    ],
)
def test_the_remedy_has_been_tried(name: str, remedies: list[str]) -> None:
    cluster, job, constraints, _, _ = CASES[name]
    with pytest.raises(planner.Infeasible) as refused:
        planner.solve(problem(cluster, job, constraints=constraints), time_limit=20, workers=1)
    for remedy in remedies:
        assert remedy in (refused.value.remedy or "")


def test_a_coarser_level_is_offered_where_it_helps() -> None:
    made = problem(
        {"nodes": 4, "gpus_per_node": 2, "levels": LEAVES},
        {"decoder": {"tp": 4}},
        constraints={"within": {"tp": "node"}},
    )
    with pytest.raises(planner.Infeasible, match=r"set \$.constraints.within.tp to leaf or set"):
        planner.solve(made, workers=1)
