"""The layouts a comparison sets beside our plan, and what it says of each."""

import numpy as np
import pytest
from rich.console import Console

from planner import solve
from planner.comparison import MEGATRON, compare
from planner.comparison.layouts import parse_layout
from planner.comparison.text import comparison_text
from planner.cost import links
from planner.feasibility import first_split_host
from planner.grid import Grid
from planner.spec.problem import Problem
from tests.problems import problem

TRAFFIC = {"model": "llama3-8b", "sequence": 4096, "global_batch": 64}
CLUSTER = {
    "nodes": [{"name": "a", "gpus": 8, "offline": [3]}, "b", "c"],
    "bandwidth": {"per_gpu": 50},
}
JOB = {"decoder": {"tp": 4, "pp": 2}, "dp": 2}


@pytest.fixture(scope="module")
def example():
    return problem(CLUSTER, JOB, objective={"traffic": TRAFFIC})


@pytest.fixture(scope="module")
def compared(example):
    today = {"today": parse_layout("c slots=8\nb slots=8\n", example)}
    return {x.name: x for x in compare(example, layouts=today, time_limit=10, workers=1)}


def test_ours_first_then_contiguous_then_what_nobody_optimised(compared):
    assert list(compared) == [
        "planner",
        "best node-contiguous",
        *MEGATRON,
        "best axis order",
        "today",
    ]


def test_counts_are_those_of_the_definition(example, compared):
    grid, machines = Grid.of(example), example.cluster.machines
    for layout in compared.values():
        assert layout.links == links(grid, machines, layout.placement)
    assert compared["planner"].cost == solve(example, workers=1).solver["cost"]
    assert compared["planner"].cost == min(layout.cost for layout in compared.values())


def test_a_dead_gpu_cuts_tensor_groups_in_megatrons_order_not_in_ours(compared):
    assert compared["planner"].links["node"]["tp"] == 0
    assert compared["Megatron's order"].links["node"]["tp"] > 0
    ours, theirs = (compared[name].traffic["node"] for name in ("planner", "Megatron's order"))
    assert theirs["total_gb"] > 5 * ours["total_gb"]
    assert theirs["seconds"] > 5 * ours["seconds"]


def test_the_layout_in_use_is_read_in_the_jobs_order(compared):
    assert compared["today"].placement.tolist() == [*range(16, 24), *range(8, 16)]


def test_the_contiguous_plan_is_contiguous(example, compared):
    placement = compared["best node-contiguous"].placement
    assert first_split_host(example.cluster.machines, placement) is None
    assert compared["best node-contiguous"].cost >= compared["planner"].cost


def test_megatrons_other_order_numbers_stages_before_copies():
    """tp-pp-dp: copy 0's two stages fill node 0, so that no pipeline leaves a node."""
    p = problem({"nodes": 2}, {"decoder": {"tp": 4, "pp": 2}, "dp": 2})
    found = {x.name: x.links["node"] for x in compare(p, workers=1)}
    assert found["Megatron's order"] | {"dp": 0, "pp": 8} == found["Megatron's order"]
    assert found["Megatron, tp-pp-dp"] | {"dp": 16, "pp": 0} == found["Megatron, tp-pp-dp"]


def test_orders_do_not_depend_on_the_jobs_own():
    jobs = [
        {"decoder": {"tp": 2, "cp": 2, "pp": 2}, "dp": 2, "order": o}
        for o in ("tp-cp-dp-pp", "pp-dp-tp-cp")
    ]
    costs = [{x.name: x.cost for x in compare(problem(3, j), workers=1)} for j in jobs]
    for name in (*MEGATRON, "planner"):
        assert costs[0][name] == costs[1][name]


def test_layouts_that_break_the_users_constraints_say_which():
    p = problem(CLUSTER, JOB, constraints={"within": {"tp": "node"}})
    found = {x.name: x for x in compare(p, workers=1)}
    assert found["planner"].note is None
    assert "within: tp group" in found["Megatron's order"].note


def test_a_plan_may_be_given(example):
    plan = solve(example, workers=1)
    (ours, *_) = compare(example, plan=plan, workers=1)
    assert np.array_equal(ours.placement, plan.placement)


def test_text_has_links_and_bytes_by_level_and_kind(compared):
    console = Console(width=200)
    with console.capture() as capture:
        console.print(comparison_text(list(compared.values())))
    text = capture.get()
    assert "links that leave a" in text
    assert "GB a step, out of a" in text
    assert "seconds" in text
    row = next(
        line.split() for line in text.splitlines() if line.startswith("node") and " tp " in line
    )
    assert row[:3] == ["node", "tp", "0"]


def test_without_a_contiguous_plan_the_note_says_why():
    p = problem(
        {"nodes": [{"name": "a", "gpus": 3}, {"name": "b", "gpus": 5}]},
        {"decoder": {"tp": 4}, "dp": 2},
        constraints={"pins": [{"slot": {"pp": 0, "dp": 0, "cp": 0, "tp": t}, "host": h, "gpu": 0} for t, h in ((0, "a"), (1, "b"))]},
    )  # fmt: skip
    pinned = Problem.model_validate(p.document())
    found = {x.name: x for x in compare(pinned, workers=1, time_limit=10)}
    contiguous = found["best node-contiguous"]
    assert contiguous.placement is None
    assert "no plan exists" in contiguous.note
