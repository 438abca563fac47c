"""The picture of a sweep: what each choice trades, and what the layout saves."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.errors import Complaint, InputError
from planner.report.figures import ACCENT, GRID, INK, MUTED, PAPER, check_picture, drawn
from planner.sweeping.text import SIZES

if TYPE_CHECKING:
    import pandas as pd

_BARS = 12
_NAMES = {
    "seconds": ("seconds_megatron", "seconds a step on the links out of the busiest domain", 1.0),
    "node_gb": ("node_gb_megatron", "TB a step out of the nodes", 1e-3),
    "cost": ("megatron_cost", "cost", 1.0),
}

check_plot = check_picture


def plot_sweep(frame: "pd.DataFrame", path: str | Path) -> None:
    """Draw a sweep's table.

    Left, with traffic: every point by GB out of the nodes (or time) and model state a GPU, the
    Pareto front joined. Right: the best points, Megatron's order beside ours.

    Raises:
        InputError: no point was solved, an unknown kind of picture, or matplotlib is missing.
    """
    check_picture(path)
    solved = frame[frame["status"].isin(["optimal", "feasible"])]
    if solved.empty:
        raise InputError(Complaint(str(path), "nothing to draw: no point was solved"))
    metric = next(name for name in _NAMES if name in solved)
    solved = solved.sort_values(metric, kind="stable")
    traded = "state_gb" in solved
    rows = min(_BARS, len(solved))
    with drawn(path, 1 + traded, 5.2 * (1 + traded), max(3.4, 1.4 + 0.26 * rows)) as (_, axes):
        if traded:
            _trade(axes[0], solved, metric)
        _dumbbells(axes[-1], solved.head(rows), metric)


def point_labels(frame: "pd.DataFrame") -> list[str]:
    """Each point's sizes that differ somewhere in the table."""
    names = [n for prefix in ("enc_", "") for size in SIZES if (n := prefix + size) in frame]
    names = [name for name in names if frame[name].nunique() > 1] or ["tp"]
    return [
        " ".join(f"{name.replace('_', ' ')}{row[name]}" for name in names)
        for _, row in frame.iterrows()
    ]


def _trade(axis: Any, frame: "pd.DataFrame", metric: str) -> None:
    _, label, unit = _NAMES[metric]
    x, y = frame[metric] * unit, frame["state_gb"]
    front = frame["pareto"].to_numpy(bool)
    axis.scatter(x[~front], y[~front], s=16, color=GRID, edgecolors=MUTED, linewidths=0.5)
    axis.scatter(x[front], y[front], s=30, color=ACCENT, edgecolors=PAPER, linewidths=0.6, zorder=3)
    axis.set(xscale="log", yscale="log", xlabel=label, ylabel="GB of model state on a GPU")
    axis.set_title("every point; the Pareto front (with the bubble) in colour")
    labels = point_labels(frame)
    for i in _spread(x[front].tolist(), y[front].tolist()):
        at = frame.index[front][i]
        text = labels[frame.index.get_loc(at)]
        axis.annotate(text, (x[at], y[at]), (6, 5), textcoords="offset points", fontsize=8)


def _spread(x: list[float], y: list[float], most: int = 5) -> list[int]:
    """Indices of a few points far enough apart (by ratio) to be labelled."""
    chosen: list[int] = []
    for i in range(len(x)):
        near = any(0.75 < y[i] / y[j] < 1.33 and 0.5 < x[i] / x[j] < 2 for j in chosen)
        if not near and len(chosen) < most:
            chosen.append(i)
    return chosen


def _dumbbells(axis: Any, frame: "pd.DataFrame", metric: str) -> None:
    other, label, unit = _NAMES[metric]
    rows = range(len(frame))
    ours, theirs = (frame[name].to_numpy(float) * unit for name in (metric, other))
    axis.hlines(rows, ours, theirs, color=GRID, linewidth=2.5)
    axis.scatter(
        theirs, rows, s=34, color=PAPER, edgecolors=INK, zorder=3, label="Megatron's order"
    )
    axis.scatter(ours, rows, s=34, color=ACCENT, edgecolors=PAPER, zorder=4, label="planner")
    axis.set_yticks(rows, point_labels(frame))
    axis.set(xlabel=label, ylim=(len(frame) - 0.4, -0.6))
    axis.set_xlim(left=0)
    axis.grid(visible=False, axis="y")
    axis.set_title(f"the best {len(frame)} sizes, laid out two ways")
    axis.legend(loc="lower left", bbox_to_anchor=(0, 0), fontsize=9)
