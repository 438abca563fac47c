"""The `planner` command. Each subcommand lives in its own module, imported only when it runs."""

from importlib import import_module

import click

from planner import __version__

COMMANDS = {
    "solve": "planner.cli.solving",
    "verify": "planner.cli.verifying",
    "show": "planner.cli.showing",
    "export": "planner.cli.exporting",
    "import": "planner.cli.importing",
    "compare": "planner.cli.comparing",
    "sweep": "planner.cli.sweeps",
    "replan": "planner.cli.replans",
    "diff": "planner.cli.differences",
    "explain": "planner.cli.explaining",
    "check": "planner.cli.checking",
    "example": "planner.cli.examples",
    "schema": "planner.cli.schemas",
}
"""Command name to the module that holds it as `command`, in the order help lists them."""

HELP = {
    "solve": "Find a plan for a problem file, with a proven bound.",
    "verify": "Recompute everything a plan states.",
    "show": "Summarise a plan; draw its nodes.",
    "export": "Write a plan as a launcher or trainer reads it.",
    "import": "Read the machines from files people already have.",
    "compare": "Set our plan beside other layouts.",
    "sweep": "Solve many parallel sizes and compare them.",
    "replan": "Mend a plan after failures, moving few ranks.",
    "diff": "Say what differs between two plans.",
    "explain": "Say where a rank sits and what its links cross.",
    "check": "Inside the job: is this process where the plan says?",
    "example": "List or print ready problem files.",
    "schema": "Print the JSON Schema of problem files.",
}


class LazyGroup(click.Group):
    """Lists every command without importing it, so that help and light commands start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All command names, in help order."""
        return list(COMMANDS)

    def get_command(  # click's signature
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        """The command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name]).command
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        """The command table, from `HELP` alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, HELP[name]) for name in COMMANDS])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="planner")
def group() -> None:
    """Place the ranks of a training job on machines, with a proof of how good the plan is."""


def main() -> None:
    """Entry point of the `planner` command."""
    from planner.cli.edge import run  # noqa: PLC0415 - after click, before anything heavy

    run(group)
