"""Sweeps: the table, its front, what is shared between points, interruption and failure."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from planner import read_plan, solve
from planner.errors import InputError
from planner.spec.problem import Problem
from planner.sweeping import solving as solving_module
from planner.sweeping import sweep
from planner.sweeping.solving import solve_task
from planner.sweeping.tables import table

ROOT = Path(__file__).parents[2]
ENV = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'models'}"}
BASE = {
    "cluster": {
        "nodes": 8,
        "bandwidth": {"per_gpu": 50},
        "levels": [{"name": "leaf", "nodes_per_domain": 4, "bandwidth": {"per_node": 100}}],
    },
    "objective": {"traffic": {"model": "llama3-8b", "sequence": 4096, "global_batch": 64}},
}
AXES = {"tp": [1, 2, 4, 8], "cp": [1, 2], "pp": [2, 3, 4]}
SMALL = {"cluster": {"nodes": 2, "gpus_per_node": 4}}


@pytest.fixture
def fresh_memory(monkeypatch):
    """A process that has solved nothing yet."""
    memory = solving_module.Memory()
    monkeypatch.setattr(solving_module, "_MEMORY", memory)
    return memory


@pytest.fixture(scope="module")
def frame():
    return sweep(BASE, decoder=AXES)


def test_a_row_is_what_solving_the_point_gives(frame):
    row = frame[(frame.tp == 4) & (frame.cp == 2) & (frame.pp == 4)].iloc[0]
    job = {"decoder": {"tp": 4, "cp": 2, "pp": 4}}
    plan = solve(Problem.model_validate(BASE | {"job": job}), workers=1, deterministic=True)
    assert (row.cost, row.bound, row.status) == tuple(
        plan.solver[key] for key in ("cost", "bound", "status")
    )
    assert row.dp == plan.grid.dp == 2
    assert (row.gpus, row.idle) == (64, 0)
    assert row.megatron_cost == plan.baseline["cost"]
    node = plan.traffic["node"]
    assert (row.node_gb, row.node_gb_busiest) == (node["total_gb"], node["busiest"]["gb"])
    assert row.node_gb_megatron == plan.baseline["traffic"]["node"]["total_gb"]
    assert row.node_gb_dp == node["gb"]["dp"]
    assert row.leaf_gb == plan.traffic["leaf"]["total_gb"]
    assert row.seconds == max(node["seconds"], plan.traffic["leaf"]["seconds"])


def test_solved_points_come_first_best_first_refused_ones_say_why(frame):
    assert len(frame) == 24
    solved = frame.status.isin(["optimal", "feasible"])
    assert solved.sum() == 19
    assert solved[: solved.sum()].all()
    assert frame.seconds[solved].is_monotonic_increasing
    assert frame.reason[solved].isna().all()
    assert frame.reason[~solved].str.contains("sequence must be cut evenly|fill the machines").all()


def test_points_fill_the_machines_with_whole_batches(frame):
    solved = frame[frame.status.isin(["optimal", "feasible"])]
    assert (solved.tp * solved.cp * solved.pp * solved.dp == solved.gpus).all()
    assert (solved.idle < solved.tp * solved.cp * solved.pp).all()
    assert (64 % solved.dp == 0).all()


def test_the_front_is_what_nothing_beats(frame):
    solved = frame[frame.status.isin(["optimal", "feasible"])]
    costs = solved[["seconds", "bubble", "state_gb"]].to_numpy(float)
    for mine, on_front in zip(costs, solved.pareto, strict=True):
        beaten = any((o <= mine).all() and (o < mine).any() for o in costs)
        assert on_front == (not beaten)
    assert not frame[frame.status == "infeasible"].pareto.any()
    assert 0 < frame.pareto.sum() < len(solved)


@pytest.mark.parametrize(
    ("sort", "metric"), [("bytes", "node_gb"), ("cost", "cost"), ("time", "seconds")]
)
def test_sorted_as_asked(sort, metric):
    found = sweep(BASE, decoder={"tp": [8, 1, 4]}, sort=sort)
    assert found[metric].dropna().is_monotonic_increasing


def test_sorting_by_what_is_not_known_is_refused():
    with pytest.raises(InputError, match=r"cannot sort by time; .*traffic and a bandwidth"):
        sweep(SMALL, decoder={"tp": [2]}, sort="time")


def test_without_traffic_cost_and_idle_gpus_are_compared():
    found = sweep(SMALL, decoder={"tp": [1, 2, 4], "cp": [1, 3]})
    assert found.cost.dropna().is_monotonic_increasing
    assert "node_gb" not in found
    best = found.iloc[0]
    assert best.pareto
    assert set(found[found.pareto].idle) <= {0, 2}


def test_what_points_share_is_worked_out_once(fresh_memory):
    """Orders number the same slots: twice the points, no more bounds or candidate scores."""
    orders = ["tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", "dp-tp-cp-ep-pp"]
    axes = {"tp": [2, 4], "pp": [1, 2]}
    found = sweep(BASE, decoder=axes, order=orders)
    counts = found.attrs["worked_out"]
    assert counts["candidates"] == (3 * 4, 4)
    assert counts["staircases"] == (3 * 4 * 2, 4 * 2)  # a bound for each level
    by_size = found.groupby(["tp", "pp"])
    assert (by_size.order.nunique() == 3).all()
    assert (by_size.cost.nunique() == 1).all()
    assert (by_size.bound.nunique() == 1).all()


def test_what_was_worked_out_serves_later_sweeps_of_the_process(fresh_memory):
    sweep(BASE, decoder={"tp": [4]})
    again = sweep(BASE, decoder={"tp": [4]}, seed=1)
    assert again.attrs["worked_out"]["staircases"] == (2, 0)
    assert again.attrs["worked_out"]["candidates"] == (1, 0)


def test_nothing_is_shared_between_points_that_differ(fresh_memory):
    """One memory for all points changes no row: each alone, in a new process's memory, is the same."""
    together = sweep(BASE, decoder=AXES)
    for row in together[together.status != "infeasible"].itertuples():
        solving_module._MEMORY = solving_module.Memory()
        alone = sweep(BASE, decoder={"tp": row.tp, "cp": row.cp, "pp": row.pp})
        assert alone.iloc[0].cost == row.cost
        assert alone.iloc[0].bound == row.bound


