"""A lower bound on the links of one level whose domains can hold whole tensor groups.

Either no tensor group is cut at the level: then units are placed, which column generation over
patterns bounds. Or one is cut, which costs two heavy links more than a bound that counts slots. The
smaller of the two holds for every placement.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner_models.job import Job, Weights
from planner_models.units.column_generation import generate
from planner_models.units.cut_groups import Master, cut_bound
from planner_models.units.heights import pipeline_of
from planner_models.units.programme import domains_of


@dataclass(frozen=True)
class UnitsBound:
    """What is known about one level.

    Attributes:
        value: no placement costs less, whatever it cuts.
        whole: no placement that keeps every tensor group inside a domain costs less; None if there
            is no such placement.
        cut: no placement that cuts a tensor group costs less; None if there is no such placement.
        rounds: prices evaluated by column generation.
    """

    value: int
    whole: int | None
    cut: int | None
    rounds: int


def bound(
    job: Job,
    weights: Weights,
    capacities: Sequence[int],
    *,
    incumbent: int | None = None,
    deadline: float | None = None,
    master: Master | None = None,
) -> UnitsBound:
    """Bound the cost of one level, the level's own weight left out.

    Args:
        job: without experts, virtual stages and tied embeddings.
        weights: of its links.
        capacities: usable GPUs of each domain.
        incumbent: cost of a known plan at this level; nothing above it is proven.
        deadline: `time.monotonic()` at which to stop with what is proven by then.
        master: a bound that counts slots, asked about placements that cut tensor groups where this
            package has none of its own (two modules, or tensor links lighter than the others).

    Raises:
        ValueError: the slots do not fit, or the job has links that units do not know.

    Example:
        >>> job = Job((ModuleShape(8, 2, 6),), dp=6)
        >>> bound(job, Weights(1000, 100, 1, 10), [120, 72, 96, 128, 80, 80]).value
    """
    if sum(capacities) < job.world:
        raise ValueError(f"{job.world} slots do not fit {sum(capacities)} places")
    pipeline = pipeline_of(job, weights)
    domains = domains_of(pipeline, np.asarray(capacities) // pipeline.grain)
    cut = cut_bound(job, weights, pipeline, capacities, master)
    whole, rounds = None, 0
    if domains is not None:
        targets = [t for t in (cut, incumbent) if t is not None]
        target = -(-min(targets) // pipeline.factor) if targets else None
        found = generate(pipeline, domains, target=target, deadline=deadline)
        whole, rounds = max(0, pipeline.factor * found.rounded), found.rounds
    value = min(v for v in (whole, cut) if v is not None)
    return UnitsBound(value, whole, cut, rounds)
