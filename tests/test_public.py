"""The public names: present, callable in any order, and never shadowed by a module."""

import json
import subprocess
import sys
from itertools import permutations
from types import ModuleType

import pytest

import planner
from tests.problems import REGULAR, problem

CALLS = {
    "load": lambda p, path: planner.load(path / "c.json"),
    "solve": lambda p, path: planner.solve(p),
    "verify": lambda p, path: planner.verify(planner.solve(p)),
    "read_plan": lambda p, path: planner.read_plan(path / "plan.json"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("public")
    (path / "c.json").write_text(json.dumps(REGULAR))
    planner.solve(planner.load(path / "c.json")).save(path / "plan.json")
    return path


@pytest.mark.parametrize("order", list(permutations(CALLS)), ids="-".join)
def test_functions_work_twice_and_in_every_order(order: tuple[str, ...], folder) -> None:
    small = problem(2, {"decoder": {"tp": 4}})
    for name in (*order, *order):
        assert CALLS[name](small, folder) is not None


def test_every_public_name_is_there_and_no_module() -> None:
    for name in planner.__all__:
        assert not isinstance(getattr(planner, name), ModuleType), name
    with pytest.raises(AttributeError, match="no attribute 'slove'"):
        planner.slove  # noqa: B018


def test_importing_every_module_shadows_no_public_name() -> None:
    code = (
        "import pkgutil, planner, types\n"
        "from importlib import import_module\n"
        "skip = ('planner.__main__', 'planner.runtime')\n"
        "for m in pkgutil.walk_packages(planner.__path__, 'planner.'):\n"
        "    if not m.name.startswith(skip): import_module(m.name)\n"
        "bad = [n for n in planner.__all__ if isinstance(getattr(planner, n), types.ModuleType)]\n"
        "print(bad)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert done.stdout.strip() == "[]", done.stderr


def test_importing_the_package_is_light() -> None:
    code = "import sys, planner; print([m for m in ('numpy', 'pydantic', 'ortools') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert done.stdout.strip() == "[]", done.stderr


def test_problems_come_from_plain_data_too() -> None:
    plan = planner.solve(planner.Problem.model_validate(REGULAR))
    assert plan.groups["tp"][0] == [0, 1, 2, 3]
    assert plan.mesh("decoder").shape == (4, 4, 2, 4)
    assert planner.verify(plan) == []
