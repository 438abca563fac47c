"""What ``scontrol show nodes`` prints: which nodes are up, and the GPUs of each.

A record starts with ``NodeName=`` and goes on over indented lines (or stands on one, with ``-o``).
Values may hold blanks (``OS=Linux 5.15 …``, ``Reason=Not responding [root@…]``), so a value ends
where the next ``Key=`` begins. ``NodeName=`` lines of a ``slurm.conf`` read the same.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from planner.inventory.lines import hosts, numbered
from planner.inventory.model import Inventory, Node, Note, distinct, refuse, shorten

_KEY = re.compile(r"(?:^|(?<=\s))([A-Za-z][A-Za-z0-9_]*)=")
_GRES = re.compile(r"gpu(?::[^,():]*)*?(?::([0-9]{1,9}))?(?:\([^)]*\))?")
_TRES = re.compile(r"(?:^|,)gres/gpu=([0-9]{1,9})(?:,|$)")
_NAMES = ("nodename", "nodehostname", "reservationname")
_FREE_TEXT = ("reason", "comment", "extra")
_WHOLE = re.compile(r"\sState=", re.IGNORECASE)
_STATE = re.compile(r"[A-Z_]*[^A-Za-z=,\s]*(\+[A-Z_]+[^A-Za-z=,\s]*)*", re.IGNORECASE)
_DOWN = {"DOWN", "FAIL", "ERROR", "FUTURE", "INVALID_REG", "NOT_RESPONDING", "NO_RESPOND"}
_DRAIN = {"DRAIN", "DRAINED", "DRAINING", "FAILING"}
_BUSY = {"ALLOCATED", "MIXED", "COMPLETING"}


def parse(text: str, source: str) -> Inventory:
    """Read the output of ``scontrol show nodes``.

    A node that is down is left out, and may not be named in an allocation; one that drains is left
    out, but may be named while jobs still run on it. GPUs come from ``Gres=``, else from
    ``CfgTRES=``; where no node of the file has any, they are unknown, otherwise a node without is
    none to place ranks on.

    Raises:
        InputError: Not such an output, or a node that stands twice.
    """
    notes: list[Note] = []
    records = _records(text, source)
    nodes = distinct(node for where, record in records for node in _nodes(where, record, notes))
    if not nodes:
        raise refuse(source, "no NodeName= in the file")
    if not any(node.gpus for node in nodes):
        nodes = tuple(replace(node, gpus=None) for node in nodes)
    return Inventory(nodes, notes=tuple(notes))


def _records(text: str, source: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines of every record with the place of the first.

    An indented line belongs to the record above, unless a blank line stands between or the record
    is one of those that stand on a single line.
    """
    where = source
    record: list[str] = []
    for number, line in numbered(text):
        bare = line.strip() if not line.startswith("#") else ""
        starts = bool(re.match("NodeName=", bare, re.IGNORECASE))
        if record and (starts or not bare):
            yield where, record
            record = []
        if starts:
            where = f"{source}:{number}"
        elif bare and not (record and line[:1].isspace() and not _WHOLE.search(record[0])):
            place, got = f"{source}:{number}", f"'{bare}'"
            raise refuse(place, "not the first line of a node", got=got, expected="NodeName=")
        if bare:
            record.append(bare)
    if record:
        yield where, record


def _nodes(where: str, record: Sequence[str], notes: list[Note]) -> Iterator[Node]:
    values = _values(where, record, notes)
    gpus = _gpus(values)
    state = values.get("state", "")
    if "state" not in values:
        text = shorten(" ".join(record), 1000)
        notes.append(Note(where, f"no State=, taken to be up: '{text}'"))
    if not _STATE.fullmatch(state):
        raise refuse(where, "not a state", got=f"'{state}'", expected="such as IDLE+DRAIN")
    down, aside = _unfit(state)
    for name in hosts(values["nodename"], where):
        yield Node(name, where, gpus, down=down, aside=aside)


def _values(where: str, record: Iterable[str], notes: list[Note]) -> dict[str, str]:
    """Return the values of a record, keys in lower case; free text ends with its line."""
    values: dict[str, str] = {}
    for line in record:
        if "NodeName=" in line[1:]:
            raise refuse(where, "two nodes on one line", got=f"'{line}'")
        keys = list(_KEY.finditer(line))
        for key, after in itertools.zip_longest(keys, keys[1:]):
            name = key[1].lower()
            if name in _FREE_TEXT:
                if "=" in line[key.end() :]:  # may be the rest of a line that lost its end
                    notes.append(Note(where, f"taken for free text: '{line[key.start() :]}'"))
                break
            if name in values:
                raise refuse(where, "a key stands twice in one node", got=f"{key[1]}=")
            values[name] = line[key.end() : after.start() if after else len(line)].strip()
            if name.endswith("name") and name not in _NAMES:
                notes.append(Note(where, f"not read: '{key[1]}={values[name]}'"))
    return values


def _gpus(values: dict[str, str]) -> int:
    """Return the GPUs of a node: the sum over its types."""
    found = [_GRES.fullmatch(part.strip()) for part in _split(values.get("gres", ""))]
    gpus = sum(int(match[1] or 1) for match in found if match)
    if gpus:
        return gpus
    match = _TRES.search(values.get("cfgtres", ""))
    return int(match[1]) if match else 0


def _split(gres: str) -> list[str]:
    """Split at commas outside parentheses: ``gpu:h100:8(S:0,1),nic:4``."""
    return re.split(r",(?![^(]*\))", gres)


def _unfit(state: str) -> tuple[str | None, str | None]:
    """Return why a node is down, and why it is to be left out otherwise."""
    words = {word.rstrip("*~#!%$@^-+").upper() for word in state.split("+")}
    if words & _DOWN or "*" in state:
        return state, None
    if words & _DRAIN:
        return (None, state) if words & (_BUSY | {"DRAINING"}) else (state, None)
    return None, None
