"""The edge of the program: errors become text and exit codes, results go to stdout or a file."""

import os
import shlex
import signal
import sys
from contextlib import suppress
from errno import EBADF, EDQUOT, EFBIG, EIO, ENOSPC

import click

from planner.errors import Complaint, InputError, PlannerError
from planner.files import real_target, write_whole

STDOUT = "-"
_UNWRITABLE = {EBADF, EDQUOT, EFBIG, EIO, ENOSPC}


def run(group: click.Group) -> None:
    """Run the command line; a user's mistake ends with one line a complaint, never a traceback."""
    try:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # a shell's job behind `&`
            signal.signal(signal.SIGINT, signal.default_int_handler)
        _run(group)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except PlannerError as error:
        _say(*(f"error: {line}" for line in str(error).splitlines()))
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        sys.exit(130)
    except BrokenPipeError:
        _drop_output()  # the reader went away (`| head`)
        sys.exit(0)
    except MemoryError:
        _say("error: out of memory")
        sys.exit(1)
    except Exception as error:  # the last resort of a command line
        if os.environ.get("PLANNER_DEBUG"):
            raise
        what = f"{type(error).__name__}: {error}"
        _say(f"error: unexpected {what}; set PLANNER_DEBUG=1 for a traceback")
        sys.exit(1)


def _run(group: click.Group) -> None:
    """Run the command and bring out what it printed.

    Raises:
        InputError: standard output takes nothing.
    """
    if sys.stdout is None:
        remedy = "send it to a file or to /dev/null"
        raise InputError(Complaint("<stdout>", "is closed", expected="an open one", remedy=remedy))
    out = sys.stdout
    try:
        try:
            group.main(standalone_mode=False)
        finally:
            sys.stdout.flush()
    except SystemExit:
        if sys.stdout is not out:  # wrapped by click, whose answer to a reader gone is exit 1
            raise BrokenPipeError from None
        raise
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno not in _UNWRITABLE or error.filename is not None:
            raise
        _drop_output()
        complaint = Complaint("<stdout>", "cannot be written", got=error.strerror)
        raise InputError(complaint) from None


def _drop_output() -> None:
    """Point stdout nowhere, so that what is still buffered does not fail again at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(*lines: str) -> None:
    with suppress(OSError):  # stderr takes nothing either: the exit code still tells
        for line in lines:
            click.echo(line, err=True)


def write(path: str | None, text: str) -> None:
    """Write a result to a file (whole or not at all), or to stdout for ``-`` and None.

    Raises:
        InputError: the file cannot be written.
    """
    if path is None or path == STDOUT:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    check_writable(path)
    try:
        write_whole(path, text)
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from None


def check_writable(path: str | None) -> None:
    """Refuse an output path that cannot be written, before long work starts.

    Raises:
        InputError: its folder is missing or closed, or it is a folder itself.
    """
    if path is None or path == STDOUT:
        return
    try:
        target = real_target(path)
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from None
    if target.is_dir():
        raise InputError(Complaint(path, "is a directory", expected="a file name"))
    if not target.parent.is_dir():
        remedy = f"make it with: mkdir -p {shlex.quote(str(target.parent))}"
        raise _unwritable(path, f"no such folder {target.parent}", remedy)
    renamed = not target.exists() or target.is_file()
    if not os.access(target.parent if renamed else target, os.W_OK):
        what = f"the folder {target.parent} is closed to you" if renamed else "no permission"
        raise _unwritable(path, what)


def _unwritable(path: str, got: str, remedy: str | None = None) -> InputError:
    return InputError(Complaint(path, "cannot be written", got=got, remedy=remedy))
