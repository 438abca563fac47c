"""Topologies of NVIDIA topograph: the JSON of its graph engine, and its YAML models.

The graph lists instances, each with the switches above it, nearest first. A model lists switches,
and the nodes below them directly or in blocks; fields moved over time, and all places are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from planner.inventory.documents import Value, read_json, read_yaml
from planner.inventory.lines import host_name, hosts
from planner.inventory.model import (
    ACCELERATOR,
    Inventory,
    Level,
    Node,
    Note,
    distinct,
    refuse,
    shorten,
)
from planner.inventory.nesting import keep_nested
from planner.inventory.slurm_plugins import Switch, tree
from planner.inventory.switches import levels_of_paths

_MODEL_KEYS = {"switches", "nodes", "blocks", "capacity_blocks"}
_SWITCH_KEYS = {"name", "switches", "nodes", "capacity_blocks", "labels", "attributes", "metadata"}
_BLOCK_KEYS = {"name", "switch", "nodes", "labels", "attributes", "metadata", "type", "nvlink"}
_ACCELERATOR_KEYS = (
    "nvlink",
    "accelerator",
    "accelerator.topograph.run/domain",
    "network.topology.nvidia.com/accelerator",
    "accelerated.topology.nvidia.com/level-0",
)


def parse_graph(text: str, source: str) -> Inventory:
    """Read what the graph engine writes.

    Raises:
        InputError: Not such a file, or an instance that stands twice.
    """
    nodes: list[Node] = []
    paths: dict[str, list[str]] = {}
    domain_of: dict[str, str] = {}
    for instance in read_json(text, source).require("instances").each():
        name = instance.require("id")
        host = host_name(name.text(), name.where)
        nodes.append(Node(host, instance.where))
        layers = instance.get("network_layers")
        path = [layer.text() for layer in layers.each()] if layers else []
        if path:
            paths[host] = path
        domain_of[host] = _accelerator(instance)
    fabric, notes = levels_of_paths(source, paths)
    levels, dropped = keep_nested((*_accelerators(domain_of, source), *fabric), source)
    return Inventory(distinct(nodes), levels, notes=(*notes, *dropped))


def parse_model(text: str, source: str) -> Inventory:
    """Read a model.

    Raises:
        InputError: Not such a file, or one that contradicts itself.
    """
    documents = read_yaml(text, source)
    if len(documents) != 1:
        raise refuse(source, "not one YAML document", got=str(len(documents)), expected="1")
    model = documents[0]
    notes = [*_unread(model, _MODEL_KEYS)]
    blocks = dict(_named(model, "capacity_blocks"))
    for block in blocks.values():
        notes += _unread(block, _BLOCK_KEYS)
    members = {name: _hosts(block.get("nodes")) for name, block in blocks.items()}
    domain_of = {
        node: _accelerator(blocks[name]) for name, nodes in members.items() for node in nodes
    }
    for _, switch in _named(model, "switches"):
        notes += _unread(switch, _SWITCH_KEYS)
    switches = {
        name: Switch(name, _place(switch), _below(switch, members), _texts(switch.get("switches")))
        for name, switch in _named(model, "switches")
    }
    for block in _listed(model.get("blocks")):
        notes += _unread(block, _BLOCK_KEYS)
        nodes = _hosts(block.get("nodes"))
        domain_of |= dict.fromkeys(nodes, _accelerator(block))
        below = switches.get(block.require("switch").text())
        if below is None:
            raise refuse(block.where, "the block of a switch that no entry describes")
        switches[below.name] = replace(below, nodes=(*below.nodes, *nodes))
    for name, node in _named(model, "nodes"):
        domain_of[name] = _accelerator(node) or domain_of.get(name, "")
    found = tree(list(switches.values()), source)
    known = {node.name for node in found.nodes}
    rest = [Node(host_name(name, source), source) for name in domain_of if name not in known]
    accelerators = _accelerators(domain_of, source)
    levels, dropped = keep_nested((*accelerators, *found.levels), source)
    return Inventory((*found.nodes, *rest), levels, notes=(*notes, *found.notes, *dropped))


def _unread(entry: Value, known: set[str]) -> Iterator[Note]:
    """Yield a note for every field of an entry that is not read."""
    for key, value in entry.unknown(known):
        text = key if value.raw is None else f"{key}: {value.raw}"
        yield Note(value.where, f"not read: {shorten(text, 1000)}")


def _named(model: Value, key: str) -> Iterator[tuple[str, Value]]:
    """Yield the entries under a key: a map from names, or a list of objects with distinct names."""
    value = model.get(key)
    if value is None:
        return
    if not isinstance(value.raw, list):
        yield from value.items()
        return
    seen: dict[str, Value] = {}
    for entry in value.each():
        name = entry.require("name").text()
        if name in seen:
            got = f"{name}, first at {seen[name].where}"
            raise refuse(entry.where, "an entry is described twice", got=got)
        seen[name] = entry
        yield name, entry


def _listed(value: Value | None) -> Iterable[Value]:
    return value.each() if value else ()


def _texts(value: Value | None) -> tuple[str, ...]:
    return tuple(entry.text() for entry in _listed(value))


def _hosts(value: Value | None) -> tuple[str, ...]:
    return tuple(name for entry in _listed(value) for name in hosts(entry.text(), entry.where))


def _below(switch: Value, blocks: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the nodes of a switch, those of the blocks it lists included."""
    listed = _listed(switch.get("capacity_blocks"))
    inside = (node for block in listed for node in blocks.get(block.text(), ()))
    return tuple(dict.fromkeys((*_hosts(switch.get("nodes")), *inside)))


def _place(value: Value) -> str:
    return f"{value.source}:{value.line}"


def _accelerator(entry: Value) -> str:
    """Return the NVLink domain that an entry, its labels or its attributes tell; empty if none."""
    labels = entry.get("labels")
    for _, label in labels.items() if labels else ():
        label.text()  # refuses what can be no label
    for holder in (entry, labels, entry.get("attributes")):
        for key in _ACCELERATOR_KEYS if holder else ():
            value = holder.get(key) if holder else None
            if value is not None:
                return value.text()
    return ""


def _accelerators(domain_of: Mapping[str, str], source: str) -> tuple[Level, ...]:
    """Return the level of NVLink domains, if there are any."""
    domains: dict[str, tuple[str, ...]] = {}
    for node, domain in domain_of.items():
        if domain:
            domains[domain] = (*domains.get(domain, ()), node)
    return (Level(ACCELERATOR, source, domains),) if domains else ()
