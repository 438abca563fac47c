"""Ctrl-C stays with the caller, during every solver call and after it."""

import re
import signal
import threading
from pathlib import Path

import pytest
from ortools.sat.python import cp_model

import planner
from planner_models import interruption
from tests.problems import MISFIT, problem

SOURCES = Path(interruption.__file__).parent


def endless() -> cp_model.CpModel:
    """Pigeons without a hole for one: proving that takes longer than any test."""
    model = cp_model.CpModel()
    inside = [[model.new_bool_var("") for _ in range(40)] for _ in range(41)]
    for pigeon in inside:
        model.add_bool_or(pigeon)
    for hole in zip(*inside, strict=True):
        for i, a in enumerate(hole):
            for b in hole[:i]:
                model.add_bool_or(~a, ~b)
    return model


def single() -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.cp_model_presolve = False
    solver.parameters.symmetry_level = 0
    solver.parameters.max_time_in_seconds = 60
    return solver


@pytest.fixture(autouse=True)
def _python_hears_interrupts():
    """Whatever the shell or an earlier test left behind."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("given", [True, False])
def test_the_stop_event_ends_a_run(given: bool) -> None:
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    with interruption.listening(threading.Event() if given else stop):
        status = interruption.solve(single(), endless(), stop=stop if given else None)
    assert status == cp_model.UNKNOWN


def test_the_event_is_forgotten_outside() -> None:
    stop = threading.Event()
    stop.set()
    with interruption.listening(stop):
        pass
    assert interruption.solve(single(), cp_model.CpModel()) == cp_model.OPTIMAL


def test_an_interrupt_is_heard_during_a_run() -> None:
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        interruption.solve(single(), endless())


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's list of handlers")
def test_interrupts_still_reach_python_after_a_solve() -> None:
    made = problem({"nodes": 7}, MISFIT["job"])
    plan = planner.solve(made, time_limit=10, workers=1)
    assert {level["proof"] for level in plan.solver["levels"]} == {"shapes"}
    status = dict(line.split(":\t") for line in Path("/proc/self/status").read_text().splitlines())
    assert int(status["SigCgt"], 16) >> (signal.SIGINT - 1) & 1


def test_no_model_calls_cp_sat_by_itself() -> None:
    direct = re.compile(r"solver\.solve\b(?!\(\))")
    callers = {path.name for path in SOURCES.rglob("*.py") if direct.search(path.read_text())}
    assert callers == {"interruption.py"}
