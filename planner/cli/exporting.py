"""`planner export`: a plan as a launcher or trainer reads it."""

from pathlib import Path

import click

from planner.cli.edge import STDOUT, check_writable, write
from planner.export import CONSUMERS, Consumer, export


def _list(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    width = max(map(len, CONSUMERS))
    for name, consumer in CONSUMERS.items():
        click.echo(f"{name:{width}}  {consumer.what}")
    context.exit()


@click.command("export")
@click.argument("plan")
@click.option("--to", type=click.Choice(list(CONSUMERS)), required=True, help="Who reads it.")
@click.option(
    "-o",
    "output",
    metavar="PATH",
    help="File to write, or folder where there are several (all are written). "
    "Default: the main file on stdout.",
)
@click.option(
    "--numbering",
    type=click.Choice(["trainer", "host"]),
    default="trainer",
    show_default=True,
    help="How ranks are counted: as the trainer does, or host by host.",
)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list,
    help="List the consumers.",
)
def command(plan: str, to: str, output: str | None, numbering: str) -> None:
    """Write PLAN as a launcher or trainer reads it; `-` reads standard input."""
    from planner.errors import InputError  # noqa: PLC0415 - the list needs none of these
    from planner.spec.loading import source_name  # noqa: PLC0415
    from planner.verification import read_verified  # noqa: PLC0415

    _check_output(output, CONSUMERS[to])
    verified = read_verified(plan)
    try:
        files = export(verified, to, numbering)
    except InputError as error:
        raise error.within(source_name(plan)) from None
    if output is None or output == STDOUT:
        write(None, next(iter(files.values())))
    else:
        _write_files(Path(output), files, CONSUMERS[to])


def _check_output(output: str | None, consumer: Consumer) -> None:
    """Refuse an output that cannot take the files, before the plan is read."""
    if output is None or output == STDOUT:
        return
    target = Path(output)
    if consumer.several and target.exists() and not target.is_dir():
        raise click.UsageError(f"{output}: is a file; expected a folder, there are several files")
    check_writable(str(target / "x") if target.is_dir() else output)


def _write_files(target: Path, files: dict[str, str], consumer: Consumer) -> None:
    if consumer.several:
        target.mkdir(exist_ok=True)
    folder = target.is_dir()
    for name, text in files.items():
        path = target / name if folder else target
        write(str(path), text)
        if name.endswith(".sh") and path.is_file():
            path.chmod(path.stat().st_mode | 0o111)
