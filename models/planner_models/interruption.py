"""CP-SAT calls during which, and after which, the caller still hears Ctrl-C.

Left to itself, CP-SAT takes over SIGINT while it runs and leaves the default action behind: the
next Ctrl-C then kills the program, whatever handler it had.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

from ortools.sat.python import cp_model

_POLL = 0.05  # seconds between looks at the stop event
_listened: ContextVar[threading.Event | None] = ContextVar("stop", default=None)


@contextmanager
def listening(stop: threading.Event) -> Iterator[None]:
    """Within it, `solve` ends soon after this event is set."""
    token = _listened.set(stop)
    try:
        yield
    finally:
        _listened.reset(token)


def asked() -> bool:
    """Whether the event of `listening` is set."""
    stop = _listened.get()
    return stop is not None and stop.is_set()


def over(deadline: float | None) -> bool:
    """Whether it is time to stop: a deadline of `time.monotonic` has passed, or the user asks."""
    return asked() or (deadline is not None and monotonic() >= deadline)


def solve(
    solver: cp_model.CpSolver,
    model: cp_model.CpModel,
    callback: cp_model.CpSolverSolutionCallback | None = None,
    *,
    stop: threading.Event | None = None,
) -> cp_model.CpSolverStatus:
    """Solve in another thread, so that this one keeps hearing signals and the stop event.

    Args:
        solver: with its parameters; `catch_sigint_signal` is switched off.
        model: the model.
        callback: told of every solution.
        stop: asks for an early end when set; by default the event of `listening`.
    """
    solver.parameters.catch_sigint_signal = False  # the caller decides what Ctrl-C means
    stop = stop or _listened.get()
    told = () if callback is None else (callback,)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(solver.solve, model, *told)
        try:
            while not wait([answer], _POLL).done:
                if stop is not None and stop.is_set():
                    solver.stop_search()
        finally:  # an exception here, Ctrl-C above all, must not leave the solver running
            while not wait([answer], _POLL).done:
                solver.stop_search()
    return answer.result()
