"""`planner compare`: our plan beside the layouts the job would run in otherwise."""

import json

import click

from planner.cli.edge import check_writable


@click.command("compare")
@click.argument("problem_file", metavar="cluster.json")
@click.option(
    "--layout",
    "layout_files",
    multiple=True,
    metavar="FILE",
    help="A layout in use: hostfile, rankfile, ranks.json or plan. May be repeated.",
)
@click.option("--plan", "plan_file", metavar="plan.json", help="Our plan; default: solve for it.")
@click.option("--plot", metavar="FILE", help="Picture of the comparison: .svg or .png.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True, max=1e9),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Of each of the two searches.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Threads; default all cores.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def command(
    problem_file: str,
    layout_files: tuple[str, ...],
    plan_file: str | None,
    plot: str | None,
    time_limit: float,
    workers: int | None,
    seed: int,
    *,
    as_json: bool,
) -> None:
    """Count links and bytes of our plan, Megatron's two orders, the best axis order, the best
    node-contiguous plan, and the layouts you run today, for cluster.json (- reads stdin).

    A layout's ranks are numbered in the problem's job.order.
    """  # noqa: D205 - click shows the first paragraph as it is
    check_writable(plot)
    from planner import load, read_plan  # noqa: PLC0415 - heavy imports only when solving
    from planner.comparison import compare  # noqa: PLC0415
    from planner.comparison.layouts import read_layout  # noqa: PLC0415
    from planner.errors import Complaint, InputError  # noqa: PLC0415
    from planner.report.figures import check_picture  # noqa: PLC0415

    if plot is not None:
        check_picture(plot)
    problem = load(problem_file)
    plan = read_plan(plan_file) if plan_file is not None else None
    if plan is not None and plan.problem.sha256 != problem.sha256:
        remedy = "give the problem file the plan was made from"
        raise InputError(
            Complaint(
                str(plan_file), f"a plan for another problem than {problem_file}", remedy=remedy
            )
        )
    layouts = compare(
        problem,
        plan=plan,
        layouts={file: read_layout(file, problem) for file in layout_files},
        time_limit=time_limit,
        workers=workers,
        seed=seed,
    )
    if plot is not None:
        from planner.comparison.plotting import plot_comparison  # noqa: PLC0415
        from planner.traffic import kind_weights  # noqa: PLC0415

        weights = {kind: float(weight) for kind, weight in kind_weights(problem).items()}
        plot_comparison(layouts, weights, plot)
    if as_json:
        click.echo(json.dumps({"layouts": [layout.document() for layout in layouts]}, indent=1))
        return
    from planner.cli.output import console  # noqa: PLC0415
    from planner.comparison.text import comparison_text  # noqa: PLC0415

    console().print(comparison_text(layouts), highlight=False)
