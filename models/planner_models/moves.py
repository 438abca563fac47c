"""Few moves: the exact assignment once more, for slots that already have a home.

Sets
    those of `assignment`
    H ⊆ S    slots whose home still exists

Data
    home_s     cell of slot s, s ∈ H
    lost       number of slots without a home: each of them moves, whatever cell it takes
    enough     cost that is good enough, or none
    most       largest number of moves, or none
    leader     slot that must sit on the first used device of its house, or none
    house_n    house of cell n: cells of one house, in their order, are its devices in theirs
    blocker_n  the slot at home on the first usable device of cell n, if there is one
    below      usable devices of the leader's home cell that come before its own

Variables (0-1 unless said)
    those of `assignment`
    extra      the leader's seat makes one more slot move
    over       cost above `enough`, an integer ≥ 0

Subject to
    those of `assignment`; symmetry breaking is left out, since homes tell equal domains apart
    extra[n]    on[leader,n] + on[blocker_n,n] ≤ 1 + extra              n ≠ home_leader
    first[n,m]  Σ_s on[s,m] ≤ usable_m (1 − on[leader,n])               m < n, house_m = house_n
    extra[home] Σ_s on[s,home_leader] ≤ usable − below (on[leader,home_leader] − extra)
    together    on[s,n] = on[first of g,n], where groups g are to move whole
    moves       lost + Σ_{s∈H} (1 − on[s,home_s]) + extra ≤ most
    over        over ≥ cost − enough

Minimise
    moves + (|S| + 2) over          if `enough` is given: the fewest moves that are good enough
    (|S| + 2) cost + moves          else: the best cost that `most` moves reach

Slots that stay in their cell keep their device, so moves counted by cell are moves counted by
device. Size: that of the assignment, plus one row a cell.
"""

import threading
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from planner_models.assignment.data import Assignment, IntArray
from planner_models.assignment.evaluate import cost
from planner_models.assignment.formulation import Bit, Expr, Formulation, Neighbourhood, total
from planner_models.assignment.links import Costs
from planner_models.assignment.model import build
from planner_models.assignment.search import Limits, Status, run, solver_for


@dataclass(frozen=True, eq=False, slots=True)
class Leader:
    """A slot that must sit on the first used device of its house.

    Attributes:
        slot: the slot.
        houses: [cells] house of each cell.
        blockers: [cells] slot at home on the first usable device of each cell, -1 if there is none.
        below: usable devices of the leader's home cell that come before its own; 0 without a home.
    """

    slot: int
    houses: IntArray
    blockers: IntArray
    below: int


@dataclass(frozen=True, eq=False, slots=True)
class Homes:
    """Where slots are now, and what is wanted of their moves.

    Attributes:
        cells: [slots] home of each slot, -1 where it is gone.
        enough: cost that is good enough; None to minimise the cost within `most` moves.
        most: largest number of moves, or None.
        leader: the slot bound to the first used device of its house, or None.
    """

    cells: IntArray
    enough: int | None = None
    most: int | None = None
    leader: Leader | None = None

    @property
    def lost(self) -> int:
        """Slots without a home."""
        return int(np.count_nonzero(self.cells < 0))


@dataclass(frozen=True, eq=False, slots=True)
class Result:
    """Answer of `solve`; bounds hold for the neighbourhood alone if there is one.

    Attributes:
        status: as in `assignment.Result`.
        bound: lower bound on the moves if `enough` was given, else on the cost.
        cells: [slots] cell of each slot, or None if nothing was found.
        cost: recomputed cost, or None.
    """

    status: Status
    bound: int
    cells: IntArray | None = None
    cost: int | None = None


