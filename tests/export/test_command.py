"""`planner export`: where the files go, and what is refused before any is written."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from planner.cli.exporting import command
from planner.errors import InputError, VerificationError
from planner.export import CONSUMERS
from tests.export.plans import contiguous, interleaved


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.json"
    contiguous().save(path)
    return str(path)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def run(*arguments, **options):
    return CliRunner().invoke(command, list(arguments), **options)


def test_list_needs_no_plan_and_names_every_consumer():
    result = run("--list")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines()] == list(CONSUMERS)


def test_the_main_file_goes_to_stdout(plan):
    assert run(plan, "--to", "slurm").stdout == "n3\nn3\nn4\nn4\nn1\nn1\nn2\nn2\n"
    assert run(plan, "--to", "slurm", "-o", "-").stdout == "n3\nn3\nn4\nn4\nn1\nn1\nn2\nn2\n"


def test_the_plan_may_come_from_stdin(plan):
    result = run("-", "--to", "hydra", input=Path(plan).read_bytes())
    assert result.stdout.startswith("n3:2\n")


def test_several_files_fill_a_folder_and_scripts_can_run(plan, tmp_path):
    assert run(plan, "--to", "slurm", "-o", str(tmp_path / "out")).output == ""
    assert names(tmp_path / "out") == ["hosts", "job.sh", "wrap.sh"]
    assert os.access(tmp_path / "out" / "wrap.sh", os.X_OK)
    assert not os.access(tmp_path / "out" / "hosts", os.X_OK)


@pytest.mark.parametrize("to", CONSUMERS)
def test_every_consumer_states_whether_it_writes_several_files(plan, tmp_path, to):
    assert run(plan, "--to", to, "-o", str(tmp_path / "out")).exit_code == 0
    assert (tmp_path / "out").is_dir() == CONSUMERS[to].several


def test_one_file_takes_the_name_given_or_its_own_in_a_folder(plan, tmp_path):
    run(plan, "--to", "ranks", "-o", str(tmp_path / "lists.json"))
    run(plan, "--to", "ranks", "-o", str(tmp_path))
    assert (tmp_path / "lists.json").read_text() == (tmp_path / "ranks.json").read_text()


def test_a_single_script_can_run_too(plan, tmp_path):
    run(plan, "--to", "torchrun", "-o", str(tmp_path / "start.sh"))
    assert os.access(tmp_path / "start.sh", os.X_OK)


def test_several_files_do_not_fit_a_file(plan, tmp_path):
    (tmp_path / "taken").write_text("mine")
    result = run(plan, "--to", "slurm", "-o", str(tmp_path / "taken"))
    assert result.exit_code == 2
    assert "is a file; expected a folder, there are several files" in result.stderr
    assert (tmp_path / "taken").read_text() == "mine"


def test_an_unknown_consumer_is_refused_with_the_known(plan):
    result = run(plan, "--to", "slrum")
    assert result.exit_code == 2
    assert "'slurm'" in result.stderr


def test_a_refusal_names_the_file_and_writes_nothing(tmp_path):
    path = tmp_path / "plan.json"
    interleaved().save(path)
    result = run(str(path), "--to", "torchrun", "-o", str(tmp_path / "out"))
    assert isinstance(result.exception, InputError)
    assert str(result.exception).startswith(f"{path}: $.ranks: torchrun gives every node one run")
    assert names(tmp_path) == ["plan.json"]


def test_a_plan_that_does_not_verify_is_not_exported(plan, tmp_path):
    lie = tmp_path / "lie.json"
    told = Path(plan).read_text()
    lie.write_text(told.replace('"tp": [[0,1],[2,3]', '"tp": [[0,2],[1,3]'))
    result = run(str(lie), "--to", "ranks")
    assert isinstance(result.exception, VerificationError)
