"""Rows on disk: a file of JSON lines that only grows."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.measuring import Row

Latest = dict[tuple[str, str], Row]
"""The newest row by (instance, contender)."""


def append(path: Path, row: Row) -> None:
    """Record a row."""
    with path.open("a", encoding="utf-8") as out:
        out.write(row.line() + "\n")


def recorded(path: Path) -> Iterator[Row]:
    """All rows, oldest first; a last line cut short by a crash is left out."""
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.endswith("\n"):
            yield Row(**json.loads(line))


def latest(rows: Iterable[Row]) -> Latest:
    """The newest row of each contender on each instance."""
    return {(row.instance, row.contender): row for row in rows}
