"""From switches to levels: one rule for trees, forests, several parents and uneven depth.

Two nodes share a domain of height h if a way over switches of height at most h joins them; a switch
that carries nodes alone has height 0, any other stands one above the highest switch below it. In a
tree that gives the switches themselves. Parallel spines fall together, and whatever the input, the
levels nest.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from planner.inventory.model import Level, Note, fabric_level, refuse, shorten

MAX_PATH = 16
"""Most switches above one node (as many levels as Kueue allows)."""


@dataclass(frozen=True, slots=True)
class Fabric:
    """Switches and what hangs off them.

    Attributes:
        source: The file.
        nodes: Nodes attached to a switch, by switch; no node twice.
        below: Switches one step down, by switch. Every switch is a key, in the order of the file.
        height: Hops above the leaves, by switch.
        where: Place of a switch in the file, where it has one.
    """

    source: str
    nodes: Mapping[str, Sequence[str]]
    below: Mapping[str, Sequence[str]]
    height: Mapping[str, int]
    where: Mapping[str, str] = field(default_factory=dict)


def heights(below: Mapping[str, Sequence[str]], where: Mapping[str, str]) -> dict[str, int]:
    """Return the height of every switch; ``where`` has the place of every switch, for errors.

    Raises:
        InputError: A switch is, in some steps, below itself.
    """
    above: dict[str, list[str]] = defaultdict(list)
    waiting = {switch: len(set(children)) for switch, children in below.items()}
    for switch, children in below.items():
        for child in set(children):
            above[child].append(switch)
    height: dict[str, int] = {}
    ready = [switch for switch, count in waiting.items() if count == 0]
    for switch in ready:  # grows while it is walked
        height[switch] = max((height[child] + 1 for child in below[switch]), default=0)
        for parent in above[switch]:
            waiting[parent] -= 1
            if waiting[parent] == 0:
                ready.append(parent)
    stuck = [switch for switch in below if switch not in height]
    if stuck:
        raise refuse(
            where[stuck[0]],
            "switches that lie below themselves",
            got=", ".join(f"{switch} ({where[switch]})" for switch in stuck),
            expected="every switch above those it lists",
        )
    return height


def levels_of(fabric: Fabric) -> tuple[tuple[Level, ...], tuple[Note, ...]]:
    """Return the levels, finest first, and a note wherever several switches became one domain."""
    by_height: dict[int, list[str]] = defaultdict(list)
    for switch in fabric.below:
        by_height[fabric.height[switch]].append(switch)
    joined = _Joined(fabric)
    levels: list[Level] = []
    notes: list[Note] = []
    for height in sorted(by_height):
        switches = by_height[height]
        reach = {s: frozenset(joined.root(child) for child in fabric.below[s]) for s in switches}
        joined.add(switches)
        domains = joined.domains()
        if levels and len(domains) == len(levels[-1].domains):
            continue  # every switch of this height stands above a single domain: nothing new
        name = fabric_level(len(levels))
        levels.append(Level(name, fabric.source, domains))
        notes += _parallel(name, fabric, joined.shared(switches), reach)
    return tuple(levels), tuple(notes)


def levels_of_paths(
    source: str, paths: Mapping[str, Sequence[str]]
) -> tuple[tuple[Level, ...], tuple[Note, ...]]:
    """Return the levels of nodes that name the switches above them, nearest first.

    A switch is known by its whole path: the same rack name in two blocks is two racks.

    Raises:
        InputError: A path is longer than any fabric is deep.
    """
    nodes: dict[tuple[str, ...], list[str]] = defaultdict(list)
    below: dict[tuple[str, ...], dict[tuple[str, ...], None]] = {}
    for node, path in paths.items():
        if len(path) > MAX_PATH:
            raise refuse(
                source,
                f"{node}: {len(path)} switches above one node",
                expected=f"at most {MAX_PATH}",
            )
        chain = [tuple(path[i:]) for i in range(len(path))]
        for lower, upper in itertools.pairwise(chain):
            below.setdefault(lower, {})
            below.setdefault(upper, {})[lower] = None
        if chain:
            below.setdefault(chain[0], {})
            nodes[chain[0]].append(node)
    names = _path_names(below)
    tree = {names[key]: [names[child] for child in children] for key, children in below.items()}
    fabric = Fabric(
        source,
        {names[key]: members for key, members in nodes.items()},
        tree,
        heights(tree, dict.fromkeys(tree, source)),
    )
    return levels_of(fabric)


def _path_names(keys: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Name every switch by its own name, or by its path from the root where that is not unique."""
    keys = list(keys)
    holders: dict[str, int] = defaultdict(int)
    for key in keys:
        holders[key[0]] += 1
    taken = {key[0] for key in keys if holders[key[0]] == 1}
    names: dict[tuple[str, ...], str] = {}
    for key in keys:
        name = key[0]
        if holders[name] > 1:
            name = ".".join(reversed(key))
            while name in taken:
                name += "-"
            taken.add(name)
        names[key] = name
    return names


class _Joined:
    """Switches and nodes, joined step by step."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._parent = {switch: switch for switch in fabric.below}

    def root(self, switch: str) -> str:
        parent = self._parent
        while parent[switch] != switch:
            parent[switch] = parent[parent[switch]]
            switch = parent[switch]
        return switch

    def add(self, switches: Sequence[str]) -> None:
        """Join every switch with those below it; the first of those that join is the root."""
        for switch in reversed(switches):
            top = self.root(switch)
            for child in self._fabric.below[switch]:
                root = self.root(child)
                if root != top:
                    self._parent[root] = top

    def domains(self) -> dict[str, tuple[str, ...]]:
        """Return the nodes of every domain that has any; it is named after its root."""
        members: dict[str, list[str]] = defaultdict(list)
        for switch, nodes in self._fabric.nodes.items():
            if nodes:
                members[self.root(switch)] += nodes
        return {root: tuple(nodes) for root, nodes in members.items()}

    def shared(self, switches: Iterable[str]) -> list[list[str]]:
        """Return the switches that share a domain, where there are several."""
        groups: dict[str, list[str]] = defaultdict(list)
        for switch in switches:
            if self._fabric.below[switch]:
                groups[self.root(switch)].append(switch)
        return [group for group in groups.values() if len(group) > 1]


def _parallel(
    level: str, fabric: Fabric, groups: Iterable[list[str]], reach: Mapping[str, frozenset[str]]
) -> list[Note]:
    """Say which switches became one domain, and whether they had the same nodes."""
    notes = []
    same: dict[bool, list[list[str]]] = {True: [], False: []}
    for group in groups:
        same[len({reach[switch] for switch in group}) == 1].append(group)
    for equal, found in same.items():
        if found:
            why = "lead to the same nodes" if equal else "overlap"
            names = shorten("; ".join(", ".join(group) for group in found), 200)
            where = fabric.where.get(found[0][1], fabric.source)
            notes.append(Note(where, f"{level}: switches that {why}, kept as one domain: {names}"))
    return notes
