"""Incumbent and bound over time on three instances: `python -m benchmarks.progress -o FILE.svg`."""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.instances import INSTANCES
from benchmarks.rendering import job, number, percent
from planner.pipeline import solve
from planner.report.figures import ACCENT, INK, MUTED, drawn

SHOWN = ("tp6-108-mixed", "enc3-tp5-1056", "leaves-2048-cp4")
_FIRST = 0.01  # seconds at the left edge


@dataclass
class Course:
    """How one search went.

    Attributes:
        instance: its name.
        megatron: cost of Megatron's order.
        steps: (seconds, cost or None, bound) at every improvement, and at the end.
    """

    instance: str
    megatron: float
    steps: list[tuple[float, float | None, float]]


def follow(instance: str, time_limit: float) -> Course:
    """Solve an instance and write down every improvement."""
    steps: list[tuple[float, float | None, float]] = []

    def note(cost: float | None, bound: float, seconds: float) -> None:
        steps.append((seconds, cost, bound))

    plan = solve(INSTANCES[instance].problem(), time_limit=time_limit, progress=note)
    statement = plan.solver
    steps.append((statement["seconds"]["total"], statement["cost"], statement["bound"]))
    return Course(instance, plan.baseline["cost"], steps)


def draw(courses: list[Course], path: Path) -> None:
    """A panel a course: cost and bound as steps, seconds on a logarithmic axis."""
    with drawn(path, len(courses), 4.1 * len(courses), 3.4) as (_, axes):
        for axis, course in zip(axes, courses, strict=True):
            _panel(axis, course)
        axes[0].set_ylabel("cost")


def _panel(axis: Any, course: Course) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: PLC0415

    end = course.steps[-1][0]
    costs = [(max(t, _FIRST), cost) for t, cost, _ in course.steps if cost is not None]
    bounds = [(max(t, _FIRST), bound) for t, _, bound in course.steps if bound > 0]
    for points, colour, label in ((costs, ACCENT, "best plan"), (bounds, INK, "proven bound")):
        axis.step(*zip(*points, strict=True), where="post", color=colour, linewidth=2)
        axis.annotate(
            label,
            (0, _settled(points)),
            (4, -4),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            verticalalignment="top",
            color=colour,
            fontsize=8,
        )
    axis.axhline(course.megatron, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    axis.annotate(
        "Megatron's order",
        (1, course.megatron),
        (-2, 3),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        horizontalalignment="right",
        color=MUTED,
        fontsize=8,
    )
    axis.set(xscale="log", xlabel="seconds", xlim=(_FIRST, max(1.3 * end, 1.0)))
    axis.margins(y=0.12)
    for way in (axis.xaxis, axis.yaxis):
        way.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        way.set_minor_formatter(NullFormatter())
    _, cost, bound = course.steps[-1]
    assert cost is not None
    gap = (cost - bound) / cost if cost else 0.0
    outcome = "proven optimal" if gap == 0 else f"gap {percent(gap)}"
    problem = INSTANCES[course.instance].problem()
    axis.set_title(
        f"{job(problem)}\n{problem.world_size:,} ranks: {number(cost)}, {outcome} in {end:.1f} s",
        fontsize=9,
    )


def _settled(points: list[tuple[float, float]]) -> float:
    """What is reached at the left edge."""
    return [value for seconds, value in points if seconds <= points[0][0]][-1]


def main() -> None:
    """Solve and draw, or draw what was recorded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("instances", nargs="*", default=SHOWN, metavar="INSTANCE")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument(
        "--record", type=Path, help="file that keeps the courses; read if it exists"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help=".svg or .png")
    options = parser.parse_args()
    if options.record and options.record.exists():
        courses = [Course(**c) for c in json.loads(options.record.read_text("utf-8"))]
    else:
        courses = [follow(name, options.time_limit) for name in options.instances]
    if options.record:
        options.record.write_text(json.dumps([vars(c) for c in courses]), encoding="utf-8")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    draw(courses, options.output)


if __name__ == "__main__":
    main()
