"""`planner sweep` as a user runs it."""

import json

import pandas as pd
import pytest

from tests.cli.test_commands import run

BASE = {
    "cluster": {"nodes": 4, "gpus_per_node": 4},
    "objective": {"traffic": {"model": "llama3-8b", "sequence": 4096, "global_batch": 64}},
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(BASE))
    return tmp_path


def test_table_file_picture_and_plans_of_one_sweep(folder):
    options = ["--decoder", "tp=1,2,4", "--decoder", "pp=1,2", "--encoder", "tp=1"]
    done = run("sweep", "c.json", *options, cwd=folder)
    assert done.returncode == 2
    assert "the job has an encoder, the model has none" in done.stderr
    done = run(
        "sweep", "c.json", *options[:4], "-o", "r.csv", "--plot", "r.svg", "--plans", "plans", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("tp   pp   dp")
    assert "GB out of nodes" in done.stdout
    assert "regular layouts: asked 6, computed 6" in done.stderr
    frame = pd.read_csv(folder / "r.csv")
    assert len(frame) == 6
    assert frame.node_gb.is_monotonic_increasing
    assert "prefers-color-scheme" in (folder / "r.svg").read_text()
    assert len(list((folder / "plans").iterdir())) == 6
    again = run("sweep", "c.json", *options[:4], "-o", "r.csv", "--json", cwd=folder)
    assert again.stderr == ""  # nothing was worked out
    assert [row["node_gb"] for row in json.loads(again.stdout)] == frame.node_gb.tolist()


def test_refused_points_are_counted_by_reason_and_processes_are_used(folder):
    done = run(
        "sweep", "c.json", "--decoder", "tp=4,3", "--dp", "1,2", "--workers", "1", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert "2 refused: $.job.decoder: tp must divide the heads; got tp 3, heads 32" in done.stdout


def test_the_files_dp_is_left_out_aloud(folder):
    (folder / "c.json").write_text(json.dumps({**BASE, "job": {"dp": 2}}))
    done = run("sweep", "c.json", "--decoder", "tp=4,8", "--json", cwd=folder)
    assert [(row["tp"], row["dp"]) for row in json.loads(done.stdout)] == [(4, 4), (8, 2)]
    assert "every point takes as many data copies as it can hold; --dp 2 keeps" in done.stderr
    done = run("sweep", "c.json", "--decoder", "tp=4,8", "--dp", "2", "--json", cwd=folder)
    assert [row["dp"] for row in json.loads(done.stdout)] == [2, 2]
    assert "note" not in done.stderr


def test_infeasible_everywhere_ends_with_3(folder):
    data = {
        "cluster": {"nodes": 2, "gpus_per_node": 2},
        "constraints": {"within": {"tp": "node"}},
    }
    done = run("sweep", "-", "--decoder", "tp=4", stdin=json.dumps(data))
    assert done.returncode == 3
    assert "1 refused: no plan exists" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--decoder", "tp"], "'tp'; expected SIZE=N,N"),
        (["--decoder", "tp=4,x"], "'4,x'; expected whole numbers with commas"),
        (["--decoder", "tp=4", "--decoder", "tp=2"], "tp stands twice"),
        (["--decoder", "tq=4"], "no such size 'tq'"),
        (["--decoder", "tp=4", "-o", "r.xls"], "r.xls: unknown kind of table"),
        (["--decoder", "tp=4", "--plot", "r.pdf"], "r.pdf: unknown kind of picture"),
        (["--decoder", "tp=4", "-o", "no/r.csv"], "no such folder no"),
        (["--workers", "2", "--dask", "tcp://x"], "--dask and --workers exclude one another"),
        (["--decoder", "tp=400"], "the job is larger than the machines"),
    ],
)
def test_bad_usage_ends_with_2_and_writes_nothing(folder, options, message):
    done = run("sweep", "c.json", *options, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert [p.name for p in folder.iterdir()] == ["c.json"]


def test_a_file_that_is_no_problem_is_named(folder):
    (folder / "list.json").write_text("[1]")
    done = run("sweep", "list.json", cwd=folder)
    assert done.returncode == 2
    assert "list.json: not a problem; got list; expected a JSON object" in done.stderr
