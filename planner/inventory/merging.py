"""Several files about the same machines become one inventory; contradictions are errors.

Files that list machines are joined; a hostfile is one job's choice among them, in its own order.
Two files may tell the same level; where they know the same nodes they have to agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from planner.inventory.model import Inside, Inventory, Level, Node, Note, refuse, shorten
from planner.inventory.nesting import split
from planner.inventory.reading import Reading
from planner.spec.hostlist import fold
from planner.wording import counted


def merge(readings: Sequence[Reading]) -> Inventory:
    """Return what all files tell together.

    Raises:
        InputError: Two files contradict each other, or name no machine in common.
    """
    machines = [r for r in readings if r.inventory.nodes and r.inventory.inside is None]
    _refuse_strangers(machines)
    notes = [note for reading in readings for note in reading.inventory.notes]
    nodes = _nodes(machines, notes)
    inside = _inside(readings)
    described = [n for r in readings if r.inventory.inside is not None for n in r.inventory.nodes]
    if nodes:
        nodes = _with_uuids(nodes, described, notes)
    else:
        nodes = {node.name: node for node in described}
    levels = _levels([level for reading in readings for level in reading.inventory.levels])
    allocation = any(reading.inventory.allocation for reading in machines)
    return Inventory(tuple(nodes.values()), levels, inside, tuple(notes), allocation)


def _refuse_strangers(machines: Sequence[Reading]) -> None:
    """Refuse files of different kinds that name no machine in common."""
    for i, one in enumerate(machines):
        ours = {node.name for node in one.inventory.nodes}
        for other in machines[i + 1 :]:
            theirs = [node for node in other.inventory.nodes if node.name not in ours]
            if other.kind != one.kind and len(theirs) == len(other.inventory.nodes):
                mine = one.inventory.nodes[0]
                raise refuse(
                    theirs[0].where,
                    "two files name no machine in common",
                    got=f"{theirs[0].name} here, {mine.name} at {mine.where}",
                    expected="one name for one machine in all files",
                )


def _nodes(machines: Sequence[Reading], notes: list[Note]) -> dict[str, Node]:
    """Return the machines of all files by name, those of hostfiles first and alone."""
    chosen = [r.inventory for r in machines if r.inventory.allocation]
    nodes: dict[str, Node] = {}
    left_out: dict[str, Node] = {}
    for inventory in [*chosen, *(r.inventory for r in machines if not r.inventory.allocation)]:
        for node in inventory.nodes:
            if node.name in nodes:
                nodes[node.name] = _one(nodes[node.name], node)
            elif inventory.allocation or not chosen:
                nodes[node.name] = node
            else:
                left_out.setdefault(node.name, node)
    if left_out:
        where = next(iter(left_out.values())).where
        text = f"left out, since no hostfile names them: {fold(left_out)}"
        notes.append(Note(where, text))
    return nodes


def _one(first: Node, second: Node) -> Node:
    """Return one machine that two files describe."""
    if None not in (first.gpus, second.gpus) and first.gpus != second.gpus:
        raise refuse(
            second.where,
            f"two files disagree about the GPUs of {first.name}",
            got=f"{second.gpus} here, {first.gpus} at {first.where}",
        )
    return replace(
        first,
        where=_teller(first, second).where,
        gpus=first.gpus if second.gpus is None else second.gpus,
        slots=second.slots if first.slots is None else first.slots,
        down=first.down or second.down,
        aside=first.aside or second.aside,
    )


def _teller(first: Node, second: Node) -> Node:
    """Return the one whose place is to be stated: it tells the state, else the GPUs."""
    for node in (first, second):
        if node.down or node.aside:
            return node
    return first if second.gpus is None else second


def _inside(readings: Iterable[Reading]) -> Inside | None:
    """Return the inside of a node; several files may add levels to it, but not GPUs."""
    found: Inside | None = None
    for reading in readings:
        inside = reading.inventory.inside
        if inside is None or found is None:
            found = inside or found
            continue
        if (inside.gpus, inside.offline) != (found.gpus, found.offline):
            raise refuse(
                inside.where,
                "two files disagree about the GPUs of a node",
                got=f"{_count(inside)} here, {_count(found)} in {found.where}",
            )
        levels = dict(found.levels)
        for name, size in inside.levels:
            if levels.setdefault(name, size) != size:
                raise refuse(
                    inside.where,
                    f"two files disagree about the level '{name}' inside a node",
                    got=f"{counted(size, 'GPU')} a domain here, {levels[name]} in {found.where}",
                )
        found = replace(found, levels=tuple(sorted(levels.items(), key=lambda level: level[1])))
    return found


def _count(inside: Inside) -> str:
    missing = f" without {', '.join(map(str, inside.offline))}" if inside.offline else ""
    return f"{inside.gpus}{missing}"


def _with_uuids(
    nodes: dict[str, Node], described: Iterable[Node], notes: list[Note]
) -> dict[str, Node]:
    """Add what files of one node's inside tell about that node alone."""
    for node in described:
        if node.name in nodes:
            nodes[node.name] = replace(nodes[node.name], uuids=node.uuids)
        else:
            text = f"{node.name} is none of the machines: taken for the inside of each of them"
            notes.append(Note(node.where, text))
    return nodes


def _levels(levels: Iterable[Level]) -> tuple[Level, ...]:
    """Return the levels of all files, those of one name joined."""
    joined: dict[str, Level] = {}
    for level in levels:
        joined[level.name] = _joined(joined[level.name], level) if level.name in joined else level
    return tuple(joined.values())


def _joined(first: Level, second: Level) -> Level:
    """Join one level as two files tell it; domains of the second take the names of the first."""
    known, told = first.domain_of(), second.domain_of()
    ours = {node: domain for node, domain in told.items() if node in known}
    theirs = {node: known[node] for node in ours}
    got = None
    if found := split(ours, theirs):
        got = f"'{found[0]}' here lies in '{found[1]}' and '{found[2]}' of {first.where}"
    elif found := split(theirs, ours):
        got = f"'{found[0]}' of {first.where} lies in '{found[1]}' and '{found[2]}' here"
    if got:
        raise refuse(
            second.where,
            f"two files disagree about the level '{first.name}'",
            got=got,
            remedy="leave one of the files out",
        )
    names = {domain: theirs[node] for node, domain in ours.items()}
    domains = {name: list(nodes) for name, nodes in first.domains.items()}
    for domain, nodes in second.domains.items():
        own = names.get(domain, domain)
        if domain not in names and domain in names.values():
            own = f"{domain}-2"
        domains.setdefault(own, []).extend(node for node in nodes if node not in known)
    return Level(
        first.name,
        shorten(f"{first.where}, {second.where}"),
        {name: tuple(nodes) for name, nodes in domains.items()},
    )
