"""Summaries on stdout or stderr, for people or as JSON."""

import json

import click
from rich.console import Console

from planner.plan import Plan
from planner.report.summary import summary
from planner.report.text import print_summary


def console(*, err: bool = False) -> Console:
    """A console that keeps lines whole where no terminal limits them."""
    made = Console(stderr=err)
    return made if made.is_terminal else Console(stderr=err, width=200)


def print_plan(plan: Plan, *, as_json: bool, err: bool) -> None:
    """Print a plan's summary."""
    if as_json:
        click.echo(json.dumps(summary(plan), indent=1), err=err)
    else:
        print_summary(plan, console(err=err))
