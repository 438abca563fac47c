"""The bound on two levels together, from a job and the nodes of every leaf to an integer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np

from planner_models.interruption import over
from planner_models.job import Job, ModuleShape, Weights
from planner_models.nested.column_generation import best_prices
from planner_models.nested.fabric import leaves_of
from planner_models.nested.integer_master import IntegerMaster
from planner_models.nested.relaxation import Evaluation, Prices, Relaxation, scaled
from planner_models.shapes import applies as shapes_apply
from planner_models.shapes import bounding
from planner_models.shapes.blocks import Block, copies_in_block
from planner_models.shapes.column_generation import best_prices as node_prices
from planner_models.shapes.column_generation import rounded
from planner_models.shapes.planes import SCALE
from planner_models.shapes.pricing import FAR
from planner_models.shapes.stages import MOST_SHAPES

MOST_CELLS = 12
"""Largest block: every subset of it can lie in a leaf."""

MOST_CLASSES = 12
"""Classes of leaves priced at most."""

MOST_SLOTS = 2_000
"""Largest leaf."""

_LARGEST_COST = 1 << 40
"""Doubled cost of all own costs and links together, at most."""


@dataclass(frozen=True, slots=True)
class NestedBound:
    """A proven lower bound on the cost of two levels together.

    Attributes:
        value: every placement costs at least this much, both levels' weights included.
        relaxation: the problem that was relaxed.
        prices: the prices behind the proof.
    """

    value: int
    relaxation: Relaxation
    prices: Evaluation


def applies(
    job: Job, weights: Weights, levels: tuple[int, int], leaves: Sequence[Sequence[int]]
) -> bool:
    """Whether contents of nodes, of leaves and of blocks are few enough to be listed.

    Args:
        job: the job.
        weights: cost of a link of each kind.
        levels: weights of the node level and of the leaf level.
        leaves: usable slots of each node of each leaf.
    """
    classes = leaves_of(leaves)
    copies = copies_in_block(job)
    cells = [m.tp * m.cp * copies for m in job.modules]
    heaviest = max(getattr(weights, name) for name in Weights.__slots__)
    return (
        min(levels) > 0
        and len(leaves) > 1
        and len(classes) <= MOST_CLASSES
        and max(leaf.capacity for leaf in classes) <= MOST_SLOTS
        and max(cells) <= MOST_CELLS
        and sum(levels) * heaviest * job.world**2 <= _LARGEST_COST
        and shapes_apply(job, [slots for nodes in leaves for slots in nodes])
        and all(_contents(m, job.dp, copies, weights) <= MOST_SHAPES for m in job.modules)
    )


def _contents(module: ModuleShape, dp: int, copies: int, weights: Weights) -> int:
    cells = module.tp * module.cp * copies
    return len(Block(module, dp=dp, copies=copies, weights=weights, largest=cells))


def bound(
    job: Job,
    weights: Weights,
    levels: tuple[int, int],
    leaves: Sequence[Sequence[int]],
    *,
    incumbent: int | None = None,
    deadline: float | None = None,
) -> NestedBound:
    """Bound the cost of nodes and leaves together from below.

    Args:
        job: the job; `applies` holds.
        weights: cost of a link of each kind.
        levels: weights of the node level and of the leaf level.
        leaves: usable slots of each node of each leaf.
        incumbent: cost of a known plan at both levels; nothing above it is looked for.
        deadline: `time.monotonic` to stop at, with whatever is proven by then.

    Raises:
        ValueError: the nodes are too small for the job.

    Example:
        >>> from planner_models.job import ModuleShape
        >>> job = Job((ModuleShape(3, 1, 1),), dp=2)
        >>> bound(job, Weights(tp=10, cp=0, dp=1, pp=0), (1, 1), [[2, 2], [2]]).value
        65
    """
    unit = bounding.granularity(job, weights) * gcd(*levels)
    enough = FAR if incumbent is None else incumbent
    relaxation, prices = relax_best(
        job,
        weights,
        levels,
        leaves,
        enough=enough,
        granularity=unit,
        deadline=deadline,
    )
    value = rounded(prices.total, unit)
    for target in targets(value, unit, enough):
        master = IntegerMaster.build(relaxation, prices, target)
        if master is None or over(deadline):
            break
        answer = master.solve(deadline)
        value = max(value, min(target + unit, rounded(answer.lower, unit)))
        if answer.met or not answer.decided:
            break
    return NestedBound(value, relaxation, prices)


def relax_best(
    job: Job,
    weights: Weights,
    levels: tuple[int, int],
    leaves: Sequence[Sequence[int]],
    *,
    enough: int = FAR,
    granularity: int = 1,
    deadline: float | None = None,
) -> tuple[Relaxation, Evaluation]:
    """The relaxation, and the prices that prove most; arguments as for `bound`, `best_prices`."""
    relaxation = Relaxation(job, weights, levels, leaves_of(leaves))
    start = _start(job, scaled(weights, levels[0]), leaves, relaxation, deadline)
    best = best_prices(relaxation, start, enough=enough, granularity=granularity, deadline=deadline)
    return relaxation, best


def targets(bound: int, granularity: int, below: int) -> Iterator[int]:
    """Costs to try, from the bound up with doubling steps, all less than `below`.

    Example:
        >>> list(targets(8, 2, 30))
        [8, 10, 14, 22, 28]
    """
    step, target = max(1, bound // 4000 // granularity) * granularity, bound
    while target < below - granularity:
        yield target
        target, step = target + step, 2 * step
    if bound < below:
        yield below - granularity


def _start(
    job: Job,
    weights: Weights,
    leaves: Sequence[Sequence[int]],
    relaxation: Relaxation,
    deadline: float | None,
) -> Prices:
    """The best prices of the node level alone, and at the leaf level a price a slot."""
    alone = bounding.relax(job, weights, [slots for nodes in leaves for slots in nodes])
    best, _ = node_prices(alone, enough=FAR, deadline=deadline)
    size = len(relaxation.leaves), relaxation.node_graph.rows
    prices = Prices(np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64))
    each = _slot_price(relaxation, job.world)
    for stage, first in enumerate(relaxation.node_graph.offset[:-1]):
        known = best.price[alone.graph.offset[stage] : alone.graph.offset[stage + 1]]
        prices.shapes[:, first : first + len(known)] = known
        size_of = relaxation.node_graph.block(stage).size
        prices.contents[:, first : first + len(size_of)] = each * size_of
    return prices


def _slot_price(relaxation: Relaxation, world: int) -> int:
    """The price a slot, the same in all leaves, that alone proves most at the leaf level."""
    tables = [
        (leaf.count, np.arange(pricing.least, pricing.capacity + 1), pricing.totals())
        for leaf, pricing in zip(relaxation.leaves, relaxation.leaf_pricing, strict=True)
    ]

    def proven(price: int) -> int:
        return price * world + sum(
            count * int((total - price * slots).min()) for count, slots, total in tables
        )

    low, high = 0, SCALE * relaxation.dearest
    while high - low > 2:
        third = (high - low) // 3
        if proven(low + third) < proven(high - third):
            low += third
        else:
            high -= third
    return max(range(low, high + 1), key=proven)
