"""Infeasible problems: the lines named are a minimal conflict, the words and remedies hold.

Of random tiny problems that is checked against every placement.
"""

import random
from collections.abc import Sequence
from typing import Any

import pytest

import planner
from planner.explain.lines import without_lines, written_lines
from planner.spec.problem import Problem
from tests.oracle.all_plans import some_plan
from tests.problems import problem, random_problem


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
        {f"{WITHIN}.tp", "$.job.decoder.tp", "$.job.dp"},
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
        {f"{WITHIN}.dp", "$.job.dp"},
        "a dp group of the decoder has 4 ranks",
    ),
    "dead GPUs in two of three nodes": (
        DEAD,
        {"decoder": {"tp": 8, "pp": 2}, "dp": 1},
        {"within": {"tp": "node"}},
        {
            f"{WITHIN}.tp",
            "$.job.decoder.tp",
            "$.job.decoder.pp",
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
        "an hcp_0 group of the decoder has 4 ranks",
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
        {f"{WITHIN}.tp", "$.job.decoder.tp", "$.job.dp"},
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
        "an ep group of the decoder has 8 ranks, but the largest node holds 4",
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


def test_auto_takes_what_lies_as_within_asks() -> None:
    """Three nodes of 8 hold 3 groups of 6 although 4 have room; 2 leaves of 3 hold 2 x 2 pairs."""
    made = problem(3, {"decoder": {"tp": 6}}, constraints={"within": {"tp": "node"}})
    assert planner.solve(made, workers=1).grid.dp == 3
    leaves = {"nodes": 6, "gpus_per_node": 1, "levels": [{"name": "leaf", "nodes_per_domain": 3}]}
    made = problem(leaves, {"decoder": {"pp": 2}}, constraints={"within": {"pp": "leaf"}})
    assert planner.solve(made, workers=1).grid.dp == 2


def test_a_smaller_dp_is_named_where_auto_took_too_many() -> None:
    """Counted alone, groups of 2 and of 3 each fit two nodes of 3 and 4; two of both do not."""
    cluster = {"nodes": [{"name": "a[0-1]", "gpus": 5}]}
    job = {"encoder": {"tp": 2}, "decoder": {"tp": 3}}
    rules = {"within": {"tp": "node"}, "launch": "node-contiguous"}
    made = problem(cluster, job, constraints=rules)
    assert made.dp == 2
    with pytest.raises(planner.Infeasible) as refused:
        planner.solve(made, workers=1)
    assert "$.job.dp" in refused.value.conflict
    assert "(dp is auto, which took 2)" in refused.value.reason
    assert "set $.job.dp to 1" in (refused.value.remedy or "")


FAMILIES = ("tp", "cp", "dp", "pp", "mp", "tp_cp", "tp_dp", "dp_cp", "tp_dp_cp", "embd", "ep")
FAMILIES += ("expt_tp", "expt_dp", "tp_ep")


def random_rules(seed: int) -> dict[str, Any] | None:
    """A tiny problem with any mix of rules, or None where the mix makes no problem."""
    rng = random.Random(seed)
    data = random_problem(seed, 7)
    if rng.random() < 0.4:
        del data["job"]["dp"]
    made = Problem.model_validate(data)
    levels = [level.name for level in made.cluster.machines.levels]
    number = rng.choice([0, 1, 1, 2, 3, 4])
    rules: dict[str, Any] = {
        "within": {name: rng.choice(levels) for name in rng.sample(FAMILIES, number)},
        "launch": rng.choice(["free", "free", "free", "node-contiguous"]),
        "cp_symmetry": rng.choice(["mapping", "mapping", "mapping", "footprint"]),
        "pins": random_pins(rng, made) if rng.random() < 0.35 else [],
    }
    context = {m.cp for m in made.job.modules.values()}
    if len(context) == 1 and max(context) > 1 and rng.random() < 0.5:
        data["job"]["hierarchical_cp"] = [max(context)]
    data["constraints"] = rules
    try:
        Problem.model_validate(data)
    except planner.InputError:  # a slot or GPU pinned twice, or auto takes fewer copies
        return None
    return data


def random_pins(rng: random.Random, made: Problem) -> list[dict[str, Any]]:
    machines, found = made.cluster.machines, []
    for _ in range(rng.choice([1, 2, 3])):
        name = rng.choice(list(made.job.modules))
        m = made.job.modules[name]
        sizes = {"pp": m.pp, "dp": made.dp, "cp": m.cp, "tp": m.tp}
        device = rng.choice(machines.usable.tolist())
        at = {axis: rng.randrange(size) for axis, size in sizes.items()}
        host = machines.hosts[int(machines.device_node[device])]
        found.append(pin(host, int(machines.device_gpu[device])) | {"slot": at | {"module": name}})
    return found


def all_but(made: Problem, lines: Sequence[str]) -> list[str]:
    """The other lines a user wrote, but for those without which the problem makes no sense."""
    left = [line for line in written_lines(made) if line not in lines]
    gone: list[str] = []
    while True:
        before = len(left)
        for line in list(left):
            if some_plan(without_lines(made, [*gone, line])) is not None:
                gone.append(line)
                left.remove(line)
        if len(left) == before:
            return gone


def refusal_of(made: Problem) -> planner.Infeasible | None:
    try:
        planner.solve(made, time_limit=20, gap=1.0, workers=1)
    except planner.Infeasible as refusal:
        return refusal
    return None


@pytest.mark.parametrize("block", range(8))
def test_conflicts_of_random_problems_are_infeasible_alone_and_minimal(block: int) -> None:
    refused = 0
    for seed in range(25 * block, 25 * (block + 1)):
        data = random_rules(seed)
        if data is None:
            continue
        made = Problem.model_validate(data)
        plan_exists = some_plan(data)
        refusal = refusal_of(made)
        if refusal is None:
            assert plan_exists, seed
            continue
        refused += 1
        if made.job.dp == "auto" and plan_exists:  # the number of copies is what is too large
            made = Problem.model_validate({**data, "job": {**data["job"], "dp": made.dp}})
        lines = refusal.conflict
        assert set(lines) <= set(written_lines(made)), seed
        gone = all_but(made, lines)
        assert some_plan(without_lines(made, gone)) is False, (seed, str(refusal))
        for line in lines:
            assert some_plan(without_lines(made, [*gone, line])) is True, (seed, line)
    assert refused > 3
