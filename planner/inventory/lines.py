"""Line by line formats: numbered lines, ``Key=Value`` records, hostlists with their place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planner.inventory.model import refuse
from planner.spec.hostlist import HostlistError, expand
from planner.spec.names import NAME_RULE, is_name

_SPACED = re.compile(r"\s+=\s+")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Yield every line with its number, from 1, without the terminal's colours and line ends."""
    plain = _ANSI.sub("", text) if "\x1b" in text else text
    for number, line in enumerate(plain.split("\n"), start=1):
        yield number, line.rstrip("\r")


def hosts(text: str, where: str) -> list[str]:
    """Expand a hostlist that stands at ``where``.

    Raises:
        InputError: It is no hostlist, or a name in it no host name.
    """
    try:
        names = expand(text)
    except HostlistError as error:
        raise refuse(
            where,
            f"not a hostlist (column {error.column})",
            got=f"{error.got} in '{text}'",
            expected=error.expected,
        ) from None
    for name in names:
        host_name(name, where)
    return names


def host_name(name: str, where: str) -> str:
    """Return the name.

    Raises:
        InputError: It is no host name.
    """
    if not is_name(name):
        raise refuse(where, "not a host name", got=f"'{name}'", expected=NAME_RULE)
    return name


def fields(line: str, where: str) -> dict[str, str]:
    """Read ``Key=Value Key=Value``; keys in lower case.

    Raises:
        InputError: A word is no such pair, or a key stands twice.
    """
    pairs: dict[str, str] = {}
    for word in _SPACED.sub("=", line).split():
        key, equals, value = word.partition("=")
        key = key.lower()
        if not (key and equals) or "=" in value:
            raise refuse(where, "not a Key=Value pair", got=f"'{word}'", expected="Key=Value")
        if key in pairs:
            raise refuse(where, "a key stands twice in one record", got=f"'{word}'")
        pairs[key] = value.strip('"')
    return pairs
