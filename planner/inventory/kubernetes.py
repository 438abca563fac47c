"""Kubernetes: node lists (``kubectl get nodes -o json`` or ``-o yaml``) and Kueue topologies.

Labels tell where a node is; several makers and generations of them are known, and a list may mix
them. Values are compared along the whole path, since racks of different blocks may share a name.
A Kueue ``Topology`` says which labels count, root first, and replaces all the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from planner.inventory.documents import Value, read_json, read_yaml
from planner.inventory.lines import host_name
from planner.inventory.model import ACCELERATOR, Inventory, Level, Node, Note, distinct, refuse
from planner.inventory.nesting import keep_nested
from planner.inventory.switches import levels_of_paths
from planner.wording import counted

HOSTNAME = "kubernetes.io/hostname"
WIDE = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
"""Labels of whole buildings: a level of their own only where the nodes differ in them."""

_NVIDIA = "network.topology.nvidia.com"
_PATHS: tuple[tuple[str, ...], ...] = (
    (f"{_NVIDIA}/leaf", f"{_NVIDIA}/spine", f"{_NVIDIA}/core"),
    (f"{_NVIDIA}/block", f"{_NVIDIA}/spine", f"{_NVIDIA}/datacenter"),
    ("cloud.google.com/gce-topology-subblock", "cloud.google.com/gce-topology-block"),
    ("oci.oraclecloud.com/host.rack_id", "oci.oraclecloud.com/host.network_block_id"),
)
"""Labels of one generation, nearest first; the first is there on every node of it."""

_TIERS = re.compile(r"fabric\.topograph\.run/tier-([0-9]{1,2})")  # 0 is the nearest
_AWS_LAYERS = re.compile(r"topology\.k8s\.aws/network-node-layer-([0-9]{1,2})")  # 1 is the root
_ACCELERATORS = (
    "accelerator.topograph.run/domain",
    f"{_NVIDIA}/accelerator",
    "nvidia.com/gpu.clique",
    "topology.k8s.aws/ultraserver-id",
)

_SUB_DOMAIN = "accelerator.topograph.run/sub-domain"
_GPUS = ("nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi")


def read(text: str, source: str) -> list[Value]:
    """Return the objects of a file, lists opened.

    Raises:
        InputError: Neither JSON nor YAML.
    """
    json = text.lstrip().startswith(("{", "["))
    documents = [read_json(text, source)] if json else read_yaml(text, source)
    return [found for document in documents for found in _objects(document)]


def _objects(document: Value) -> Iterator[Value]:
    if document.raw is None:
        return
    if isinstance(document.raw, list):
        yield from document.each()
        return
    items = document.get("items")
    if items is None:
        yield document
    else:
        yield from items.each()


def parse(objects: Sequence[Value]) -> Inventory:
    """Return the machines that objects of all files describe.

    Nodes that are not ready or have no GPU left are down, cordoned ones are set aside.

    Raises:
        InputError: No node, a node that stands twice, or two topologies.
    """
    source = objects[0].source if objects else "kubernetes"
    nodes: list[Node] = []
    labels: dict[str, Mapping[str, str]] = {}
    notes: list[Note] = []
    topologies: list[Value] = []
    for found in objects:
        kind = found.get("kind")
        match kind.text() if kind else "Node":
            case "Node":
                node = _node(found, notes)
                nodes.append(node)
                labels[node.name] = _labels(found)
            case "Topology":
                topologies.append(found)
            case other:
                raise refuse(found.where, "not read", got=other, expected="Node or Topology")
    if not nodes:
        remedy = "add the output of kubectl get nodes -o json"
        raise refuse(source, "no node in the file", remedy=remedy)
    if len(topologies) > 1:
        got = f"and {topologies[0].where}"
        raise refuse(topologies[1].where, "two topologies", got=got, expected="one")
    if not any(node.gpus for node in nodes):
        nodes = [replace(node, gpus=None) for node in nodes]
    levels, said = _levels(labels, topologies, source)
    return Inventory(distinct(nodes), levels, notes=(*notes, *said))


def _labels(node: Value) -> dict[str, str]:
    found = node.find("metadata", "labels")
    return {key: value.text() for key, value in found.items() if value.raw != ""} if found else {}


def _node(found: Value, notes: list[Note]) -> Node:
    name = found.require("metadata").require("name")
    host = host_name(name.text(), name.where)
    gpus, whole = (_count(found.find("status", part)) for part in ("allocatable", "capacity"))
    if gpus is None:
        gpus = whole
    down = _not_ready(found)
    if gpus is not None and whole is not None and gpus < whole:
        if gpus == 0:
            down = down or f"none of its {counted(whole, 'GPU')} can be allocated"
        else:
            part = f"{gpus} of {counted(whole, 'GPU')}"
            text = f"{host}: {part} can be allocated, the file does not tell which"
            notes.append(Note(found.where, text))
    cordoned = found.find("spec", "unschedulable")
    off = cordoned is not None and str(cordoned.raw).lower() == "true"
    return Node(host, found.where, gpus or 0, down=down, aside="cordoned" if off else None)


def _count(resources: Value | None) -> int | None:
    """Return the GPUs among resources; None if there are no resources."""
    if resources is None:
        return None
    return sum(v.count() for key in _GPUS if (v := resources.get(key)) is not None)


def _not_ready(found: Value) -> str | None:
    conditions = found.find("status", "conditions")
    for condition in conditions.each() if conditions else ():
        kind, status = condition.get("type"), condition.get("status")
        if kind and status and kind.text() == "Ready" and status.text() != "True":
            return "not ready"
    return None


def _levels(
    labels: Mapping[str, Mapping[str, str]], topologies: Sequence[Value], source: str
) -> tuple[tuple[Level, ...], tuple[Note, ...]]:
    if topologies:
        keys = _topology(topologies[0])
        paths = {node: _values(values, keys) for node, values in labels.items()}
        return levels_of_paths(source, paths)
    wide = [key for key in WIDE if _differ(key, labels.values())]
    paths = {
        node: [*path, *_values(values, wide)]
        for node, values in labels.items()
        if (path := _path(values)) or wide
    }
    fabric, notes = levels_of_paths(source, paths)
    inner = _level(f"{ACCELERATOR}-sub", source, labels, [_SUB_DOMAIN])
    outer = _level(ACCELERATOR, source, labels, _ACCELERATORS)
    levels, dropped = keep_nested((*inner, *outer, *fabric), source)
    return levels, (*notes, *dropped)


def _topology(topology: Value) -> list[str]:
    """Return the labels of a Kueue topology, nearest first, without the host."""
    levels = [
        v.require("nodeLabel").text() for v in topology.require("spec").require("levels").each()
    ]
    return [key for key in reversed(levels) if key != HOSTNAME]


def _values(labels: Mapping[str, str], keys: Iterable[str]) -> list[str]:
    return [labels[key] for key in keys if key in labels]


def _differ(key: str, nodes: Iterable[Mapping[str, str]]) -> bool:
    return len({labels.get(key) for labels in nodes}) > 1 and all(key in labels for labels in nodes)


def _path(labels: Mapping[str, str]) -> list[str]:
    """Return the values of the newest generation of labels a node has, nearest first."""
    for pattern, order in ((_TIERS, 1), (_AWS_LAYERS, -1)):
        tiers = {order * int(m[1]): labels[key] for key in labels if (m := pattern.fullmatch(key))}
        if tiers:
            return [tiers[tier] for tier in sorted(tiers)]
    for keys in _PATHS:
        if keys[0] in labels:
            return _values(labels, keys)
    return []


def _level(
    name: str, source: str, nodes: Mapping[str, Mapping[str, str]], keys: Sequence[str]
) -> tuple[Level, ...]:
    """Return the level of the first of some labels that a node has, if any node has one."""
    domains: dict[str, list[str]] = {}
    for node, labels in nodes.items():
        for value in _values(labels, keys)[:1]:
            domains.setdefault(value, []).append(node)
    return (Level(name, source, {key: tuple(v) for key, v in domains.items()}),) if domains else ()
