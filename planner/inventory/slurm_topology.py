"""Slurm's ``topology.conf`` and what ``scontrol show topology`` prints.

Both have one ``Key=Value`` record a line, in any order, for one of three plugins: tree (which may
have several roots, or several parents), block and ring. Comments of topograph carry the names its
switches have in the fabric (``# switch.1.1=leaf-1-1``); they are used where they are unambiguous.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from planner.inventory.lines import fields, hosts, numbered
from planner.inventory.model import Inventory, Level, refuse
from planner.inventory.slurm_plugins import Group, Switch, block_sizes, blocks, groups, tree

_KEYS: dict[str, set[str]] = {
    "switchname": {"nodes", "switches", "linkspeed", "level"},
    "blockname": {"nodes", "blockindex", "blocksize"},
    "blocksizes": set(),
    "aggregatedblock": {"nodes", "blockindex", "blocksize"},
    "ringname": {"nodes", "ringindex", "ringsize"},
}
_NUMBERS = {"level", "linkspeed", "blockindex", "ringindex", "ringsize"}
_NUMBER = re.compile(r"[0-9]*")
_ALIAS = re.compile(r"#\s*(\S+)=(\S+)\s*")
_NOTHING = ("", "(null)")


@dataclass(slots=True)
class _File:
    """The records of a file."""

    switches: list[Switch] = field(default_factory=list)
    blocks: list[Group] = field(default_factory=list)
    rings: list[Group] = field(default_factory=list)
    aggregated: dict[int, list[Group]] = field(default_factory=dict)  # by size
    sizes: tuple[int, ...] = ()
    sizes_where: str = ""
    aliases: dict[str, str] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)  # place of the first record, by plugin


def parse(text: str, source: str) -> Inventory:
    """Read a ``topology.conf`` or the output of ``scontrol show topology``.

    Raises:
        InputError: A record that Slurm would not read either, a node in two places, or records of
            two plugins in one file.
    """
    file = _File()
    for where, record in _records(text, source, file.aliases):
        _read(record, where, file)
    if len(file.first) > 1:
        (one, there), (other, here) = list(file.first.items())[:2]
        raise refuse(
            here,
            "records of two topology plugins in one file",
            got=f"{other} here, {one} at {there}",
            expected="one of tree, block and ring",
        )
    return _renamed(_inventory(file, source), file.aliases)


def _records(text: str, source: str, aliases: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield every record with its place; a backslash at the end of a line continues it."""
    begun, where = "", ""
    for number, line in numbered(text):
        alias = _ALIAS.fullmatch(line)
        if alias:
            aliases[alias[1]] = alias[2]
        where = where or f"{source}:{number}"
        begun += line.split("#", 1)[0].rstrip()
        if begun.endswith("\\"):
            begun = f"{begun[:-1]} "
            continue
        if begun.strip():
            yield where, begun
        begun, where = "", ""
    if begun.strip():
        yield where, begun


def _read(record: str, where: str, file: _File) -> None:
    """Add one record to the file."""
    pairs = fields(record, where)
    kind, name = next(iter(pairs.items()))
    if kind not in _KEYS:
        known = "SwitchName, BlockName, BlockSizes or RingName first"
        got = f"'{record.strip()}'"
        raise refuse(where, "not a record of a Slurm topology", got=got, expected=known)
    unknown = next((key for key in pairs if key not in {kind, *_KEYS[kind]}), None)
    if unknown:
        known = ", ".join(sorted(_KEYS[kind])) or "nothing else in the record"
        raise refuse(where, "an unknown key", got=f"'{unknown}={pairs[unknown]}'", expected=known)
    for key in _NUMBERS & pairs.keys():
        if not _NUMBER.fullmatch(pairs[key]):
            raise refuse(where, "not a number", got=f"'{key}={pairs[key]}'")
    plugin = {"switchname": "tree", "ringname": "ring"}.get(kind, "block")
    file.first.setdefault(plugin, where)
    nodes = _names(pairs.get("nodes", ""), where)
    match kind:
        case "switchname":
            switches = _names(pairs.get("switches", ""), where)
            file.switches.append(Switch(name, where, nodes, switches))
        case "blockname":
            file.blocks.append(Group(name, where, nodes))
        case "ringname":
            file.rings.append(Group(name, where, nodes))
        case "blocksizes":
            file.sizes, file.sizes_where = block_sizes(name.split(","), where), where
        case _:
            (size,) = block_sizes([pairs.get("blocksize", "")], where)
            file.aggregated.setdefault(size, []).append(Group(name, where, nodes))


def _names(text: str, where: str) -> tuple[str, ...]:
    return () if text in _NOTHING else tuple(hosts(text, where))


def _inventory(file: _File, source: str) -> Inventory:
    if file.switches:
        return tree(file.switches, source)
    if file.rings:
        return groups("ring", file.rings, source)
    if not file.blocks:
        raise refuse(source, "no switch, block or ring in the file")
    if not file.aggregated:
        return blocks(file.blocks, file.sizes, source, file.sizes_where)
    base = blocks(file.blocks, (), source, source)
    known = {node.name for node in base.nodes}
    larger = [
        _larger(size, file.aggregated[size], known, source) for size in sorted(file.aggregated)
    ]
    return replace(base, levels=(*base.levels, *larger))


def _larger(size: int, members: list[Group], known: set[str], source: str) -> Level:
    """Return the level of larger blocks, as scontrol lists them with their nodes."""
    domains: dict[str, tuple[str, ...]] = {}
    for group in members:
        strange = [node for node in group.nodes if node not in known]
        if strange:
            got = f"{strange[0]} in {group.name}"
            raise refuse(group.where, "a larger block has a node of no block", got=got)
        if _spell(group) in domains:
            raise refuse(group.where, "a larger block is described twice", got=group.name)
        domains[_spell(group)] = group.nodes
    return Level(f"block{size}", source, domains)


def _spell(group: Group) -> str:
    """Name a larger block after the first and the last of its blocks: ``b[1-2]`` is ``b1-b2``."""
    ends = hosts(group.name, group.where)
    return "-".join(dict.fromkeys((ends[0], ends[-1])))


def _renamed(inventory: Inventory, aliases: dict[str, str]) -> Inventory:
    """Give domains the names that comments tell, where no two would get the same."""
    levels = []
    for level in inventory.levels:
        taken = Counter(aliases.get(name, name) for name in level.domains)
        domains = {
            (aliases.get(name, name) if taken[aliases.get(name, name)] == 1 else name): nodes
            for name, nodes in level.domains.items()
        }
        levels.append(replace(level, domains=domains))
    return replace(inventory, levels=tuple(levels))
