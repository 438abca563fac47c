"""`planner` and `python -m planner`: the command line, quiet also while it is still loading."""

import os
import signal


def main() -> None:
    """Entry point of the `planner` command."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)  # nothing is open yet; `edge.run` takes over
    from planner.cli import main as command_line  # noqa: PLC0415 - after the handler

    command_line()


def _leave(_signal: int, _frame: object) -> None:
    os._exit(130)


if __name__ == "__main__":
    main()
