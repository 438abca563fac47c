"""`planner schema`: the JSON Schema of problem files, for editors."""

import json

import click


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of problem files (name it as "$schema" in a file for completion)."""
    from planner.spec.schema import problem_schema  # noqa: PLC0415 - pydantic only when needed

    click.echo(json.dumps(problem_schema(), indent=1))
