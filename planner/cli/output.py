"""Summaries on stdout or stderr, for people or as JSON."""

import json

import click
from rich.console import Console

from planner.plan import Plan
from planner.report.summary import summary
from planner.report.text import print_summary


class _Console(Console):
    """A console that leaves a reader that went away to the edge, as other output does."""

    def on_broken_pipe(self) -> None:
        """Go on raising what rich would turn into an exit with 1."""
        raise BrokenPipeError


def console(*, err: bool = False) -> Console:
    """A console that keeps lines whole where no terminal limits them."""
    made = _Console(stderr=err)
    return made if made.is_terminal else _Console(stderr=err, width=200)


def print_plan(plan: Plan, *, as_json: bool, err: bool) -> None:
    """Print a plan's summary."""
    if as_json:
        click.echo(json.dumps(summary(plan), indent=1), err=err)
    else:
        print_summary(plan, console(err=err))
