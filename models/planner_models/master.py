"""Master: which contents fill the domains of one level, at least cost.

Sets
    k: capacities, q[k] domains each; j: contents (a, b) that a domain of capacity k may hold.
Data
    price[a, b]: least price of a domain with a encoder and b decoder slots (`staircases`).
    A, B: slots of the encoder and of the decoder; idle: places of all domains less slots.
Variables
    z[k,a,b]: number of domains of capacity k that hold (a, b); integer.
Subject to
    domains[k]: sum of z[k,a,b] = q[k], over contents with k - idle <= a + b <= k
    encoder:    sum of a * z = A
    decoder:    sum of b * z = B
Minimise
    sum of price[a, b] * z   (+ the weight of all pair links, which prices count as savings)

Uneven domains, dead and idle GPUs change nothing but capacities. What the master forgets is that
the contents of different domains must fit together.

The linear programme is solved in its dual: multipliers u, v on encoder and decoder slots price
every content, and for any u, v

    L(u, v) = u * A + v * B + sum over k of q[k] * min over (a, b) of (price - u * a - v * b)

is a bound, evaluated in integers. The integer programme then runs over the contents of least
reduced cost; a filling with any other content costs at least L plus the least reduced cost left
out.
"""

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray
from ortools.linear_solver import pywraplp  # type: ignore[import-untyped]  # ships no marker
from ortools.sat.python import cp_model

from planner_models import bridge, interruption
from planner_models.job import Job, Weights
from planner_models.lattice import families, inner_weights
from planner_models.minplus import UNREACHABLE, IntArray
from planner_models.staircases import best_contents

FINEST = 720_720
"""Multipliers are multiples of 1 / FINEST or coarser: fractions up to sixteenths are exact."""

ROUNDS = 60
"""Cutting planes of the dual; some ten suffice."""

KEPT = 2000
"""Contents the integer programme looks at."""

EFFORT = 2.0
"""Deterministic time of the integer programme; past it, its bound is used."""


