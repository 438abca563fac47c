"""The lines a user wrote that can be dropped one by one, and the problem without some of them."""

from collections.abc import Collection
from typing import Any

from planner.spec.hosts import Node
from planner.spec.job import PATH as JOB
from planner.spec.problem import Problem

CONSTRAINTS = "$.constraints"
DP = f"{JOB}.dp"
_SIZES = ("tp", "cp", "pp", "vpp", "ep", "etp")


def written_lines(problem: Problem) -> list[str]:
    """JSON paths of what narrows the plans: constraints, then sizes, then offline GPUs.

    Example:
        >>> written_lines(Problem.model_validate({"cluster": {"nodes": 2}, "job": {"decoder":
        ...     {"tp": 8}}, "constraints": {"within": {"tp": "node"}}}))
        ['$.constraints.within.tp', '$.job.decoder.tp']
    """
    c, job = problem.constraints, problem.job
    lines = [f"{CONSTRAINTS}.pins[{i}]" for i in range(len(c.pins))]
    lines += [f"{CONSTRAINTS}.within.{name}" for name in c.within]
    lines += [f"{CONSTRAINTS}.cp_symmetry"] if c.cp_symmetry != "mapping" else []
    lines += [f"{CONSTRAINTS}.launch"] if c.launch != "free" else []
    lines += [f"{JOB}.hierarchical_cp"] if job.hierarchical_cp else []
    lines += [] if job.dp == "auto" else [DP]
    for name, module in job.modules.items():
        default = {size: module.tp if size == "etp" else 1 for size in _SIZES}
        lines += [
            f"{JOB}.{name}.{size}"
            for size in _SIZES
            if getattr(module, size) not in {None, default[size]}
        ]
    return lines + offline_lines(problem)


def narrows(line: str) -> bool:
    """Whether a line is a rule about where groups lie, not a size or a dead GPU."""
    return line.startswith(CONSTRAINTS) or line == f"{JOB}.hierarchical_cp"


def offline_lines(problem: Problem) -> list[str]:
    """JSON paths of the nodes that have offline GPUs."""
    nodes = problem.cluster.nodes
    items = nodes if isinstance(nodes, list) else []
    return [
        f"$.cluster.nodes[{i}].offline"
        for i, item in enumerate(items)
        if isinstance(item, Node) and item.offline
    ]


def without_lines(problem: Problem, dropped: Collection[str]) -> dict[str, Any]:
    """The problem's data with some of its lines dropped, so that defaults take their place."""
    data: dict[str, Any] = problem.model_dump(exclude_unset=True, exclude={"schema_"})
    gone = set(dropped)
    constraints = data.get("constraints", {})
    pins = constraints.get("pins", [])
    constraints["pins"] = [
        pin for i, pin in enumerate(pins) if f"{CONSTRAINTS}.pins[{i}]" not in gone
    ]
    for path in gone:
        steps = path.removeprefix("$.").split(".")
        if steps[-1] == "offline":
            index = int(steps[1].partition("[")[2].rstrip("]"))
            del data["cluster"]["nodes"][index]["offline"]
        elif not steps[-1].startswith("pins["):
            _drop(data, steps)
    return {**data, "constraints": constraints}


def _drop(data: dict[str, Any], steps: list[str]) -> None:
    *parents, last = steps
    for step in parents:
        data = data[step]
    del data[last]
