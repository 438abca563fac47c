"""Why no plan exists, in the user's own lines: arguments by counting, which need no solver.

Lines are named by their JSON paths. Which of them are needed for the conflict is worked out later,
by leaving them out in turn (`solver.conflicts`).
"""

import numpy as np

from planner.errors import Infeasible
from planner.explain.pinning import refuse_pins
from planner.explain.ties import Ties, lines_behind, modules_of, ties
from planner.grid import Grid, Ints
from planner.spec.problem import Problem
from planner.wording import a, counted, plural


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
    refuse_pins(problem, grid, found)


def _refuse_large(problem: Problem, grid: Grid, tied: Ties, capacities: Ints) -> None:
    """A block larger than the largest domain."""
    most = int(capacities.max())
    large = np.flatnonzero(tied.sizes > most)
    if not len(large):
        return
    block = int(large[0])
    size, level = int(tied.sizes[block]), tied.level.name
    raise Infeasible(
        lines_behind(problem, grid, tied, np.array([block])),
        f"{_what(grid, tied, block)} {counted(size, 'rank')}, but the largest {level} holds {most}",
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
        level, many = tied.level.name, plural(tied.level.name)
        kind = "group" if len(tied.names) == 1 else "block"
        noun = f"{tied.names[0]} group" if kind == "group" else kind
        more = "" if (tied.sizes[blocks] == size).all() else " or more"
        raise Infeasible(
            lines_behind(problem, grid, tied, blocks, counted=True),
            f"{counted(len(blocks), noun)} of {size} ranks{more} must each fit into one {level}, "
            f"but the {many} hold {room or 'no'} such {kind if room == 1 else plural(kind)} "
            f"({_histogram(capacities, size)})",
            f"name a coarser level, or choose a size that divides the {many} better",
        )


def _what(grid: Grid, tied: Ties, block: int) -> str:
    """How a block is told: a group of a module, or what ties its ranks together."""
    if len(tied.names) > 1:
        return f"{' and '.join(tied.names)} groups that share ranks tie together"
    modules = modules_of(grid, tied, np.array([block]))
    owner = modules[0] if len(modules) == 1 else "job"
    return f"{a(f'{tied.names[0]} group')} of the {owner} has"


def _histogram(capacities: Ints, size: int) -> str:
    values, counts = np.unique(capacities[capacities > 0], return_counts=True)
    parts = [
        f"{n} of {counted(v, 'GPU')} {'holds' if n == 1 else 'hold'} {v // size}"
        + (" each" if n > 1 else "")
        for v, n in zip(values.tolist(), counts.tolist(), strict=True)
    ]
    return ", ".join(parts[:4]) + (", ..." if len(parts) > 4 else "")
