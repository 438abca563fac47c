"""The picture of a comparison: what leaves the domains of each level, by kind."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from planner.comparison import Layout
from planner.report.figures import KIND_COLOURS, MUTED, PAPER, drawn
from planner.spec.names import LINK_KINDS


def plot_comparison(
    layouts: Sequence[Layout], weights: Mapping[str, float], path: str | Path
) -> None:
    """Bars of each layout, a panel a level: TB a step with traffic, else links times weight.

    Args:
        layouts: what is compared; those without a placement are left out.
        weights: cost of a link by kind, for problems without traffic.
        path: .svg or .png.
    """
    shown = [layout for layout in layouts if layout.placement is not None]
    measured = all(layout.traffic for layout in shown)
    sizes = [_traffic_sizes(x) if measured else _link_sizes(x, weights) for x in shown]
    levels = list(sizes[0])
    kinds = [k for k in LINK_KINDS if any(s[level][k] for s in sizes for level in levels)]
    height = 1.5 + 0.34 * len(shown)
    with drawn(path, len(levels), 2.6 + 3.6 * len(levels), height) as (figure, axes):
        for axis, level in zip(axes, levels, strict=True):
            _bars(axis, [s[level] for s in sizes], kinds)
            unit = "TB a step" if measured else "cost"
            axis.set_title(f"{unit} across {level} borders")
        axes[0].set_yticks(range(len(shown)), [layout.name for layout in shown])
        for axis in axes[1:]:
            axis.set_yticks(range(len(shown)), [""] * len(shown))
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(kinds))


def _traffic_sizes(layout: Layout) -> dict[str, dict[str, float]]:
    """TB by level and kind."""
    blocks = layout.traffic or {}
    return {
        level: {k: size / 1000 for k, size in block["gb"].items()}
        for level, block in blocks.items()
    }


def _link_sizes(layout: Layout, weights: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Links times weight by level and kind."""
    return {
        level: {k: weights[k] * n for k, n in counted.items()}
        for level, counted in (layout.links or {}).items()
    }


def _bars(axis: Any, rows: Sequence[Mapping[str, float]], kinds: Sequence[str]) -> None:
    left = [0.0] * len(rows)
    for kind in kinds:
        sizes = [row[kind] for row in rows]
        colour = KIND_COLOURS[kind]
        axis.barh(range(len(rows)), sizes, 0.62, left, color=colour, label=kind, edgecolor=PAPER)
        left = [a + b for a, b in zip(left, sizes, strict=True)]
    longest = max(left) or 1.0
    for i, total in enumerate(left):
        text = (
            f"{total:,.2f}" if total < 10 else f"{total:,.1f}" if total < 100 else f"{total:,.0f}"
        )
        axis.text(total + 0.01 * longest, i, text, va="center", fontsize=9, color=MUTED)
    axis.set(xlim=(0, 1.18 * longest), ylim=(len(rows) - 0.5, -0.5))
    axis.grid(visible=False, axis="y")
    axis.tick_params(axis="y", length=0)