def test_one_failed_point_does_not_end_the_sweep(monkeypatch, tmp_path):
    right = solving_module.solve

    def breaks_at_two(problem, **options):
        if problem.job.decoder.tp == 2:
            raise RuntimeError("out of luck")
        return right(problem, **options)

    monkeypatch.setattr(solving_module, "solve", breaks_at_two)
    output = tmp_path / "r.csv"
    found = sweep(SMALL, decoder={"tp": [1, 2, 4]}, output=output)
    assert found.status.tolist() == ["optimal", "optimal", "failed"]
    assert found.reason[2] == "RuntimeError: out of luck"
    monkeypatch.setattr(solving_module, "solve", right)
    mended = sweep(SMALL, decoder={"tp": [1, 2, 4]}, output=output)
    assert mended.status.tolist() == ["optimal"] * 3
    assert sum(asked for asked, _ in mended.attrs["worked_out"].values()) == 2  # tp 2 alone


def dies_at_two(task):
    if any(problem.job.decoder.tp == 2 for problem in task.problems.values()):
        os._exit(9)
    return solve_task(task)


def test_a_worker_that_dies_takes_only_its_own_point_along(monkeypatch):
    monkeypatch.setattr("planner.sweeping.running.solve_task", dies_at_two)
    found = sweep(SMALL, decoder={"tp": [1, 2, 4]}, workers=1)
    assert found.groupby("tp").status.agg(set).to_dict() == {
        1: {"optimal"},
        2: {"failed"},
        4: {"optimal"},
    }
    assert found[found.tp == 2].reason.str.startswith("BrokenProcessPool").all()


def test_processes_of_our_own_and_any_executor_give_the_same_table(frame):
    ours = sweep(BASE, decoder=AXES, workers=2)
    with ProcessPoolExecutor(1) as executor:
        theirs = sweep(BASE, decoder=AXES, executor=executor)
    assert ours.to_csv() == theirs.to_csv() == frame.to_csv()


