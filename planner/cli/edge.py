"""The edge of the program: errors become text and exit codes, results go to stdout or a file."""

import os
import sys
from pathlib import Path

import click

from planner.errors import PlannerError

STDOUT = "-"


def run(group: click.Group) -> None:
    """Run the command line; a user's mistake ends with one line a complaint, never a traceback."""
    try:
        group.main(standalone_mode=False)
    except click.exceptions.Exit as request:
        sys.exit(request.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except PlannerError as error:
        for line in str(error).splitlines():
            click.echo(f"error: {line}", err=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader went away (`| head`): point stdout elsewhere so that exit does not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError:
        click.echo("error: out of memory", err=True)
        sys.exit(1)
    except Exception as error:  # the last resort of a command line
        if os.environ.get("PLANNER_DEBUG"):
            raise
        what = f"{type(error).__name__}: {error}"
        click.echo(f"error: unexpected {what}; set PLANNER_DEBUG=1 for a traceback", err=True)
        sys.exit(1)


def write(path: str | None, text: str) -> None:
    """Write a result to a file (whole or not at all), or to stdout for ``-`` and None.

    Raises:
        click.UsageError: the file cannot be written (exit 2).
    """
    if path is None or path == STDOUT:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    from planner.plan import write_whole  # noqa: PLC0415 - numpy only when a file is written

    check_writable(path)
    try:
        write_whole(path, text)
    except OSError as error:
        raise click.UsageError(
            f"{path}: cannot be written; got {error.strerror or error}"
        ) from None


def check_writable(path: str | None) -> None:
    """Refuse an output path that cannot be written, before long work starts.

    Raises:
        click.UsageError: its folder is missing or closed, or it is a folder itself (exit 2).
    """
    if path is None or path == STDOUT:
        return
    target = Path(path)
    if target.is_dir():
        raise click.UsageError(f"{path}: is a directory; expected a file name")
    if not target.parent.is_dir():
        raise click.UsageError(f"{path}: no such folder {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise click.UsageError(f"{path}: the folder {target.parent} cannot be written")
