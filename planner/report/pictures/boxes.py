"""Where everything lies: racks around nodes around cells, in rows of about equal length."""

from dataclasses import dataclass, field
from math import ceil, log

import numpy as np

from planner.machines import Level
from planner.report.pictures.cells import Cells

_WIDE = 1.7  # wanted ratio of width to height


@dataclass(frozen=True)
class Style:
    """Sizes in pixels.

    Attributes:
        side: of a cell.
        gap: between cells.
        pad: inside a box.
        label: font size of box labels, 0 for none.
        tagged: whether cells carry a text of their own.
    """

    side: int
    gap: int
    pad: int
    label: int
    tagged: bool


LARGE = Style(side=30, gap=3, pad=6, label=11, tagged=True)
MIDDLE = Style(side=12, gap=2, pad=4, label=8, tagged=False)
SMALL = Style(side=8, gap=1, pad=3, label=6, tagged=False)


def style_for(cells: Cells) -> Style:
    """The largest cells that keep a picture on a page."""
    count = len(cells.first)
    if cells.whole and count <= 512:
        return LARGE
    return MIDDLE if count <= 4096 else SMALL


@dataclass
class Box:
    """A rectangle with a label, its children or its cells inside; x and y from the parent's."""

    level: str
    name: str
    children: list["Box"] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)
    x: int = 0
    y: int = 0
    width: int = 0
    height: int = 0


@dataclass(frozen=True)
class Sheet:
    """A finished layout.

    Attributes:
        style: the sizes used.
        width, height: of everything.
        boxes: outermost first, absolute positions.
        x, y: [cells] upper left corner of each cell.
    """

    style: Style
    width: int
    height: int
    boxes: list[Box]
    x: np.ndarray
    y: np.ndarray


def lay_out(cells: Cells) -> Sheet:
    """Positions of all boxes and cells."""
    style = style_for(cells)
    root = _tree(cells)
    x = np.zeros(len(cells.first), np.int64)
    y = np.zeros(len(cells.first), np.int64)
    _measure(root, style, outermost=True)
    boxes: list[Box] = []
    _settle(root, 0, 0, style, boxes, (x, y))
    return Sheet(style, root.width, root.height, boxes[1:], x, y)


def _tree(cells: Cells) -> Box:
    """Boxes inside boxes: the levels above the innermost boxes."""
    leaves = [Box(level, name) for level, name in cells.holders]
    for cell, holder in enumerate(cells.holder.tolist()):
        leaves[holder].cells.append(cell)
    machines = cells.machines
    above = machines.levels[machines.node_level + 1 :]
    of_leaf = np.unique(cells.holder, return_index=True)[1]
    device = cells.first[of_leaf]
    boxes, kept = [leaves[h] for h in np.unique(cells.holder).tolist()], device
    for level in above if cells.whole else above[1:]:
        boxes, kept = _gather(boxes, kept, level)
    return Box("", "", children=boxes)


def _gather(boxes: list[Box], device: np.ndarray, level: Level) -> tuple[list[Box], np.ndarray]:
    """The boxes inside those of a coarser level; `device` is one of each."""
    domains, first = np.unique(level.domain[device], return_index=True)
    outer = {d: Box(level.name, level.names[d]) for d in domains.tolist()}
    for box, d in zip(boxes, level.domain[device].tolist(), strict=True):
        outer[d].children.append(box)
    return list(outer.values()), device[first]


def _measure(box: Box, style: Style, *, outermost: bool = False) -> None:
    pad, label = (0, 0) if outermost else (style.pad, _label_height(style))
    if box.cells:
        columns = _columns(len(box.cells))
        step = style.side + style.gap
        box.width = 2 * pad + columns * step - style.gap
        box.height = 2 * pad + label + ceil(len(box.cells) / columns) * step - style.gap
        return
    for child in box.children:
        _measure(child, style)
    wide = max(child.width for child in box.children) + style.pad
    high = max(child.height for child in box.children) + style.pad
    columns = _balanced(len(box.children), wide, high)
    rows = ceil(len(box.children) / columns)
    box.width = 2 * pad + columns * wide - style.pad
    box.height = 2 * pad + label + rows * high - style.pad
    for i, child in enumerate(box.children):
        child.x = pad + (i % columns) * wide
        child.y = pad + label + (i // columns) * high


def _label_height(style: Style) -> int:
    return style.label + 3


def _columns(cells: int) -> int:
    """Cells in a row of an innermost box: four, eight, or about a square of them."""
    if cells <= 8:
        return min(cells, 4)
    return 8 if cells <= 64 else ceil((cells * _WIDE) ** 0.5)


def _balanced(count: int, wide: int, high: int) -> int:
    """Boxes in a row, so that the whole comes near the wanted ratio."""
    return min(
        range(1, count + 1), key=lambda k: abs(log(k * wide / (ceil(count / k) * high) / _WIDE))
    )


def _settle(
    box: Box, x: int, y: int, style: Style, out: list[Box], at: tuple[np.ndarray, np.ndarray]
) -> None:
    """Absolute positions, depth first."""
    box.x, box.y = x, y
    out.append(box)
    columns = _columns(len(box.cells)) if box.cells else 1
    step = style.side + style.gap
    for i, cell in enumerate(box.cells):
        at[0][cell] = x + style.pad + (i % columns) * step
        at[1][cell] = y + style.pad + _label_height(style) + (i // columns) * step
    for child in box.children:
        _settle(child, x + child.x, y + child.y, style, out, at)
