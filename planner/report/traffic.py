"""Traffic of a plan as a table: GB a training step before and after."""

from typing import Any

from rich import box
from rich.table import Table

from planner.plan import Plan
from planner.report.summary import occurring_kinds


def traffic_rows(
    kinds: list[str], before: dict[str, Any], after: dict[str, Any]
) -> list[tuple[str, str, str, str]]:
    """(level, what, before, after) as text, from two traffic blocks."""
    rows = []
    for level, now in after.items():
        then = before[level]
        rows += [(level, f"GB {k}", _gb(then["gb"][k]), _gb(now["gb"][k])) for k in kinds]
        rows.append((level, "GB in total", _gb(then["total_gb"]), _gb(now["total_gb"])))
        old, new = then["busiest"], now["busiest"]
        rows.append(
            (
                level,
                "GB of the busiest",
                f"{_gb(old['gb'])} ({old['domain']})",
                f"{_gb(new['gb'])} ({new['domain']})",
            )
        )
        if "seconds" in now:
            rows.append((level, "seconds", f"{then['seconds']:.4g}", f"{now['seconds']:.4g}"))
    return rows


def traffic_table(plan: Plan) -> Table:
    """GB a step that leave each level's domains, Megatron's order beside the plan."""
    assert plan.traffic is not None
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("a step, out of a")
    table.add_column("")
    table.add_column("Megatron's order", justify="right")
    table.add_column("this plan", justify="right")
    shown = ""
    rows = traffic_rows(occurring_kinds(plan), plan.baseline["traffic"], plan.traffic)
    for level, *cells in rows:
        table.add_row(level if level != shown else "", *cells)
        shown = level
    return table


def _gb(size: float) -> str:
    return f"{size:,.2f}"
