"""Running the tasks of a sweep: in this process, in processes of our own, or by any executor."""

import multiprocessing
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
    wait,
)
from contextlib import contextmanager

from planner.sweeping.solving import Answers, Task, solve_task

Done = tuple[Task, Answers | BaseException]


def run_here(tasks: Sequence[Task]) -> Iterator[Done]:
    """One task after the other, in this process."""
    for task in tasks:
        yield task, solve_task(task)


def run_by(executor: Executor, tasks: Sequence[Task]) -> Iterator[Done]:
    """By an executor of the caller (loky, Dask, MPI, …), in the order tasks finish."""
    futures = {executor.submit(solve_task, task): task for task in tasks}
    try:
        for future in as_completed(futures):
            yield futures[future], _outcome(future)
    finally:
        for future in futures:
            future.cancel()


def run_in_processes(workers: int, tasks: Sequence[Task]) -> Iterator[Done]:
    """In worker processes of our own.

    A worker that dies (out of memory, say) breaks the whole pool and leaves open whose fault it
    was: the tasks then under way run once more, each in a process of its own.
    """
    waiting = list(reversed(tasks))
    while waiting:
        suspects: list[Task] = []
        with _pool(workers) as pool:
            running: dict[Future[Answers], Task] = {}
            while (waiting and not suspects) or running:
                while waiting and not suspects and len(running) < 2 * workers:
                    task = waiting.pop()
                    running[pool.submit(solve_task, task)] = task
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    task, outcome = running.pop(future), _outcome(future)
                    if isinstance(outcome, BrokenExecutor):
                        suspects.append(task)
                    else:
                        yield task, outcome
        for task in suspects:
            with _pool(1) as pool:
                yield task, _outcome(pool.submit(solve_task, task))


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Worker processes; when the caller stops early, tasks that have not started never do."""
    # Not forked: the caller may have threads, and OR-tools has.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_follow_parent)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _follow_parent() -> None:
    """End this worker when its parent ends, however that comes (a killed parent cannot tell it)."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _outcome(future: Future[Answers]) -> Answers | BaseException:
    try:
        return future.exception() or future.result()
    except CancelledError as error:
        return error
