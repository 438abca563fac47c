"""Slurm's shorthand for many names: ``gpu[001-128]``, read and written in order.

Grammar::

    hostlist = item { separator item }        separator: "," or blanks, one or more
    item     = { text | "[" range { "," range } "]" }
    range    = number [ "-" number ]          decimal, low to high

A number is padded with zeros to the width of the lower end of its range. Several groups in one
item multiply, the rightmost fastest. Order and duplicates are kept, because both mean something
to a launcher. Reading is strict: what Slurm would answer with an empty list, or read in a way its
author cannot have meant (``n[1 - 3]`` gives it ``n01``), is an error that names the column.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_NAMES = 4_194_304
"""Most names one expression may stand for, unless the caller says otherwise."""

MAX_NAME_LENGTH = 253
"""Longest name, in characters: that of a DNS host name."""

MAX_DIGITS = 18
"""Longest number, so that every one fits 64 bits."""

_TOKEN = re.compile(
    r"(?P<text>[^\s,\[\]{}]+)|(?P<group>\[[^\[\]]*\])|(?P<separator>[\s,]+)|(?P<bad>.)", re.DOTALL
)
_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_NUMBER = re.compile(r"([0-9]+)")
_NOT_A_NAME = re.compile(r"[\s,\[\]{}]")


class HostlistError(ValueError):
    """A hostlist that cannot be read.

    Attributes:
        column: Where, in characters from 1.
        got: What stands there.
        expected: What would have been right.
    """

    def __init__(self, column: int, got: str, expected: str) -> None:
        super().__init__(f"column {column}: got {got}; expected {expected}")
        self.column = column
        self.got = got
        self.expected = expected


@dataclass(frozen=True, slots=True)
class _Range:
    """The numbers ``low`` to ``high``, padded with zeros to ``width`` digits."""

    low: int
    high: int
    width: int

    def __len__(self) -> int:
        return self.high - self.low + 1

    def __iter__(self) -> Iterator[str]:
        return (str(number).zfill(self.width) for number in range(self.low, self.high + 1))


_Part = tuple[str] | tuple[_Range, ...]


def expand(text: str, limit: int = MAX_NAMES) -> list[str]:
    """Return the names a hostlist stands for, in order, duplicates kept.

    The names are counted before any of them is made.

    >>> expand("n[08-10,1],r[0-1]x[0-1].ib")
    ['n08', 'n09', 'n10', 'n1', 'r0x0.ib', 'r0x1.ib', 'r1x0.ib', 'r1x1.ib']

    Raises:
        HostlistError: ``text`` does not follow the grammar, names nothing, or stands for more than
            ``limit`` names.
    """
    return [name for parts in _within_limit(text, limit)[0] for name in _names(parts)]


def count(text: str, limit: int = MAX_NAMES) -> int:
    """Return how many names a hostlist stands for, without making them.

    >>> count("n[08-10,1],r[0-1]x[0-1].ib")
    8

    Raises:
        HostlistError: As `expand`.
    """
    return _within_limit(text, limit)[1]


def _within_limit(text: str, limit: int) -> tuple[list[list[_Part]], int]:
    """Return the items and the number of their names."""
    items: list[list[_Part]] = []
    total = 0
    for column, parts in _items(text):
        total += math.prod(sum(map(_size, part)) for part in parts)
        if total > limit:
            raise HostlistError(column, f"{total:,} names", f"at most {limit:,} names")
        items.append(parts)
    if not items:
        raise HostlistError(len(text) + 1, "the end of the text", "a name")
    return items, total


def fold(names: Iterable[str]) -> str:
    """Write names as a hostlist that expands to the same names in the same order.

    Neighbours that differ in one number share brackets: the last number of the name, or, in a name
    that does not end with a digit, whichever one differs. (Slurm before 23.11 reads no text behind
    brackets, so a name that ends with a digit is never given any.)

    >>> fold(["n3", "n1", "n4", "n2", "login", "n09", "n10", "n11"])
    'n[3,1,4,2],login,n[09-11]'

    Raises:
        ValueError: A name is empty or holds a blank, a comma, a bracket or a brace.
    """
    runs: list[dict[_Frame, list[str]]] = [{}]
    texts: list[str] = []  # the first name of every run
    for name in names:
        if not name or _NOT_A_NAME.search(name):
            raise ValueError(f"{name!r} cannot stand in a hostlist")
        frames = _frames(name)
        run = {frame: numbers for frame, numbers in runs[-1].items() if frame in frames}
        if run:
            runs[-1] = run
        else:
            runs.append({frame: [] for frame in frames})
            texts.append(name)
        for frame, numbers in runs[-1].items():
            numbers.append(frames[frame])
    return ",".join(map(_run_text, texts, runs[1:]))


def _size(part: str | _Range) -> int:
    return 1 if isinstance(part, str) else len(part)


def _items(text: str) -> Iterator[tuple[int, list[_Part]]]:
    """Yield every item: the column it starts at, and its parts."""
    parts: list[_Part] = []
    start = length = 0
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "separator":
            if parts:
                yield start, parts
            parts, length = [], 0
            continue
        if not parts:
            start = token.start() + 1
        part = _part(token)
        length += max(
            len(p) if isinstance(p, str) else max(p.width, len(str(p.high))) for p in part
        )
        if length > MAX_NAME_LENGTH:
            raise HostlistError(
                start, f"a name of {length:,} characters", f"at most {MAX_NAME_LENGTH} characters"
            )
        parts.append(part)
    if parts:
        yield start, parts


def _part(token: re.Match[str]) -> _Part:
    column, text = token.start() + 1, token.group()
    match token.lastgroup:
        case "text":
            return (text,)
        case "group":
            return tuple(_ranges(column + 1, text[1:-1]))
    if text == "[":
        raise HostlistError(column, "'[' that is never closed", "']' after the last range")
    if text == "]":
        raise HostlistError(column, "']' that closes nothing", "'[' before the first range")
    raise HostlistError(
        column, f"'{text}'", "names and ranges only (functions of slurmctld: expand them first)"
    )


def _ranges(column: int, inside: str) -> Iterator[_Range]:
    """Yield the ranges between two brackets; ``column`` is that of the first character inside."""
    for text in inside.split(","):
        match = _RANGE.fullmatch(text)
        if match is None:
            raise HostlistError(column, f"'{text[:40]}'", "a number or low-high, without blanks")
        low, high = match[1], match[2] or match[1]
        if max(len(low), len(high)) > MAX_DIGITS:
            raise HostlistError(
                column, f"a number of {max(len(low), len(high))} digits", f"at most {MAX_DIGITS}"
            )
        if int(high) < int(low):
            raise HostlistError(column, f"'{text}'", f"low before high: '{high}-{low}'")
        yield _Range(int(low), int(high), len(low))
        column += len(text) + 1


def _names(parts: list[_Part]) -> Iterator[str]:
    """Yield every combination of the parts of one item, the rightmost fastest."""
    choices = [
        part if isinstance(part[0], str) else tuple(itertools.chain.from_iterable(part))
        for part in parts
    ]
    return ("".join(choice) for choice in itertools.product(*choices))


_Frame = tuple[str, str]
"""The text before and behind a number."""


def _frames(name: str) -> dict[_Frame, str]:
    """Return the numbers of a name that brackets may replace, by what stands around them."""
    numbers = list(_NUMBER.finditer(name))
    if numbers and numbers[-1].end() == len(name):
        numbers = numbers[-1:]
    return {
        (name[: number.start()], name[number.end() :]): number.group()
        for number in numbers
        if len(number.group()) <= MAX_DIGITS
    }


def _run_text(name: str, run: dict[_Frame, list[str]]) -> str:
    """Write neighbouring names, of which ``name`` is the first."""
    for (before, after), numbers in run.items():
        if len(numbers) > 1:
            return f"{before}[{','.join(_fold_numbers(numbers))}]{after}"
    return name


def _fold_numbers(numbers: list[str]) -> Iterator[str]:
    """Yield ranges that spell exactly these numbers, padding included."""
    low = high = numbers[0]
    for number in [*numbers[1:], ""]:
        if number == str(int(high) + 1).zfill(len(low)):
            high = number
            continue
        yield low if low == high else f"{low}-{high}"
        low = high = number
