"""From an inventory to ``cluster`` of a problem file, and to what the user is told about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from planner.inventory.model import Inside, Inventory, Level, Node, Note, refuse, shorten
from planner.inventory.nesting import split
from planner.spec.hostlist import fold
from planner.spec.names import is_name
from planner.wording import counted

_FOREIGN = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Cluster:
    """The machines as a problem file has them.

    Attributes:
        data: ``cluster`` of a problem file.
        summary: What was understood, a line each: nodes and GPUs, then every level.
        notes: What the user should know.
    """

    data: dict[str, Any]
    summary: tuple[str, ...]
    notes: tuple[Note, ...]


def to_cluster(inventory: Inventory) -> Cluster:
    """Return the machines of an inventory in which every node has its GPUs.

    Nodes that a level does not know get a domain of their own there.

    Raises:
        InputError: Two levels do not nest.
    """
    notes = list(inventory.notes)
    nodes = inventory.nodes
    per_node = Counter(node.gpus for node in nodes).most_common(1)[0][0] or 1
    levels = _levels(inventory, notes)
    inside = [(name, size) for name, size in (inventory.inside.levels if inventory.inside else ())]
    data: dict[str, Any] = {
        "nodes": _nodes(nodes, inventory.inside, per_node),
        "gpus_per_node": per_node,
    }
    if inside or levels:
        data["levels"] = [
            *({"name": name, "weight": 1, "gpus_per_domain": size} for name, size in inside),
            *(
                {"name": name, "weight": 1, "domains": {d: fold(m) for d, m in domains.items()}}
                for name, domains in levels
            ),
        ]
    summary = (
        _machines(nodes),
        *(f"{name}: domains of {counted(size, 'GPU')}" for name, size in inside),
    )
    said = (line for name, domains in levels for line in _sizes(name, domains))
    return Cluster(data, (*summary, *said), tuple(notes))


def _nodes(nodes: Sequence[Node], inside: Inside | None, per_node: int) -> str | list[Any]:
    """Return one hostlist, or hostlists and objects in the order of the nodes."""
    items: list[Any] = []
    for extra, group in groupby(nodes, lambda node: _extra(node, inside, per_node)):
        text = fold(node.name for node in group)
        items.append({"name": text, **dict(extra)} if extra else text)
    return items[0] if len(items) == 1 and isinstance(items[0], str) else items


def _extra(node: Node, inside: Inside | None, per_node: int) -> tuple[tuple[str, Any], ...]:
    """Return what an object has to say about a node beside its name."""
    extra: list[tuple[str, Any]] = []
    if node.gpus != per_node:
        extra.append(("gpus", node.gpus))
    if inside and inside.offline and node.gpus == inside.gpus:
        extra.append(("offline", list(inside.offline)))
    if node.uuids and len(node.uuids) == node.gpus:
        extra.append(("uuids", list(node.uuids)))
    return tuple(extra)


def _levels(inventory: Inventory, notes: list[Note]) -> list[tuple[str, dict[str, list[str]]]]:
    """Return name and domains of every level that knows a node, finest first."""
    names = [node.name for node in inventory.nodes]
    known = [(level, domain_of) for level in inventory.levels if (domain_of := _of(level, names))]
    missing: dict[str, tuple[str, list[str]]] = {}
    for level, domain_of in known:
        alone = [name for name in names if name not in domain_of]
        if alone:
            where, lost = missing.setdefault(fold(alone), (level.where, []))
            lost.append(level.name)
    for text, (where, lost) in missing.items():
        notes.append(Note(where, f"no {' or '.join(lost)} known, each on its own: {text}"))
    known.sort(key=lambda item: -_count(item[1], names))
    for i, (coarse, outer) in enumerate(known):
        for fine, inner in known[:i]:
            _refuse_split(fine, inner, coarse, outer)
    return [(level.name, _domains(domain_of, names)) for level, domain_of in known]


def _of(level: Level, names: Sequence[str]) -> dict[str, str]:
    """Return the domain of the nodes that are used and known."""
    domain_of = level.domain_of()
    return {name: domain_of[name] for name in names if name in domain_of}


def _count(domain_of: Mapping[str, str], names: Sequence[str]) -> int:
    return len(set(domain_of.values())) + len(names) - len(domain_of)


def _refuse_split(
    fine: Level, inner: Mapping[str, str], coarse: Level, outer: Mapping[str, str]
) -> None:
    found = split(inner, outer)
    if found is not None:
        domain, one, other = found
        raise refuse(
            fine.where,
            f"levels must nest, but {fine.name} '{domain}' lies in two domains of {coarse.name}",
            got=f"'{one}' and '{other}' ({coarse.where})",
            remedy="leave one of the files out",
        )


def _domains(domain_of: Mapping[str, str], names: Sequence[str]) -> dict[str, list[str]]:
    """Return the nodes of every domain, under a name that a problem file accepts."""
    members: dict[tuple[str, bool], list[str]] = {}
    for name in names:
        key = (domain_of[name], True) if name in domain_of else (name, False)
        members.setdefault(key, []).append(name)
    domains: dict[str, list[str]] = {}
    for (domain, _), nodes in members.items():
        plain = _plain(domain)
        unique, copy = plain, 2
        while unique in domains:
            unique, copy = f"{plain}-{copy}", copy + 1
        domains[unique] = nodes
    return domains


def _plain(domain: str) -> str:
    if is_name(domain):
        return domain
    return _FOREIGN.sub("-", domain).strip(".-")[:200].strip(".-") or "domain"


def _machines(nodes: Sequence[Node]) -> str:
    sizes = Counter(node.gpus or 0 for node in nodes)
    total = sum(gpus * count for gpus, count in sizes.items())
    parts = " and ".join(f"{count} with {gpus}" for gpus, count in sizes.most_common())
    each = f"{counted(nodes[0].gpus or 0, 'GPU')} each" if len(sizes) == 1 else parts
    return f"{counted(len(nodes), 'node')}, {each}: {counted(total, 'GPU')}"


def _sizes(name: str, domains: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the sizes of a level's domains, and which of them are uneven."""
    sizes = Counter(len(nodes) for nodes in domains.values())
    if len(sizes) == 1:
        ((size, count),) = sizes.items()
        yield f"{name}: {counted(count, 'domain')} of {counted(size, 'node')}"
        return
    parts = ", ".join(f"{count} of {size}" for size, count in sorted(sizes.items(), reverse=True))
    yield f"{name}: {counted(len(domains), 'domain')}, uneven: {parts} nodes"
    usual = max(sizes, key=lambda size: (sizes[size], size))
    odd = (f"{domain} {len(nodes)}" for domain, nodes in domains.items() if len(nodes) != usual)
    yield f"{name}: {counted(usual, 'node')} each but for {shorten(', '.join(odd), 300)}"
