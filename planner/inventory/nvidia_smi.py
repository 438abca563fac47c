"""The matrix of ``nvidia-smi topo -m``: NVLink between the GPUs of one node, and their NUMA nodes.

Read are captures of any age and quality: with the colours of a terminal, with tabs or pasted with
blanks, with network cards called ``NIC0`` or ``mlx5_0``, without the rows of the network cards,
without affinity columns. Columns are told apart by the header: those before the first name of two
words belong to the matrix. Cells are matched to columns from the left, since the ends of rows vary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from planner.inventory.gpus import inside
from planner.inventory.lines import numbered
from planner.inventory.model import Inventory, Note, refuse

_GPU = re.compile(r"GPU([0-9]{1,4})")
_NVLINK = re.compile(r"NV[0-9]+")
_NO_NVLINK = {"SYS", "NODE", "PHB", "PXB", "PIX", "SOC", "PSB"}
_SELF = "X"
_AFFINITIES = ("NUMA Affinity", "CPU Affinity")  # the better first; old drivers have the other
_COLUMN = re.compile(r"CPU Affinity|NUMA Affinity|GPU NUMA ID|\S+")
_HEADER = re.compile(r"\s+GPU[0-9]{1,4}(\s|$)|GPU[0-9]{1,4}\s+GPU[0-9]{1,4}(\s|$)")

MAX_GPUS = 1024
"""Most GPUs of one node."""


@dataclass(slots=True)
class _Matrix:
    """What the rows tell.

    Attributes:
        source: The file.
        gpus: The GPUs of the header, ascending.
        rows: Place of the row of a GPU.
        cells: Cell of row and column.
        affinity: Cell of a GPU, by name of the column.
    """

    source: str
    gpus: list[int]
    rows: dict[int, str] = field(default_factory=dict)
    cells: dict[tuple[int, int], str] = field(default_factory=dict)
    affinity: dict[str, dict[int, str]] = field(default_factory=dict)


def is_header(line: str) -> bool:
    """Whether a line heads a matrix: an indented GPU, or two of them."""
    return bool(_HEADER.match(line))


def parse(text: str, source: str) -> Inventory:
    """Read the output of ``nvidia-smi topo -m``.

    Raises:
        InputError: No matrix in the file, or one that contradicts itself.
    """
    lines = list(numbered(text))
    start = next((i for i, (_, line) in enumerate(lines) if is_header(line)), None)
    if start is None:
        raise refuse(source, "no matrix", expected="a header line that begins with GPU0")
    columns = _COLUMN.findall(lines[start][1])
    matrix = _Matrix(source, _gpus(columns, f"{source}:{lines[start][0]}"))
    notes: list[Note] = []
    for number, line in lines[start + 1 :]:
        if is_header(line):
            notes.append(Note(f"{source}:{number}", "a second matrix: not read"))
            break
        _read_row(line, f"{source}:{number}", columns, matrix)
    links = list(_links(matrix, notes))
    complete = (a for a in _AFFINITIES if len(matrix.affinity.get(a, ())) == len(matrix.gpus))
    numa = matrix.affinity.get(next(complete, ""), {})
    return inside(source, matrix.gpus, links, numa, notes)


def _gpus(columns: Sequence[str], where: str) -> list[int]:
    gpus = [int(match[1]) for match in map(_GPU.fullmatch, columns) if match]
    if len(set(gpus)) < len(gpus):
        raise refuse(where, "a GPU stands twice in the header", got=" ".join(columns))
    if max(gpus) >= MAX_GPUS:
        raise refuse(where, f"GPU{max(gpus)} in one node", expected=f"at most {MAX_GPUS} GPUs")
    return sorted(gpus)


def _read_row(line: str, where: str, columns: Sequence[str], matrix: _Matrix) -> None:
    """Take the cells of a row, if it is that of a GPU."""
    cells = [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()
    match = _GPU.fullmatch(cells[0]) if cells else None
    if match is None:
        return
    row = int(match[1])
    if row in matrix.rows:
        raise refuse(where, f"a second row of GPU{row}", got=f"the first is at {matrix.rows[row]}")
    if row not in matrix.gpus:
        raise refuse(where, f"a row of GPU{row}, which is no column", got=f"'{line.strip()}'")
    matrix.rows[row] = where
    for column, cell in zip(columns, cells[1:], strict=False):
        match = _GPU.fullmatch(column)
        if match and cell:
            matrix.cells[row, int(match[1])] = cell
        elif column in _AFFINITIES and cell not in ("", "N/A"):
            matrix.affinity.setdefault(column, {})[row] = cell


def _links(matrix: _Matrix, notes: list[Note]) -> Iterator[tuple[int, int]]:
    """Yield the pairs joined by NVLink; a cell may be missing on one side of the diagonal."""
    for i, a in enumerate(matrix.gpus):
        where = matrix.rows.get(a, matrix.source)
        if a not in matrix.rows:
            text = f"the row of GPU{a} is missing: read from the other rows"
            notes.append(Note(matrix.source, text))
        itself = matrix.cells.get((a, a), _SELF)
        if itself != _SELF:
            raise refuse(where, f"GPU{a} to itself", got=f"'{itself}'", expected=f"'{_SELF}'")
        for b in matrix.gpus[i + 1 :]:
            there, back = matrix.cells.get((a, b), ""), matrix.cells.get((b, a), "")
            if there and back and there != back:
                got = f"{there}, and {back} at {matrix.rows[b]}"
                raise refuse(where, f"GPU{a} and GPU{b} disagree about their link", got=got)
            cell = there or back
            if _NVLINK.fullmatch(cell):
                yield a, b
            elif cell not in _NO_NVLINK:
                text = f"GPU{a} to GPU{b}: {repr(cell) if cell else 'nothing'} read as no NVLink"
                notes.append(Note(where, text))
