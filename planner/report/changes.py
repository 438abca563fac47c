"""The differences between two plans as a terminal shows them."""

import json
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from planner.wording import counted, number

_SHOWN = 12
_WIDTH = 60


def print_difference(found: dict[str, Any], console: Console) -> None:
    """Print what `planner.difference.difference` found."""
    old, new = found["cost"]
    change = f" ({(new - old) / old:+.2%})" if old else ""
    console.print(f"cost {number(old)} -> {number(new)}{change}", highlight=False)
    console.print(_links(found["links"]), highlight=False)
    for line in [
        *_machines(found["machines"]),
        *_moves(found["moves"]),
        *_problem(found["problem"]),
    ]:
        console.print(line, highlight=False, markup=False)


def _links(entries: list[dict[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("links that leave a", "kind"):
        table.add_column(name)
    for name in ("old", "new", "change"):
        table.add_column(name, justify="right")
    for e in entries:
        old, new = (e["old"] or 0), (e["new"] or 0)
        table.add_row(e["level"], e["kind"], number(old), number(new), f"{new - old:+,}")
    return table


def _machines(found: dict[str, list[str]]) -> list[str]:
    lines = []
    for what, names in found.items():
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            lines.append(f"{what.replace('_', ' ')}: {', '.join(names[:_SHOWN])}{more}")
    return lines


def _moves(moves: list[dict[str, Any]] | None) -> list[str]:
    if moves is None:
        return ["the jobs differ: their ranks are not the same slots"]
    lines = [f"{counted(len(moves), 'rank')} moved"]
    for move in moves[:_SHOWN]:
        a, b = move["from"], move["to"]
        lines.append(
            f"  rank {move['rank']}: {a['host']} GPU {a['gpu']} -> {b['host']} GPU {b['gpu']}"
        )
    more = len(moves) - _SHOWN
    return lines + ([f"  ... and {number(more)} more (--json lists all)"] if more > 0 else [])


def _problem(changes: list[dict[str, Any]]) -> list[str]:
    if not changes:
        return ["nothing else of the problem changed"]
    lines = ["the problems differ"]
    lines += [f"  {c['path']}: {_value(c['old'])} -> {_value(c['new'])}" for c in changes[:_SHOWN]]
    more = len(changes) - _SHOWN
    return lines + ([f"  ... and {number(more)} more (--json lists all)"] if more > 0 else [])


def _value(value: object) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."
