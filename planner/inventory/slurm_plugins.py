"""Slurm's topology plugins, however a file spells them: switches, blocks, rings."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from planner.inventory.model import Inventory, Level, Node, Note, distinct, refuse, shorten
from planner.inventory.switches import Fabric, heights, levels_of
from planner.spec.names import NAME_RULE, is_name

NO_TOPOLOGY = "no-topology"
"""Switch under which topograph lists the nodes it could not place."""


@dataclass(frozen=True, slots=True)
class Group:
    """A block, a ring or a torus: a name for some nodes."""

    name: str
    where: str
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Switch(Group):
    """A switch and what is listed right below it."""

    switches: tuple[str, ...] = ()


_Record = TypeVar("_Record", bound=Group)


def tree(switches: Sequence[Switch], source: str) -> Inventory:
    """Return the machines under switches that list nodes and one another, in any order.

    Nodes that a switch shares with those below it are not taken as attached to it. Switches without
    anything below them that list the same nodes are taken as one.

    Raises:
        InputError: A switch that is described twice, nowhere, or below itself; a node under two
            switches.
    """
    by_name = _by_name(switches, "a switch")
    for switch in switches:
        for child in switch.switches:
            if child not in by_name:
                raise refuse(switch.where, "a switch that no record describes", got=child)
    where = {switch.name: switch.where for switch in switches}
    below = {switch.name: tuple(dict.fromkeys(switch.switches)) for switch in switches}
    height = heights(below, where)
    attached = {s.name: _attached(s, by_name) for s in switches}
    same, notes = _same_leaves(attached, below, where)
    nodes = tuple(Node(node, where[s]) for s in attached if s not in same for node in attached[s])
    placed = [s for s in by_name if s not in same and s != NO_TOPOLOGY]
    fabric = Fabric(
        source,
        {s: attached[s] for s in placed},
        {s: tuple(dict.fromkeys(same.get(child, child) for child in below[s])) for s in placed},
        height,
        where,
    )
    levels, joined = levels_of(fabric)
    notes += joined
    bare = {s: where[s] for s in by_name if not (attached[s] or below[s])}
    notes += _nothing_below("switches", bare)
    if levels and len(levels[-1].domains) > 1:
        tops = list(levels[-1].domains)
        text = f"nothing joins {shorten(', '.join(tops))}"
        text = f"{text}: Slurm starts no job across them unless TopoOptional is set"
        notes.append(Note(where[tops[1]], text))
    return Inventory(nodes, levels, notes=tuple(notes))


def _by_name(records: Iterable[_Record], what: str) -> dict[str, _Record]:
    by_name: dict[str, _Record] = {}
    for record in records:
        if not is_name(record.name):
            raise refuse(
                record.where, f"{what} without a name", got=f"'{record.name}'", expected=NAME_RULE
            )
        if record.name in by_name:
            first = by_name[record.name].where
            got = f"{record.name}, first at {first}"
            raise refuse(record.where, f"{what} is described twice", got=got)
        by_name[record.name] = record
    return by_name


def _attached(switch: Switch, by_name: Mapping[str, Switch]) -> tuple[str, ...]:
    """Return the nodes that a switch lists and none below it does."""
    if not (switch.nodes and switch.switches):
        return tuple(dict.fromkeys(switch.nodes))
    reached = dict.fromkeys(switch.switches)
    queue = list(reached)
    for name in queue:  # grows while it is walked
        for child in by_name[name].switches:
            if child not in reached:
                reached[child] = None
                queue.append(child)
    lower = {node for name in reached for node in by_name[name].nodes}
    return tuple(dict.fromkeys(node for node in switch.nodes if node not in lower))


def _same_leaves(
    attached: Mapping[str, Sequence[str]],
    below: Mapping[str, Sequence[str]],
    where: Mapping[str, str],
) -> tuple[dict[str, str], list[Note]]:
    """Return every leaf whose nodes an earlier one has, by that one, and a note for each."""
    owner: dict[str, str] = {}
    same: dict[str, str] = {}
    notes = []
    for switch, nodes in attached.items():
        other = next((owner[node] for node in nodes if node in owner), None)
        if other is None:
            owner |= dict.fromkeys(nodes, switch)
            continue
        leaves = not (below[switch] or below[other] or NO_TOPOLOGY in (switch, other))
        if not (leaves and set(nodes) == set(attached[other])):
            node = next(node for node in nodes if node in owner)
            raise refuse(
                where[switch],
                f"{node} is under two switches",
                got=f"{switch} here, {owner[node]} at {where[owner[node]]}",
                expected="every node under one switch",
                remedy="several rails cannot be told here: import the output of ibnetdiscover",
            )
        same[switch] = other
        text = f"leaf: {switch} lists the same nodes as {other}: kept as one domain"
        notes.append(Note(where[switch], text))
    return same, notes


def _nothing_below(what: str, bare: Mapping[str, str]) -> list[Note]:
    """Note what names no nodes; ``bare`` has the place of each."""
    if not bare:
        return []
    return [Note(next(iter(bare.values())), f"{what} without nodes: {', '.join(bare)}")]


def groups(kind: str, members: Sequence[Group], source: str) -> Inventory:
    """Return the machines of blocks, rings or toruses: one level, named after the kind.

    Raises:
        InputError: A group or a node stands twice.
    """
    _by_name(members, f"a {kind}")
    nodes = distinct(
        Node(node, group.where) for group in members for node in dict.fromkeys(group.nodes)
    )
    domains = {group.name: tuple(dict.fromkeys(group.nodes)) for group in members if group.nodes}
    bare = {group.name: group.where for group in members if not group.nodes}
    notes = _nothing_below(f"{kind}s", bare)
    return Inventory(nodes, (Level(kind, source, domains),), notes=tuple(notes))


def blocks(members: Sequence[Group], sizes: Sequence[int], source: str, place: str) -> Inventory:
    """Return the machines of blocks, and the larger blocks that ``BlockSizes`` makes of them.

    The first size is that of a block; a size k times as large joins k consecutive blocks. Blocks
    without nodes are counted there, and nothing else.

    Args:
        members: The blocks in the order of the file.
        sizes: Sizes of blocks in nodes, ascending, each a multiple of the one before; or empty.
        source: The file.
        place: Where the sizes stand.

    Raises:
        InputError: A block or a node stands twice.
    """
    base = groups("block", members, source)
    levels = list(base.levels)
    for size in sizes[1:]:
        joined = size // sizes[0]
        domains = dict(
            _joined(members[start : start + joined]) for start in range(0, len(members), joined)
        )
        domains.pop("", None)
        if len(domains) < len(levels[-1].domains):
            levels.append(Level(f"block{size}", place, domains))
    return replace(base, levels=tuple(levels))


def _joined(members: Sequence[Group]) -> tuple[str, tuple[str, ...]]:
    """Return name and nodes of consecutive blocks; no name if they have no nodes."""
    filled = [group for group in members if group.nodes]
    if not filled:
        return "", ()
    ends = dict.fromkeys((filled[0].name, filled[-1].name))
    nodes = itertools.chain.from_iterable(dict.fromkeys(group.nodes) for group in filled)
    return "-".join(ends), tuple(nodes)


def block_sizes(texts: Iterable[str], where: str) -> tuple[int, ...]:
    """Read the sizes of blocks, smallest first.

    Raises:
        InputError: One is no positive number, or they do not rise by whole factors.
    """
    sizes = []
    for text in texts:
        if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) > 0):
            raise refuse(where, "not a block size", got=f"'{text}'", expected="a positive number")
        sizes.append(int(text))
    sizes.sort()
    for small, large in itertools.pairwise(sizes):
        if large % small or large == small:
            raise refuse(
                where,
                "block sizes that do not nest",
                got=f"{small} and {large}",
                expected="each a multiple of the one before",
            )
    return tuple(sizes)
