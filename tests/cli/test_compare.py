"""`planner compare` as a user runs it: what does my current order cost?"""

import json

import pytest

from tests.cli.test_commands import run

BASE = {
    "cluster": {"nodes": [{"name": "a", "gpus": 8, "offline": [3]}, "b", "c"]},
    "job": {"decoder": {"tp": 4, "pp": 2}, "dp": 2},
    "objective": {"traffic": {"model": "llama3-8b", "sequence": 4096, "global_batch": 64}},
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(BASE))
    (tmp_path / "hosts").write_text("a slots=7\nb slots=8\nc slots=8\n")
    return tmp_path


def test_text_json_and_picture_with_a_hostfile(folder):
    options = ["--layout", "hosts", "--time-limit", "10", "--workers", "1"]
    done = run("compare", "c.json", *options, "--plot", "c.svg", cwd=folder)
    assert done.returncode == 0, done.stderr
    header = done.stdout.splitlines()[0]
    assert header.split("planner")[1].strip().startswith("best node-contiguous")
    assert header.endswith("hosts")
    assert "prefers-color-scheme" in (folder / "c.svg").read_text()
    done = run("compare", "c.json", *options, "--json", cwd=folder)
    ours, *_, today = json.loads(done.stdout)["layouts"]
    assert (ours["name"], today["name"]) == ("planner", "hosts")
    assert ours["links"]["node"]["tp"] == 0 < today["links"]["node"]["tp"]
    assert ours["traffic"]["node"]["total_gb"] < today["traffic"]["node"]["total_gb"] / 5


def test_a_plan_already_made_is_taken_and_must_fit(folder):
    assert run("solve", "c.json", "-o", "plan.json", "--workers", "1", cwd=folder).returncode == 0
    done = run(
        "compare", "c.json", "--plan", "plan.json", "--layout", "plan.json", "--json", cwd=folder
    )
    layouts = {layout["name"]: layout for layout in json.loads(done.stdout)["layouts"]}
    assert layouts["planner"]["cost"] == layouts["plan.json"]["cost"]
    (folder / "other.json").write_text(json.dumps(BASE | {"job": {"decoder": {"tp": 2}}}))
    done = run("compare", "other.json", "--plan", "plan.json", cwd=folder)
    assert done.returncode == 2
    assert "plan.json: a plan for another problem than other.json" in done.stderr


def test_a_layout_that_does_not_fit_is_refused_with_its_line(folder):
    (folder / "hosts").write_text("a slots=8\n")
    done = run("compare", "c.json", "--layout", "hosts", cwd=folder)
    assert done.returncode == 2
    assert "hosts: " in done.stderr
    assert "too few ranks; got 8 ranks; expected 16 of the problem's job" in done.stderr
