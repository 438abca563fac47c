"""One plan as SVG elements: boxes, cells, links, legend. Nothing is fetched from elsewhere."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from math import log2

import numpy as np

from planner.grid import Ints
from planner.machines import Level
from planner.plan import Plan
from planner.report.pictures.boxes import Sheet, lay_out
from planner.report.pictures.cells import IDLE, OFFLINE, Category, Cells, category
from planner.report.pictures.colours import scale
from planner.report.pictures.crossings import MOST_LINES, crossing_lines
from planner.wording import a, counted, number

_HEAD = 64  # height of the title and the legend, where those are not enlarged
_USUAL = 1100  # width up to which they are not
_SWATCHES = 16
_MARGIN = 14


@dataclass(frozen=True)
class Look:
    """What a picture shows.

    Attributes:
        axis: what cells are coloured by, one of `cells.AXES`.
        links: kind of links to draw, or None.
        level: level whose domains the links leave.
    """

    axis: str = "pp"
    links: str | None = None
    level: str = "node"


@dataclass(frozen=True)
class Drawing:
    """SVG elements and the room they take."""

    elements: list[str]
    width: int
    height: int


class Painter:
    """Draws one plan."""

    def __init__(self, plan: Plan, look: Look, title: str) -> None:
        self.plan, self.look, self.title = plan, look, title
        self.cells = Cells(plan)
        self.category: Category = category(plan, look.axis)
        self.sheet: Sheet = lay_out(self.cells)
        self.shown: Ints = self.cells.shown(self.category)
        self.colours = scale(len(self.category.names), ordered=self.category.ordered)

    def draw(self) -> Drawing:
        """All elements, the title on top."""
        lines, omitted = self._links()
        width = max(self.sheet.width + 2 * _MARGIN, 560)
        enlarged = max(1.0, width / _USUAL)
        top = round(_HEAD * enlarged)
        body = [
            f'<g transform="translate({_MARGIN},{top})">',
            *self._boxes(),
            *self._cells(),
            *lines,
            "</g>",
        ]
        head = [f'<g transform="scale({enlarged:.3g})">', *self._head(len(lines), omitted), "</g>"]
        return Drawing([*head, *body], width, self.sheet.height + top + _MARGIN)

    def colour_rules(self) -> str:
        """Style rules of the categories: ``.c0{fill:…}``."""
        return "".join(f".c{i}{{fill:{c}}}" for i, c in enumerate(self.colours))

    # Parts

    def _head(self, lines: int, omitted: int) -> Iterator[str]:
        facts = (
            f"{counted(self.plan.grid.world, 'rank')} on {counted(len(self.plan.hosts), 'host')}"
        )
        yield f'<text class="ink" x="{_MARGIN}" y="22" font-size="15">{escape(self.title)}</text>'
        note = f"{facts}; colour: {_AXIS_NAMES[self.look.axis]}"
        if self.look.links is not None:
            note += f"; red: {self.look.links} links that leave {a(self.look.level)}"
            note += "" if lines else " (there are none)"
            note += f" (the {MOST_LINES} thickest of {omitted + lines} lines)" if omitted else ""
        yield f'<text class="faint" x="{_MARGIN}" y="38" font-size="11">{escape(note)}</text>'
        yield from self._legend()

    def _legend(self) -> Iterator[str]:
        x = _MARGIN
        names = list(enumerate(self.category.names))[:_SWATCHES]
        more = len(self.category.names) - len(names)
        entries = [(f"c{i}", name) for i, name in names]
        entries += [("", f"and {number(more)} more")] if more else []
        entries += [("idle", "idle")] if (self.shown == IDLE).any() else []
        entries += [("offline", "offline")] if (self.shown == OFFLINE).any() else []
        for look, name in entries:
            if look:
                yield f'<rect class="{look}" x="{x}" y="46" width="9" height="9"/>'
                x += 13
            yield f'<text class="faint" x="{x}" y="54" font-size="9">{escape(name)}</text>'
            x += 9 + round(5.2 * len(name))

    def _boxes(self) -> Iterator[str]:
        style = self.sheet.style
        for box in self.sheet.boxes:
            outer = "box" if box.cells else "box outer"
            place = f'x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}"'
            yield f'<rect class="{outer}" {place} rx="3"/>'
            name = _fitting(box.name, box.width - 2 * style.pad, style.label)
            yield (
                f'<text class="faint" x="{box.x + style.pad}" y="{box.y + style.label + 2}" '
                f'font-size="{style.label}">{escape(name)}</text>'
            )

    def _cells(self) -> Iterator[str]:
        side, style = self.sheet.style.side, self.sheet.style
        moved = self._moved()
        rows = zip(
            self.sheet.x.tolist(),
            self.sheet.y.tolist(),
            self.shown.tolist(),
            self.cells.texts(),
            moved.tolist(),
            strict=True,
        )
        short = [_short(name) for name in self.category.names]
        for x, y, shown, text, is_moved in rows:
            look = _EMPTY.get(shown) or f"c{shown % len(self.colours)}"
            look += " moved" if is_moved else ""
            yield (
                f'<rect class="{look}" x="{x}" y="{y}" width="{side}" height="{side}">'
                f"<title>{escape(text)}</title></rect>"
            )
            if style.tagged and shown >= 0:
                middle = f'x="{x + side / 2:g}" y="{y + side / 2 + 3:g}"'
                yield f'<text class="tag" {middle}>{short[shown]}</text>'

    def _moved(self) -> np.ndarray:
        """[cells] whether a rank moved here when the plan was mended."""
        out = np.zeros(len(self.cells.first), bool)
        for move in (self.plan.replan or {}).get("moves", ()):
            out[self.cells.of_device[self.plan.placement[move["rank"]]]] = True
        return out

    def _links(self) -> tuple[list[str], int]:
        if self.look.links is None:
            return [], 0
        level: Level = self.plan.machines.level(self.look.level)
        ends, counts = crossing_lines(self.cells, self.look.links, level)
        drawn = [
            self._line(a, b, min(5.0, 1.2 + 0.5 * log2(n)), n)
            for (a, b), n in zip(
                ends[:MOST_LINES].tolist(), counts[:MOST_LINES].tolist(), strict=True
            )
        ]
        return drawn, max(0, len(ends) - MOST_LINES)

    def _line(self, a: int, b: int, width: float, count: int) -> str:
        """A curve between two cells, bent so that lines over one another come apart."""
        half = self.sheet.style.side / 2
        x1, y1 = self.sheet.x[a] + half, self.sheet.y[a] + half
        x2, y2 = self.sheet.x[b] + half, self.sheet.y[b] + half
        bend = 0.12
        cx, cy = (x1 + x2) / 2 + bend * (y2 - y1), (y1 + y2) / 2 - bend * (x2 - x1)
        return (
            f'<path class="link" data-links="{count}" stroke-width="{width:.2g}" '
            f'd="M{x1:g} {y1:g}Q{cx:.0f} {cy:.0f} {x2:g} {y2:g}"/>'
        )


_EMPTY = {IDLE: "idle", OFFLINE: "offline"}
_AXIS_NAMES = {
    "pp": "pipeline stage",
    "dp": "data copy",
    "cp": "context slice",
    "tp": "tensor group",
    "module": "module",
    "dataset": "dataset slot",
}


def _short(name: str) -> str:
    """What fits into a cell: the end of a category's name, modules by their first letter.

    Example:
        >>> _short("encoder pp 0"), _short("tp group 12"), _short("decoder")
        ('e0', '12', 'decod')
    """
    words = name.split()
    if len(words) == 1:
        return name[:5]
    if words[-1].isdigit():
        return (words[0][0] if len(words) == 3 and words[1] == "pp" else "") + words[-1]
    return "data" if words[0] == "builds" else "-"


def _fitting(name: str, width: int, size: int) -> str:
    """A label cut in the middle to fit; its end tells nodes apart."""
    room = max(3, int(width / (0.56 * size)))
    if len(name) <= room:
        return name
    return name[: room // 3] + "…" + name[-(room - room // 3 - 1) :]
