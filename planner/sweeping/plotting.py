"""The picture of a sweep: what each choice trades, and what the layout saves."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from planner.errors import Complaint, InputError
from planner.report.figures import ACCENT, GRID, INK, MUTED, PAPER, check_picture, drawn
from planner.sweeping.text import told_apart

if TYPE_CHECKING:
    import pandas as pd

_BARS = 14
_FEW = 4
_NAMES = {
    "seconds": ("seconds_megatron", "seconds a step for the busiest domain's links", 1.0),
    "node_gb": ("node_gb_megatron", "TB a step out of the nodes", 1e-3),
    "cost": ("megatron_cost", "cost", 1.0),
}

check_plot = check_picture


def plot_sweep(frame: "pd.DataFrame", path: str | Path) -> None:
    """Draw a sweep's table.

    Left, with traffic: every point by GB out of the nodes (or time) and model state a GPU. Right:
    the Pareto front, or the best points if it is short, Megatron's order beside ours.

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
    front = solved[solved["pareto"]]
    shown = (front if len(front) >= _FEW else solved).head(_BARS)
    with drawn(path, 1 + traded, 5.2 * (1 + traded), max(3.4, 1.4 + 0.26 * len(shown))) as (
        _,
        axes,
    ):
        if traded:
            _trade(axes[0], solved, metric)
        title = "the Pareto front" if len(front) >= _FEW else f"the best {len(shown)} sizes"
        _dumbbells(axes[-1], shown, metric, title)


def point_labels(frame: "pd.DataFrame") -> list[str]:
    """Each point's sizes that differ somewhere in the table."""
    names = told_apart(frame) or ["tp"]
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
    _log_scale(axis, axis.xaxis, "x")
    _log_scale(axis, axis.yaxis, "y")
    axis.set(xlabel=label, ylabel="GB of model state on a GPU")
    axis.margins(0.12)
    axis.set_title("every point, the Pareto front in colour")
    labels = point_labels(frame)
    for i in _apart(x, y, front):
        right = x.iloc[i] ** 2 > x.min() * x.max()  # past the middle of the axis
        axis.annotate(
            labels[i],
            (x.iloc[i], y.iloc[i]),
            (-2 if right else 2, 7),
            textcoords="offset points",
            horizontalalignment="right" if right else "left",
            fontsize=8,
        )


def _apart(x: "pd.Series", y: "pd.Series", front: "npt.NDArray[np.bool_]") -> list[int]:
    """Rows of the front far enough apart, as drawn, for their labels; the best first."""
    across, up = (np.log(v.to_numpy(float)) for v in (x, y))
    across, up = (v / (np.ptp(v) or 1.0) for v in (across, up))
    chosen: list[int] = []
    for i in np.flatnonzero(front).tolist():
        near = (abs(across[i] - across[j]) < 0.62 and abs(up[i] - up[j]) < 0.09 for j in chosen)
        if not any(near):
            chosen.append(i)
    return chosen


def _dumbbells(axis: Any, frame: "pd.DataFrame", metric: str, title: str) -> None:
    other, label, unit = _NAMES[metric]
    rows = range(len(frame))
    ours, theirs = (frame[name].to_numpy(float) * unit for name in (metric, other))
    axis.hlines(rows, ours, theirs, color=GRID, linewidth=2.5)
    ring = {"facecolors": "none", "edgecolors": INK, "linewidths": 1.1}
    axis.scatter(theirs, rows, s=60, zorder=3, label="Megatron's order", **ring)
    axis.scatter(ours, rows, s=22, color=ACCENT, zorder=4, label="planner")
    axis.set_yticks(rows, point_labels(frame))
    axis.set(xlabel=label, ylim=(len(frame) - 0.4, -0.6))
    if theirs.max() > 8 * ours.min() > 0:
        _log_scale(axis, axis.xaxis, "x")
    else:
        axis.set_xlim(left=0)
    axis.grid(visible=False, axis="y")
    axis.set_title(title)
    axis.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, fontsize=9, borderaxespad=0)


def _log_scale(axes: Any, axis: Any, name: str) -> None:
    """A logarithmic axis with plain numbers at 1, 2 and 5."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415

    axes.set(**{f"{name}scale": "log"})
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())
