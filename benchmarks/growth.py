"""Seconds and memory of the whole command, by GPUs: `python -m benchmarks.growth`.

Regular: tensor groups of 8 on nodes of 8, leaves of 32 nodes, pods of 1,024. Misfit: an encoder of
tp 2 beside a decoder of tp 6, where nothing fits node borders. Each size is one run of
`planner solve FILE -o plan.json`, plan file and verification included, and of `planner verify`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic

from benchmarks.instances.building import Instance, consecutive, even, instance, module
from benchmarks.rendering import markdown, number, percent

_LEVELS = (consecutive("leaf", 32, 2), consecutive("pod", 1024, 4))


def regular(gpus: int, dp: int, cp: int, pp: int) -> Instance:
    """A regular job on even nodes, with those levels that have more than one domain."""
    nodes = gpus // 8
    levels = [level for level in _LEVELS if nodes > level["nodes_per_domain"]]
    return instance(f"regular-{gpus}", even(nodes, 8, *levels), module(8, cp, pp), dp)


def misfit(dp: int) -> Instance:
    """100 ranks a data copy on just enough nodes of 8."""
    nodes = -(-100 * dp // 8)
    name = f"misfit-{8 * nodes}"
    return instance(name, even(nodes), module(6, 2, 8), dp, encoder=module(2, 2))


SIZES = {
    "regular": (
        regular(128, 4, 1, 4),
        regular(512, 8, 1, 8),
        regular(2048, 16, 2, 8),
        regular(8192, 32, 4, 8),
        regular(32768, 64, 4, 16),
        regular(131072, 256, 4, 16),
    ),
    "misfit": tuple(misfit(dp) for dp in (1, 4, 16, 32, 64, 256, 1310)),
}


@dataclass(frozen=True)
class Growth:
    """One size.

    Attributes:
        kind: regular or misfit.
        gpus: usable GPUs.
        ranks: of the job.
        cost, baseline, bound: of the plan, of Megatron's order, proven.
        seconds: of the whole command.
        memory_mb: largest resident size.
        verify_seconds: of `planner verify`.
        megabytes: size of the plan file.
    """

    kind: str
    gpus: int
    ranks: int
    cost: float
    baseline: float
    bound: float
    seconds: float
    memory_mb: float
    verify_seconds: float
    megabytes: float


def measure(kind: str, what: Instance, time_limit: float) -> Growth:
    """Solve and verify in processes of their own."""
    problem = what.problem()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "cluster.json", Path(folder) / "plan.json"
        source.write_text(json.dumps(what.document), encoding="utf-8")
        limit = ["--time-limit", str(time_limit)]
        seconds, memory = _timed(["solve", str(source), "-o", str(target), *limit])
        again, _ = _timed(["verify", str(target), "--problem", str(source)])
        plan = json.loads(target.read_text(encoding="utf-8"))
        size = target.stat().st_size / 1e6
    return Growth(
        kind,
        len(problem.cluster.machines.usable),
        problem.world_size,
        plan["solver"]["cost"],
        plan["baseline"]["cost"],
        plan["solver"]["bound"],
        round(seconds, 1),
        round(memory),
        round(again, 1),
        round(size, 1),
    )


def _timed(command: Sequence[str]) -> tuple[float, float]:
    """Wall seconds and largest resident MB of a planner command that must succeed."""
    started = monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "planner", *command], stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return monotonic() - started, usage.ru_maxrss / 1024


def table(found: Sequence[Growth]) -> str:
    """Markdown."""
    head = ["job", "GPUs", "ranks", "Megatron's order", "planner", "bound", "gap"]
    head += ["solve, s", "MB", "verify, s", "plan file, MB"]
    lines = []
    for g in found:
        gap = (g.cost - g.bound) / g.cost if g.cost else 0.0
        costs = [number(value) for value in (g.gpus, g.ranks, g.baseline, g.cost, g.bound)]
        costs += [percent(gap), f"{g.seconds:.1f}", f"{g.memory_mb:,.0f}"]
        lines.append([g.kind, *costs, f"{g.verify_seconds:.1f}", f"{g.megabytes:.1f}"])
    return markdown(head, lines)


def main() -> None:
    """Measure the sizes that are not recorded yet and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--largest", type=int, default=131_072, help="GPUs")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--rows", type=Path, default=Path(__file__).with_name("growth.jsonl"))
    parser.add_argument("--again", action="store_true", help="forget what is recorded")
    options = parser.parse_args()
    if options.again:
        options.rows.unlink(missing_ok=True)
    lines = options.rows.read_text("utf-8").splitlines() if options.rows.exists() else []
    found = [Growth(**json.loads(line)) for line in lines]
    known = {(g.kind, g.gpus) for g in found}
    for kind in options.kinds:
        for what in SIZES[kind]:
            gpus = len(what.problem().cluster.machines.usable)
            if (kind, gpus) in known or gpus > options.largest:
                continue
            found.append(measure(kind, what, options.time_limit))
            print(found[-1], file=sys.stderr, flush=True)
            with options.rows.open("a", encoding="utf-8") as out:
                out.write(json.dumps(asdict(found[-1])) + "\n")
    print(table(sorted(found, key=lambda g: (g.kind != "regular", g.gpus))), end="")


if __name__ == "__main__":
    main()
