"""`planner diff`: what differs between two plans."""

import click


@click.command("diff")
@click.argument("old_file", metavar="a.json")
@click.argument("new_file", metavar="b.json")
@click.option("--json", "as_json", is_flag=True, help="Print all differences as JSON.")
def command(old_file: str, new_file: str, *, as_json: bool) -> None:
    """Say what differs between two plans: ranks moved, links and cost, lines of the problem.

    If b.json was replanned, also whether a.json is the plan it came from.
    """
    import json  # noqa: PLC0415 - only when run

    from planner.cli.output import console  # noqa: PLC0415 - rich only when printing
    from planner.difference import difference  # noqa: PLC0415 - numpy only when needed
    from planner.report.changes import print_difference  # noqa: PLC0415
    from planner.spec.loading import read_text, source_name  # noqa: PLC0415
    from planner.verification import verified  # noqa: PLC0415

    if old_file == new_file == "-":
        raise click.UsageError("only one of the two files can be stdin")
    texts = [read_text(old_file), read_text(new_file)]
    old = verified(texts[0], source_name(old_file))
    new = verified(texts[1], source_name(new_file))
    found = difference(old, new)
    if new.replan is not None:
        from hashlib import sha256  # noqa: PLC0415

        digest = sha256(texts[0].encode()).hexdigest()
        found["replanned_from_old"] = new.replan["from_sha256"] == digest
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    print_difference(found, console())
    if new.replan is not None:
        came = "was replanned from" if found["replanned_from_old"] else "was not replanned from"
        click.echo(f"{new_file} {came} {old_file}")
