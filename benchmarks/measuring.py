"""One contender on one instance, in a process of its own: cost, bound, seconds and memory.

`python -m benchmarks.measuring INSTANCE CONTENDER --time-limit 60 --threads 2` prints a row as a
line of JSON.
"""

import argparse
import json
import resource
import subprocess
import sys
from dataclasses import asdict, dataclass
from functools import cache
from time import monotonic

from benchmarks.contenders import CONTENDERS, PLANNER
from benchmarks.instances import INSTANCES
from benchmarks.peers.task import Limits, NotApplicable, Task
from planner.cost import as_number, links, total
from planner.errors import PlannerError
from planner.feasibility import broken_constraints
from planner.spec.problem import Problem

_GRACE = 60.0  # seconds beyond one and a half time limits after which a run is ended


@dataclass(frozen=True)
class Row:
    """What one run gave.

    Attributes:
        instance, contender: who ran on what.
        problem: start of the problem's hash, so that a changed instance is measured again.
        time_limit: seconds the contender was given.
        threads: how many it was given.
        cost: by `planner.cost`; None without a placement.
        bound: proven, or None.
        proof: level by level, by what.
        found_by: the search that found the placement.
        broken: hard constraints the placement breaks.
        note: why there is no placement.
        failed: whether the run ended in an error, and is to be made again.
        seconds: wall time, the contender's libraries loaded within it.
        memory_mb: largest resident size of the process.
        revision: of the sources.
    """

    instance: str
    contender: str
    problem: str
    time_limit: float
    threads: int
    cost: float | None = None
    bound: float | None = None
    proof: str = ""
    found_by: str = ""
    broken: str = ""
    note: str = ""
    failed: bool = False
    seconds: float = 0.0
    memory_mb: float = 0.0
    revision: str = ""

    @property
    def valid(self) -> bool:
        """Whether there is a placement and it is a plan."""
        return self.cost is not None and not self.broken

    def line(self) -> str:
        """The row as a line of JSON."""
        return json.dumps(asdict(self))


@cache
def digest(instance: str) -> str:
    """Start of the hash of an instance's problem."""
    return INSTANCES[instance].problem().sha256[:12]


def fresh(instance: str, contender: str, time_limit: float, threads: int) -> Row:
    """A row without a result yet."""
    return Row(instance, contender, digest(instance), time_limit, threads, revision=revision())


def measure(instance: str, contender: str, time_limit: float, threads: int) -> Row:
    """Run a contender in this process."""
    problem = INSTANCES[instance].problem()
    row = asdict(fresh(instance, contender, time_limit, threads))
    started = monotonic()
    try:
        found = (
            _plan(problem, time_limit, threads)
            if contender == PLANNER
            else _placement(problem, contender, started + time_limit, threads)
        )
    except (NotApplicable, PlannerError) as reason:
        found = {"note": str(reason)}
    seconds = found.pop("seconds", round(monotonic() - started, 2))
    return Row(**row | found | {"seconds": seconds, "memory_mb": _memory()})


def _plan(problem: Problem, time_limit: float, threads: int) -> dict[str, object]:
    from planner.pipeline import solve  # noqa: PLC0415

    plan = solve(problem, time_limit=time_limit, workers=threads)
    proofs = (f"{level['level']}: {level['proof']}" for level in plan.solver["levels"])
    return {
        "cost": plan.cost,
        "bound": plan.solver["bound"],
        "proof": "; ".join(proofs),
        "found_by": plan.solver["found_by"],
    }


def _placement(
    problem: Problem, contender: str, deadline: float, threads: int
) -> dict[str, object]:
    task = Task.of(problem)
    started = monotonic()
    placement = CONTENDERS[contender].peer(task, Limits(deadline, threads))
    seconds = round(monotonic() - started, 2)
    cost = total(problem, task.machines, links(task.grid, task.machines, placement))
    broken = sorted({v.kind for v in broken_constraints(problem, task.grid, placement)})
    return {"cost": as_number(cost), "broken": ", ".join(broken), "seconds": seconds}


def _memory() -> float:
    peaks = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return round(max(peak.ru_maxrss for peak in peaks) / 1024, 1)


def measure_apart(instance: str, contender: str, time_limit: float, threads: int) -> Row:
    """Run a contender in a process of its own, ended if it does not stop by itself."""
    command = [sys.executable, "-m", "benchmarks.measuring", instance, contender]
    command += ["--time-limit", str(time_limit), "--threads", str(threads)]
    most = 1.5 * time_limit + _GRACE
    empty = asdict(fresh(instance, contender, time_limit, threads))
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=most, check=False)
    except subprocess.TimeoutExpired:
        return Row(**empty | {"note": f"ended after {most:.0f} s", "seconds": most})
    if done.returncode:
        return Row(**empty | {"note": f"failed: exit code {done.returncode}", "failed": True})
    return Row(**json.loads(done.stdout.splitlines()[-1]))


@cache
def revision() -> str:
    """Commit of the sources, with a plus where they differ from it; empty outside git."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def main() -> None:
    """Print one row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("instance", choices=INSTANCES, metavar="INSTANCE")
    parser.add_argument("contender", choices=CONTENDERS)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    print(
        measure(options.instance, options.contender, options.time_limit, options.threads).line(),
        flush=True,
    )


if __name__ == "__main__":
    main()
