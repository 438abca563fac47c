"""Hostfiles: one host a line, in the dialects of five launchers.

| dialect        | line                     | a host that stands twice |
|----------------|--------------------------|--------------------------|
| openmpi        | ``host slots=8``, bare   | bare: one slot more      |
| deepspeed      | ``host slots=8``         | refused                  |
| mpich          | ``host:8``, bare         | slots add up             |
| pbs            | bare                     | one slot more            |
| slurm-hostfile | ``node[03,01]``, ``n*8`` | one slot more            |

Slots are processes, and one process drives one GPU: stated slots are GPUs. How often a bare host
stands is taken for its GPUs only where nothing else tells them; once says nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from planner.inventory.lines import host_name, hosts, numbered
from planner.inventory.model import Inventory, Node, Note, refuse

_COUNT = re.compile(r"[0-9]{1,9}")
_VALUE = re.compile(r"[\w.-]+")
_OPENMPI_KEYS = (
    "slots",
    "max_slots",
    "max-slots",
    "count",
    "cpu",
    "board",
    "socket",
    "core",
    "username",
)
_DEEPSPEED = re.compile(r"(\S+)\s+slots=([0-9]{1,9})")
_MAX_SLOTS = re.compile(r"(?:max[-_]slots=[0-9]+)?")
_COLON = re.compile(r"([^\s:]+):([0-9]{1,9})(\s+\S+=\S+)*")
_STAR = re.compile(r"(.*?)\*([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class _Line:
    """Hosts of a line, the slots it states for each of them, the text that is not read."""

    hosts: tuple[str, ...]
    slots: int | None
    ignored: str = ""


_Reader = Callable[[str, str], _Line]


def parse_openmpi(text: str, source: str) -> Inventory:
    """Read an Open MPI hostfile.

    Raises:
        InputError: Not one, or one host with slots and on several lines.
    """
    return _parse(text, source, _openmpi, again=True)


def parse_deepspeed(text: str, source: str) -> Inventory:
    """Read a DeepSpeed hostfile; what follows the slots is ignored, as DeepSpeed does.

    Raises:
        InputError: A line without slots, or a host that stands twice.
    """
    return _parse(text, source, _deepspeed, again=False)


def parse_mpich(text: str, source: str) -> Inventory:
    """Read a hostfile of MPICH or Intel MPI.

    Raises:
        InputError: Not one.
    """
    return _parse(text, source, _mpich, again=True, add=True)


def parse_pbs(text: str, source: str) -> Inventory:
    """Read a ``$PBS_NODEFILE``, or any list of bare hosts.

    Raises:
        InputError: A line that is no host name.
    """
    return _parse(text, source, _bare, again=True)


def parse_slurm(text: str, source: str) -> Inventory:
    """Read a ``SLURM_HOSTFILE``.

    Raises:
        InputError: A line that is no hostlist, or a count that is no number.
    """
    return _parse(text, source, _slurm, again=True, add=True)


def guess(text: str) -> str | None:
    """Return the dialect of a text in which every line is a host; None if it is no hostfile."""
    lines = [line for _, line in _lines(text)]
    if not lines or not all(re.match(r"[\w\[]", line) for line in lines):
        return None
    words = [line.split() for line in lines]
    if all(len(w) == 1 for w in words) and any(re.search(r"[\[*,]", line) for line in lines):
        return "slurm-hostfile"
    if all(_COLON.fullmatch(line) or len(w) == 1 for line, w in zip(lines, words, strict=True)):
        colon = any(_COLON.fullmatch(line) for line in lines)
        return "mpich" if colon else "pbs" if not any("@" in line for line in lines) else "openmpi"
    if all(_DEEPSPEED.match(line) for line in lines) and any(w[-1].isalnum() for w in words):
        return "deepspeed"
    if all(len(w) == 1 or "=" in line for line, w in zip(lines, words, strict=True)):
        return "openmpi"
    return None


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in numbered(text):
        bare = line.split("#", 1)[0].strip()
        if bare:
            yield number, bare


def _parse(text: str, source: str, read: _Reader, *, again: bool, add: bool = False) -> Inventory:
    """Read every line and count the slots of every host.

    Args:
        text: The file.
        source: Its name.
        read: Reads a line.
        again: A host may stand on several lines.
        add: Also one with a number of slots, and they add up.
    """
    where: dict[str, str] = {}
    stated: dict[str, int] = {}  # slots
    named: Counter[str] = Counter()
    notes: list[Note] = []
    for number, line in _lines(text):
        place = f"{source}:{number}"
        found = read(line, place)
        if found.ignored:
            notes.append(Note(place, f"not read, as DeepSpeed does not: '{found.ignored}'"))
        for host in found.hosts:
            once = not again or not (add or (found.slots is None and host not in stated))
            if host in where and once:
                raise refuse(
                    place,
                    "a host stands twice",
                    got=f"{host}, first at {where[host]}",
                    expected="every host once" + (", or without slots" if again else ""),
                )
            where.setdefault(host, place)
            named[host] += 1
            if found.slots is not None:
                stated[host] = stated.get(host, 0) + found.slots
    if not where:
        raise refuse(source, "no host in the file")
    repeated = not stated and max(named.values()) > 1
    nodes = (
        Node(host, place, stated.get(host), slots=named[host] if repeated else None)
        for host, place in where.items()
    )
    return Inventory(tuple(nodes), notes=tuple(notes), allocation=True)


def _openmpi(line: str, where: str) -> _Line:
    name, *words = line.split()
    slots = None
    for word in words:
        key, _, value = word.partition("=")
        if key.lower() not in _OPENMPI_KEYS or not _VALUE.fullmatch(value):
            got, expected = f"'{line}'", "'host' or 'host slots=8', no blanks around '='"
            raise refuse(where, "not a line of a hostfile", got=got, expected=expected)
        if key.lower() == "slots":
            slots = _count(value, where)
    user, _, host = name.rpartition("@")
    if user:
        host_name(user, where)
    return _Line((host_name(host, where),), slots)


def _count(text: str, where: str) -> int:
    if not _COUNT.fullmatch(text):
        raise refuse(where, "not a number of slots", got=f"'{text}'", expected="a whole number")
    return int(text)


def _deepspeed(line: str, where: str) -> _Line:
    match = _DEEPSPEED.match(line)
    if match is None:
        got, expected = f"'{line}'", "'host slots=8', no blanks around '='"
        raise refuse(where, "not a line of a DeepSpeed hostfile", got=got, expected=expected)
    rest = line[match.end() :].strip()
    ignored = "" if _MAX_SLOTS.fullmatch(rest) else rest
    return _Line((host_name(match[1], where),), int(match[2]), ignored)


def _mpich(line: str, where: str) -> _Line:
    match = _COLON.fullmatch(line)
    if match:
        return _Line((host_name(match[1], where),), int(match[2]))
    return _bare(line, where)


def _bare(line: str, where: str) -> _Line:
    return _Line((host_name(line, where),), None)


def _slurm(line: str, where: str) -> _Line:
    match = _STAR.fullmatch(line)
    return _Line(tuple(hosts(match[1] if match else line, where)), int(match[2]) if match else None)
