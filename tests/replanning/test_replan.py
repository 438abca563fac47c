"""Replanning as users see it: what the new plan states, refusals, the command line."""

import hashlib
import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import planner
from planner.cli import group
from planner.difference import difference
from planner.errors import PlannerError
from planner.planfile import PlanFile
from planner.report.ranks import rank_facts
from planner.solver.overlap import laid_over
from planner.verification import verify
from tests.problems import problem

CLUSTER = {
    "nodes": 5,
    "gpus_per_node": 4,
    "levels": [{"name": "leaf", "nodes_per_domain": 2}],
}
JOB = {"decoder": {"tp": 4, "pp": 2}, "dp": 2}


@pytest.fixture(scope="module")
def old() -> planner.Plan:
    return planner.solve(problem(CLUSTER, JOB), time_limit=10, workers=1)


def replanned(old: planner.Plan, **how: Any) -> planner.Plan:
    return planner.replan(old, **{"time_limit": 10, "workers": 1, **how})


def test_a_lost_node_moves_to_the_spare_and_nothing_else_moves(old: planner.Plan) -> None:
    new = replanned(old, lost=["node1"])
    assert new.replan is not None
    moved = [move["rank"] for move in new.replan["moves"]]
    assert moved == np.flatnonzero(old.machines.device_node[old.placement] == 1).tolist()
    assert new.replan["moves_bound"] == 4
    assert new.replan["from_sha256"] == hashlib.sha256(old.text().encode()).hexdigest()
    assert new.machines.hosts == old.machines.hosts
    assert planner.verify(new) == []


def test_fewer_moves_or_less_cost_is_the_users_choice(old: planner.Plan) -> None:
    few = replanned(old, lost=["node1:0"], slack=1000)
    cheap = replanned(old, lost=["node1:0"], slack=0)
    assert few.replan is not None
    assert cheap.replan is not None
    assert len(few.replan["moves"]) == 1 < len(cheap.replan["moves"])
    assert few.cost > cheap.cost == cheap.replan["best_cost"]
    capped = replanned(old, lost=["node1:0"], moves=1)
    assert capped.cost == few.cost


def test_new_machines_as_a_whole(old: planner.Plan) -> None:
    nodes = ["node0", "node[2-4]", "fresh"]
    new = replanned(old, cluster=problem({**CLUSTER, "nodes": nodes}, JOB))
    assert new.machines.hosts == ("node0", "node2", "node3", "node4", "fresh")
    assert planner.verify(new) == []
    assert {m["from"]["host"] for m in difference(old, new)["moves"]} >= {"node1"}


def test_machines_that_no_longer_hold_the_job_name_the_dp_that_fits(old: planner.Plan) -> None:
    with pytest.raises(planner.Infeasible, match=r"12 GPUs left for 16 ranks = dp 2.*dp 1 still"):
        replanned(old, lost=["node[0-1]"])
    with pytest.raises(planner.Infeasible, match="not even dp 1 fits"):
        replanned(old, lost=["node[0-3]"])


def test_constraints_that_no_longer_hold_name_the_dp_that_fits() -> None:
    made = problem({"nodes": 5, "gpus_per_node": 4}, JOB, constraints={"within": {"tp": "node"}})
    old = planner.solve(made, time_limit=5, workers=1)
    with pytest.raises(planner.Infeasible, match=r"4 tp groups of 4 .* dp 1 still fits") as refused:
        replanned(old, lost=["node0:0", "node1:0"])
    assert "$.constraints.within.tp" in refused.value.conflict


def test_too_few_moves_are_refused(old: planner.Plan) -> None:
    with pytest.raises(planner.Infeasible, match="4 ranks lost their GPU, more than the 3"):
        replanned(old, lost=["node1"], moves=3)
    with pytest.raises(planner.InputError, match="moves and slack exclude"):
        replanned(old, lost=["node1"], moves=9, slack=0.1)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda r: r["moves"][0]["to"].update(gpu=99), "rank 8 sits at node4 GPU 0"),
        (lambda r: r["moves"][0].update({"from": r["moves"][0]["to"]}), "did not move"),
        (lambda r: r["moves"].reverse(), "must name ranks of the job, ascending"),
        (lambda r: r["moves"][-1].update(rank=16), "must name ranks of the job, ascending"),
        (lambda r: r.update(moves_bound=5), "is not between 0 and the 4 moves"),
        (lambda r: r.update(moves_bound=3), "4 ranks had a GPU that is gone"),
        (lambda r: r.update(best_cost=10**9), "states 1000000000, but this plan costs"),
    ],
)
def test_a_false_record_is_found(old: planner.Plan, change: Any, text: str) -> None:
    data = json.loads(replanned(old, lost=["node1"]).text())
    change(data["replan"])
    found = verify(PlanFile.of(data))
    assert any(v.kind == "replan" and text in v.text for v in found), found


