"""Placements that cut tensor groups, bounded by what each tensor lane holds, at any prices.

Let n_t be the slots of lane t in a domain. A placement read off lane t alone, its whole tensor
groups where lane t has them, is one of units, but for capacities. The links of a placement cost at
least the mean of these T: pipelines and the rings of contexts and planes fall apart into lanes, and
the pairs of an all-to-all between domains are concave in what a domain holds of it. Besides, a
domain pays 2 w_tp (doubled) for each tensor group that it holds in part: max n_t - min n_t of them
at least, and one if any. So at prices mu with F(n) the cheapest content of n units,

    cost  >=  constant + D (cheapest copy under mu) + sum over domains of g

    g  =  min over the sizes m of F(m / T)                                      nothing cut,
          min over m and l <= m / T <= r of the chord of F at l and r
                                            + 2 w_tp max(1, r - l)              something cut.

Lanes between l and r whose mean is m / T cost no less on average than the lower convex hull of F
there, hence than some chord. A group that is cut is cut in two domains at least.

Sets, data and prices are those of `column_generation`; its best prices make F steep around the
sizes that domains have, and cutting as dear as it is.
"""

from collections.abc import Sequence

import numpy as np

from planner_models.units.copies import MOST_SLICES, cheapest_copy, copy_arcs
from planner_models.units.flattening import Cheapest, Flattened
from planner_models.units.heights import Ints, Pipeline
from planner_models.units.pricing import NEVER
from planner_models.units.programme import SCALE

MOST_UNITS = 512
"""Units of a lane in one domain up to which all chords are tried."""


def cut_at_prices(
    pipeline: Pipeline, prices: Ints, capacities: Sequence[int], lanes: int, tensor: int
) -> int:
    """Lower bound on the cost, in the weights' terms, of placements that cut a tensor group.

    Args:
        pipeline: the units, of one module.
        prices: of the pairs, in 1 / SCALE, [P + 1, H + 1, H + 1].
        capacities: GPUs of each domain.
        lanes: T.
        tensor: weight of a tensor link.

    Returns:
        0 if a domain can hold too many units of a lane.
    """
    most = min(max(capacities), pipeline.total)
    if most > MOST_UNITS:
        return 0
    content = Cheapest(Flattened(pipeline, most), prices, SCALE).value
    dear = 2 * SCALE * tensor // pipeline.factor
    idle = sum(capacities) - lanes * pipeline.total
    total, extra = SCALE * pipeline.constant, []
    if pipeline.most <= MOST_SLICES:
        total += pipeline.copies * cheapest_copy(copy_arcs(pipeline), prices).price
    for capacity, count in zip(*np.unique(capacities, return_counts=True), strict=True):
        sizes = range(max(0, capacity - idle), min(capacity, lanes * most) + 1)
        whole = min((int(content[m // lanes]) for m in sizes if m % lanes == 0), default=int(NEVER))
        cut = min(_chords(content, m, lanes, dear) for m in sizes)
        total += int(count) * min(whole, cut)
        extra += [max(0, cut - whole)] * min(2, int(count))
    total += sum(sorted(extra)[:2])
    return -(-pipeline.factor * total // (2 * SCALE))


def _chords(content: Ints, size: int, lanes: int, dear: int) -> int:
    """The cheapest cut content of a size: some chord of the contents of one lane, and the cuts."""
    n = np.arange(len(content))
    possible = content < NEVER // 2
    left, right = n[possible & (n * lanes <= size)], n[possible & (n * lanes >= size)]
    if not len(left) or not len(right):
        return int(NEVER)
    apart = right - left[:, None]
    rise = (content[right] - content[left, None]) // np.maximum(lanes * apart, 1)
    chord = content[left, None] + rise * (size - lanes * left)[:, None]
    return int((chord + dear * np.maximum(apart, 1)).min())
