"""Which hard constraints a placement breaks, straight from their definitions."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from planner.cost import domains_touched
from planner.grid import Grid, Ints
from planner.machines import Bools, Level, Machines
from planner.spec.problem import Problem


@dataclass(frozen=True, slots=True)
class Violation:
    """Something a plan does not hold, or states wrongly.

    Attributes:
        kind: the constraint or the part of the plan, e.g. ``within`` or ``cost``.
        where: JSON path in the plan or problem.
        text: what is wrong, in words.
    """

    kind: str
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.kind}: {self.text}"


def broken_constraints(problem: Problem, grid: Grid, placement: Ints) -> list[Violation]:
    """Every hard constraint the placement breaks, at most one violation a line of the problem.

    Args:
        problem: the problem.
        grid: its grid.
        placement: [world] device of each trainer rank.

    Example:
        >>> problem = Problem.model_validate({"cluster": {"nodes": 2, "gpus_per_node": 2},
        ...     "job": {"decoder": {"tp": 2}}, "constraints": {"within": {"tp": "node"}}})
        >>> [v.kind for v in broken_constraints(problem, Grid.of(problem), np.array([0, 2, 1, 3]))]
        ['within']
    """
    machines = problem.cluster.machines
    return [
        *_devices(machines, placement),
        *_within(problem, grid, machines, placement),
        *_hierarchical(grid, machines, placement),
        *_footprint(problem, grid, machines, placement),
        *_launch(problem, machines, placement),
        *_pins(problem, grid, machines, placement),
    ]


def _devices(machines: Machines, placement: Ints) -> Iterator[Violation]:
    offline = placement[~machines.online[placement]]
    if len(offline):
        yield Violation("offline", "$.ranks", f"{seat(machines, offline[0])} is offline")
    devices, counts = np.unique(placement, return_counts=True)
    if len(devices) < len(placement):
        twice = devices[counts > 1][0]
        ranks = np.flatnonzero(placement == twice).tolist()
        text = f"{seat(machines, twice)} holds ranks {ranks}"
        yield Violation("one_device", "$.ranks", text)


def seat(machines: Machines, device: np.int64 | int) -> str:
    """A device as people name it."""
    d = int(device)
    return f"{machines.hosts[int(machines.device_node[d])]} GPU {int(machines.device_gpu[d])}"


def _within(
    problem: Problem, grid: Grid, machines: Machines, placement: Ints
) -> Iterator[Violation]:
    for name, level_name in problem.constraints.within.items():
        level = machines.level(level_name)
        group = _first_spread(grid.groups[name], level, placement)
        if group is not None:
            yield Violation(
                "within",
                f"$.problem.constraints.within.{name}",
                f"{name} group {group} lies in more than one {level_name}",
            )


def _first_spread(family: list[Ints], level: Level, placement: Ints) -> list[int] | None:
    for groups in family:
        spread = np.flatnonzero(domains_touched(level.domain[placement[groups]]) > 1)
        if len(spread):
            members: list[int] = groups[spread[0]].tolist()
            return members
    return None


def _hierarchical(grid: Grid, machines: Machines, placement: Ints) -> Iterator[Violation]:
    if not grid.hierarchy:
        return
    group = _first_spread(grid.groups["hcp_0"], machines.level("node"), placement)
    if group is not None:
        text = f"innermost CP group {group} leaves its node"
        yield Violation("hierarchical_cp", "$.problem.job.hierarchical_cp", text)


def _footprint(
    problem: Problem, grid: Grid, machines: Machines, placement: Ints
) -> Iterator[Violation]:
    if problem.constraints.cp_symmetry != "footprint":
        return
    where = "$.problem.constraints.cp_symmetry"
    for level in machines.levels:
        for module in grid.modules:
            domain = level.domain[placement[module.mesh]]
            spans = _spans(domain)
            uneven = np.argwhere(_uneven_spans(domain))
            if len(uneven):
                p, d = uneven[0].tolist()
                text = (
                    f"{module.name} stage {p} copy {d}: CP peers' TP groups span "
                    f"{spans[p, d].tolist()} domains of {level.name}"
                )
                yield Violation("footprint", where, text)
                return
            if _uneven_counts(domain).any():
                text = (
                    f"a CP group of the {module.name} has member counts in domains of "
                    f"{level.name} that differ by more than one"
                )
                yield Violation("footprint", where, text)
                return


def _spans(domain: Ints) -> Ints:
    """[pp, dp, cp] domains each TP group touches, given the domains of a module's mesh."""
    spans: Ints = domains_touched(domain.reshape(-1, domain.shape[3])).reshape(domain.shape[:3])
    return spans


