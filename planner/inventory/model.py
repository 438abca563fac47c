"""What every reader returns: the machines as one file tells them, nothing filled in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from planner.errors import Complaint, InputError

FABRIC = ("leaf", "spine", "core")
"""Names of the levels of switches, nearest first; further ones are ``tier4``, ``tier5``, …"""

ACCELERATOR = "accelerator"
"""Name of the level of nodes that share one NVLink fabric."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something the user should know, and where it comes from (``topology.conf:12``)."""

    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


@dataclass(frozen=True, slots=True)
class Node:
    """A machine.

    Attributes:
        name: Its host name.
        where: File and line that names it.
        gpus: GPUs it has, None if the file does not tell.
        slots: How often the file names it: stands in for the GPUs where nothing else tells them.
        down: Why nothing can run there. Left out; naming it in an allocation is a contradiction.
        aside: Why it is left out unless an allocation names it.
        uuids: UUID of every GPU, in index order, or empty.
    """

    name: str
    where: str
    gpus: int | None = None
    slots: int | None = None
    down: str | None = None
    aside: str | None = None
    uuids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Level:
    """A partition of nodes: domain name → node names; ``where`` is the file that tells it.

    A node may be missing; it is then on its own.
    """

    name: str
    where: str
    domains: Mapping[str, tuple[str, ...]]

    def domain_of(self) -> dict[str, str]:
        """Return the domain of every node."""
        return {node: domain for domain, nodes in self.domains.items() for node in nodes}


@dataclass(frozen=True, slots=True)
class Inside:
    """The inside of a node, as a file of one node tells it.

    Attributes:
        where: The file.
        gpus: GPUs, those that are missing from the file but not from the numbering included.
        offline: Those missing.
        levels: Name and size of every level inside: domains of that many consecutive GPUs.
    """

    where: str
    gpus: int
    offline: tuple[int, ...] = ()
    levels: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Inventory:
    """Machines as files tell them.

    Attributes:
        nodes: In the order of the file; names distinct.
        levels: Of nodes, finest first; they nest.
        inside: The inside of a node.
        notes: What was left out or read in one of several ways.
        allocation: The nodes are those of one job, in the order it uses them.
    """

    nodes: tuple[Node, ...] = ()
    levels: tuple[Level, ...] = ()
    inside: Inside | None = None
    notes: tuple[Note, ...] = field(default=())
    allocation: bool = False


def fabric_level(index: int) -> str:
    """Return the name of a level of switches, counted from the nodes."""
    return FABRIC[index] if index < len(FABRIC) else f"tier{index + 1}"


def refuse(
    where: str,
    what: str,
    *,
    got: str | None = None,
    expected: str | None = None,
    remedy: str | None = None,
) -> InputError:
    """Return the error of one complaint, its values cut to a readable length."""
    return InputError(Complaint(where, what, got and shorten(got), expected, remedy))


def shorten(text: str, most: int = 120) -> str:
    """Cut a text that would fill the screen."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def distinct(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Return the nodes as a tuple.

    Raises:
        InputError: Two have the same name.
    """
    seen: dict[str, Node] = {}
    for node in nodes:
        if node.name in seen:
            raise refuse(
                node.where,
                "a node is described twice",
                got=f"{node.name}, first at {seen[node.name].where}",
                expected="every node once",
            )
        seen[node.name] = node
    return tuple(seen.values())
