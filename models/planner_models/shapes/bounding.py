"""The bound, from a job and the capacities of one level to an integer."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from planner_models.contraction import Contraction, contract
from planner_models.interruption import over
from planner_models.job import Job, Weights
from planner_models.shapes.atoms import SplitBlock, TooManyContentsError
from planner_models.shapes.blocks import MAX_CELLS, copies_in_block
from planner_models.shapes.column_generation import (
    Evaluation,
    Relaxation,
    best_prices,
    rounded,
)
from planner_models.shapes.coupling import Coupling
from planner_models.shapes.integer_master import IntegerMaster, Solution
from planner_models.shapes.packing import Packing
from planner_models.shapes.pricing import NodePricing
from planner_models.shapes.rules import Rules
from planner_models.shapes.segments import all_segments
from planner_models.shapes.stages import stage_graph
from planner_models.shapes.targets import Targets

_ANY = Weights(1, 1, 1, 1, ep=1, expt_tp=1, expt_dp=1, embd=1)
_FREE = Rules()

MAX_CAPACITY = 12
"""Largest domain whose contents are enumerated."""


class NoPlacementError(ValueError):
    """No placement obeys the rules on these domains: proven."""


@dataclass(frozen=True, slots=True)
class ShapesBound:
    """A proven lower bound on one level's cost.

    Attributes:
        problem: what was relaxed: as given, with tied slots as one.
        value: every placement costs at least this much at the level.
        relaxation: the problem that was relaxed.
        prices: the prices behind the proof.
        packing: pieces found not to fit together.
        solution: contents of domains that cost `value` on paper, if the integer master has any.
    """

    problem: Contraction
    value: int
    relaxation: Relaxation
    prices: Evaluation
    packing: Packing
    solution: Solution | None


def applies(job: Job, capacities: Sequence[int], *, rules: Rules = _FREE) -> bool:
    """Whether the contents of blocks and domains are few enough to be listed."""
    small = contract(job, _ANY, capacities, rules.tied)
    job, capacities = small.job, small.capacities
    largest = max(capacities, default=0)
    if not 0 < largest <= MAX_CAPACITY or sum(capacities) < job.world:
        return False
    copies = copies_in_block(job)
    for m in job.modules:
        if m.tp * m.cp * copies > MAX_CELLS:
            try:
                SplitBlock(m, dp=job.dp, copies=copies, weights=_ANY, largest=largest)
            except TooManyContentsError:
                return False
    return True


def granularity(job: Job, weights: Weights) -> int:
    """Greatest number every cost is a multiple of: the gcd of the weights of kinds that occur."""
    occurring = [
        weight
        for m in job.modules
        for weight, occurs in (
            (weights.tp, m.tp > 1),
            (weights.cp, m.cp > 1),
            (weights.dp, m.cp * job.dp > 1),
            (weights.pp, m.pp > 1 or len(job.modules) == 2),
            (weights.ep, m.ep > 1),
            (weights.expt_tp, m.ep > 1 and m.etp > 1),
            (weights.expt_dp, m.ep > 1 and m.tp * m.cp * job.dp > m.etp * m.ep),
        )
        if occurs
    ]
    if job.tied and job.modules[-1].pp > 1:
        occurring.append(weights.embd)
    return gcd(*occurring) or 1


def ceiling(job: Job, weights: Weights) -> int:
    """A cost that no placement exceeds: every slot alone."""
    total = 0
    for m in job.modules:
        rings = [weights.tp * (m.tp > 1), weights.cp * (m.cp > 1), weights.dp]
        if m.ep > 1:
            rings += [weights.expt_tp, weights.expt_dp, weights.ep * m.ep]
        # Two pair links a slot beside the bridge, whose links are at most those of one side's slots
        # times the lanes and slices of the other.
        links = 2 * weights.pp + weights.embd + weights.pp * max(o.tp * o.cp for o in job.modules)
        total += job.dp * m.tp * m.cp * m.pp * (sum(rings) + links)
    return total


def relax(
    job: Job, weights: Weights, capacities: Sequence[int], *, spread: int | None = None
) -> Relaxation:
    """Segments, tilings and pricing of a job on domains of these capacities.

    Args:
        job: the job, without ties.
        weights: cost of a link of each kind.
        capacities: usable slots of each domain.
        spread: see `blocks.Block`.
    """
    largest = max(capacities)
    idle = sum(capacities) - job.world
    if idle < 0:
        raise ValueError(f"{job.world} slots do not fit {sum(capacities)} places")
    graph = stage_graph(job, weights, largest, spread=spread)
    segments = all_segments(graph, largest)
    count = Counter(c for c in capacities if c > 0)
    return Relaxation(
        graph,
        Coupling(graph),
        tuple(NodePricing(graph, segments, capacity=c, idle=idle) for c in sorted(count)),
        tuple(count[c] for c in sorted(count)),
    )


def bound(
    job: Job,
    weights: Weights,
    capacities: Sequence[int],
    *,
    rules: Rules = _FREE,
    incumbent: int | None = None,
    deadline: float | None = None,
) -> ShapesBound:
    """Bound the cost of one level from below.

    Args:
        job: the job; `applies(job, capacities, rules=rules)` holds.
        weights: cost of a link of each kind at this level.
        capacities: usable slots of each domain.
        rules: what every placement obeys.
        incumbent: cost of a known plan at this level; nothing above it is looked for.
        deadline: `time.monotonic` to stop at, with whatever is proven by then.

    Raises:
        NoPlacementError: no placement obeys the rules.
        ValueError: the domains are too small, or `applies` does not hold.

    Example:
        >>> from planner_models.job import ModuleShape
        >>> job = Job((ModuleShape(2, 2, 1), ModuleShape(6, 2, 2)), dp=2)
        >>> bound(job, Weights(tp=1000, cp=100, dp=1, pp=10), [8] * 7).value
        8490
    """
    small = contract(job, weights, capacities, rules.tied)
    relaxation = relax(small.job, small.weights, small.capacities, spread=rules.spread)
    unit = granularity(small.job, small.weights)
    highest = -(-ceiling(small.job, small.weights) // unit) * unit
    enough = highest + unit if incumbent is None else min(incumbent, highest + unit)
    prices, _ = best_prices(relaxation, enough=enough, granularity=unit, deadline=deadline)
    value = rounded(prices.total, unit)
    solution, packing = None, Packing(relaxation.graph)
    targets = Targets(value, unit, enough, known=incumbent is not None)
    while (target := targets.at) is not None and not over(deadline):
        master = IntegerMaster.build(relaxation, prices, target, most=targets.most)
        if master is None:
            if targets.shorten():
                continue
            break
        answer = master.solve(packing, deadline)
        value = max(value, min(target + unit, -(-answer.lower // (2 * unit)) * unit))
        solution = answer.solution
        if solution is not None or not answer.decided:
            break
        targets.rise(master.listed)
    if value > highest:
        raise NoPlacementError("no placement obeys the rules")
    return ShapesBound(small, value, relaxation, prices, packing, solution)
