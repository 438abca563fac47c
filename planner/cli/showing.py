"""`planner show`: a plan's summary and its nodes."""

import click


@click.command("show")
@click.argument("plan_file", metavar="plan.json")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option("--nodes/--no-nodes", default=True, show_default=True, help="Draw the node grid.")
@click.option("--all-nodes", is_flag=True, help="A line for every node, none folded.")
def command(plan_file: str, *, as_json: bool, nodes: bool, all_nodes: bool) -> None:
    """Summarise plan.json (- reads stdin): links before and after, the proof, who sits where."""
    from planner import read_plan  # noqa: PLC0415 - numpy only when needed
    from planner.cli.output import console, print_plan  # noqa: PLC0415 - rich only when printing
    from planner.report.nodes import print_nodes  # noqa: PLC0415

    plan = read_plan(plan_file)
    print_plan(plan, as_json=as_json, err=False)
    if nodes and not as_json:
        click.echo()
        print_nodes(plan, console(), fold=not all_nodes)
