"""`planner show`: a plan's summary, its nodes, and pictures of them."""

from typing import TYPE_CHECKING

import click

from planner.cli.edge import STDOUT, check_writable, write

if TYPE_CHECKING:
    from planner.plan import Plan

AXES = ("pp", "dp", "cp", "tp", "module", "dataset")
KINDS = ("tp", "cp", "dp", "pp", "ep", "expt_tp", "expt_dp", "embd")
MEGATRON = "megatron"


@click.command("show")
@click.argument("plan_file", metavar="plan.json")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option("--nodes/--no-nodes", default=True, show_default=True, help="Draw the node grid.")
@click.option("--all-nodes", is_flag=True, help="A line for every node, none folded.")
@click.option("--svg", "svg_file", metavar="FILE", help="Write a picture; - is stdout.")
@click.option("--html", "html_file", metavar="FILE", help="Write a page, before and after.")
@click.option(
    "--colour", type=click.Choice(AXES), default="pp", show_default=True, help="What colours mean."
)
@click.option("--links", type=click.Choice(KINDS), help="Draw the links of a kind that cross.")
@click.option("--level", default="node", show_default=True, help="Level those links leave.")
@click.option(
    "--before",
    metavar="FILE",
    help="Plan drawn beside this one, or megatron for its own order (a page's default).",
)
def command(  # one parameter an option
    plan_file: str,
    *,
    as_json: bool,
    nodes: bool,
    all_nodes: bool,
    svg_file: str | None,
    html_file: str | None,
    colour: str,
    links: str | None,
    level: str,
    before: str | None,
) -> None:
    """Summarise plan.json (- reads stdin): links before and after, the proof, who sits where.

    With --svg or --html a picture is written instead.
    """
    check_writable(svg_file)
    check_writable(html_file)
    from planner import read_plan  # noqa: PLC0415 - numpy only when needed

    plan = read_plan(plan_file)
    if svg_file is not None or html_file is not None:
        _draw(plan, svg_file, html_file, (colour, links, level), before)
        return
    from planner.cli.output import console, print_plan  # noqa: PLC0415 - rich only when printing
    from planner.report.nodes import print_nodes  # noqa: PLC0415

    print_plan(plan, as_json=as_json, err=False)
    if nodes and not as_json:
        click.echo()
        print_nodes(plan, console(), fold=not all_nodes)


def _draw(
    plan: "Plan",
    svg_file: str | None,
    html_file: str | None,
    look: tuple[str, str | None, str],
    before: str | None,
) -> None:
    from planner import read_plan  # noqa: PLC0415
    from planner.report.pictures import Look, before_megatron, svg  # noqa: PLC0415
    from planner.report.pictures.page import html  # noqa: PLC0415

    colour, links, level = look
    levels = [known.name for known in plan.machines.levels]
    if level not in levels:
        raise click.UsageError(f"--level: no such level {level!r}; expected {', '.join(levels)}")
    shown = Look(colour, links, level)
    other = None
    if before is not None:
        other = before_megatron(plan) if before == MEGATRON else read_plan(before)
    if svg_file is not None:
        write(svg_file, svg(plan, shown, before=other))
    if html_file is not None:
        write(html_file, html(plan, shown, before=other or before_megatron(plan)))
    for file in (svg_file, html_file):
        if file not in {None, STDOUT}:
            click.echo(f"{file}: written")
