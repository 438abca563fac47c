"""Says which launchers and trainers were used, and makes hosts out of namespaces."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.interop.tools import BIN, TOOLS, need

HARNESS = Path(__file__).parent / "harness"

collect_ignore = ["harness"]  # scripts that tests start in processes of their own

TOLD = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "PLANNER_HOST", "MASTER_ADDR", "MASTER_PORT")


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section("launchers and trainers")
    for name, tool in TOOLS.items():
        terminalreporter.write_line(f"{name} {tool.version() or 'NOT INSTALLED'}: {tool.how}")


@pytest.fixture
def environ():
    """Variables for a launcher: this environment without what another launcher put there."""
    need("planner")
    kept = {k: v for k, v in os.environ.items() if k not in TOLD and not k.startswith("SLURM")}
    return kept | {"PATH": f"{BIN}:{os.environ['PATH']}:/usr/sbin", "OMP_NUM_THREADS": "1"}


@pytest.fixture
def exported(environ, tmp_path):
    """`planner export` of a plan into a folder, by the command itself."""

    def export(plan, to):
        plan.save(tmp_path / "plan.json")
        folder = tmp_path / to
        command = ["planner", "export", tmp_path / "plan.json", "--to", to, "-o", folder]
        subprocess.run(command, env=environ, check=True, timeout=60)
        return folder

    return export


@pytest.fixture
def remote_shell(tmp_path):
    """A program used like ssh; its hosts are UTS namespaces of this machine."""
    need("unshare")
    path = tmp_path / "remote-shell"
    shutil.copy(HARNESS / "remote-shell", path)
    path.chmod(0o755)
    return path
