"""The patterns that a plan below some cost may use: what is left to look through inside a gap.

At prices mu a plan costs L(mu) plus what its patterns and copies cost above their cheapest. With a
bound L(mu) and a cost to beat, a pattern further above its class's cheapest than the difference is
in no better plan. The others are listed: windows of touched stages from the end of the pipeline to
its beginning, the detours through whole planes, and inside them segments, each step only if the
tables of the pricing complete it within the budget. A window here touches each of its stages and
none beside it, so a pattern is met once (or as often as its whole planes may count as cut).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from planner_models.units.column_generation import Columns
from planner_models.units.contents import Contents
from planner_models.units.detours import Detours
from planner_models.units.flattening import Cheapest, Flattened
from planner_models.units.heights import Pattern, Pipeline, Segment, with_mirrors
from planner_models.units.listing import Listing, TooMany, affordable, covers, price_of, segments_of
from planner_models.units.programme import SCALE, Domains

LIMIT = 200_000
"""Segments and multisets of them looked at before listing is given up."""


@dataclass(frozen=True)
class Survivors:
    """Patterns that a plan below some cost may use.

    Attributes:
        patterns: those of each class.
        complete: whether none is missing, so that a bound over them is a bound.
    """

    patterns: list[list[Pattern]]
    complete: bool


def survivors(flat: Flattened, domains: Domains, columns: Columns, high: int) -> Survivors:
    """The patterns of each class that a plan of cost at most `high` may use, as far as listed."""
    slack = SCALE * high - columns.bound
    cheapest = Cheapest(flat, columns.prices, SCALE)
    fits = partial(_fits, flat.base)
    lists = [PatternLists(contents) for contents in cheapest.contents]
    found: list[dict[Pattern, None]] = [{} for _ in domains.count]
    for k, patterns in enumerate(found):
        least, most = int(domains.least[k]), int(domains.capacity[k])
        budget = int(cheapest.value[least : most + 1].min()) + slack
        try:
            for listing in lists:
                listing.listing.left = LIMIT // (len(found) * len(lists))
                for size in range(least, most + 1):
                    listed = listing.patterns(size, budget)
                    for p in with_mirrors(flat.base, filter(fits, listed)):
                        patterns[p] = None
        except TooMany:
            return Survivors([list(p) for p in found], complete=False)
    return Survivors([list(p) for p in found], complete=True)


def _fits(pipeline: Pipeline, pattern: Pattern) -> bool:
    """Whether no stage has more segments than there are copies."""
    here = np.zeros(pipeline.stages, np.int64)
    for first, heights in pattern:
        here[first : first + len(heights)] += 1
    return bool((here <= pipeline.copies).all())


class PatternLists:
    """Every pattern of a size within a budget."""

    def __init__(self, contents: Contents) -> None:
        self.contents, self.windows = contents, contents.windows
        self.listing = Listing(contents.windows, LIMIT)
        self.detours = Detours(contents, self.listing, self._before) if contents.planes else None

    def patterns(self, size: int, budget: int) -> Iterator[Pattern]:
        """The patterns, a few of them more than once."""
        stages = self.contents.pipeline.stages
        if self.contents.pipeline.whole.any():
            for segments in self._before(stages + 1, size, budget):
                yield tuple(sorted(segments))
        else:
            for chosen in self.listing.bags(0, stages, size, budget):
                yield tuple(sorted(segments_of(chosen)))

    def _before(self, j: int, size: int, budget: int) -> Iterator[list[Segment]]:
        """Contents of the stages in front of j - 1, so that j - 1 is not touched."""
        if self.contents.gap[j, size] > budget:
            return
        if size == 0:
            yield []
            return
        yield from self._before(j - 1, size, budget)
        behind = j - 1
        for i in range(behind):
            paid = int(self.contents.paid[i, behind])
            steps = self.windows.bag[i, behind] + paid
            for taken in affordable(steps, self.contents.gap[i], size, budget):
                rest = paid + int(self.contents.gap[i, size - taken])
                for chosen in self.listing.bags(i, behind, taken, budget - rest):
                    if covers(segments_of(chosen), i, behind):
                        left = budget - paid - price_of(chosen)
                        for more in self._before(i, size - taken, left):
                            yield more + segments_of(chosen)
        if self.detours is not None:
            yield from self.detours.ending(behind, size, budget)
