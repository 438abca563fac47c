"""Reading JSON files: one error for whatever is wrong with them, duplicate keys refused."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from planner.errors import Complaint, InputError
from planner.spec.complaints import json_path
from planner.spec.problem import Problem

STDIN = "-"
_SHOWN = 30  # characters of what is no JSON


def load(path: str | Path) -> Problem:
    """Read and check a problem file; ``-`` reads standard input.

    Raises:
        InputError: unreadable, not JSON, or not a problem; with the file and JSON path of each
            complaint.
    """
    name = source_name(path)
    data = parse_json(read_text(path), name)
    try:
        return Problem.model_validate(data)
    except InputError as error:
        raise error.within(name) from None


def source_name(path: str | Path) -> str:
    """How errors name the file."""
    return "<stdin>" if str(path) == STDIN else str(path)


def read_text(path: str | Path) -> str:
    """Text of a file or of standard input, UTF-8 with or without a byte-order mark.

    Raises:
        InputError: it cannot be read or is not UTF-8.
    """
    name = source_name(path)
    try:
        raw = sys.stdin.buffer.read() if str(path) == STDIN else Path(path).read_bytes()
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = f"byte 0x{raw[error.start]:02x} at offset {error.start}"
        raise InputError(Complaint(name, "not UTF-8 text", got=at)) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(Complaint(name, "cannot be read", got=reason)) from None


def parse_json(text: str, name: str) -> Any:
    """The data of a JSON text; every object's keys must be distinct.

    Raises:
        InputError: not JSON (with line and column), or a key given twice.
    """
    try:
        return json.loads(text, object_pairs_hook=_distinct)
    except json.JSONDecodeError as error:
        raise InputError(_not_json(error, text, name)) from None
    except _DuplicateError:
        raise InputError(_duplicate(text, name)) from None
    except RecursionError:
        raise InputError(Complaint(name, "not JSON a problem could use: nested too deep")) from None
    except ValueError as error:
        raise InputError(Complaint(name, "not JSON a problem could use", got=str(error))) from None


def _not_json(error: json.JSONDecodeError, text: str, name: str) -> Complaint:
    """Where the text stops being JSON, what stands there and what should."""
    where = f"{name}: line {error.lineno}, column {error.colno}"
    here = text[error.pos :].split("\n", 1)[0].strip()
    got = repr(here if len(here) <= _SHOWN else f"{here[:_SHOWN]}...") if here else "the end"
    if not text.strip():
        got = "nothing: the input is empty"
    said = error.msg[0].lower() + error.msg[1:]
    if said.startswith("expecting "):
        return Complaint(where, "not JSON", got, said.removeprefix("expecting "))
    if said == "extra data":
        return Complaint(where, "not JSON", got, "nothing after the first value")
    return Complaint(where, f"not JSON: {said}", got)


class _DuplicateError(Exception):
    """A key stands twice in one object; where is only looked up then."""


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise _DuplicateError
    return data


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]', re.DOTALL)


def _keys(text: str) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """Every key of a JSON text with the keys that lead to it, and its offset."""
    path: list[str | int] = []  # of each open object or list, the key or index under way
    closing: list[str] = []
    expects_key = False
    for token in _TOKEN.finditer(text):
        sign = token.group()
        if sign in "{[":
            path.append("" if sign == "{" else 0)
            closing.append(sign)
            expects_key = sign == "{"
        elif sign in "}]":
            path.pop()
            closing.pop()
            expects_key = False
        elif sign == "," and closing[-1] == "{":
            expects_key = True
        elif sign == ",":
            path[-1] = int(path[-1]) + 1
        elif expects_key and sign != ":":
            path[-1] = json.loads(sign)
            yield tuple(path), token.start()
            expects_key = False


def _duplicate(text: str, name: str) -> Complaint:
    """The first key that stands twice in one object: where, and where it stood before."""
    seen: dict[tuple[str | int, ...], int] = {}
    for path, offset in _keys(text):
        if path in seen:
            line, before = (text.count("\n", 0, at) + 1 for at in (offset, seen[path]))
            return Complaint(
                f"{name}: line {line}: {json_path(path)}",
                "a key stands twice in one object",
                got=repr(path[-1]),
                expected="every key once",
                remedy=f"it already stands in line {before}; drop one of the two",
            )
        seen[path] = offset
    raise AssertionError("called where no key stands twice")
