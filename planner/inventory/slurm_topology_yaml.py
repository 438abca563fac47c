"""Slurm's ``topology.yaml``: a list of topologies, of which the cluster's default is read.

Every scalar stays text: nodes may be called ``0012`` or ``on``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.inventory.documents import Value, read_yaml
from planner.inventory.lines import hosts
from planner.inventory.model import Inventory, Note, refuse
from planner.inventory.slurm_plugins import Group, Switch, block_sizes, blocks, groups, tree
from planner.spec.hostlist import fold

_KEYS = {
    "topology": {"topology", "cluster_default", "tree", "block", "ring", "torus3d", "flat"},
    "tree": {"switches"},
    "switch": {"switch", "children", "nodes"},
    "block": {"block_sizes", "blocks"},
    "blocks": {"block", "nodes"},
    "ring": {"rings"},
    "rings": {"ring", "nodes"},
    "torus3d": {"toruses"},
    "toruses": {"name", "dims", "nodes", "placements"},
}
_PLUGINS = ("tree", "block", "ring", "torus3d", "flat")


def parse(text: str, source: str) -> Inventory:
    """Read a ``topology.yaml``.

    Raises:
        InputError: It is none, its default topology names no nodes, or two are the default.
    """
    documents = read_yaml(text, source)
    if len(documents) != 1:
        raise refuse(source, "not one YAML document", got=str(len(documents)), expected="1")
    topologies = list(documents[0].each())
    if not topologies:
        raise refuse(source, "no topology in the file")
    chosen = _default(topologies)
    inventory = _topology(chosen)
    others = [topology for topology in topologies if topology is not chosen]
    known = {node.name for node in inventory.nodes}
    notes = [_passed_over(topology, known) for topology in others]
    return Inventory(inventory.nodes, inventory.levels, notes=(*inventory.notes, *notes))


def _default(topologies: Sequence[Value]) -> Value:
    defaults = [t for t in topologies if _is_default(t)]
    if len(defaults) > 1:
        first, second = defaults[:2]
        got = f"{_name(second)}, and {_name(first)} at {first.where}"
        raise refuse(second.where, "two topologies are the cluster's default", got=got)
    return defaults[0] if defaults else topologies[0]


def _is_default(topology: Value) -> bool:
    value = topology.get("cluster_default")
    if value is None:
        return False
    text = value.text().lower()
    if text not in ("true", "yes", "on", "false", "no", "off"):
        raise refuse(value.where, "not a yes or no", got=f"'{text}'", expected="true or false")
    return text in ("true", "yes", "on")


def _name(topology: Value) -> str:
    return topology.require("topology").text()


def _passed_over(topology: Value, known: set[str]) -> Note:
    """Say that a topology is not read, and which of its nodes are nowhere else."""
    nodes = dict.fromkeys(node.name for node in _topology(topology, read=False).nodes)
    lost = [node for node in nodes if node not in known]
    text = f"topology '{_name(topology)}' is not the cluster's default: not read"
    return Note(topology.where, f"{text}; left out: {fold(lost)}" if lost else text)


def _topology(topology: Value, *, read: bool = True) -> Inventory:
    """Return the machines of one topology; one that is not to be read may be without any."""
    keys = {key: value for key, value in topology.items() if key in _PLUGINS}
    if len(keys) != 1:
        got = ", ".join(keys) or "none"
        raise refuse(
            topology.where, "not one plugin", got=got, expected=f"one of {', '.join(_PLUGINS)}"
        )
    ((plugin, value),) = keys.items()
    _refuse_unknown(topology, "topology")
    if plugin != "flat":
        _refuse_unknown(value, plugin)
    source = topology.source
    match plugin:
        case "tree":
            return tree([_switch(v) for v in value.require("switches").each()], source)
        case "block":
            sizes, place = _sizes(value.get("block_sizes"), value)
            return blocks(_groups(value.require("blocks"), "blocks", "block"), sizes, source, place)
        case "ring":
            return groups("ring", _groups(value.require("rings"), "rings", "ring"), source)
        case "torus3d":
            return groups("torus", _groups(value.require("toruses"), "toruses", "name"), source)
    if read:
        remedy = "give --nodes and a file that tells GPUs, without this one"
        raise refuse(value.where, "a flat topology names no nodes", remedy=remedy)
    return Inventory()


def _switch(value: Value) -> Switch:
    _refuse_unknown(value, "switch")
    nodes, children = value.get("nodes"), value.get("children")
    name = value.require("switch").text()
    return Switch(name, _place(value), _names(nodes), _names(children))


def _place(value: Value) -> str:
    return f"{value.source}:{value.line}"


def _groups(values: Value, kind: str, name: str) -> list[Group]:
    groups_ = []
    for group in values.each():
        _refuse_unknown(group, kind)
        nodes = _names(group.get("nodes"))
        groups_.append(Group(group.require(name).text(), _place(group), nodes))
    return groups_


def _refuse_unknown(value: Value, kind: str) -> None:
    for key, entry in value.unknown(_KEYS[kind]):
        known = ", ".join(sorted(_KEYS[kind]))
        raise refuse(entry.where, "an unknown key", got=f"'{key}'", expected=known)


def _names(value: Value | None) -> tuple[str, ...]:
    """Read a hostlist; a list of hostlists is one too."""
    if value is None:
        return ()
    parts: Iterable[Value] = value.each() if isinstance(value.raw, list) else (value,)
    return tuple(name for part in parts for name in hosts(part.text(), part.where))


def _sizes(value: Value | None, block: Value) -> tuple[tuple[int, ...], str]:
    if value is None:
        return (), block.where
    parts = value.each() if isinstance(value.raw, list) else (value,)
    return block_sizes([part.text() for part in parts], value.where), value.where