def test_a_plan_laid_over_itself_stays_where_it_is(old: planner.Plan) -> None:
    """Contents of alike nodes exchanged are found and put back."""
    node, placement = old.machines.device_node, old.placement
    turned = placement.copy()
    for a, b in ((0, 1), (2, 3)):
        turned[node[placement] == a] = placement[node[placement] == a] + 4 * (b - a)
        turned[node[placement] == b] = placement[node[placement] == b] - 4 * (b - a)
    assert np.array_equal(laid_over(old.machines, turned, placement), node[placement])


def test_the_commands_agree_on_what_happened(old: planner.Plan, tmp_path: Path) -> None:
    before, after = str(tmp_path / "old.json"), str(tmp_path / "new.json")
    old.save(before)

    def run(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(group, list(words))
        ended = (
            done.exception.exit_code if isinstance(done.exception, PlannerError) else done.exit_code
        )
        assert ended == code, done.output
        return done.output

    text = run("replan", before, "--lost", "node1", "-o", after, "--time-limit", "10")
    assert "4 of 16 ranks moved (the fewest possible), 75.00 % stay" in text
    assert "every statement holds" in run("verify", after)
    for name in ("torch", "megatron", "slurm", "openmpi", "env"):
        assert run("export", after, "--to", name, "-o", str(tmp_path / name)) is not None
    new = planner.read_plan(after)
    for rank, (host, local) in enumerate(zip(new.seats.host, new.seats.local_rank, strict=True)):
        run(
            "check",
            after,
            "--rank",
            str(rank),
            "--host",
            new.hosts[host],
            "--local-rank",
            str(local),
        )
    run("check", after, "--rank", "8", "--host", "node1", code=1)
    text = run("diff", before, after)
    assert "4 ranks moved" in text
    assert "gone offline: node1 GPU 0, node1 GPU 1, node1 GPU 2, node1 GPU 3" in text
    assert "was replanned from" in text
    found = json.loads(run("diff", after, before, "--json"))
    assert found["machines"]["come_online"] == [f"node1 GPU {g}" for g in range(4)]
    assert found["problem"] == []
    text = run("explain", after, "--rank", "0")
    assert "tp: ring with 1, 2, 3: stays inside the node" in text
    run("replan", before, code=2)
    run("replan", before, "--lost", "node1", "--moves", "9", "--slack", "1", code=2)
    run("explain", after, "--rank", "16", code=2)


def test_a_stopped_replan_returns_the_best_so_far(old: planner.Plan) -> None:
    stop = threading.Event()
    stop.set()
    new = planner.replan(old, lost=["node1:0"], stop=stop, workers=1)
    assert planner.verify(new) == []
    assert new.replan is not None


def test_equal_input_and_seed_give_the_same_plan(old: planner.Plan) -> None:
    def text() -> str:
        new = replanned(old, lost=["node1:0"], deterministic=True, time_limit=3, seed=5)
        new.solver["seconds"] = None
        return new.text()

    assert text() == text()


def test_a_ranks_links_add_up_to_the_plans(old: planner.Plan) -> None:
    """Every crossing pair is told by both its ends, every crossing ring by all its members."""
    told = {"tp": 0.0, "pp": 0.0, "dp": 0.0}
    for rank in range(old.grid.world):
        for link in rank_facts(old, rank)["links"]:
            touched = link["crosses"].get("node", 0)
            pair = link["shape"] == "pair"
            told[link["kind"]] += (touched > 1) / 2 if pair else touched / (len(link["with"]) + 1)
    assert {kind: round(n) for kind, n in told.items()} == {
        kind: old.links["node"][kind] for kind in told
    }


def test_differences_of_jobs_are_told_as_such(old: planner.Plan) -> None:
    other = planner.solve(problem(CLUSTER, {**JOB, "dp": 1}), time_limit=5, workers=1)
    found = difference(old, other)
    assert found["moves"] is None
    assert {"path": "$.job.dp", "old": 2, "new": 1} in found["problem"]
