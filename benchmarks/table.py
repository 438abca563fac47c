"""Measures every contender on every instance and prints the tables: `python -m benchmarks.table`.

Each run is appended to a file of JSON lines as soon as it ends; a stopped benchmark continues where
it was, and `--render` prints the tables from what is recorded.
"""

import argparse
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contenders import CONTENDERS, PEERS, PLANNER
from benchmarks.instances import FAMILIES, INSTANCES
from benchmarks.measuring import Row, fresh, measure_apart
from benchmarks.records import append, latest, recorded
from benchmarks.rendering import SECTIONS, render


@dataclass(frozen=True)
class Protocol:
    """How runs are made.

    Attributes:
        time_limit: seconds of each run.
        jobs: peers that run at a time, each with its share of the cores; the planner runs alone.
        rows: file of recorded rows.
        again: contenders whose rows of other revisions do not count.
    """

    time_limit: float
    jobs: int
    rows: Path
    again: tuple[str, ...]


def missing(protocol: Protocol, instances: list[str], contenders: list[str]) -> list[Row]:
    """Runs that are not recorded yet, as rows without a result."""
    known = latest(recorded(protocol.rows))
    todo = []
    for instance in instances:
        for contender in contenders:
            row = fresh(instance, contender, protocol.time_limit, 1)
            old = known.get((instance, contender))
            if old is None or _stale(protocol, row, old):
                todo.append(row)
    return todo


def _stale(protocol: Protocol, row: Row, old: Row) -> bool:
    """Whether a recorded row does not answer what is asked now."""
    again = row.contender in protocol.again and old.revision != row.revision
    other = (old.problem, old.time_limit) != (row.problem, row.time_limit)
    return again or other or old.failed


def run(protocol: Protocol, instances: list[str], contenders: list[str]) -> Iterator[Row]:
    """Make the missing runs, instance by instance, and record each."""
    todo = missing(protocol, instances, contenders)
    cores = os.cpu_count() or 1
    for instance in instances:
        waiting = [row.contender for row in todo if row.instance == instance]
        alone = [name for name in waiting if name == PLANNER]
        for together, names in ((1, alone), (protocol.jobs, [n for n in waiting if n != PLANNER])):
            threads = max(1, cores // together)
            with ThreadPoolExecutor(together) as pool:
                runs = [
                    pool.submit(measure_apart, instance, name, protocol.time_limit, threads)
                    for name in names
                ]
                for done in as_completed(runs):
                    append(protocol.rows, done.result())
                    yield done.result()


def main() -> None:
    """Run and print."""
    options = _parser().parse_args()
    instances = [name for family in options.families for name in _names(family)]
    instances = [name for name in instances if name in (options.instances or INSTANCES)]
    contenders = [*options.peers, PLANNER]
    if not options.render:
        protocol = Protocol(
            options.time_limit, options.jobs, options.rows, tuple(options.again or ())
        )
        for row in run(protocol, instances, contenders):
            result = row.note or f"{row.cost:,}" + (f" ({row.broken})" if row.broken else "")
            print(
                f"{row.instance:28} {row.contender:10} {row.seconds:7.1f} s  {result}", flush=True
            )
    rows = latest(recorded(options.rows))
    text = render({k: r for k, r in rows.items() if k[0] in instances}, options.section)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


def _names(family: str) -> list[str]:
    return [instance.name for instance in FAMILIES[family]]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    add("--instances", nargs="+", choices=INSTANCES, metavar="NAME", help="of these, only some")
    add("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    add("--time-limit", type=float, default=60.0, help="seconds of each run")
    add("--jobs", type=int, default=1, help="peers that run at a time; the planner runs alone")
    add("--rows", type=Path, default=Path(__file__).with_name("results.jsonl"))
    add("--again", nargs="+", choices=CONTENDERS, help="measure again unless of this revision")
    add("--render", action="store_true", help="run nothing")
    add("--section", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    add("-o", "--output", type=Path, help="file for the tables; default standard output")
    return parser


if __name__ == "__main__":
    main()
