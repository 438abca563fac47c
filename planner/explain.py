"""Why no plan exists, in the user's own lines: arguments by counting, which need no solver."""

from collections.abc import Iterator

import numpy as np

from planner.errors import Infeasible
from planner.grid import Grid, Ints
from planner.machines import Level
from planner.spec.job import PATH as JOB
from planner.spec.problem import Problem

CONSTRAINTS = "$.constraints"


def refuse_by_counting(problem: Problem, grid: Grid) -> None:
    """Raise where group sizes and domain capacities alone leave no plan.

    Raises:
        Infeasible: with the lines that conflict and the counts.

    Example:
        >>> problem = Problem.model_validate({"cluster": {"nodes": 2}, "job": {"decoder":
        ...     {"tp": 16}}, "constraints": {"within": {"tp": "node"}}})
        >>> refuse_by_counting(problem, Grid.of(problem))
        Traceback (most recent call last):
        ...
        planner.errors.Infeasible: no plan exists: a tp group of the decoder has 16 ranks, but \
the largest node holds 8; conflicting: $.constraints.within.tp, $.job.decoder.tp; allow at most 8 \
or name a coarser level
    """
    machines = problem.cluster.machines
    for name, level, path in _confined(problem):
        capacities = machines.capacities(machines.level(level))
        for module, family in _families(grid, name):
            _refuse(name, module, family, machines.level(level), capacities, path)


def _confined(problem: Problem) -> Iterator[tuple[str, str, str]]:
    for name, level in problem.constraints.within.items():
        yield name, level, f"{CONSTRAINTS}.within.{name}"
    if problem.job.hierarchical_cp:
        yield "hcp_0", "node", f"{JOB}.hierarchical_cp"


def _families(grid: Grid, name: str) -> Iterator[tuple[str, Ints]]:
    families = grid.groups[name]
    if len(families) == 1 and len(grid.modules) > 1:
        yield "job", families[0]
        return
    for module, family in zip(grid.modules, families, strict=True):
        yield module.name, family


_SIZES = {
    "tp": ("tp",),
    "cp": ("cp",),
    "dp": (),
    "dp_cp": ("cp",),
    "tp_cp": ("tp", "cp"),
    "tp_dp": ("tp",),
    "tp_dp_cp": ("tp", "cp"),
    "pp": ("pp",),
    "mp": ("tp", "pp"),
    "ep": ("ep",),
    "expt_tp": ("etp",),
    "tp_ep": ("etp", "ep"),
    "tp_ep_pp": ("etp", "ep", "pp"),
}
"""Sizes of a module that decide how large a group of each name is; dp itself stands in the job."""


def _refuse(
    name: str, module: str, family: Ints, level: Level, capacities: Ints, path: str
) -> None:
    size = family.shape[1]
    most = int(capacities.max())
    lines = [path, *_size_lines(name, module)]
    if size > most:
        raise Infeasible(
            lines,
            f"a {name} group of the {module} has {size} ranks, but the largest {level.name} "
            f"holds {most}",
            f"allow at most {most} or name a coarser level",
        )
    room = int((capacities // size).sum())
    # Only disjoint groups compete for room: pp and embd groups of two modules share encoder ranks.
    disjoint = len(np.unique(family)) == family.size
    if disjoint and len(family) > room:
        raise Infeasible(
            lines,
            f"{len(family)} {name} groups of {size} ranks must each fit into one {level.name}, "
            f"but the {level.name}s hold {room} such groups "
            f"({_histogram(capacities, size)})",
            f"name a coarser level, or choose a size that divides the {level.name}s better",
        )


def _size_lines(name: str, module: str) -> list[str]:
    if module == "job":
        return [JOB]
    lines = [f"{JOB}.{module}.{size}" for size in _SIZES.get(name, ())]
    return [*lines, f"{JOB}.dp"] if "dp" in name else lines


def _histogram(capacities: Ints, size: int) -> str:
    values, counts = np.unique(capacities[capacities > 0], return_counts=True)
    parts = [
        f"{n} of {v} GPUs hold {v // size} each"
        for v, n in zip(values.tolist(), counts.tolist(), strict=True)
    ]
    return ", ".join(parts[:4]) + (", ..." if len(parts) > 4 else "")