def test_progress_counts_the_points_to_solve():
    seen = []
    sweep(
        SMALL, decoder={"tp": [1, 2, 16]}, progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.parametrize("name", ["r.csv", "r.json", "r.parquet"])
def test_results_are_written_in_the_format_of_their_name(tmp_path, name):
    path = tmp_path / name
    found = sweep(BASE, decoder={"tp": [4, 8]}, output=path)
    read = {".csv": pd.read_csv, ".json": pd.read_json, ".parquet": pd.read_parquet}[path.suffix]
    assert read(path).cost.tolist() == found.cost.tolist()
    assert sorted(p.name for p in tmp_path.iterdir()) == [name, f"{name}.journal"]


@pytest.mark.parametrize("name", ["r.xlsx", "r"])
def test_other_formats_are_refused_before_anything_is_solved(tmp_path, name, monkeypatch):
    monkeypatch.setattr(solving_module, "solve", None)
    with pytest.raises(
        InputError, match=r"expected a name that ends in \.csv, \.json or \.parquet"
    ):
        sweep(SMALL, decoder={"tp": [1]}, output=tmp_path / name)


def test_plans_are_kept_and_missing_ones_made_again(tmp_path):
    options = {"decoder": {"tp": [2, 4]}, "output": tmp_path / "r.csv", "plans": tmp_path / "plans"}
    found = sweep(SMALL, **options)
    names = sorted(p.name for p in (tmp_path / "plans").iterdir())
    assert names == ["tp2-etp2-dp4.json", "tp4-etp4-dp2.json"]
    plan = read_plan(tmp_path / "plans" / names[0])
    assert plan.solver["cost"] == found[found.tp == 2].cost.item()
    (tmp_path / "plans" / names[1]).unlink()
    seen = []
    sweep(SMALL, **options, progress=lambda *counts: seen.append(counts))
    assert seen == [(1, 1)]
    assert (tmp_path / "plans" / names[1]).exists()


def test_wider_axes_solve_only_what_is_new(tmp_path):
    seen = []
    sweep(SMALL, decoder={"tp": [1, 2]}, output=tmp_path / "r.csv")
    options = {"output": tmp_path / "r.csv", "progress": lambda *counts: seen.append(counts)}
    wide = sweep(SMALL, decoder={"tp": [1, 2, 4]}, **options)
    assert seen == [(1, 1)]
    assert len(wide) == 3
    sweep(SMALL, decoder={"tp": [1, 2, 4]}, **options, gap=0.1)  # another effort: nothing is known
    assert seen[1:] == [(1, 3), (2, 3), (3, 3)]


def test_a_record_cut_off_by_a_kill_is_solved_again_the_others_are_not(tmp_path):
    output, journal = tmp_path / "r.csv", tmp_path / "r.csv.journal"
    sweep(SMALL, decoder={"tp": [1, 2, 4]}, output=output)
    table_before, whole = output.read_bytes(), journal.read_bytes()
    output.unlink()
    for cut in (len(whole) - 1, len(whole) - 40, whole.index(b"\n") + 5, 10, 0):
        journal.write_bytes(whole[:cut])
        found = sweep(SMALL, decoder={"tp": [1, 2, 4]}, output=output)
        assert output.read_bytes() == table_before
        assert found.attrs["worked_out"].get("candidates", (0, 0))[0] == 3 - max(
            0, whole[:cut].count(b"\n") - 1
        )
        keys = [json.loads(line).get("key") for line in journal.read_text().splitlines()]
        assert len(keys) == len(set(keys)) == 4


def test_another_file_in_the_journals_place_is_left_alone(tmp_path):
    (tmp_path / "r.csv.journal").write_text("my notes\n")
    with pytest.raises(
        InputError, match=r"r\.csv\.journal: not the journal of a sweep; move it away"
    ):
        sweep(SMALL, decoder={"tp": [1]}, output=tmp_path / "r.csv")
    assert (tmp_path / "r.csv.journal").read_text() == "my notes\n"


def children(pid):
    """Process ids of a process's children."""
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid):
    state = Path(f"/proc/{pid}/stat")
    try:
        return state.read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_killed_in_the_middle_and_resumed_gives_the_same_table(tmp_path):
    """SIGKILL: what was solved is kept, workers end too, the rest is solved, nothing twice."""
    (tmp_path / "c.json").write_text(json.dumps(BASE))
    command = [sys.executable, "-m", "planner", "sweep", "c.json", "-o", "r.csv", "--workers", "1"]
    for size, values in AXES.items():
        command += ["--decoder", f"{size}={','.join(map(str, values))}"]
    process = subprocess.Popen(command, cwd=tmp_path, env=ENV, stdout=subprocess.DEVNULL)
    journal = tmp_path / "r.csv.journal"
    while process.poll() is None and (
        not journal.exists() or journal.read_bytes().count(b"\n") < 6
    ):
        time.sleep(0.01)
    workers = children(process.pid)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert len(workers) >= 1
    deadline = time.monotonic() + 30
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, workers))
    kept = journal.read_bytes().count(b"\n") - 1  # the first line says what the file is
    assert not (tmp_path / "r.csv").exists()
    seen = []
    frame = sweep(BASE, decoder=AXES, output=tmp_path / "r.csv", progress=lambda *c: seen.append(c))
    solved = int((frame.status != "infeasible").sum())
    assert 5 <= kept < solved
    assert seen == [(i + 1, solved - kept) for i in range(solved - kept)]
    assert (tmp_path / "r.csv").read_text() == sweep(BASE, decoder=AXES).to_csv(index=False)
    keys = [json.loads(line).get("key") for line in journal.read_text().splitlines()]
    assert len(keys) == len(set(keys)) == solved + 1


def test_front_of_equal_rows_and_of_rows_that_lack_a_number():
    rows = [
        {"tp": t, "status": "optimal", "cost": c, "idle": i}
        for t, (c, i) in enumerate([(1, 2), (1, 2), (2, 1), (2, 2), (3, 0)])
    ]
    rows.append({"tp": 9, "status": "infeasible", "reason": "no"})
    found = table(rows)
    assert found.pareto.tolist() == [True, True, True, False, True, False]
    assert found.tp.tolist() == [0, 1, 2, 3, 4, 9]


def test_front_against_all_pairs():
    rng = np.random.default_rng(0)
    rows = [
        {"cost": int(a), "idle": int(b), "status": "optimal"}
        for a, b in rng.integers(0, 9, (80, 2))
    ]
    found = table(rows)
    for (a, b), on_front in zip(found[["cost", "idle"]].to_numpy(), found.pareto, strict=True):
        beaten = any(
            x <= a and y <= b and (x, y) != (a, b)
            for x, y in product(range(9), repeat=2)
            if ((found.cost == x) & (found.idle == y)).any()
        )
        assert on_front == (not beaten)
