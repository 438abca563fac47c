"""Ranks that constraints tie to one domain: groups that share ranks are tied as a whole."""

from dataclasses import dataclass

import numpy as np

from planner.explain.lines import DP, offline_lines
from planner.grid import Grid, Ints
from planner.machines import Level, Machines
from planner.spec.job import PATH as JOB
from planner.spec.problem import Problem


@dataclass(frozen=True, eq=False)
class Ties:
    """What must stay together inside one domain of a level.

    Attributes:
        level: the level.
        names: group families confined to it or to a finer level.
        paths: the lines that confine them.
        block: [world] number of the block of ranks tied together with each rank.
        sizes: [blocks] ranks of each block.
    """

    level: Level
    names: tuple[str, ...]
    paths: tuple[str, ...]
    block: Ints
    sizes: Ints


def confined(problem: Problem) -> list[tuple[str, str, str]]:
    """(group name, level name, JSON path) of every confinement."""
    out = [
        (name, level, f"$.constraints.within.{name}")
        for name, level in problem.constraints.within.items()
    ]
    if problem.job.hierarchical_cp:
        out.append(("hcp_0", "node", f"{JOB}.hierarchical_cp"))
    return out


def ties(problem: Problem, grid: Grid, machines: Machines) -> list[Ties]:
    """The ties at every level to which something is confined, finest first.

    Example:
        >>> problem = Problem.model_validate({"cluster": {"nodes": 4}, "job": {"decoder": {"tp": 2,
        ...     "cp": 2}}, "constraints": {"within": {"tp": "node", "cp": "node"}}})
        >>> ties(problem, Grid.of(problem), problem.cluster.machines)[0].sizes.tolist()
        [4, 4, 4, 4, 4, 4, 4, 4]
    """
    order = [level.name for level in machines.levels]
    rules = sorted(confined(problem), key=lambda rule: order.index(rule[1]))
    found = []
    for i, level in enumerate(machines.levels):
        upto = [rule for rule in rules if order.index(rule[1]) <= i]
        if any(rule[1] == level.name for rule in rules):
            families = [groups for name, _, _ in upto for groups in grid.groups[name]]
            _, block, sizes = np.unique(
                _joined(grid.world, families), return_inverse=True, return_counts=True
            )
            names, paths = tuple(r[0] for r in upto), tuple(r[2] for r in upto)
            found.append(Ties(level, names, paths, block, sizes))
    return found


def _joined(world: int, families: list[Ints]) -> Ints:
    """[world] lowest rank of the block of each rank: labels spread until nothing changes."""
    label = np.arange(world, dtype=np.int64)
    while True:
        before = label.copy()
        for groups in families:
            lowest = label[groups].min(axis=1)
            np.minimum.at(label, groups, np.broadcast_to(lowest[:, None], groups.shape))
        label = label[label]
        if np.array_equal(before, label):
            return label


def modules_of(grid: Grid, tied: Ties, blocks: Ints) -> list[str]:
    """Names of the modules whose ranks some blocks hold."""
    inside = np.unique(grid.coordinates["module"][np.isin(tied.block, blocks)])
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


def lines_behind(
    problem: Problem, grid: Grid, tied: Ties, blocks: Ints, *, counted: bool = False
) -> list[str]:
    """The lines behind some blocks: what ties them, and the sizes that make them large or many."""
    sizes = {size for name in tied.names for size in _SIZES.get(name, ())}
    sizes |= {"tp", "cp", "pp"} if counted else set()
    written = {f"{JOB}.{m}.{s}" for m in modules_of(grid, tied, blocks) for s in sizes}
    lines = [*tied.paths, *sorted(written)]
    if counted or any("dp" in name for name in tied.names):
        lines.append(DP)
    return lines + offline_lines(problem)
