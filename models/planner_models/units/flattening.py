"""Planes that depend on heights, priced by pipelines whose planes do not.

The pass over windows in `contents` pays for a stage as soon as it is touched. Where a stage costs
`plane[p, greatest height]` less `refund[p, least of D heights]`, every content is priced by several
pipelines with flat planes instead, and the least of them counts. None of them asks more of a
content than it costs, and one of them asks just that as long as parts of blocks stand alone.

    tall      every touched stage pays for a whole block. Right where each of them holds one.
    low[p]    stage p is touched and holds no whole block. Every touched stage pays for one, but
              parts of blocks get back plane[H] - plane[h], which is what that is too much if they
              are the greatest height of their stage.

A refund of less than the whole plane takes D segments, one of them a part of a block. Parts that a
domain can hold D times, or beside whole blocks, get it back themselves: with both to give, a stage
has two segments to give it to, unless D is 1.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from planner_models.units.contents import Contents
from planner_models.units.heights import Ints, Pattern, Pipeline, pattern_cost


class Part(NamedTuple):
    """A pipeline with flat planes, and the stage that contents have to touch in it, if any."""

    pipeline: Pipeline
    touched: int | None = None

    def cost(self, pattern: Pattern) -> int:
        """What it asks of a pattern, windows that reach to the stage to be touched included."""
        cost, p = pattern_cost(self.pipeline, pattern), self.touched
        if p is None or any(first <= p < first + len(heights) for first, heights in pattern):
            return cost
        return cost + int(self.pipeline.whole[p])


class Flattened:
    """Pipelines with flat planes, the least of which is at most the cost of any pattern.

    Args:
        pipeline: units and what cutting them costs.
        capacity: of the largest domain.

    Attributes:
        base: the pipeline itself.
        parts: those with flat planes; the pipeline alone if its planes are flat.
        priced: the parts to price; others are their mirror images.
    """

    def __init__(self, pipeline: Pipeline, capacity: int) -> None:
        self.base, self.capacity = pipeline, capacity
        stages, heights = np.indices(pipeline.own.shape)
        units = pipeline.slices[:, None]
        partial = (heights > 0) & (heights < units)
        short = np.where(partial, pipeline.whole[:, None] - pipeline.plane, 0)
        refund = np.where(partial, pipeline.refund, 0)
        if not short.any() and not refund.any():
            self.parts = self.priced = [Part(pipeline)]
            return
        others = (pipeline.copies - 1) * heights
        beside = np.where((others + units) * pipeline.size[:, None] <= capacity, refund, 0)
        alone = np.where((others + heights) * pipeline.size[:, None] <= capacity, refund, 0)
        spare = short + alone if pipeline.copies == 1 else np.maximum(short, alone)
        self.parts = [Part(self._flat(beside))]
        for p in range(pipeline.stages):
            blocked = np.where((stages == p) & (heights == units), pipeline.worst, 0)
            self.parts.append(Part(self._flat(spare - blocked), p))
        distinct = (pipeline.stages + 1) // 2 if pipeline.symmetric else pipeline.stages
        self.priced = self.parts[: 1 + distinct]

    def _flat(self, saved: Ints) -> Pipeline:
        """Flat planes, and something saved on the own cost of heights, [P, H + 1]."""
        heights = np.arange(self.base.most + 1)
        plane = np.where(heights > 0, self.base.whole[:, None], 0)
        refund = np.where(heights == self.base.slices[:, None], plane, 0)
        return replace(self.base, own=self.base.own - saved, plane=plane, refund=refund)

    def cost(self, pattern: Pattern) -> int:
        """The least that any of the pipelines asks of a pattern."""
        return min(part.cost(pattern) for part in self.parts)


class Cheapest:
    """Cheapest patterns under prices, for every size up to the largest capacity.

    Args:
        flat: the pipelines to price.
        prices: price earned by each pair, in 1 / scale, [P + 1, H + 1, H + 1]; the same read
            backwards if the pipeline is.
        scale: how many price units make one unit of cost.

    Attributes:
        contents: those of each flat pipeline.
        value: reduced cost of the cheapest pattern of each size, [capacity + 1].
    """

    def __init__(self, flat: Flattened, prices: Ints, scale: int) -> None:
        self.contents = [
            Contents(part.pipeline, prices, scale, flat.capacity, part.touched)
            for part in flat.priced
        ]
        self.every = np.stack([found.value for found in self.contents])
        self.value: Ints = self.every.min(0)

    def shorter(self, size: int) -> Iterator[Pattern]:
        """The cheapest pattern of a size, and those inside ever fewer stages from the first on."""
        return self.contents[int(self.every[:, size].argmin())].shorter(size)
