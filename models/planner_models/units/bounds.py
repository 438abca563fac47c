"""A lower bound on the links of one level whose domains can hold whole tensor groups.

Either no tensor group is cut at the level: then units are placed, which column generation over
patterns bounds, and whole numbers of its patterns usually are a plan of that cost. Or one is cut,
which costs two heavy links more than a bound that counts slots. The smaller of the two holds for
every placement.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner_models.interruption import over
from planner_models.job import Job, Weights
from planner_models.units.assembly import assembled
from planner_models.units.cut_groups import Master, cut_bound
from planner_models.units.heights import Ints, Pattern, copies_in_block, pipeline_of
from planner_models.units.integer_master import Choice
from planner_models.units.lanes import cut_at_prices
from planner_models.units.programme import Domains, domains_of
from planner_models.units.whole_groups import whole_bound


@dataclass(frozen=True)
class UnitsBound:
    """What is known about one level, its own weight left out.

    Attributes:
        value: no placement costs less, whatever it cuts.
        whole: no placement that keeps every tensor group inside a domain costs less; None if there
            is no such placement.
        cut: no placement that cuts a tensor group costs less; None if there is no such placement.
        reached: what `patterns` cost; None without patterns.
        patterns: what each domain holds in the cheapest choice found, in the order of the
            capacities; empty if none was found or asked for.
        proof: "linear" if column generation alone proves `whole`, "integer" if patterns inside the
            gap were looked through as well, "counted" if stages have too many slices for either,
            "cut" if there is no `whole`.
    """

    value: int
    whole: int | None
    cut: int | None
    reached: int | None
    patterns: tuple[Pattern, ...]
    proof: str


def bound(
    job: Job,
    weights: Weights,
    capacities: Sequence[int],
    *,
    incumbent: int | None = None,
    deadline: float | None = None,
    master: Master | None = None,
) -> UnitsBound:
    """Bound the cost of one level, and find patterns that meet the bound.

    Args:
        job: without virtual stages and tied embeddings; experts made of whole data copies.
        weights: of its links.
        capacities: usable GPUs of each domain.
        incumbent: cost of a known plan at this level; nothing above it is proven, and no patterns
            are looked for once it is.
        deadline: `time.monotonic()` at which to stop with what is proven by then.
        master: a bound that counts slots, asked about placements that cut tensor groups where this
            package has none of its own (two modules, or tensor links lighter than the others).

    Raises:
        ValueError: the slots do not fit, or the job has links that units do not know.

    Example:
        >>> job = Job((ModuleShape(8, 2, 6),), dp=6)
        >>> bound(job, Weights(1000, 100, 1, 10), [120, 72, 96, 128, 80, 80]).value
        2336
    """
    if sum(capacities) < job.world:
        raise ValueError(f"{job.world} slots do not fit {sum(capacities)} places")
    pipeline = pipeline_of(job, weights)
    held = np.asarray(capacities) // pipeline.grain
    domains = domains_of(pipeline, held)
    cut = cut_bound(job, weights, pipeline, capacities, master)
    target = None if incumbent is None else -(-2 * incumbent // pipeline.factor)
    found = None if domains is None else whole_bound(pipeline, domains, target, deadline)
    if domains is None or found is None:
        assert cut is not None, "without tensor groups to cut, the slots fit"
        return UnitsBound(cut, None, cut, None, (), "cut")
    whole, reached = max(0, pipeline.links(found.proven)), found.choice.cost
    late = over(deadline)
    if cut is not None and cut < whole and len(job.modules) == 1 and not late:
        lanes = job.modules[0].tp
        cut = max(cut, cut_at_prices(pipeline, found.prices, capacities, lanes, weights.tp))
    return UnitsBound(
        whole if cut is None else min(whole, cut),
        whole,
        cut,
        None if reached is None else pipeline.links(reached),
        _by_domain(domains, found.choice, held),
        found.proof,
    )


def assemble(
    job: Job, weights: Weights, found: UnitsBound, *, deadline: float | None = None
) -> Ints | None:
    """Domain of every unit, [P, D, C], from the patterns of a bound.

    With two modules, encoder stages come first and C is the larger number of slices; -1 stands
    where a stage has fewer. The placement costs `found.reached`, or less.

    Returns:
        None if there are no patterns, or if they could not be fitted together.
    """
    if not found.patterns:
        return None
    placed = assembled(pipeline_of(job, weights), found.patterns, deadline)
    return None if placed is None else _by_copy(job, placed)


def _by_copy(job: Job, domain_of: Ints) -> Ints:
    """Blocks taken apart into their data copies, [P, D, C]."""
    k, first = copies_in_block(job), 0
    assert k is not None
    apart = np.full((len(domain_of), job.dp, max(m.cp for m in job.modules)), -1)
    for m in job.modules:
        held = domain_of[first : first + m.pp, :, : k * m.cp]
        apart[first : first + m.pp, :, : m.cp] = held.reshape(m.pp, job.dp, m.cp)
        first += m.pp
    return apart


def _by_domain(domains: Domains, choice: Choice, held: Ints) -> tuple[Pattern, ...]:
    """The patterns of a choice in the order of the capacities."""
    if choice.cost is None:
        return ()
    piles = {int(c): list(ps) for c, ps in zip(domains.capacity, choice.patterns, strict=True)}
    return tuple(piles[int(capacity)].pop() for capacity in held)
