"""`planner solve`: problem file in, verified plan and summary out."""

import shlex
import signal
import sys
import threading
from math import isfinite, isnan
from types import FrameType
from typing import TYPE_CHECKING, Self

import click

from planner.cli import options
from planner.cli.edge import STDOUT, check_writable, write

if TYPE_CHECKING:
    from planner.plan import Plan


@click.command("solve")
@click.argument("problem_file", metavar="cluster.json")
@click.option("-o", "--output", metavar="FILE", help="Write the plan here; - is stdout.")
@options.time_limit
@click.option(
    "--gap",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Stop once (cost - bound) / cost is this small.",
)
@options.workers
@options.seed
@options.deterministic
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def command(  # one parameter an option
    problem_file: str,
    output: str | None,
    time_limit: float,
    gap: float,
    workers: int | None,
    seed: int,
    deterministic: bool,
    as_json: bool,
) -> None:
    """Find a plan for cluster.json (- reads stdin), with a proven bound.

    With -o the plan goes to FILE and the summary to stdout; without it the plan goes to stdout and
    the summary to stderr. On a terminal without -o only the summary is shown.
    """
    if isnan(gap):
        raise click.BadParameter("expected a number from 0 to 1", param_hint="--gap")
    if not isfinite(time_limit):
        raise click.BadParameter("expected a finite number of seconds", param_hint="--time-limit")
    check_writable(output)
    stop = stop_on_interrupt()
    from planner import load, solve  # noqa: PLC0415 - heavy imports only when solving

    problem = load(problem_file)
    for warning in problem.job.warnings():
        click.echo(f"warning: {warning}", err=True)
    with ProgressLine() as line:
        try:
            plan = solve(
                problem,
                time_limit=time_limit,
                gap=gap,
                workers=workers,
                seed=seed,
                deterministic=deterministic,
                progress=line.update,
                stop=stop,
            )
        except Exception:
            if stop.is_set():
                raise KeyboardInterrupt from None
            raise
    _deliver(plan, problem_file, output, as_json=as_json)
    if stop.is_set():
        click.echo("interrupted: this is the best plan so far", err=True)
        sys.exit(130)


def _deliver(plan: "Plan", problem_file: str, output: str | None, *, as_json: bool) -> None:
    on_terminal = output is None and sys.stdout.isatty()
    if output is not None and output not in {STDOUT, "/dev/stdout"}:
        write(output, plan.text())
        _summarise(plan, as_json=as_json, err=False)
    elif on_terminal:
        _summarise(plan, as_json=as_json, err=False)
        again = shlex.join(["planner", "solve", problem_file, "-o", "plan.json"])
        click.echo(f"\nkeep the plan with: {again}", err=True)
    else:
        _summarise(plan, as_json=as_json, err=True)
        write(STDOUT, plan.text())


def _summarise(plan: "Plan", *, as_json: bool, err: bool) -> None:
    from planner.cli.output import print_plan  # noqa: PLC0415 - rich only when printing

    print_plan(plan, as_json=as_json, err=err)


def stop_on_interrupt() -> threading.Event:
    """An event the first Ctrl-C (or SIGTERM) sets; a second Ctrl-C ends the program at once."""
    stop = threading.Event()

    def handle(_signal: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)
    return stop


class ProgressLine:
    """One line on stderr, rewritten as the search improves; silent where stderr is no terminal."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._width:
            click.echo("\r" + " " * self._width + "\r", err=True, nl=False)

    def update(self, cost: float | None, bound: float, seconds: float) -> None:
        """Show the incumbent, the bound and the time."""
        if not self._shown:
            return
        if cost is None:
            text = f"no plan yet, bound {bound:,.0f}, {seconds:.1f} s"
        else:
            gap = 100 * (cost - bound) / cost if cost else 0.0
            text = f"cost {cost:,.0f}, bound {bound:,.0f}, gap {gap:.2f} %, {seconds:.1f} s"
        click.echo("\r" + text.ljust(self._width), err=True, nl=False)
        self._width = max(self._width, len(text))
