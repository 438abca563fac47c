"""`planner verify`: recompute everything a plan file states."""

import sys

import click


@click.command("verify")
@click.argument("plan_file", metavar="plan.json")
@click.option(
    "--problem",
    "problem_file",
    metavar="cluster.json",
    help="Also check that the plan is for this problem.",
)
def command(plan_file: str, problem_file: str | None) -> None:
    """Recompute everything plan.json (- reads stdin) states; exit 1 and name what does not hold."""
    from planner import load, verify  # noqa: PLC0415 - numpy only when needed

    if plan_file == "-" and problem_file == "-":
        raise click.UsageError("only one of the two files can be stdin")
    problem = None if problem_file is None else load(problem_file)
    violations = verify(plan_file, problem)
    for violation in violations:
        click.echo(f"{plan_file}: {violation}")
    if violations:
        sys.exit(1)
    click.echo(f"{plan_file}: every statement holds")
