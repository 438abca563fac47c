"""`planner import`: a problem file from descriptions of machines that people already have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click
from click.core import ParameterSource

from planner.cli.edge import check_writable, write
from planner.errors import Complaint, InputError
from planner.inventory.choosing import FLAG, Allocation, choose
from planner.inventory.cluster import Cluster, to_cluster
from planner.inventory.merging import merge
from planner.inventory.reading import KINDS, Reading, Source, read
from planner.spec.loading import STDIN, parse_json, read_text, source_name
from planner.spec.problem import Problem

GUESS = "guess"
JOB_LIST = "SLURM_JOB_NODELIST"


def _kinds_help() -> str:
    return "\b\nKinds of files:\n" + "\n".join(
        f"  {name:20} {what}" for name, what in KINDS.items()
    )


@click.command(epilog=_kinds_help())
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice([GUESS, *KINDS]),
    metavar="KIND",
    help="Kind of the file, once for each FILE in their order; guessed when left out.",
)
@click.option("-o", "--output", metavar="FILE", help="Write there instead of to stdout.")
@click.option(
    "--nodes",
    envvar=JOB_LIST,
    show_envvar=True,
    metavar="HOSTLIST",
    help="Only these nodes, in this order.",
)
@click.option(
    FLAG,
    type=click.IntRange(min=1),
    metavar="N",
    help="GPUs of the nodes of which no file tells them.",
)
@click.option("--job", metavar="FILE", help="JSON of a job: makes a complete problem file.")
@click.pass_context
def command(
    context: click.Context,
    files: tuple[str, ...],
    kinds: tuple[str, ...],
    output: str | None,
    nodes: str | None,
    gpus_per_node: int | None,
    job: str | None,
) -> None:
    """Read the machines from files people already have, and print a problem file.

    Several files about the same machines are read together: a Slurm topology, say, with the output
    of nvidia-smi topo -m. `-` is stdin.
    """
    check_writable(output)
    named = kinds or (GUESS,) * len(files)
    if len(named) != len(files):
        raise click.UsageError(f"--kind {len(kinds)} times for {len(files)} files")
    if (*files, job).count(STDIN) > 1:
        raise click.UsageError("stdin ('-') can be read once")
    allocation = None
    if nodes is not None:
        given = context.get_parameter_source("nodes") is ParameterSource.COMMANDLINE
        allocation = Allocation(nodes, "--nodes" if given else f"${JOB_LIST}")
    sources = [
        Source(source_name(file), read_text(file), None if kind == GUESS else kind)
        for file, kind in zip(files, named, strict=True)
    ]
    readings = read(sources)
    cluster = to_cluster(choose(merge(readings), allocation, gpus_per_node))
    _say(readings, allocation, cluster)
    problem = _problem(cluster.data, job)
    write(output, json.dumps(problem, indent=2) + "\n")


def _say(readings: Sequence[Reading], allocation: Allocation | None, cluster: Cluster) -> None:
    """Tell on stderr what was understood."""
    for reading in readings:
        how = f" (guessed; --kind {reading.kind})" if reading.guessed else ""
        click.echo(f"{', '.join(reading.names)}: {KINDS[reading.kind]}{how}", err=True)
    if allocation is not None:
        click.echo(f"nodes: those of {allocation.where}, in its order", err=True)
    for line in cluster.summary:
        click.echo(line, err=True)
    for note in cluster.notes:
        click.echo(f"warning: {note}", err=True)


def _problem(cluster: dict[str, Any], job: str | None) -> dict[str, Any]:
    """Return the problem file, checked: the machines alone, or with a job.

    Raises:
        InputError: The job file is none, has machines of its own, or does not fit the machines.
    """
    if job is None:
        Problem.model_validate({"cluster": cluster})
        return {"cluster": cluster}
    name = source_name(job)
    data = parse_json(read_text(job), name)
    if not isinstance(data, dict):
        raise InputError(Complaint(name, "not a job", expected="a JSON object"))
    if "cluster" in data:
        complaint = "has machines of its own, and so do the imported files"
        raise InputError(Complaint(f"{name}: $.cluster", complaint, expected="a job alone"))
    problem = {"cluster": cluster, **(data if "job" in data else {"job": data})}
    try:
        Problem.model_validate(problem)
    except InputError as error:
        raise error.within(name) from None
    return problem
