"""`planner replan`: mend a plan after failures, moving few ranks."""

import sys
from math import isfinite
from typing import TYPE_CHECKING

import click

from planner.cli import options
from planner.cli.edge import STDOUT, check_writable, write
from planner.cli.solving import ProgressLine, stop_on_interrupt

if TYPE_CHECKING:
    from planner.plan import Plan


@click.command("replan")
@click.argument("plan_file", metavar="plan.json")
@click.option(
    "--lost",
    multiple=True,
    metavar="HOST[:GPU,...]",
    help="Dead nodes (a hostlist) or GPUs of them; they stay listed, offline.",
)
@click.option(
    "--added",
    multiple=True,
    metavar="[DOMAIN=]HOSTLIST",
    help="Nodes that come, or come back, and the domain they hang in.",
)
@click.option(
    "--cluster", "cluster_file", metavar="cluster.json", help="The machines as they are now."
)
@click.option(
    "--moves",
    type=click.IntRange(min=0),
    metavar="N",
    help="Least cost with at most N ranks moved.",
)
@click.option(
    "--slack",
    type=click.FloatRange(min=0),
    metavar="R",
    help="Fewest moves with a cost at most R above the best found; 0.02 unless --moves is given.",
)
@click.option("-o", "--output", metavar="FILE", help="Write the plan here; default stdout.")
@options.time_limit
@options.workers
@options.seed
@options.deterministic
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def command(  # one parameter an option
    plan_file: str,
    lost: tuple[str, ...],
    added: tuple[str, ...],
    cluster_file: str | None,
    moves: int | None,
    slack: float | None,
    output: str | None,
    time_limit: float,
    workers: int | None,
    seed: int,
    deterministic: bool,
    as_json: bool,
) -> None:
    """Mend plan.json (- reads stdin) after failures, so that few ranks change their GPU.

    The new plan carries the hash of the old file and every move. Exit 3 if the machines no longer
    hold the job; the largest dp that still fits is named.
    """
    if moves is not None and slack is not None:
        raise click.UsageError("--moves and --slack exclude one another")
    if not (lost or added or cluster_file):
        raise click.UsageError("nothing changed; expected --lost, --added or --cluster")
    if not isfinite(time_limit) or (slack is not None and not isfinite(slack)):
        raise click.UsageError("--time-limit and --slack: expected finite numbers")
    check_writable(output)
    from planner import load, replan  # noqa: PLC0415 - heavy imports only when solving

    cluster = None if cluster_file is None else load(cluster_file)
    stop = stop_on_interrupt()
    with ProgressLine() as line:
        new = replan(
            plan_file,
            lost=lost,
            added=added,
            cluster=cluster,
            moves=moves,
            slack=slack,
            time_limit=time_limit,
            workers=workers,
            seed=seed,
            deterministic=deterministic,
            progress=line.update,
            stop=stop,
        )
    to_file = output is not None and output != STDOUT
    write(output, new.text())
    _summarise(new, as_json=as_json, err=not to_file)
    if stop.is_set():
        click.echo("interrupted: this is the best plan so far", err=True)
        sys.exit(130)


def _summarise(plan: "Plan", *, as_json: bool, err: bool) -> None:
    from planner.cli.output import print_plan  # noqa: PLC0415 - rich only when printing
    from planner.report.moves import moves_summary  # noqa: PLC0415

    print_plan(plan, as_json=as_json, err=err)
    if not as_json:
        click.echo(moves_summary(plan), err=err)
