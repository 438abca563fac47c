"""Why no plan exists, in the user's own lines: arguments by counting, which need no solver.

Lines are named by their JSON paths. Which of them are needed for the conflict is worked out later,
by leaving them out in turn (`solver.conflicts`).
"""

import numpy as np

from planner.errors import Infeasible
from planner.explain.lines import offline_lines
from planner.explain.pinning import refuse_pins
from planner.explain.ties import Ties, ties
from planner.grid import Grid, Ints
from planner.spec.job import PATH as JOB
from planner.spec.problem import Problem


def refuse_by_counting(problem: Problem, grid: Grid) -> None:
    """Raise where group sizes, pins and domain capacities alone leave no plan.

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
    found = ties(problem, grid, machines)
    for tied in found:
        _refuse_large(problem, grid, tied, machines.capacities(tied.level))
    for tied in found:
        _refuse_many(problem, grid, tied, machines.capacities(tied.level))
    refuse_pins(problem, grid, machines, found)


def _refuse_large(problem: Problem, grid: Grid, tied: Ties, capacities: Ints) -> None:
    """A block larger than the largest domain."""
    most = int(capacities.max())
    large = np.flatnonzero(tied.sizes > most)
    if not len(large):
        return
    block = int(large[0])
    size, level = int(tied.sizes[block]), tied.level.name
    raise Infeasible(
        _lines(problem, grid, tied, block),
        f"{_what(grid, tied, block)} {size} ranks, but the largest {level} holds {most}",
        f"allow at most {most} or name a coarser level",
    )


def _refuse_many(problem: Problem, grid: Grid, tied: Ties, capacities: Ints) -> None:
    """More blocks of some size or larger than the domains have room for."""
    for size in np.unique(tied.sizes)[::-1].tolist():
        if size == 1:
            continue
        blocks = np.flatnonzero(tied.sizes >= size)
        room = int((capacities // size).sum())
        if len(blocks) <= room:
            continue
        level = tied.level.name
        most = "" if (tied.sizes[blocks] == size).all() else " or more"
        whole = " and ".join(tied.names) + " groups" if len(tied.names) == 1 else "blocks"
        raise Infeasible(
            _lines(problem, grid, tied, int(blocks[0])),
            f"{len(blocks)} {whole} of {size} ranks{most} must each fit into one {level}, but the "
            f"{level}s hold {room} such {'groups' if len(tied.names) == 1 else 'blocks'} "
            f"({_histogram(capacities, size)})",
            f"name a coarser level, or choose a size that divides the {level}s better",
        )


def _what(grid: Grid, tied: Ties, block: int) -> str:
    """How a block is told: a group of a module, or what ties its ranks together."""
    if len(tied.names) > 1:
        return f"{' and '.join(tied.names)} groups that share ranks tie together"
    modules = _modules(grid, tied, block)
    owner = modules[0] if len(modules) == 1 else "job"
    return f"a {tied.names[0]} group of the {owner} has"


def _modules(grid: Grid, tied: Ties, block: int) -> list[str]:
    inside = np.unique(grid.coordinates["module"][tied.block == block])
    return [grid.modules[m].name for m in inside.tolist()]


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


def _lines(problem: Problem, grid: Grid, tied: Ties, block: int) -> list[str]:
    """The lines behind a block: what ties it, and the sizes that make it large."""
    sizes = {size for name in tied.names for size in _SIZES.get(name, ())}
    written = {f"{JOB}.{m}.{s}" for m in _modules(grid, tied, block) for s in sizes}
    lines = [*tied.paths, *sorted(written)]
    if any("dp" in name for name in tied.names) and problem.job.dp != "auto":
        lines.append(f"{JOB}.dp")
    return lines + offline_lines(problem)


def _histogram(capacities: Ints, size: int) -> str:
    values, counts = np.unique(capacities[capacities > 0], return_counts=True)
    parts = [
        f"{n} of {v} GPUs hold {v // size} each"
        for v, n in zip(values.tolist(), counts.tolist(), strict=True)
    ]
    return ", ".join(parts[:4]) + (", ..." if len(parts) > 4 else "")
