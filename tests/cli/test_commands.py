"""The commands as a user runs them: files, streams, exit codes, what is printed and what is not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from planner.examples import EXAMPLES, example_text
from planner.spec.problem import Problem
from tests.problems import REGULAR

ROOT = Path(__file__).parents[2]
ENV = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'models'}", "COLUMNS": "120"}


def run(
    *args: str, stdin: str | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "planner", *args]
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, env=ENV, cwd=cwd, check=False
    )


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("plans")
    (folder / "cluster.json").write_text(json.dumps(REGULAR))
    done = run("solve", "cluster.json", "-o", "plan.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "plan.json"


def test_the_plan_goes_to_the_file_and_the_summary_to_stdout(plan_file: Path) -> None:
    done = run("solve", "cluster.json", "-o", "again.json", cwd=plan_file.parent)
    assert "cost 1,024, proven optimal" in done.stdout
    assert "Megatron's order" in done.stdout
    assert done.stderr == ""
    assert json.loads((plan_file.parent / "again.json").read_text())["solver"]["cost"] == 1024


def test_without_a_file_the_plan_is_stdout_and_the_summary_stderr(plan_file: Path) -> None:
    done = run("solve", "cluster.json", cwd=plan_file.parent)
    assert json.loads(done.stdout)["format"] == "planner.plan"
    assert "proven optimal" in done.stderr


def test_stdin_and_json_summary(plan_file: Path) -> None:
    done = run(
        "solve", "-", "-o", str(plan_file.parent / "x.json"), "--json", stdin=json.dumps(REGULAR)
    )
    summary = json.loads(done.stdout)
    assert (summary["status"], summary["cost"], summary["baseline_cost"]) == ("optimal", 1024, 1024)
    assert summary["links"]["node"]["dp"] == 64


def test_output_to_stdout_by_dash(plan_file: Path) -> None:
    done = run("solve", "cluster.json", "-o", "-", cwd=plan_file.parent)
    assert json.loads(done.stdout)["solver"]["status"] == "optimal"


def test_verify_accepts_and_names_lies(plan_file: Path) -> None:
    done = run("verify", str(plan_file), "--problem", str(plan_file.parent / "cluster.json"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "every statement holds" in done.stdout
    document = json.loads(plan_file.read_text())
    document["links"]["node"]["dp"] += 1
    done = run("verify", "-", stdin=json.dumps(document))
    assert done.returncode == 1
    assert "links: node dp states 65, recomputed 64" in done.stdout


def test_verify_against_another_problem(plan_file: Path) -> None:
    other = plan_file.parent / "other.json"
    other.write_text(json.dumps({**REGULAR, "cluster": {"nodes": 17}}))
    done = run("verify", str(plan_file), "--problem", str(other))
    assert done.returncode == 1
    assert "is not the problem given" in done.stdout


def test_show_draws_folded_nodes(plan_file: Path) -> None:
    done = run("show", str(plan_file))
    assert done.returncode == 0
    assert "node0" in done.stdout
    assert "more alike" in done.stdout
    assert "p0d0c0t0" in done.stdout
    every = run("show", str(plan_file), "--all-nodes")
    assert all(f"node{i} " in every.stdout for i in range(16))
    assert json.loads(run("show", str(plan_file), "--json").stdout)["cost"] == 1024


def test_a_lying_plan_is_not_shown(plan_file: Path) -> None:
    document = json.loads(plan_file.read_text())
    document["solver"]["cost"] = 1
    done = run("show", "-", stdin=json.dumps(document))
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: <stdin>: $.solver.cost: cost: states 1, recomputed 1024" in done.stderr


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_valid_problems_and_differ(name: str) -> None:
    done = run("example", name)
    assert done.stdout == example_text(name)
    Problem.model_validate(json.loads(done.stdout))


def test_examples_are_listed_and_misspellings_helped() -> None:
    assert all(name in run("example").stdout for name in EXAMPLES)
    done = run("example", "nvl-72")
    assert done.returncode == 2
    assert "did you mean 'nvl72'?" in done.stderr


def test_schema_is_json() -> None:
    assert json.loads(run("schema").stdout)["$schema"].endswith("2020-12/schema")


BAD_CALLS = {
    "unknown command": (["slove"], "No such command 'slove'"),
    "unknown option": (["solve", "--tim", "x"], "No such option"),
    "gap": (["solve", "c.json", "--gap", "nan"], "Invalid value for --gap: expected a number"),
    "missing file": (["solve", "nothing.json"], "nothing.json: cannot be read; got No such file"),
    "folder as output": (["solve", "c.json", "-o", "."], "is a directory"),
    "no such folder": (["solve", "c.json", "-o", "no/where.json"], "no such folder no"),
    "endless": (["solve", "c.json", "--time-limit", "inf"], "finite"),
    "negative time": (["solve", "c.json", "--time-limit", "-1"], "-1"),
    "gap above one": (["solve", "c.json", "--gap", "2"], "2"),
    "two stdins": (["verify", "-", "--problem", "-"], "only one of the two"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_usage_ends_with_2_and_writes_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps(REGULAR))
    args, text = BAD_CALLS[name]
    done = run(*args, cwd=tmp_path)
    assert done.returncode == 2
    assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert [p.name for p in tmp_path.iterdir()] == ["c.json"]


def test_bad_input_names_file_and_path(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"cluster": {"nodes": 2}, "job": {"dp": 0}}')
    done = run("solve", "c.json", "-o", "plan.json", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: c.json: $.job.dp")
    assert not (tmp_path / "plan.json").exists()


def test_infeasible_ends_with_3_and_names_the_lines(tmp_path: Path) -> None:
    data = {
        "cluster": {"nodes": 2},
        "job": {"decoder": {"tp": 16}},
        "constraints": {"within": {"tp": "node"}},
    }
    done = run("solve", "-", "-o", str(tmp_path / "p.json"), stdin=json.dumps(data))
    assert done.returncode == 3
    assert "conflicting: $.constraints.within.tp, $.job.decoder.tp" in done.stderr
    assert not (tmp_path / "p.json").exists()


LIGHT = ["--help", "--version", "solve --help", "show {plan}", "verify {plan}", "example", "schema"]


@pytest.mark.parametrize("command", LIGHT)
def test_light_commands_do_not_import_ortools(command: str, plan_file: Path) -> None:
    code = (
        "import sys; from planner.cli import group\n"
        f"group.main({command.format(plan=plan_file).split()!r}, standalone_mode=False)\n"
        "heavy = [m for m in ('ortools', 'pandas', 'numba') if m in sys.modules]\n"
        "print('HEAVY', heavy)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=ENV, check=False
    )
    assert "HEAVY []" in done.stdout, done.stdout[-200:] + done.stderr


def test_a_reader_that_goes_away_is_no_error(plan_file: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m planner show {plan_file} | head -1",
        shell=True, capture_output=True, text=True, env=ENV, check=False,
    )  # fmt: skip
    assert done.stderr == ""