def _uneven_spans(domain: Ints) -> Bools:
    """[pp, dp] whether the CP peers of a stage have TP groups of different span."""
    spans = _spans(domain)
    uneven: Bools = spans.min(axis=2) != spans.max(axis=2)
    return uneven


def _uneven_counts(domain: Ints) -> Bools:
    """[pp, dp] whether some CP group's member counts in its domains differ by more than one."""
    pp, dp, cp, tp = domain.shape
    rings = np.sort(np.moveaxis(domain, 2, 3).reshape(-1, cp), axis=1)
    new = np.ones(rings.shape, bool)
    new[:, 1:] = rings[:, 1:] != rings[:, :-1]
    starts = np.flatnonzero(new.ravel())
    counts = np.diff(np.concatenate([starts, [rings.size]]))
    first = np.searchsorted(starts, np.arange(len(rings)) * cp)
    spread = np.maximum.reduceat(counts, first) - np.minimum.reduceat(counts, first)
    uneven: Bools = spread.reshape(pp, dp, tp).max(axis=2) > 1
    return uneven


def offenders(problem: Problem, grid: Grid, placement: Ints) -> Bools:
    """[world] ranks in groups or blocks that break within, hierarchical_cp or footprint."""
    machines = problem.cluster.machines
    broken = np.zeros(grid.world, bool)
    confined = dict(problem.constraints.within)
    if grid.hierarchy:
        confined["hcp_0"] = "node"
    for name, level in confined.items():
        for groups in grid.groups[name]:
            spread = domains_touched(machines.level(level).domain[placement[groups]]) > 1
            broken[groups[spread]] = True
    if problem.constraints.cp_symmetry == "footprint":
        for fabric in machines.levels:
            for module in grid.modules:
                domain = fabric.domain[placement[module.mesh]]
                broken[module.mesh[_uneven_spans(domain)]] = True
                broken[module.mesh[_uneven_counts(domain)]] = True
    return broken


def _launch(problem: Problem, machines: Machines, placement: Ints) -> Iterator[Violation]:
    if problem.constraints.launch != "node-contiguous":
        return
    split = first_split_host(machines, placement)
    if split is not None:
        text = f"{split} holds trainer ranks that are not one run"
        yield Violation("launch", "$.problem.constraints.launch", text)


def first_split_host(machines: Machines, placement: Ints) -> str | None:
    """A host whose trainer ranks are not one consecutive run, or None if there is none."""
    node = machines.device_node[placement]
    starts = np.flatnonzero(np.concatenate([[True], node[1:] != node[:-1]]))
    nodes, counts = np.unique(node[starts], return_counts=True)
    split = nodes[counts > 1]
    return machines.hosts[int(split[0])] if len(split) else None


def _pins(problem: Problem, grid: Grid, machines: Machines, placement: Ints) -> Iterator[Violation]:
    for i, (rank, device) in enumerate(pinned(problem, grid)):
        if placement[rank] != device:
            text = f"rank {rank} is pinned to {seat(machines, device)}"
            yield Violation("pins", f"$.problem.constraints.pins[{i}]", text)


def pinned(problem: Problem, grid: Grid) -> list[tuple[int, int]]:
    """(trainer rank, device) of every pin, in the user's order."""
    out = []
    for pin in problem.constraints.pins:
        s = pin.slot
        mesh = grid.mesh(s.module or "decoder")
        out.append(
            (int(mesh[s.pp, s.dp, s.cp, s.tp]), problem.cluster.machines.device(pin.host, pin.gpu))
        )
    return out
