"""`planner sweep`: many parallel sizes solved and compared."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from planner.cli import options
from planner.cli.edge import check_writable

if TYPE_CHECKING:
    from concurrent.futures import Executor

EXAMPLE = "planner sweep cluster.json --decoder tp=4,8 --decoder cp=1,2 -o r.csv --plot r.svg"
SHOWN = 20
"""Rows of the table on the terminal."""
_WORKED_OUT = {"staircases": "bounds", "candidates": "regular layouts"}
"""What points alike share, in words; other names as they are."""


@click.command("sweep", epilog=EXAMPLE)
@click.argument("problem_file", metavar="cluster.json")
@click.option("--decoder", multiple=True, metavar="SIZE=N,N", help="Values of a decoder size.")
@click.option("--encoder", multiple=True, metavar="SIZE=N,N", help="Values of an encoder size.")
@click.option(
    "--dp",
    default="auto",
    show_default=True,
    metavar="N,N",
    help="Data copies; auto is as many as each point can hold, whatever dp the file states.",
)
@click.option("--order", multiple=True, metavar="ORDER", help="An order string; may be repeated.")
@click.option(
    "--max-idle",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    help="Refuse sizes that leave a larger share of the GPUs idle although a copy would fit.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Worker processes; default none.")
@click.option("--dask", metavar="ADDRESS", help="Solve on a Dask cluster instead.")
@click.option("-o", "--output", metavar="FILE", help="Results: .csv, .json or .parquet.")
@click.option("--plot", metavar="FILE", help="Picture of the results: .svg or .png.")
@click.option("--plans", metavar="DIR", help="Keep every plan in this folder.")
@click.option(
    "--sort",
    type=click.Choice(["auto", "time", "bytes", "cost"]),
    default="auto",
    show_default=True,
    help="Best first by this; auto takes the first that is known.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True, max=1e9),
    default=10.0,
    show_default=True,
    help="Of each point: units of work of about a second, or seconds with --wall-clock.",
)
@click.option(
    "--gap",
    type=click.FloatRange(0, 1),
    default=0.01,
    show_default=True,
    help="Each point stops once (cost - bound) / cost is this small.",
)
@options.seed
@click.option("--wall-clock", is_flag=True, help="Limit seconds; equal sweeps may then differ.")
@click.option("--json", "as_json", is_flag=True, help="Print all rows as JSON.")
def command(  # one parameter an option
    problem_file: str,
    decoder: tuple[str, ...],
    encoder: tuple[str, ...],
    dp: str,
    order: tuple[str, ...],
    max_idle: float,
    workers: int | None,
    dask: str | None,
    output: str | None,
    plot: str | None,
    plans: str | None,
    sort: Any,
    time_limit: float,
    gap: float,
    seed: int,
    *,
    wall_clock: bool,
    as_json: bool,
) -> None:
    """Solve every combination of sizes for the machines of cluster.json (- reads stdin).

    With -o every result is kept as it comes; the same command after an interruption goes on where
    it stopped.
    """
    if dask is not None and workers is not None:
        raise click.UsageError("--dask and --workers exclude one another")
    check_writable(output)
    check_writable(plot)
    from planner.sweeping import sweep  # noqa: PLC0415 - heavy imports only when sweeping
    from planner.sweeping.plotting import check_plot, plot_sweep  # noqa: PLC0415

    if plot is not None:
        check_plot(plot)
    data = _data(problem_file)
    if dp == "auto":
        _say_dp_is_left_out(data)
    with _dask(dask) as executor, _progress() as progress:
        frame = sweep(
            data,
            encoder=_axes(encoder, "--encoder"),
            decoder=_axes(decoder, "--decoder"),
            dp="auto" if dp == "auto" else _numbers(dp, "--dp"),
            order=order,
            max_idle=max_idle,
            executor=executor,
            workers=workers,
            time_limit=time_limit,
            gap=gap,
            seed=seed,
            deterministic=not wall_clock,
            sort=sort,
            output=output,
            plans=plans,
            progress=progress,
        )
    if plot is not None:
        plot_sweep(frame, plot)
    _show(frame, as_json=as_json)
    sys.exit(_exit_code(set(frame["status"])))


def _data(path: str) -> dict[str, Any]:
    """The data of the problem file; its job need not fit, since the sweep sets the sizes."""
    from planner.errors import Complaint, InputError  # noqa: PLC0415
    from planner.spec.loading import parse_json, read_text, source_name  # noqa: PLC0415

    name = source_name(path)
    data = parse_json(read_text(path), name)
    if not isinstance(data, dict):
        raise InputError(Complaint(name, "not a problem", type(data).__name__, "a JSON object"))
    return data


def _say_dp_is_left_out(data: dict[str, Any]) -> None:
    """Sizes differ, so the file's number of copies fits few of them: it is not taken over."""
    job = data.get("job")
    stated = job.get("dp", "auto") if isinstance(job, dict) else "auto"
    if stated != "auto":
        note = "every point takes as many data copies as it can hold"
        click.echo(f"note: {note}; --dp {stated} keeps the file's dp", err=True)


def _axes(options: tuple[str, ...], flag: str) -> dict[str, list[int]]:
    axes: dict[str, list[int]] = {}
    for option in options:
        size, equals, values = option.partition("=")
        if not equals:
            raise click.BadParameter(f"{option!r}; expected SIZE=N,N", param_hint=flag)
        if size in axes:
            raise click.BadParameter(f"{size} stands twice", param_hint=flag)
        axes[size] = _numbers(values, flag)
    return axes


def _numbers(text: str, flag: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        message = f"{text!r}; expected whole numbers with commas between them"
        raise click.BadParameter(message, param_hint=flag) from None


@contextmanager
def _dask(address: str | None) -> Iterator["Executor | None"]:
    if address is None:
        yield None
        return
    try:
        from distributed import Client  # noqa: PLC0415
    except ImportError:
        message = "--dask needs dask.distributed; pip install 'rank-layout-planner[dask]'"
        raise click.UsageError(message) from None
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--dask {address}: no scheduler answers; got {error}") from None
    with client:
        yield client.get_executor()


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """A bar with the time left on stderr; nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - only for people
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn  # noqa: PLC0415

    columns = ("points", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("points", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _show(frame: Any, *, as_json: bool) -> None:
    if as_json:
        click.echo(frame.to_json(orient="records", indent=1))
    else:
        from planner.cli.output import console  # noqa: PLC0415
        from planner.sweeping.text import sweep_table  # noqa: PLC0415

        if "cost" in frame:
            console().print(sweep_table(frame, SHOWN), highlight=False)
        for reason, count in Counter(frame["reason"].dropna()).most_common():
            click.echo(f"{count} refused: {reason}")
    for name, (asked, computed) in frame.attrs["worked_out"].items():
        click.echo(f"{_WORKED_OUT.get(name, name)}: asked {asked}, computed {computed}", err=True)


def _exit_code(statuses: set[str]) -> int:
    """0 if any point was solved, else why the nearest to it was not."""
    for code, some in ((0, {"optimal", "feasible"}), (4, {"no plan"}), (1, {"failed"})):
        if statuses & some:
            return code
    return 3