def bound(
    job: Job, weights: Weights, capacities: Sequence[int], *, deadline: float | None = None
) -> int:
    """A lower bound on the cost of one level, whatever the placement.

    Args:
        job: the slots to place.
        weights: cost of a link of each kind, non-negative.
        capacities: usable GPUs of every domain of the level.
        deadline: `time.monotonic()` at which the integer programme stops and what it has proven is
            used. Without it the bound does not depend on time.

    Returns:
        The bound, the level's own weight left out; a multiple of the gcd of the weights that occur.

    Raises:
        ValueError: the domains together are smaller than the job.

    Example: two copies of a tensor pair on domains of three; only the data rings are cut:
        >>> bound(Job((ModuleShape(2, 1, 1),), dp=2), Weights(tp=5, cp=0, dp=1, pp=0), [3, 3])
        4
    """
    if sum(capacities) < job.world:
        raise ValueError(f"{job.world} slots do not fit {sum(capacities)} places")
    unit, plain = _without_common_factor(job, weights)
    if unit == 0:
        return 0
    variants = {plain, _closing_capped(job, plain)}
    doubled = max(_doubled_bound(job, some, capacities, deadline) for some in variants)
    return max(0, unit * -(-doubled // 2))


def _without_common_factor(job: Job, weights: Weights) -> tuple[int, Weights]:
    """The gcd of the weights that occur in this job (0 if none does), and the weights over it."""
    occurring = {f.weight for shape in job.modules for f in families(shape, job.dp, weights)}
    if len(job.modules) == 2 or job.modules[0].pp > 1:
        occurring.add(weights.pp)
    if job.tied and job.modules[-1].pp > 1:
        occurring.add(weights.embd)
    unit = math.gcd(*occurring)
    kinds = asdict(weights).items()
    return unit, Weights(**{kind: w // unit if unit and w % unit == 0 else 0 for kind, w in kinds})


def _closing_capped(job: Job, weights: Weights) -> Weights:
    """Weights under which the link that closes a decoder lane to a cycle is no dearer than others.

    A lane has one such link, but prices let its piece in every domain save it. Lighter weights
    bound the cost too, and better where all lanes are cut anyway.
    """
    interleaved = job.modules[-1].vpp > 1
    return replace(weights, embd=0 if interleaved else min(weights.embd, weights.pp))


def _doubled_bound(
    job: Job, weights: Weights, capacities: Sequence[int], deadline: float | None
) -> int:
    pair_links = 2 * weights.pp * bridge.count(job)
    for m, shape in enumerate(job.modules):
        pair_links += shape.tp * shape.cp * job.dp * inner_weights(job, weights, m)[-1]
    return pair_links + _cheapest_filling(_contents(job, weights, capacities), deadline)


@dataclass(frozen=True, slots=True)
class _Contents:
    """Columns of the master, class of capacity after class of capacity.

    Attributes:
        amounts: [2] slots of the encoder and of the decoder in all.
        domains: [K] domains of each class.
        first: [K] first column of each class.
        held: [J, 2] encoder and decoder slots of each column.
        price: [J] least price, doubled.
    """

    amounts: IntArray
    domains: IntArray
    first: IntArray
    held: IntArray
    price: IntArray

    def class_of(self) -> IntArray:
        """[J] class of every column."""
        sizes = np.diff(self.first, append=len(self.price))
        return np.repeat(np.arange(len(self.first)), sizes)


def _contents(job: Job, weights: Weights, capacities: Sequence[int]) -> _Contents:
    """Every content a domain may hold, priced."""
    sizes = [shape.tp * shape.cp * shape.pp * job.dp for shape in job.modules]
    encoder, decoder = [0, *sizes][-2:]
    usable = Counter(min(capacity, job.world) for capacity in capacities if capacity > 0)
    classes = sorted(usable)
    idle = sum(capacity * usable[capacity] for capacity in classes) - job.world
    held = []
    for capacity in classes:
        total = np.arange(max(0, capacity - idle), capacity + 1)[:, None]
        a = np.arange(min(encoder, capacity) + 1)[None, :]
        fits = (total >= a) & (total - a <= decoder)
        held.append(np.stack([np.broadcast_to(a, fits.shape)[fits], (total - a)[fits]], axis=1))
    columns = np.concatenate(held)
    return _Contents(
        amounts=np.array([encoder, decoder]),
        domains=np.array([usable[capacity] for capacity in classes]),
        first=np.cumsum([0, *map(len, held[:-1])]),
        held=columns,
        price=best_contents(job, weights, columns[:, 0], columns[:, 1]),
    )


def _cheapest_filling(contents: _Contents, deadline: float | None) -> int:
    """Lower bound on the (doubled) prices of all domains together."""
    if len(contents.price) == len(contents.domains):
        return int(contents.domains @ contents.price)
    dual = _best_multipliers(contents)
    relaxed = -(-dual.bound // dual.scale)
    cheapest = np.argsort(dual.reduced, kind="stable")
    exact = _proven(_integer_programme(contents, np.sort(cheapest[:KEPT])), deadline)
    if len(cheapest) > KEPT:
        others = dual.bound + int(dual.reduced[cheapest[KEPT]])
        exact = min(exact, -(-others // dual.scale))
    return max(relaxed, exact)


@dataclass(frozen=True, slots=True)
class _Dual:
    """What multipliers prove.

    Attributes:
        scale: everything below is in multiples of 1 / scale.
        bound: L.
        reduced: [J] reduced cost of every column; 0 for the cheapest of a class.
    """

    scale: int
    bound: int
    reduced: IntArray


def _best_multipliers(contents: _Contents) -> _Dual:
    """Maximise L by cutting planes: every round adds the cheapest column of each class."""
    largest = int(np.abs(contents.price).max()) + 1
    scale = max(1, min(FINEST, (1 << 60) // (8 * largest * (int(contents.held.max()) + 1))))
    planes = _Planes(contents, box=4 * largest)
    multipliers = np.zeros(2, dtype=np.int64)
    best: _Dual | None = None
    for _ in range(ROUNDS):
        cost = scale * contents.price - contents.held @ multipliers
        least = np.minimum.reduceat(cost, contents.first)
        gains = zip(contents.amounts.tolist(), multipliers.tolist(), strict=True)
        rents = zip(contents.domains.tolist(), least.tolist(), strict=True)
        value = sum(n * u for n, u in (*gains, *rents))
        if best is None or value > best.bound:
            best = _Dual(scale, value, cost - least[contents.class_of()])
        parts = np.split(cost, contents.first[1:])
        cheapest = [int(f + part.argmin()) for f, part in zip(contents.first, parts, strict=True)]
        if not planes.add(cheapest):
            break
        proposal = planes.solve()
        if proposal is None:
            break
        multipliers = np.rint(scale * proposal).astype(np.int64)
    assert best is not None
    return best


class _Planes:
    """The dual's linear programme: multipliers, and the least reduced cost of each class."""

    def __init__(self, contents: _Contents, box: int) -> None:
        self._contents = contents
        self._class_of = contents.class_of()
        self._seen: set[int] = set()
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        self._multipliers = [self._solver.NumVar(-box, box, name) for name in ("u", "v")]
        free = self._solver.infinity()
        classes = range(len(contents.domains))
        self._least = [self._solver.NumVar(-free, free, f"least[{k}]") for k in classes]
        objective = self._solver.Objective()
        objective.SetMaximization()
        gains = [*contents.amounts.tolist(), *contents.domains.tolist()]
        for variable, gain in zip([*self._multipliers, *self._least], gains, strict=True):
            objective.SetCoefficient(variable, gain)

    def add(self, columns: Sequence[int]) -> bool:
        """Let each column limit its class; whether any is new."""
        fresh = [j for j in columns if j not in self._seen]
        self._seen.update(fresh)
        for j in fresh:
            limit = float(self._contents.price[j])
            row = self._solver.Constraint(-self._solver.infinity(), limit)
            row.SetCoefficient(self._least[self._class_of[j]], 1)
            for variable, amount in zip(self._multipliers, self._contents.held[j], strict=True):
                row.SetCoefficient(variable, int(amount))
        return bool(fresh)

    def solve(self) -> NDArray[np.float64] | None:
        """The multipliers that are best against the columns added so far; None if GLOP fails."""
        if self._solver.Solve() != pywraplp.Solver.OPTIMAL:
            return None
        return np.array([variable.solution_value() for variable in self._multipliers])


def _integer_programme(contents: _Contents, kept: IntArray) -> cp_model.CpModel:
    """The master over the columns `kept` alone."""
    model = cp_model.CpModel()
    class_of, held = contents.class_of()[kept], contents.held[kept]
    z = [
        model.new_int_var(0, int(contents.domains[k]), f"z[{k},{a},{b}]")
        for k, (a, b) in zip(class_of, held.tolist(), strict=True)
    ]
    for k, domains in enumerate(contents.domains.tolist()):
        of_class = [z[j] for j in np.flatnonzero(class_of == k)]
        model.add(cp_model.LinearExpr.sum(of_class) == domains).with_name(f"domains[{k}]")
    for side, name in enumerate(("encoder", "decoder")):
        covered = cp_model.LinearExpr.weighted_sum(z, held[:, side].tolist())
        model.add(covered == int(contents.amounts[side])).with_name(name)
    model.minimize(cp_model.LinearExpr.weighted_sum(z, contents.price[kept].tolist()))
    return model


def _proven(model: cp_model.CpModel, deadline: float | None) -> int:
    """Lower bound on the model's optimum; `UNREACHABLE` if it has no solution."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = EFFORT
    if deadline is not None:
        solver.parameters.max_time_in_seconds = max(0.0, deadline - time.monotonic())
    status = interruption.solve(solver, model)
    if status == cp_model.INFEASIBLE:
        return UNREACHABLE
    if status == cp_model.UNKNOWN:  # then the solver reports 0, which is no bound on savings
        return -UNREACHABLE
    return math.ceil(solver.best_objective_bound - 1e-6)
