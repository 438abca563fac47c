"""Which machines are used, and how many GPUs each of them has."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from planner.inventory.lines import hosts
from planner.inventory.model import Inside, Inventory, Node, Note, refuse
from planner.spec.hostlist import fold
from planner.spec.names import MAX_ITEMS, did_you_mean
from planner.wording import counted

FLAG = "--gpus-per-node"


@dataclass(frozen=True, slots=True)
class Allocation:
    """The nodes of a job: a hostlist, and where it comes from (``--nodes``)."""

    hostlist: str
    where: str


def choose(
    inventory: Inventory, allocation: Allocation | None, gpus_per_node: int | None
) -> Inventory:
    """Return the machines to use, in order, each with its GPUs.

    Without an allocation these are all that are up; with one, those it names. ``gpus_per_node``
    holds for the machines of which no file tells the GPUs.

    Raises:
        InputError: The allocation names a machine that no file knows, that is down or has no GPU; a
            number of GPUs is missing, or told twice and differently; nothing is left.
    """
    notes = list(inventory.notes)
    if not inventory.nodes and inventory.inside is None:
        got = "; ".join(map(str, notes)) or None
        raise refuse("the files", "they name no machine", got=got)
    if allocation is None:
        nodes = _up(inventory.nodes, notes)
        if inventory.inside is not None and not inventory.nodes:
            nodes = [Node("node0", inventory.inside.where)]
            text = "tells the inside of one node and no name: a cluster of one (see --nodes)"
            notes.append(Note(inventory.inside.where, text))
    else:
        nodes = _named(inventory, allocation, notes)
    nodes = _with_gpus(nodes, inventory.inside, gpus_per_node, notes)
    nodes = _with_any(nodes, allocation, notes)
    if not nodes:
        reasons = "; ".join(str(note) for note in notes[-3:])
        raise refuse(_first_place(inventory), "no machine is left", got=reasons or None)
    total = sum(node.gpus or 0 for node in nodes)
    if total > MAX_ITEMS:
        got = counted(total, "GPU")
        raise refuse(nodes[0].where, "too many GPUs", got=got, expected=f"at most {MAX_ITEMS:,}")
    return replace(inventory, nodes=tuple(nodes), notes=tuple(notes))


def _first_place(inventory: Inventory) -> str:
    """Return the place of the first thing that was read."""
    return inventory.nodes[0].where if inventory.nodes else "the files"


def _up(nodes: Iterable[Node], notes: list[Note]) -> list[Node]:
    """Return the nodes that are neither down nor set aside, and note the others by reason."""
    kept: list[Node] = []
    out: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        reason = node.down or node.aside
        if reason:
            out[reason].append(node)
        else:
            kept.append(node)
    for reason, group in out.items():
        names = fold(node.name for node in group)
        notes.append(Note(group[0].where, f"left out, {reason}: {names}"))
    return kept


def _named(inventory: Inventory, allocation: Allocation, notes: list[Note]) -> list[Node]:
    """Return the nodes of an allocation, in its order."""
    names = hosts(allocation.hostlist, allocation.where)
    known = {node.name: node for node in inventory.nodes}
    if not known:  # files of the inside of a node alone: the allocation names the machines
        known = {name: Node(name, allocation.where) for name in names}
    unknown = [name for name in dict.fromkeys(names) if name not in known]
    if unknown:
        where = _first_place(inventory).partition(":")[0]
        raise refuse(
            allocation.where,
            "names machines that no file knows",
            got=fold(unknown),
            expected=f"names such as those of {where}",
            remedy=did_you_mean(unknown[0], known),
        )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise refuse(allocation.where, "names a machine twice", got=fold(repeated))
    for name in names:
        node = known[name]
        if node.down:
            raise refuse(
                allocation.where,
                f"names {name}, which is down",
                got=f"{node.down} at {node.where}",
                expected="machines that are up",
            )
        if node.aside:
            notes.append(Note(node.where, f"{name} is kept, since it is named: {node.aside}"))
    return [known[name] for name in names]


def _with_gpus(
    nodes: Sequence[Node], inside: Inside | None, flag: int | None, notes: list[Note]
) -> list[Node]:
    """Give every node its GPUs: as its file tells, else as that of a node's inside, else the flag.

    How often a list of hosts names a machine counts only where there is nothing else.
    """
    _check_inside(nodes, inside, notes)
    told = [node for node in nodes if node.gpus is not None]
    rest = [node for node in nodes if node.gpus is None]
    if flag is not None and (inside is not None or not rest):
        _refuse_other(flag, inside, told)
    per_node = inside.gpus if inside else flag
    if per_node is None and rest:
        silent = [node for node in rest if node.slots is None]
        if silent:
            raise refuse(
                silent[0].where,
                "no file tells the GPUs of " + fold(node.name for node in silent),
                remedy=f"give {FLAG} N, or add scontrol show nodes or nvidia-smi topo -m",
            )
        text = f"as many GPUs as a host is named times; {FLAG} would say otherwise"
        notes.append(Note(rest[0].where, text))
    return [
        node
        if node.gpus is not None
        else replace(node, gpus=node.slots if per_node is None else per_node)
        for node in nodes
    ]


def _check_inside(nodes: Sequence[Node], inside: Inside | None, notes: list[Note]) -> None:
    """Refuse the inside of a node that fits none of the nodes, and note those it does not fit."""
    told = [node for node in nodes if node.gpus]
    if inside is None or not told:
        return
    other = [node for node in told if node.gpus != inside.gpus]
    if len(other) == len(told) == len(nodes):
        raise refuse(
            inside.where,
            "two files disagree about the GPUs of a node",
            got=f"{inside.gpus} here, {other[0].gpus} at {other[0].where} ({other[0].name})",
        )
    if other:
        names = fold(node.name for node in other)
        notes.append(Note(inside.where, f"{counted(inside.gpus, 'GPU')}, unlike the nodes {names}"))


def _refuse_other(flag: int, inside: Inside | None, told: Sequence[Node]) -> None:
    """Refuse a flag that no machine needs and that contradicts a file."""
    counts = [(inside.gpus, inside.where)] if inside else []
    for gpus, where in [*counts, *((node.gpus, node.where) for node in told)]:
        if gpus != flag:
            raise refuse(
                FLAG,
                "contradicts a file that tells the GPUs",
                got=f"{flag} here, {gpus} at {where}",
                remedy=f"leave {FLAG} out: no machine needs it",
            )


def _with_any(
    nodes: Sequence[Node], allocation: Allocation | None, notes: list[Note]
) -> list[Node]:
    """Return the nodes that have GPUs."""
    bare = [node for node in nodes if node.gpus == 0]
    if bare and allocation is not None:
        got = f"{bare[0].name} at {bare[0].where}"
        raise refuse(allocation.where, "names a machine without GPUs", got=got)
    if bare:
        names = fold(node.name for node in bare)
        notes.append(Note(bare[0].where, f"left out, no GPU: {names}"))
    return [node for node in nodes if node.gpus != 0]
