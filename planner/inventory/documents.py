"""JSON and YAML as values that know where they stand, so that every error can say it."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

import yaml

from planner.errors import InputError
from planner.inventory.model import refuse
from planner.spec.complaints import json_path
from planner.spec.loading import parse_json

_KINDS: dict[type, str] = {dict: "an object", list: "a list", type(None): "null"}
_NULLS = ("", "~", "null", "Null", "NULL")


class Value:
    """A value of a document: an object, a list, or a scalar.

    Attributes:
        raw: The value itself.
        source: The file.
        line: Line of the file, where the format tells it.
    """

    __slots__ = ("_key", "_parent", "line", "raw", "source")

    def __init__(
        self, raw: Any, source: str, parent: Value | None = None, key: str | int = ""
    ) -> None:
        self.raw = raw
        self.source = source
        self.line: int | None = getattr(raw, "line", parent.line if parent else None)
        self._parent = parent
        self._key = key

    @property
    def path(self) -> str:
        """The way from the root of the document: ``Instances[3].NetworkNodes``."""
        if self._parent is None:
            return ""
        above = self._parent.path
        if isinstance(self._key, int):
            return f"{above}[{self._key}]"
        return f"{above}.{self._key}" if above else self._key

    @property
    def where(self) -> str:
        """The place, as errors state it."""
        source = self.source if self.line is None else f"{self.source}:{self.line}"
        path = self.path
        return f"{source}: {path}" if path else source

    def get(self, key: str) -> Value | None:
        """Return the value under a key; None if the key is absent or null.

        Raises:
            InputError: This is no object.
        """
        if not isinstance(self.raw, dict):
            raise self._refuse("an object")
        raw = self.raw.get(key)
        return None if raw is None else Value(raw, self.source, self, key)

    def require(self, key: str) -> Value:
        """Return the value under a key.

        Raises:
            InputError: There is none.
        """
        value = self.get(key)
        if value is None:
            raise refuse(self.where, f"'{key}' is missing")
        return value

    def find(self, *keys: str) -> Value | None:
        """Follow keys downwards; None where one is absent."""
        value: Value | None = self
        for key in keys:
            value = value.get(key) if value is not None else None
        return value

    def items(self) -> Iterator[tuple[str, Value]]:
        """Yield the entries of an object that are not null.

        Raises:
            InputError: This is no object.
        """
        if not isinstance(self.raw, dict):
            raise self._refuse("an object")
        for key, raw in self.raw.items():
            if raw is not None:
                yield str(key), Value(raw, self.source, self, str(key))

    def unknown(self, known: Container[str]) -> Iterator[tuple[str, Value]]:
        """Yield the entries of an object whose keys are not known, null or not.

        Raises:
            InputError: This is no object.
        """
        if not isinstance(self.raw, dict):
            raise self._refuse("an object")
        for key, raw in self.raw.items():
            if key not in known:
                yield str(key), Value(raw, self.source, self, str(key))

    def each(self) -> Iterator[Value]:
        """Yield the elements of a list.

        Raises:
            InputError: This is no list.
        """
        if not isinstance(self.raw, list):
            raise self._refuse("a list")
        for index, raw in enumerate(self.raw):
            yield Value(raw, self.source, self, index)

    def text(self) -> str:
        """Return a scalar as text.

        Raises:
            InputError: This is no text and no number.
        """
        if isinstance(self.raw, bool) or not isinstance(self.raw, str | int):
            raise self._refuse("text")
        return str(self.raw)

    def count(self) -> int:
        """Return a whole number, also one written as text.

        Raises:
            InputError: This is none, or below zero.
        """
        text = self.text()
        if not (text.isascii() and text.isdigit() and len(text) <= 9):
            raise self._refuse("a whole number")
        return int(text)

    def _refuse(self, expected: str) -> InputError:
        kind = next((name for kind, name in _KINDS.items() if isinstance(self.raw, kind)), None)
        got = kind or repr(self.raw)
        return refuse(self.where, "wrong kind of value", got=got, expected=expected)


def read_json(text: str, source: str) -> Value:
    """Read a JSON text.

    Raises:
        InputError: It is none, or a key stands twice in one object.
    """
    return Value(parse_json(text, source), source)


class _Text(str):
    """A scalar of a YAML text; ``line`` counts from 1."""

    __slots__ = ("line",)
    line: int


class _List(list[Any]):
    """A sequence of a YAML text."""

    __slots__ = ("line",)
    line: int


class _Map(dict[str, Any]):
    """A mapping of a YAML text."""

    __slots__ = ("line",)
    line: int


_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_MAX_DEPTH = 100


def read_yaml(text: str, source: str) -> list[Value]:
    """Read the documents of a YAML text; every scalar stays the text it is, but for nulls.

    Raises:
        InputError: It is none, uses anchors, or a key stands twice in one mapping.
    """
    try:
        roots = list(_documents(text, source))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = source if mark is None else f"{source}:{mark.line + 1}"
        what = getattr(error, "problem", None) or "a character no YAML text may hold"
        raise refuse(where, "not YAML", got=str(what)) from None
    return [Value(root, source) for root in roots]


def _documents(text: str, source: str) -> Iterator[Any]:
    """Build values from events: no recursion, and lines are at hand."""
    root = _List()
    stack: list[tuple[Any, list[_Text]]] = [(root, [])]  # open collections, each with its open key
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        where = f"{source}:{line}"
        match event:
            case yaml.AliasEvent() | yaml.NodeEvent(anchor=str()):
                raise refuse(where, "anchors are not read", expected="the value written out")
            case yaml.ScalarEvent():
                _add(stack, _scalar(event, line), where)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                if len(stack) > _MAX_DEPTH:
                    raise refuse(where, f"nested deeper than {_MAX_DEPTH} levels")
                value = _List() if isinstance(event, yaml.SequenceStartEvent) else _Map()
                value.line = line
                _add(stack, value, where)
                stack.append((value, []))
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                stack.pop()
    yield from root


def _scalar(event: yaml.ScalarEvent, line: int) -> _Text | None:
    if event.value in _NULLS and not event.style:
        return None
    text = _Text(event.value)
    text.line = line
    return text


def _add(stack: list[tuple[Any, list[_Text]]], value: object, where: str) -> None:
    """Put a value into the open collection: an element, a key, or the value of the open key."""
    collection, key = stack[-1]
    if isinstance(collection, list):
        collection.append(value)
    elif key:
        collection[key.pop()] = value
    elif not isinstance(value, _Text):
        raise refuse(where, "a key that is no text")
    elif value in collection:
        above = [
            len(open_) - 1 if isinstance(open_, list) else next(reversed(open_))
            for open_, _ in stack[1:-1]  # under the list of documents
        ]
        path = json_path([*above, value]).removeprefix("$").removeprefix(".")
        before = next(known.line for known in collection if known == value)
        raise refuse(
            f"{where}: {path}",
            "a key stands twice in one mapping",
            got=f"'{value}'",
            expected="every key once",
            remedy=f"it already stands in line {before}; drop one of the two",
        )
    else:
        key.append(value)
