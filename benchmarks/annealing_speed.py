"""Speed of the annealer, interpreted and compiled: `python -m benchmarks.annealing_speed`.

Encoder of tp 2 beside a decoder of tp 6, 56 ranks on 7 nodes of 8. Both kernels make the same chain
from the same start, so their speeds compare; compiling is timed once more with its cache emptied.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from time import monotonic

import numpy as np

from planner_models.annealing import Level, Schedule, Task, anneal, structure
from planner_models.job import Job, ModuleShape, Weights

_JOB = Job((ModuleShape(2, 2, 1), ModuleShape(6, 2, 2)), dp=2)
_WEIGHTS = Weights(tp=1000, cp=100, dp=1, pp=10)


def task() -> Task:
    """The job on 7 nodes of 8."""
    families, pairs, pieces, blocks = structure(_JOB, _WEIGHTS)
    node = np.repeat(np.arange(7), 8)
    return Task(
        _JOB.world, families, pairs, (Level(1, node),), np.arange(node.size), pieces, blocks
    )


def seconds(proposals: int, *, compiled: bool) -> tuple[float, int]:
    """Wall seconds of one run of that many proposals, and the cost it reached."""
    what = task()
    began = monotonic()
    result = anneal(what, None, Schedule(proposals=proposals), compiled=compiled)
    return monotonic() - began, result.cost


def first_call(cache: str) -> float:
    """Seconds of a first short run in a process of its own, with numba's cache in a folder."""
    command = [sys.executable, "-m", "benchmarks.annealing_speed", "--first-call"]
    done = subprocess.run(
        command,
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return float(done.stdout)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--proposals", type=int, default=400_000)
    parser.add_argument("--first-call", action="store_true", help="time one short compiled run")
    options = parser.parse_args()
    if options.first_call:
        print(seconds(1, compiled=True)[0])
        return
    with tempfile.TemporaryDirectory() as cache:
        empty, filled = first_call(cache), first_call(cache)
    seconds(1, compiled=True)  # compiles, or loads what is compiled
    slow, at_slow = seconds(options.proposals, compiled=False)
    fast, at_fast = seconds(options.proposals, compiled=True)
    assert at_slow == at_fast, "the two kernels made different chains"
    print(
        f"{options.proposals:,} proposals to cost {at_fast:,}: interpreted "
        f"{options.proposals / slow:,.0f} a second, compiled {options.proposals / fast:,.0f}, "
        f"{slow / fast:.0f} times as many; first call {empty:.1f} s, with its cache {filled:.1f} s"
    )


if __name__ == "__main__":
    main()