def solve(
    problem: Assignment,
    homes: Homes,
    limits: Limits,
    *,
    start: IntArray,
    neighbourhood: Neighbourhood | None = None,
    together: IntArray | None = None,
    stop: threading.Event | None = None,
) -> Result:
    """Place the slots with few moves.

    Args:
        problem: what to place where.
        homes: where slots are now, and what is wanted.
        limits: when to stop.
        start: [slots] cells to start from.
        neighbourhood: what may change against `start`.
        together: [groups, size] slots; groups free to move as a whole stay in one cell, which makes
            the model smaller and the bound one on such placements alone.
        stop: set it to end the search with the best so far.

    Example:
        Slot 2 has lost its device; only cell 1 has room, and its partner is in cell 0.

        >>> from planner_models.assignment import Groups, Level
        >>> pairs = np.array([[0, 1], [2, 3]])
        >>> node = Level(weight=1, domain=np.array([0, 0, 0, 0, 1, 1, 1]))
        >>> usable = np.array([1, 1, 0, 1, 1, 1, 0], dtype=bool)
        >>> problem = Assignment(4, (node,), usable, (pairs,), (Groups("tp", 10, pairs),))
        >>> homes = Homes(np.array([0, 0, -1, 0]), enough=0)
        >>> answer = solve(problem, homes, Limits(seconds=5), start=np.array([0, 0, 1, 0]))
        >>> answer.bound, answer.cells.tolist()
        (2, [0, 0, 1, 1])
    """
    model = build(problem, start=start, neighbourhood=neighbourhood, without=("symmetry",))
    assert model.costs is not None
    f = model.formulation
    most = len(neighbourhood.slots) if neighbourhood else problem.slots
    scale = most + 2
    moves = _moves(f, homes)
    if together is not None:
        _keep_together(f, together)
    if homes.enough is None:
        f.cp.minimize(model.costs.objective * scale + moves)
    else:
        f.cp.minimize(moves + scale * _over(f, model.costs, homes.enough))
    solver = solver_for(limits)
    status = run(solver, f.cp, stop=stop)
    if status == "infeasible":
        return Result(status, 0)
    bound = max(0, int(np.ceil(solver.best_objective_bound - 1e-6)))
    bound = bound // scale if homes.enough is None else bound
    if status == "unknown":
        return Result(status, bound)
    cells = np.array(
        [next(n for n, bit in held.items() if solver.value(bit.expr)) for held in f.at[0]],
        dtype=np.int64,
    )
    return Result(status, bound, cells, cost(problem, cells))


def _moves(f: Formulation, homes: Homes) -> Expr:
    """Expression of the number of moves; adds `extra[…]` and `moves`."""
    home = homes.cells.tolist()
    stays = [f.at[0][s][n] for s, n in enumerate(home) if n in f.at[0][s]]
    moves = f.problem.slots - total(stays) + _extra(f, homes)
    if homes.most is not None:
        f.require("moves[]", moves <= homes.most)
    return moves


def _keep_together(f: Formulation, groups: IntArray) -> None:
    """together[g,s]: on[s,n] = on[first of g,n] for each cell n."""
    for g in np.flatnonzero(f.moving[groups].all(axis=1)).tolist():
        first, *others = groups[g].tolist()
        for s in others:
            for n, bit in f.at[0][s].items():
                f.require(f"together[g{g},s{s}]", bit.expr == f.at[0][first][n].expr)


def _extra(f: Formulation, homes: Homes) -> Expr:
    leader = homes.leader
    if leader is None:
        return 0
    _first(f, leader)
    extra = f.bit("extra[]", 0).expr
    home = int(homes.cells[leader.slot])
    for n, here in f.at[0][leader.slot].items():
        blocker = int(leader.blockers[n])
        if n != home and blocker >= 0 and n in f.at[0][blocker]:
            stays = f.at[0][blocker][n]
            f.require(f"extra[n{n}]", here.expr + stays.expr <= 1 + extra)
    if home >= 0 and leader.below and home in f.at[0][leader.slot]:
        here = f.at[0][leader.slot][home]
        room = int(f.problem.capacities(0)[home])
        held: list[Bit] = f.holders(0, range(f.problem.slots))[home]
        f.require(
            "extra[home]", total(held) <= room - leader.below * here.expr + leader.below * extra
        )
    return extra


def _first(f: Formulation, leader: Leader) -> None:
    """first[n,m]: with the leader in n, nobody is in an earlier cell m of the same house."""
    held = f.holders(0, range(f.problem.slots))
    room = f.problem.capacities(0).tolist()
    for n, here in f.at[0][leader.slot].items():
        for m in np.flatnonzero(leader.houses[:n] == leader.houses[n]).tolist():
            if m in held:
                f.require(f"first[n{n},n{m}]", total(held[m]) <= room[m] - room[m] * here.expr)


def _over(f: Formulation, costs: Costs, enough: int) -> cp_model.IntVar:
    """The variable of `over[]`: over ≥ cost − enough, over ≥ 0."""
    worst = sum(level.weight for level in f.problem.levels) * _dearest(f.problem)
    over = f.number("over", 0, worst, max(0, costs.at_start - enough))
    f.require("over[]", over >= costs.objective - enough)
    return over


def _dearest(problem: Assignment) -> int:
    """At most what the links of one level cost."""
    rings: int = sum(g.weight * g.members.size for g in problem.rings)
    shared = sum(
        g.weight * g.members.size * (g.members.shape[1] - 1) // 2 for g in problem.all_to_alls
    )
    pairs = sum(p.weight * len(p.ends) for p in problem.pairs)
    return int(rings + shared + pairs + sum(b.weight * b.many.size for b in problem.bridges))
