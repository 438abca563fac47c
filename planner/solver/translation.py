"""The planner's grid and machines in the models' integers, and placements back.

The structured models number slots canonically (tensor lane fastest, then slice, copy, stage, the
encoder's block first); `Grid.canonical` holds the trainer rank of each. The exact model is given
trainer ranks as they are, since launchers count in those.
"""

import numpy as np

from planner.feasibility import pinned
from planner.grid import Grid, Ints
from planner.lanes import lane_pairs, slice_pairs
from planner.machines import Machines
from planner.solver.weighing import Weighing
from planner.spec.problem import Problem
from planner_models import assignment, shapes
from planner_models.job import Job, ModuleShape, Weights

OFFLINE = "$.cluster.nodes (offline GPUs)"


def model_job(grid: Grid) -> Job:
    """The job's sizes."""
    modules = tuple(
        ModuleShape(m.shape.tp, m.shape.cp, m.shape.pp, m.shape.ep, m.shape.expert_tp, m.shape.vpp)
        for m in grid.modules
    )
    return Job(modules, grid.dp, grid.tied)


def model_weights(weighing: Weighing, grid: Grid) -> Weights:
    """Integer link weights.

    The structured models know context groups as rings. An all-to-all of c members that touches
    n >= 2 domains has at least n (c-1) / 2 member pairs in two of them, so a ring link of
    (c-1) / 2 pairs never costs too much.
    """
    kinds = dict(weighing.kinds)
    if grid.context_exchanged:
        sizes = [m.shape.cp for m in grid.modules if m.shape.cp > 1]
        kinds["cp"] = kinds["cp"] * (min(sizes, default=1) - 1) // 2
    return Weights(**kinds)


def exact_problem(
    problem: Problem,
    grid: Grid,
    weighing: Weighing,
    floors: tuple[assignment.Floor, ...],
    least: int,
) -> assignment.Assignment:
    """The whole problem for the exact model, every hard constraint labelled with its JSON path.

    Args:
        problem: the problem.
        grid: its grid.
        weighing: integer weights.
        floors: lower bounds on what a domain costs.
        least: a lower bound on the cost.
    """
    machines = problem.cluster.machines
    kinds = weighing.kinds
    return assignment.Assignment(
        slots=grid.world,
        levels=tuple(
            assignment.Level(weight, level.domain)
            for weight, level in zip(weighing.levels, machines.levels, strict=True)
        ),
        usable=machines.online,
        shapes=tuple(grid.groups["tp"]),
        rings=tuple(
            assignment.Groups(f"{kind}{i}", kinds[kind], groups)
            for kind, family in grid.rings.items()
            for i, groups in enumerate(family)
            if kinds[kind] and groups.shape[1] > 1
        ),
        all_to_alls=tuple(
            assignment.Groups(f"{kind}{i}", kinds[kind], groups)
            for kind, family in grid.exchanges.items()
            for i, groups in enumerate(family)
            if kinds[kind] and groups.shape[1] > 1
        ),
        pairs=_pairs(grid, kinds),
        bridges=_bridges(grid, kinds["pp"]),
        within=_within(problem, grid),
        hierarchical_cp=_hierarchical(grid, machines),
        footprint=_footprint(problem, grid),
        contiguous=_contiguous(problem, machines),
        pins=tuple(
            assignment.Pin(f"$.constraints.pins[{i}]", rank, device)
            for i, (rank, device) in enumerate(pinned(problem, grid))
        ),
        offline_label=OFFLINE,
        floors=floors,
        least=least,
        exchanges=_copy_exchanges(grid),
    )


def _pairs(grid: Grid, kinds: dict[str, int]) -> tuple[assignment.Pairs, ...]:
    """Pipeline and embedding links; those of the bridge are told apart by lane elsewhere."""
    bridge = len(grid.bridge)
    pipeline = grid.pairs["pp"][: len(grid.pairs["pp"]) - bridge]
    found = (("pp", pipeline), ("embd", grid.pairs["embd"]))
    return tuple(
        assignment.Pairs(name, kinds[name], ends)
        for name, ends in found
        if kinds[name] and len(ends)
    )


def _bridges(grid: Grid, weight: int) -> tuple[assignment.Bridge, ...]:
    if len(grid.modules) == 1 or not weight:
        return ()
    source, target = grid.modules
    slices = slice_pairs(source.shape.cp, target.shape.cp)
    sources = source.mesh[-1][:, slices[:, 0]].reshape(-1, source.shape.tp)
    targets = target.mesh[0][:, slices[:, 1]].reshape(-1, target.shape.tp)
    lanes = lane_pairs(source.shape.tp, target.shape.tp)
    partner = lanes[:, 0] if source.shape.tp <= target.shape.tp else lanes[:, 1]
    return (assignment.Bridge("bridge", weight, sources, targets, partner),)


def _within(problem: Problem, grid: Grid) -> tuple[assignment.Within, ...]:
    names = [level.name for level in problem.cluster.machines.levels]
    return tuple(
        assignment.Within(f"$.constraints.within.{name}", names.index(level), groups)
        for name, level in problem.constraints.within.items()
        for groups in grid.groups[name]
    )


def _hierarchical(grid: Grid, machines: Machines) -> tuple[assignment.Within, ...]:
    if not grid.hierarchy:
        return ()
    return tuple(
        assignment.Within("$.job.hierarchical_cp", machines.node_level, groups)
        for groups in grid.groups["hcp_0"]
    )


def _footprint(problem: Problem, grid: Grid) -> assignment.Footprint | None:
    if problem.constraints.cp_symmetry != "footprint":
        return None
    peers = tuple(m.mesh.reshape(-1, *m.mesh.shape[2:]) for m in grid.modules)
    return assignment.Footprint("$.constraints.cp_symmetry", peers)


def shape_rules(problem: Problem, grid: Grid, level: int) -> shapes.Rules:
    """Rules that shapes know, at a level; with experts, hierarchical CP is none of them.

    Args:
        problem: the problem.
        grid: its grid.
        level: index of the level; domains finer than nodes may part innermost context groups.
    """
    experts = any(m.shape.ep > 1 for m in grid.modules)
    tied = grid.hierarchy and level >= problem.cluster.machines.node_level and not experts
    return shapes.Rules(
        tied=grid.hierarchy[0] if tied else 1,
        footprint=problem.constraints.cp_symmetry == "footprint",
    )


def _contiguous(problem: Problem, machines: Machines) -> assignment.Contiguous | None:
    if problem.constraints.launch != "node-contiguous":
        return None
    return assignment.Contiguous("$.constraints.launch", machines.node_level)


def _copy_exchanges(grid: Grid) -> tuple[Ints, ...]:
    """Neighbouring data copies trading places, as permutations of the trainer ranks."""
    out = []
    for d in range(grid.dp - 1):
        exchange = np.arange(grid.world)
        for module in grid.modules:
            a, b = module.mesh[:, d].ravel(), module.mesh[:, d + 1].ravel()
            exchange[a], exchange[b] = b, a
        out.append(exchange)
    return tuple(out)


def from_canonical(grid: Grid, values: Ints) -> Ints:
    """[world] values by canonical slot, reordered by trainer rank."""
    out = np.empty_like(values)
    out[grid.canonical] = values
    return out


def to_canonical(grid: Grid, values: Ints) -> Ints:
    """[world] values by trainer rank, reordered by canonical slot."""
    return values[grid.canonical]
