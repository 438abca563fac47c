"""Nodes and leaves together, as a search uses them."""

import planner
from tests.problems import problem

UNEVEN = {
    "nodes": [{"name": f"n{i}", "gpus": 4 if i in {1, 5} else 8} for i in range(6)],
    "levels": [
        {"name": "leaf", "domains": {"a": "n[0-1]", "b": "n[2-3]", "c": "n[4-5]"}},
    ],
}
JOB = {"decoder": {"tp": 5}, "dp": 8}


def test_the_bound_on_both_levels_is_stated_where_the_levels_alone_do_not_suffice() -> None:
    plan = planner.solve(problem(UNEVEN, JOB), time_limit=3, workers=1)
    whole = plan.solver["levels"][-1]
    assert whole["level"] == "all"
    assert whole["proof"] == "nodes and leaves together"
    alone = sum(level["bound"] for level in plan.solver["levels"][:-1])
    assert alone < whole["bound"] == plan.solver["bound"] <= plan.solver["cost"]
    assert not planner.verify(plan)


def test_costly_levels_above_keep_their_own_bounds() -> None:
    pods = {"name": "pod", "weight": 2, "domains": {"x": "n[0-3]", "y": "n[4-5]"}}
    cluster = UNEVEN | {"levels": [*UNEVEN["levels"], pods]}
    plan = planner.solve(problem(cluster, JOB), time_limit=3, workers=1)
    assert plan.solver["bound"] <= plan.solver["cost"]
    assert plan.solver["levels"][-1]["bound"] > sum(
        level["bound"] for level in plan.solver["levels"][:-1]
    )
