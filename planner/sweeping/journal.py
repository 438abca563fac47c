"""The journal of a sweep: a line a solved point, on the disk at once; none is solved twice."""

import json
import os
from pathlib import Path
from typing import Any, Self

from planner.errors import Complaint, InputError
from planner.sweeping.solving import Answer

FORMAT = {"format": "planner.sweep", "version": 1}


class Journal:
    """Records of solved points by key, kept in a file beside the results.

    Each line is complete or, if the writer was killed within it, cut off when the file is opened
    again. Opening creates nothing until the first record; without a path records are only held.

    Attributes:
        path: the file, or None.
        known: records read or written, by key.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[str, dict[str, Any]] = {}
        self._file: int | None = None

    def __enter__(self) -> Self:
        """Read what an earlier run wrote.

        Raises:
            InputError: the file is not a journal, or of another version.
        """
        if self.path is not None and self.path.exists():
            self._read(self.path)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.close(self._file)

    def _read(self, path: Path) -> None:
        raw = path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        lines = whole.decode(errors="replace").splitlines()
        if not lines:
            path.unlink()
            return
        try:
            header, *entries = (json.loads(line) for line in lines)
        except json.JSONDecodeError:
            header, entries = None, []
        if header != FORMAT:
            remedy = "move it away, or write the results elsewhere"
            what = "not the journal of a sweep"
            raise InputError(Complaint(str(path), what, remedy=remedy))
        self.known = {entry["key"]: entry["record"] for entry in entries}
        if len(whole) < len(raw):
            os.truncate(path, len(whole))

    def add(self, answer: Answer) -> None:
        """Keep a point's record; it is on the disk when this returns."""
        self.known[answer.key] = answer.record
        if self.path is None:
            return
        entry = {"key": answer.key, "seconds": answer.seconds, "record": answer.record}
        lines = "" if self.path.exists() else json.dumps(FORMAT) + "\n"
        if self._file is None:
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.write(self._file, (lines + json.dumps(entry) + "\n").encode())
        os.fsync(self._file)
