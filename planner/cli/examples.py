"""`planner example`: ready problem files."""

import click

from planner.examples import EXAMPLES, example_text


@click.command("example")
@click.argument("name", required=False)
@click.option("-o", "--output", metavar="FILE", help="Write it here instead of stdout.")
def command(name: str | None, output: str | None) -> None:
    """List the ready problem files, or print the one called NAME."""
    if name is None:
        width = max(map(len, EXAMPLES))
        for known, about in EXAMPLES.items():
            click.echo(f"{known.ljust(width)}  {about}")
        return
    if name not in EXAMPLES:
        from planner.spec.names import did_you_mean  # noqa: PLC0415 - only for the error

        remedy = did_you_mean(name, EXAMPLES) or f"known: {', '.join(EXAMPLES)}"
        raise click.UsageError(f"no example {name!r}; {remedy}")
    from planner.cli.edge import write  # noqa: PLC0415

    write(output, example_text(name))
