"""Whether two levels nest, and which of one file's levels are kept where they do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from planner.inventory.model import Level, Note


def split(fine: Mapping[str, str], coarse: Mapping[str, str]) -> tuple[str, str, str] | None:
    """Return a domain of ``fine`` and two of ``coarse`` it lies in, None if there is no such.

    Both map nodes to domains; a node that is in ``fine`` alone is on its own in ``coarse``.
    """
    inside: dict[str, tuple[str, bool]] = {}
    for node, domain in fine.items():
        outer = (coarse[node], True) if node in coarse else (node, False)
        first = inside.setdefault(domain, outer)
        if first != outer:
            return domain, first[0], outer[0]
    return None


def conflict(one: Level, other: Level) -> str | None:
    """Say how two levels fail to nest; None if one is finer than the other everywhere."""
    a, b = one.domain_of(), other.domain_of()
    found = split(a, b)
    if found is None or split(b, a) is None:
        return None
    domain, first, second = found
    return f"{one.name} '{domain}' lies in {other.name} '{first}' and '{second}'"


def keep_nested(levels: Sequence[Level], where: str) -> tuple[tuple[Level, ...], tuple[Note, ...]]:
    """Return the levels that nest with all kept before them, and a note for each of the others."""
    kept: list[Level] = []
    notes = []
    for level in levels:
        text = next(_conflicts(level, kept), None)
        if text is None:
            kept.append(level)
        else:
            notes.append(Note(where, f"{text}: level '{level.name}' left out, levels must nest"))
    return tuple(kept), tuple(notes)


def _conflicts(level: Level, kept: Iterable[Level]) -> Iterator[str]:
    return (text for other in kept if (text := conflict(other, level)) is not None)
