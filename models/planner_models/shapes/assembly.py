"""A placement of every slot from what the integer master says each domain holds.

1. *Copies* (`dealing`): every segment gets a block copy, so that each copy is tiled on each stage.
   Two segments of one domain on one stage go to different copies.
2. *Cells* (`cells`): every segment gets one of its placements, so that each cell is held once and
   the domains share the plane groups they were credited with sharing. Where context peers have to
   look alike, each copy is cut up so.

A placement found this way costs what the master said. Where cells cannot realise every overlap, the
cheapest loss is taken; where a step fails, the master's solution is forbidden and the next tried.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from planner_models import interruption
from planner_models.interruption import over
from planner_models.shapes.bounding import ShapesBound
from planner_models.shapes.cells import Cells, Piece
from planner_models.shapes.column_generation import Relaxation
from planner_models.shapes.dealing import Dealing, TooManyTilingsError
from planner_models.shapes.integer_master import IntegerMaster, Solution, quiet_solver
from planner_models.shapes.packing import Packing
from planner_models.shapes.placements import Placements
from planner_models.shapes.tilings import Ints

_EXTRA = 8
"""Weights of the heaviest pair link, halved, that cells may add to the cost on paper."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """A placement at one level.

    Attributes:
        domain_of: [slot] the domain that holds it, by its place in the capacities.
        cost: what it costs at most.
    """

    domain_of: Ints
    cost: int


def assemble(
    bound: ShapesBound, *, deadline: float | None = None, tries: int = 5
) -> Assembly | None:
    """A placement that costs what the integer master's solution does, or little more.

    Args:
        bound: a bound that has a solution.
        deadline: `time.monotonic` to stop at.
        tries: master solutions to try.

    Returns:
        The cheapest placement found, or nothing if no solution tried could be cut up, or if some
        block is too large for its cells to be looked at.

    Example:
        >>> from planner_models.job import Job, ModuleShape, Weights
        >>> from planner_models.shapes import bound
        >>> job = Job((ModuleShape(3, 1, 1),), dp=2)
        >>> assemble(bound(job, Weights(10, 0, 1, 0), [3, 3])).domain_of.tolist()
        [0, 0, 0, 1, 1, 1]
    """
    solution = None if bound.relaxation.graph.split else bound.solution
    best: Assembly | None = None
    placements = Placements(bound.relaxation.graph)
    master = None
    for _ in range(tries):
        if solution is None or over(deadline):
            break
        found = _cut_up(bound, solution, placements, deadline)
        if found is not None and (best is None or found.cost < best.cost):
            best = found
        if best is not None and 2 * best.cost <= solution.cost + 1:
            break
        if master is None:
            target = -(-solution.cost // 2)
            master = IntegerMaster.build(bound.relaxation, bound.prices, target)
        if master is None:
            break
        master.forbid(solution)
        solution = master.solve(bound.packing, deadline).solution
    return best


def _cut_up(
    bound: ShapesBound, solution: Solution, placements: Placements, deadline: float | None
) -> Assembly | None:
    """A placement with these contents: at the solution's cost, or somewhat above it."""
    graph = bound.relaxation.graph
    pieces = pieces_of(bound.relaxation, solution, bound.problem.capacities)
    solver = quiet_solver(deadline)
    copies = deal_copies(bound.relaxation, pieces, bound.packing, solution.loss, solver)
    if copies is None:
        return None
    heaviest = max([1, *(arc.weight for arc in graph.arcs)])
    slacks = [0, solution.loss + _EXTRA * heaviest]
    for slack in slacks[bool(solution.loss) :]:
        found = Cells(graph, pieces, copies, placements, slack).solve(quiet_solver(deadline))
        if found is not None:
            masks, added = found
            return Assembly(
                _domains(bound, pieces, copies, masks), -(-(solution.paper + added) // 2)
            )
    return None


def pieces_of(relaxation: Relaxation, solution: Solution, capacities: Sequence[int]) -> list[Piece]:
    """The segments of all domains, domains numbered as in `capacities`."""
    domains: defaultdict[int, list[int]] = defaultdict(list)
    for n, capacity in enumerate(capacities):
        domains[capacity].append(n)
    return [
        Piece(n, rows, tuple(relaxation.graph.stage_and_shape(row)[0] for row in rows))
        for pricing, patterns in zip(relaxation.pricing, solution.contents, strict=True)
        for n, pattern in zip(domains[pricing.capacity], patterns, strict=True)
        for segment in pattern
        for rows in [pricing.rows_of(segment)]
    ]


def deal_copies(
    relaxation: Relaxation,
    pieces: Sequence[Piece],
    packing: Packing,
    loss: int,
    solver: cp_model.CpSolver,
) -> list[int] | None:
    """Block copy of every piece, at most `loss` lost for cores, or nothing if none was found."""
    model = cp_model.CpModel()
    lots = _lots(pieces)
    try:
        dealing = Dealing(model, relaxation, [(pieces[lot[0]].rows, len(lot)) for lot in lots])
    except TooManyTilingsError:
        return None
    _keep_apart(model, dealing, pieces, lots)
    model.add(dealing.loss <= loss).with_name("loss")
    for core in packing.cores:
        dealing.avoid(core)
    while interruption.solve(solver, model) in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        cores = dealing.cores(solver, packing)
        if not cores:
            return _read(solver, lots, dealing.deal, len(pieces))
        for core in cores:
            dealing.avoid(core)
    return None


def _keep_apart(
    model: cp_model.CpModel,
    dealing: Dealing,
    pieces: Sequence[Piece],
    lots: Sequence[Sequence[int]],
) -> None:
    """What a domain holds on one stage lies in different copies."""
    meeting: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for u, lot in enumerate(lots):
        if len(lot) == 1:
            for stage in pieces[lot[0]].stages:
                meeting[pieces[lot[0]].domain, stage].append(u)
    for (domain, stage), together in meeting.items():
        if len(together) > 1:
            for b, dealt in enumerate(zip(*(dealing.deal[u] for u in together), strict=True)):
                model.add(sum(dealt) <= 1).with_name(f"apart[{domain},{stage},{b}]")


def _read(
    solver: cp_model.CpSolver,
    lots: Sequence[Sequence[int]],
    deal: Sequence[Sequence[cp_model.IntVar]],
    pieces: int,
) -> list[int]:
    copies = [0] * pieces
    for lot, dealt in zip(lots, deal, strict=True):
        order = [b for b, count in enumerate(dealt) for _ in range(solver.value(count))]
        for i, b in zip(lot, order, strict=True):
            copies[i] = b
    return copies


def _lots(pieces: Sequence[Piece]) -> list[list[int]]:
    """Pieces that are alike: same segment, and nothing else of their domain on its stages."""
    crowd = Counter((piece.domain, stage) for piece in pieces for stage in piece.stages)
    lots: dict[tuple[int, ...], list[int]] = {}
    alone: list[list[int]] = []
    for i, piece in enumerate(pieces):
        if any(crowd[piece.domain, stage] > 1 for stage in piece.stages):
            alone.append([i])
        else:
            lots.setdefault(piece.rows, []).append(i)
    return [*lots.values(), *alone]


def _domains(
    bound: ShapesBound, pieces: Sequence[Piece], copies: Sequence[int], masks: Sequence[Ints]
) -> Ints:
    """[slot] the domain that holds it."""
    job, graph = bound.problem.job, bound.relaxation.graph
    sizes = [m.tp * m.cp * job.dp for m in job.modules for _ in range(m.pp)]
    first = np.cumsum([0, *sizes])
    domain = np.full(job.world, -1, dtype=np.int64)
    for piece, b, held in zip(pieces, copies, masks, strict=True):
        for stage, mask in zip(piece.stages, held.tolist(), strict=True):
            cells = graph.block(stage).cells
            inside = np.flatnonzero(mask >> np.arange(cells) & 1)
            domain[first[stage] + b * cells + inside] = piece.domain
    return bound.problem.expanded(domain)
