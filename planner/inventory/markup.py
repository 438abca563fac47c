"""XML as a tree whose elements know their line; entity declarations are refused, none is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from planner.inventory.model import refuse

MAX_DEPTH = 200
"""Deepest nesting of elements."""


@dataclass(slots=True)
class Element:
    """An element: tag, attributes, children, the text before its first child, line of the file."""

    tag: str
    attributes: dict[str, str]
    where: str
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def get(self, name: str, default: str = "") -> str:
        """Return an attribute."""
        return self.attributes.get(name, default)

    def each(self, tag: str) -> Iterator[Element]:
        """Yield the elements below of that tag, in the order of the file."""
        stack = [*reversed(self.children)]
        while stack:
            element = stack.pop()
            if element.tag == tag:
                yield element
            stack += reversed(element.children)

    def above(self) -> Iterator[Element]:
        """Yield the elements around, the innermost first."""
        element = self.parent
        while element is not None:
            yield element
            element = element.parent


def read_xml(text: str, source: str) -> Element:
    """Return the root.

    Raises:
        InputError: Not well-formed, nested too deep, or with entities of its own.
    """
    builder = _Builder(source)
    try:
        builder.parser.Parse(text.encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError as error:
        what = expat.errors.messages.get(error.code, str(error))
        raise refuse(f"{source}:{error.lineno}", "not well-formed XML", got=what) from None
    assert builder.root is not None  # expat refuses a document without one
    return builder.root


class _Builder:
    def __init__(self, source: str) -> None:
        # The text is already decoded: an encoding that the file declares no longer holds.
        self.parser = expat.ParserCreate(encoding="utf-8")
        self.root: Element | None = None
        self._source = source
        self._open: list[Element] = []
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._entity

    def _place(self) -> str:
        return f"{self._source}:{self.parser.CurrentLineNumber}"

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        parent = self._open[-1] if self._open else None
        element = Element(tag, attributes, self._place(), parent)
        if len(self._open) >= MAX_DEPTH:
            raise refuse(self._place(), f"elements nested deeper than {MAX_DEPTH} levels")
        if parent is None:
            self.root = element
        else:
            parent.children.append(element)
        self._open.append(element)

    def _end(self, _tag: str) -> None:
        self._open.pop()

    def _text(self, data: str) -> None:
        if self._open and not self._open[-1].children:
            self._open[-1].text += data

    def _entity(self, *_declaration: object) -> None:
        raise refuse(self._place(), "entity declarations are not read")
