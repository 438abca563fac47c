"""Is this process where the plan says? Compares what the process sees, never what it was told."""

import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from planner.plan import Plan
from planner.planfile import PlanFile, RankEntry, read_plan_file
from planner.runtime.devices import uuid_of_process, visible_uuids

LAUNCHED = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
)
"""Rank, number of processes and local rank as wrappers and launchers state them, first found."""


@dataclass(frozen=True, slots=True)
class Misplacement:
    """One thing about a process or node that is not as planned.

    Attributes:
        who: ``rank 3``, or ``host n1`` for a node as a whole.
        what: ``host``, ``local_rank``, ``gpu``, ``rank`` or ``world_size``.
        got: what the process sees.
        planned: what the plan says.
    """

    who: str
    what: str
    got: str
    planned: str

    def __str__(self) -> str:
        return f"{self.who}: {self.what} is {self.got}, the plan says {self.planned}"


@dataclass(frozen=True, slots=True)
class Process:
    """What a process knows of itself.

    Attributes:
        rank: its rank, or None for a check of the whole node.
        world: number of processes started, if known.
        local_rank: its number on the node, if known.
        host: name of the node.
    """

    rank: int | None
    world: int | None
    local_rank: int | None
    host: str

    @classmethod
    def found(
        cls,
        environ: Mapping[str, str],
        rank: int | None = None,
        host: str | None = None,
        local_rank: int | None = None,
    ) -> "Process":
        """What was given, else what wrappers and launchers state, else the hostname."""
        names = next((n for n in LAUNCHED if environ.get(n[0], "").isdecimal()), LAUNCHED[0])
        told = [int(v) if (v := environ.get(n, "")).isdecimal() else None for n in names]
        return cls(
            told[0] if rank is None else rank,
            told[1],
            told[2] if local_rank is None else local_rank,
            host or environ.get("PLANNER_HOST") or socket.gethostname(),
        )


def same_host(a: str, b: str) -> bool:
    """Whether two names are one host's: short names are compared when either has no dot.

    Example:
        >>> same_host("n1", "n1.rack"), same_host("n1.a", "n1.b")
        (True, False)
    """
    if "." in a and "." in b:
        return a == b
    return a.partition(".")[0] == b.partition(".")[0]


def check(
    plan: Plan | PlanFile | str | Path,
    *,
    rank: int | None = None,
    host: str | None = None,
    local_rank: int | None = None,
    numbering: str = "trainer",
    whole_node: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> list[Misplacement]:
    """Everything about this process that is not as planned; empty when it sits right.

    Run it in every process, or once a node: without a rank (given, or in the environment as
    RANK or as a launcher states it) the node as a whole is checked.

    Args:
        plan: the plan, its file's content or its path.
        rank: the process's rank; default from the environment.
        host: the node's name; default PLANNER_HOST, else the hostname.
        local_rank: number on the node; default from the environment, not compared if unknown.
        numbering: ``trainer`` or ``host``, whichever the job was exported with.
        whole_node: check the node even though a rank is known.
        environ: variables to look at.

    Raises:
        InputError: the file is no plan.
    """
    form = _content(plan)
    process = Process.found(environ, rank, host, local_rank)
    if process.rank is None or whole_node:
        return list(_node(form, process.host, environ))
    return list(_process(form, process, numbering, environ))


def _content(plan: Plan | PlanFile | str | Path) -> PlanFile:
    if isinstance(plan, Plan):
        return PlanFile.of(plan.document())
    return plan if isinstance(plan, PlanFile) else read_plan_file(plan)


def _process(
    form: PlanFile, process: Process, numbering: str, environ: Mapping[str, str]
) -> Iterator[Misplacement]:
    who = f"rank {process.rank}"
    if process.world is not None and process.world != form.world_size:
        yield Misplacement(who, "world_size", str(process.world), str(form.world_size))
    entry = _planned(form, process.rank, numbering)
    if entry is None:
        yield Misplacement(who, "rank", str(process.rank), f"0 to {form.world_size - 1}")
        return
    if not same_host(process.host, entry.host):
        yield Misplacement(who, "host", process.host, entry.host)
        return
    local = _local_rank(form, entry, numbering)
    if process.local_rank is not None and process.local_rank != local:
        yield Misplacement(who, "local_rank", str(process.local_rank), str(local))
    planned = _uuids(form, entry.host)
    if planned:
        seen = uuid_of_process(environ, local if process.local_rank is None else process.local_rank)
        if seen is not None and not _same_device(seen, planned[entry.gpu]):
            yield Misplacement(who, "gpu", seen, f"{planned[entry.gpu]} (GPU {entry.gpu})")


def _planned(form: PlanFile, rank: int | None, numbering: str) -> RankEntry | None:
    entries = form.ranks
    if numbering == "host":
        return next((e for e in entries if e.host_rank == rank), None)
    return next((e for e in entries if e.rank == rank), None)


def _local_rank(form: PlanFile, entry: RankEntry, numbering: str) -> int:
    if numbering == "trainer":
        return entry.local_rank
    return sum(e.host == entry.host and e.host_rank < entry.host_rank for e in form.ranks)


def _node(form: PlanFile, host: str, environ: Mapping[str, str]) -> Iterator[Misplacement]:
    name = next((h for h in form.hosts if same_host(h, host)), None)
    if name is None:
        yield Misplacement(f"host {host}", "host", host, "no rank there")
        return
    planned = _uuids(form, name)
    seen = visible_uuids(environ) if planned else None
    if seen is None:
        return
    for entry in form.ranks:
        if entry.host == name and not any(_same_device(u, planned[entry.gpu]) for u in seen):
            yield Misplacement(
                f"rank {entry.rank}",
                "gpu",
                f"none of {', '.join(seen) or 'no GPU'}",
                f"{planned[entry.gpu]} (GPU {entry.gpu} of {name})",
            )


def _uuids(form: PlanFile, host: str) -> tuple[str, ...]:
    """UUIDs of a host's GPUs as the plan's problem states them, or none."""
    return form.read_problem().cluster.machines.uuids.get(host, ())


def _same_device(seen: str, planned: str) -> bool:
    """CUDA_VISIBLE_DEVICES may name a device by the first characters of its UUID."""
    return planned.startswith(seen)
