"""The summary on the terminal: what was proven in words, one host and many."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import planner
from planner.plan import Plan
from planner.report.proofs import _HOW, proof_line
from planner.report.text import print_summary
from planner.spec.problem import Problem
from tests.problems import MISFIT, problem

SOLVER = Path(planner.__file__).parent / "solver"


def printed(plan: Plan) -> str:
    text = StringIO()
    print_summary(plan, Console(file=text, width=200))
    return text.getvalue()


@pytest.mark.parametrize(
    ("level", "cost", "bound", "proof", "seconds", "line"),
    [
        (
            "node", 8490, 8490, "shapes", 0.21,
            ("node: costs 8,490; no plan costs less, shown after 0.2 s by weighing every way to "
            "share tensor groups between nodes"),
        ),
        (
            "leaf", 900, 880.5, "units", 3.0,
            ("leaf: costs 900; no plan costs less than 880.5, shown after 3.0 s by weighing every "
            "way to spread whole tensor groups over leaves"),
        ),
        (
            "island", 70, 60, "staircases", None,
            ("island: costs 70; no plan costs less than 60, shown by the cheapest set of ranks for each "
            "island, one island at a time"),
        ),
        (
            "all", 970, 970, "the exact model", 1.0,
            ("all levels: costs 970; no plan costs less, shown after 1.0 s by a search through all "
            "placements"),
        ),
        (
            "all", 970, 950, "nodes and {pods} together", 1.0,
            ("all levels: costs 970; no plan costs less than 950, shown after 1.0 s by nodes and {pods} "
            "together"),
        ),
        (
            "pod", 0, 0, "nothing (links cost nothing here)", 0.0,
            "pod: costs 0; no plan costs less",
        ),
        (
            "pod", 12, 0, "nothing (not looked into)", 0.0,
            "pod: costs 12; nothing is proven about less",
        ),
    ],
)  # fmt: skip
def test_a_proof_is_told_without_the_names_of_formulations(
    level, cost, bound, proof, seconds, line
):
    entry = {"level": level, "cost": cost, "bound": bound, "proof": proof}
    assert proof_line(entry, seconds) == line


def test_names_that_have_words_are_names_that_the_solver_gives() -> None:
    source = "".join(path.read_text() for path in SOLVER.glob("*.py"))
    assert [name for name in _HOW if f'"{name}"' not in source] == []


def test_an_irregular_problem_has_a_line_a_level_and_the_plan_keeps_the_names() -> None:
    leaves = {"name": "leaf", "nodes_per_domain": 4, "weight": 0.5}
    data = {**MISFIT, "cluster": {**MISFIT["cluster"], "levels": [leaves]}}
    plan = planner.solve(Problem.model_validate(data), workers=1, time_limit=10, gap=0.1)
    text = printed(plan)
    for entry in plan.solver["levels"]:
        name = "all levels" if entry["level"] == "all" else entry["level"]
        assert f"\n{name}: costs " in text
    proofs = text[text.index("\nnode: costs") : text.index("hosts, master")]
    for name in ("staircases", "shapes", "units"):
        assert name not in proofs
    assert plan.solver["levels"][0]["proof"] in {"staircases", "shapes", "units"}


def test_an_order_that_breaks_rules_is_no_bargain() -> None:
    made = problem(
        {"nodes": 2, "gpus_per_node": 2},
        {"decoder": {"tp": 2, "pp": 2}},
        constraints={"within": {"pp": "node"}},
    )
    text = printed(planner.solve(made, workers=1))
    assert text.startswith(
        "cost 4,000, proven optimal; Megatron's order (20, which breaks the constraints)\n"
    )


def test_one_host_and_one_idle_gpu_are_singular() -> None:
    made = problem({"nodes": 1, "gpus_per_node": 3}, {"decoder": {"tp": 2}})
    text = printed(planner.solve(made, workers=1))
    assert "\n1 host, master node0\n" in text
    assert "\nidle GPU: node0 GPU 2\n" in text
    assert "dataset slots a host: 1 on 1 host\n" in text
