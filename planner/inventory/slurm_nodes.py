"""What ``scontrol show nodes`` prints: which nodes are up, and the GPUs of each.

A record starts with ``NodeName=`` and goes on over indented lines (or stands on one, with ``-o``).
Values may hold blanks (``OS=Linux 5.15 …``, ``Reason=Not responding [root@…]``), so a value ends
where the next ``Key=`` begins. ``NodeName=`` lines of a ``slurm.conf`` read the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from planner.inventory.lines import hosts, numbered
from planner.inventory.model import Inventory, Node, distinct, refuse

_KEY = re.compile(r"(?:^|(?<=\s))([A-Za-z][A-Za-z0-9_]*)=")
_GRES = re.compile(r"gpu(?::[^,():]*)*?(?::([0-9]{1,9}))?(?:\([^)]*\))?")
_TRES = re.compile(r"(?:^|,)gres/gpu=([0-9]{1,9})(?:,|$)")
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
    nodes = distinct(
        node for where, record in _records(text, source) for node in _nodes(where, record)
    )
    if not nodes:
        raise refuse(source, "no NodeName= in the file")
    if not any(node.gpus for node in nodes):
        nodes = tuple(replace(node, gpus=None) for node in nodes)
    return Inventory(nodes)


def _records(text: str, source: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of every record, joined, with the place of the first."""
    where, record = source, ""
    for number, line in numbered(text):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        if re.match("NodeName=", bare, re.IGNORECASE):
            if record:
                yield where, record
            where, record = f"{source}:{number}", ""
        elif not record:
            got = f"'{bare}'"
            raise refuse(
                f"{source}:{number}", "before the first node", got=got, expected="NodeName="
            )
        record += f" {bare}"
    if record:
        yield where, record


def _nodes(where: str, record: str) -> Iterator[Node]:
    keys = list(_KEY.finditer(record))
    ends = [*(key.start() for key in keys[1:]), len(record)]
    values = {
        key[1].lower(): record[key.end() : end].strip()
        for key, end in reversed(list(zip(keys, ends, strict=True)))  # the first of a key counts
    }
    gpus = _gpus(values)
    down, aside = _unfit(values.get("state", ""))
    for name in hosts(values["nodename"], where):
        yield Node(name, where, gpus, down=down, aside=aside)


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
