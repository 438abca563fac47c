"""A comparison as a terminal shows it."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from planner.comparison import Layout
from planner.spec.names import LINK_KINDS


def comparison_text(layouts: Sequence[Layout]) -> RenderableType:
    """Links and, with traffic, GB a step by level and kind, a column a layout; notes below."""
    shown = [layout for layout in layouts if layout.placement is not None]
    tables: list[RenderableType] = [_table("links that leave a", shown, _link_rows(shown))]
    if all(layout.traffic for layout in shown):
        tables += [Text(), _table("GB a step, out of a", shown, _traffic_rows(shown))]
    notes = [Text(f"{layout.name}: {layout.note}") for layout in layouts if layout.note]
    return Group(*tables, *([Text()] if notes else []), *notes)


Row = tuple[str, str, list[str]]
"""Level, what is counted, a cell a layout."""


def _table(title: str, layouts: Sequence[Layout], rows: Iterator[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(title)
    table.add_column("")
    for layout in layouts:
        table.add_column(layout.name, justify="right")
    above = None
    for level, what, cells in rows:
        table.add_row(level if level != above else "", what, *cells)
        above = level
    return table


def _link_rows(layouts: Sequence[Layout]) -> Iterator[Row]:
    counted = [layout.links or {} for layout in layouts]
    for level in counted[0]:
        for kind in LINK_KINDS:
            numbers = [links[level][kind] for links in counted]
            if any(numbers):
                yield level, kind, [f"{n:,}" for n in numbers]
    yield "", "cost", [_number(layout.cost or 0) for layout in layouts]


def _traffic_rows(layouts: Sequence[Layout]) -> Iterator[Row]:
    blocks = [layout.traffic or {} for layout in layouts]
    for level, first in blocks[0].items():
        stated = [block[level] for block in blocks]
        for kind in LINK_KINDS:
            sizes = [block["gb"][kind] for block in stated]
            if any(sizes):
                yield level, kind, [f"{size:,.1f}" for size in sizes]
        yield level, "total", [f"{block['total_gb']:,.1f}" for block in stated]
        yield level, "busiest", [f"{block['busiest']['gb']:,.1f}" for block in stated]
        if "seconds" in first:
            yield level, "seconds", [f"{block['seconds']:.4g}" for block in stated]


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) and value < 10**9 else f"{value:,.6g}"
