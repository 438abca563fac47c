"""The terminal grid: every node once, equal ones folded, dead and idle GPUs told apart."""

import io

from rich.console import Console

from planner.report.nodes import print_nodes
from planner.report.summary import ring_crossings
from planner.report.text import print_summary
from tests.problems import problem
from tests.test_verification import plan_of


def drawn(plan, **options) -> str:
    console = Console(file=io.StringIO(), width=160)
    print_nodes(plan, console, **options)
    return console.file.getvalue()


def test_equal_nodes_fold_and_different_ones_do_not() -> None:
    nodes = ["a[1-4]", {"name": "b", "offline": [1]}, "c"]
    plan = plan_of(problem({"nodes": nodes, "gpus_per_node": 4}, {"decoder": {"tp": 4}, "dp": 5}))
    text = drawn(plan)
    assert "a1" in text
    assert "... 3 more alike" in text
    assert "a2" not in text
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines()[3:] if line.strip()}
    assert rows["b"] == ["d4t0", "xx", "d4t1", "d4t2"]
    assert rows["c"] == ["d4t3", "--", "--", "--"]
    assert all(f"a{i}" in drawn(plan, fold=False) for i in range(1, 5))


def test_nodes_of_different_leaves_do_not_fold() -> None:
    cluster = {"nodes": 4, "gpus_per_node": 2, "levels": [{"name": "leaf", "nodes_per_domain": 2}]}
    text = drawn(plan_of(problem(cluster, {"decoder": {"tp": 2}})))
    assert text.count("1 more alike") == 2
    assert "leaf1" in text


def test_the_summary_says_what_was_proven_and_what_is_idle() -> None:
    plan = plan_of(problem(3, {"decoder": {"tp": 8, "cp": 2}, "dp": 1}))
    console = Console(file=io.StringIO(), width=160)
    print_summary(plan, console)
    text = console.file.getvalue()
    assert "nothing proven (bound 0)" in text
    assert "idle GPUs: node2 GPU 0" in text
    assert "dataset slots a host: 1 on 2 hosts" in text


def test_the_distance_to_the_optimum_is_told_in_parts_of_the_bound() -> None:
    plan = plan_of(problem(3, {"decoder": {"tp": 8, "cp": 2}, "dp": 1}))
    plan.solver["bound"] = plan.solver["cost"] / 4  # then the optimum may be a quarter of the cost
    console = Console(file=io.StringIO(), width=160)
    print_summary(plan, console)
    assert "at most 300.00 % above the optimum" in console.file.getvalue()


def test_ring_crossings_follow_the_cp_order() -> None:
    made = problem({"nodes": 2, "gpus_per_node": 2}, {"decoder": {"cp": 4}, "dp": 1})
    assert ring_crossings(plan_of(made, [0, 1, 2, 3])) == {"node": 2}
    assert ring_crossings(plan_of(made, [0, 2, 1, 3])) == {"node": 4}
