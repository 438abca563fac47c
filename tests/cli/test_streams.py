"""Where output goes when it cannot: full disks, closed streams, readers gone, links, early Ctrl-C."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import ENV, run

PLANNER = f"{sys.executable} -m planner"


def shell(command: str, cwd: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=ENV, cwd=cwd, check=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("streams")
    done = shell(
        f"{PLANNER} example encoder-decoder -o c.json && {PLANNER} solve c.json -o p.json", made
    )
    assert done.returncode == 0, done.stderr
    return made


COMMANDS = ["example", "--help", "schema", "solve c.json -o q.json", "show p.json"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_behind_stdout_is_one_line(command: str, folder: Path) -> None:
    done = shell(f"{PLANNER} {command} > /dev/full", folder)
    assert done.stderr == "error: <stdout>: cannot be written; got No space left on device\n"
    assert done.returncode == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_stdout_is_one_line_before_any_work(command: str, folder: Path) -> None:
    done = shell(f"{PLANNER} {command} >&-", folder)
    assert done.stderr == (
        "error: <stdout>: is closed; expected an open one; send it to a file or to /dev/null\n"
    )
    assert done.returncode == 2


@pytest.mark.parametrize("where", ["2> /dev/full", "2>&-"])
def test_a_full_or_closed_stderr_leaves_the_exit_code(where: str, folder: Path) -> None:
    assert shell(f"{PLANNER} solve nothing.json {where}", folder).returncode == 2


@pytest.mark.parametrize("command", ["show p.json", "export p.json --to slurm", "schema"])
def test_a_reader_that_goes_away_is_no_error(command: str, folder: Path) -> None:
    done = shell(f"{PLANNER} {command} | head -c 1; echo ${{PIPESTATUS[0]}}", folder)
    assert done.stdout[1:] == "0\n"
    assert done.stderr == ""


def test_a_full_disk_behind_a_file_is_one_line(folder: Path) -> None:
    done = shell(f"{PLANNER} solve c.json -o /dev/full", folder)
    assert done.stderr == "error: /dev/full: cannot be written; got No space left on device\n"
    assert (done.returncode, done.stdout) == (2, "")


def test_output_through_a_link_changes_its_target_and_keeps_the_link(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    link, target = folder / "link.json", folder / "elsewhere" / "real.json"
    link.symlink_to("elsewhere/real.json")
    for content in (None, "old"):  # a link to nothing yet, and to a file
        if content is not None:
            target.write_text(content)
            target.chmod(0o640)
        assert run("example", "nvl72", "-o", "link.json", cwd=folder).returncode == 0
        assert link.is_symlink()
        assert target.read_text().startswith("{")
    assert target.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in (folder / "elsewhere").iterdir()] == ["real.json"]


def test_links_that_lead_nowhere_are_refused_before_work(folder: Path) -> None:
    (folder / "a.json").symlink_to("b.json")
    (folder / "b.json").symlink_to("a.json")
    (folder / "gone.json").symlink_to("no/where.json")
    for name, words in (("a.json", "got Too many levels"), ("gone.json", "got no such folder")):
        done = run("solve", "c.json", "-o", name, cwd=folder)
        assert f"error: {name}: cannot be written; {words}" in done.stderr
        assert done.returncode == 2


def test_ctrl_c_while_the_command_line_loads_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text(
        "import time\nprint('loading', flush=True)\ntime.sleep(60)\n"
    )
    env = {**ENV, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ENV['PYTHONPATH']}"}
    process = subprocess.Popen(
        [sys.executable, "-m", "planner", "--help"],
        env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "loading\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "")


def test_ctrl_c_while_a_file_is_read_says_so(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    process = subprocess.Popen(
        [sys.executable, "-m", "planner", "verify", "pipe"],
        env=ENV, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )  # fmt: skip
    with (folder / "pipe").open("w"):  # opens once the command reads
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err.strip()) == (130, "interrupted")
