"""`planner explain`: where a rank sits, and what its links cross."""

import click


@click.command("explain")
@click.argument("plan_file", metavar="plan.json")
@click.option(
    "--rank", "ranks", type=click.IntRange(min=0), multiple=True, required=True, metavar="R"
)
@click.option("--json", "as_json", is_flag=True, help="Print the facts as JSON.")
def command(plan_file: str, ranks: tuple[int, ...], *, as_json: bool) -> None:
    """Say where a trainer rank of plan.json (- reads stdin) sits, and what its links cross."""
    import json  # noqa: PLC0415 - only when run

    from planner import read_plan  # noqa: PLC0415 - numpy only when needed
    from planner.report.ranks import rank_facts, rank_text  # noqa: PLC0415

    plan = read_plan(plan_file)
    for rank in ranks:
        if rank >= plan.grid.world:
            raise click.BadParameter(
                f"no rank {rank}; expected 0 to {plan.grid.world - 1}", param_hint="--rank"
            )
    if as_json:
        click.echo(json.dumps([rank_facts(plan, rank) for rank in ranks], indent=1))
    else:
        click.echo("\n\n".join(rank_text(plan, rank) for rank in ranks))
