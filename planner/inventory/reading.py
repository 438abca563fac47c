"""Which kind of file a text is, and how each kind is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from planner.inventory import (
    aws,
    gcp,
    hostfiles,
    hwloc_xml,
    ibnetdiscover,
    kubernetes,
    nccl_xml,
    nvidia_smi,
    slurm_nodes,
    slurm_topology,
    slurm_topology_yaml,
    topograph,
)
from planner.inventory.documents import Value
from planner.inventory.lines import numbered
from planner.inventory.model import Inventory, refuse, shorten

Parser = Callable[[str, str], Inventory]


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read: its name, its text, its kind (None: guess)."""

    name: str
    text: str
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file (or all files of Kubernetes) tells."""

    names: tuple[str, ...]
    kind: str
    guessed: bool
    inventory: Inventory


PAGED: dict[str, tuple[Callable[[str, str], list[Value]], Callable[[list[Value]], Inventory]]] = {
    "aws": (aws.read, aws.parse),
    "kubernetes": (kubernetes.read, kubernetes.parse),
}
"""Kinds whose files are read together: how one is opened, and how the values of all are read."""

PARSERS: dict[str, Parser] = {
    "slurm-topology": slurm_topology.parse,
    "slurm-show-topology": slurm_topology.parse,
    "slurm-topology-yaml": slurm_topology_yaml.parse,
    "slurm-nodes": slurm_nodes.parse,
    "slurm-hostfile": hostfiles.parse_slurm,
    "openmpi": hostfiles.parse_openmpi,
    "deepspeed": hostfiles.parse_deepspeed,
    "mpich": hostfiles.parse_mpich,
    "pbs": hostfiles.parse_pbs,
    "nvidia-smi": nvidia_smi.parse,
    "nccl": nccl_xml.parse,
    "hwloc": hwloc_xml.parse,
    "ibnetdiscover": ibnetdiscover.parse,
    "topograph": topograph.parse_graph,
    "topograph-model": topograph.parse_model,
    "gcp": gcp.parse,
}
"""Parser of every other kind."""

KINDS = {
    "slurm-topology": "Slurm topology.conf",
    "slurm-show-topology": "output of scontrol show topology",
    "slurm-topology-yaml": "Slurm topology.yaml",
    "slurm-nodes": "output of scontrol show nodes",
    "slurm-hostfile": "SLURM_HOSTFILE",
    "openmpi": "hostfile of Open MPI or DeepSpeed",
    "deepspeed": "hostfile of DeepSpeed",
    "mpich": "hostfile of MPICH or Intel MPI",
    "pbs": "list of hosts (PBS node file)",
    "nvidia-smi": "output of nvidia-smi topo -m",
    "nccl": "NCCL topology XML",
    "hwloc": "hwloc XML",
    "ibnetdiscover": "output of ibnetdiscover",
    "topograph": "topograph graph JSON",
    "topograph-model": "topograph model YAML",
    "aws": "AWS describe-instance-topology",
    "gcp": "GCP list of instances",
    "kubernetes": "Kubernetes nodes or Kueue topology",
}
"""What a file of every kind is, by name of the kind."""

HEAD = 200_000
"""Characters of a file that tell its kind, where that needs a look at every line."""

_RECORD = re.compile(
    r"\s*(SwitchName|BlockName|BlockSizes|RingName|AggregatedBlock)\s*=", re.IGNORECASE
)
_SHOWN = re.compile(r"\s(Level|BlockIndex|RingIndex)=", re.IGNORECASE)
_NODE = re.compile(r"\s*NodeName=", re.IGNORECASE)
_JSON: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("kubernetes", re.compile(r'"apiVersion"\s*:')),
    ("aws", re.compile(r'"(Instances|NetworkNodes)"\s*:')),
    ("topograph", re.compile(r'"(instances|network_layers)"\s*:')),
    ("gcp", re.compile(r'"(resourceStatus|machineType|selfLink)"\s*:|"compute#instance')),
)
_YAML: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("kubernetes", re.compile(r"^(- )?(apiVersion|kind):", re.MULTILINE)),
    ("slurm-topology-yaml", re.compile(r"^[\s-]*topology:|^\s*-\s*{.*\btopology:", re.MULTILINE)),
    ("topograph-model", re.compile(r"^(switches|blocks|capacity_blocks|nodes):", re.MULTILINE)),
)
_XML = re.compile(r"<(system|topology|root)\b")


def read(sources: Iterable[Source]) -> list[Reading]:
    """Read files, each by itself but for those of Kubernetes, which are read together.

    Raises:
        InputError: A file of no known kind, or not what its kind says.
    """
    readings: list[Reading] = []
    pages: dict[str, list[Source]] = {}
    for source in sources:
        kind = source.kind or guess(source.text, source.name)
        if kind in PAGED:
            pages.setdefault(kind, []).append(source)
        else:
            inventory = PARSERS[kind](source.text, source.name)
            readings.append(Reading((source.name,), kind, source.kind is None, inventory))
    for kind, files in pages.items():
        open_page, parse = PAGED[kind]
        values = [value for file in files for value in open_page(file.text, file.name)]
        names = tuple(file.name for file in files)
        guessed = any(file.kind is None for file in files)
        readings.append(Reading(names, kind, guessed, parse(values)))
    return readings


def guess(text: str, source: str) -> str:
    """Return the kind of a text.

    Raises:
        InputError: None fits.
    """
    kind = next(_candidates(text), None)
    if kind is None:
        first = next((line.strip() for _, line in numbered(text) if line.strip()), "an empty file")
        raise refuse(
            source,
            "no known kind of file",
            got=shorten(f"'{first}'", 60),
            expected=f"one of {', '.join(KINDS)}",
            remedy="name it with --kind",
        )
    return kind


def _candidates(text: str) -> Iterator[str]:
    """Yield the kinds that fit, the surest first."""
    start = text.lstrip()[:1]
    if start == "<":
        root = _XML.search(text)
        if root:
            yield "nccl" if root[1] == "system" else "hwloc"
        return
    if start in ("{", "["):
        yield from (kind for kind, pattern in _JSON if pattern.search(text))
    head = text if len(text) <= HEAD else text[: text.rfind("\n", 0, HEAD) + 1]
    lines = [line for _, line in numbered(head)]
    if any(nvidia_smi.is_header(line) for line in lines):
        yield "nvidia-smi"
    records = [line for line in lines if _RECORD.match(line)]
    if records:
        shown = any(_SHOWN.search(line) for line in records)
        yield "slurm-show-topology" if shown else "slurm-topology"
    if any(_NODE.match(line) for line in lines):
        yield "slurm-nodes"
    if ibnetdiscover.looks_like(head):
        yield "ibnetdiscover"
    yield from (kind for kind, pattern in _YAML if pattern.search(text))
    hostfile = hostfiles.guess(head)
    if hostfile:
        yield hostfile
