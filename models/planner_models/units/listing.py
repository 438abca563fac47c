"""All segments and bags of segments up to a price, with the pricing tables as exact completions.

The tables of `pricing` say what the cheapest way to finish costs, so a search that goes backwards
through them never enters a branch without a result. Prices are those the tables were made with.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from planner_models.units.heights import Ints, Segment
from planner_models.units.planes import Heights
from planner_models.units.pricing import Windows


class Option(NamedTuple):
    """One thing to choose: its price, its size, the segments and the heights it stands for."""

    price: int
    size: int
    segments: tuple[Segment, ...]
    suffix: Heights = ()


Chosen = tuple[Option, ...]


class TooMany(Exception):  # noqa: N818 - not an error, the answer that a list is not worth having
    """More was found than was asked for."""


class Listing:
    """Lists of what the tables hold the cheapest of.

    Args:
        windows: tables of segments and bags.
        limit: segments and multisets found before `TooMany` is raised.
    """

    def __init__(self, windows: Windows, limit: int) -> None:
        self.windows, self.tables = windows, windows.segments
        self.most = windows.segments.pipeline.most
        self.stages = windows.segments.pipeline.stages
        self.left = limit

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise TooMany

    def starts(
        self, origin: int, stage: int, held: tuple[int, int], budget: int
    ) -> Iterator[tuple[int, Heights]]:
        """Price and heights of all starts of a (height, size) at a stage, as in `Segments.held`."""
        height, size = held
        if self.tables.held[stage, origin, height, size] > budget:
            return
        first = origin % self.stages
        if stage == first:
            self._count()
            fresh = origin == first
            yield int(self.tables.held[stage, origin, height, size]), (height,) if fresh else ()
            return
        left = size - int(self.tables.pipeline.size[stage]) * height
        for before in range(1, self.most + 1):
            step = int(self.tables.step[stage, before, height])
            for price, heights in self.starts(origin, stage - 1, (before, left), budget - step):
                yield price + step, (*heights, height)

    def ended(
        self, origin: int, place: int, size: int, budget: int
    ) -> Iterator[tuple[int, Heights]]:
        """Price and heights of all segments that end before a place, as in `Segments.ends`."""
        if self.tables.ends[origin, place, size] > budget:
            return
        for height in range(1, self.most + 1):
            leave = int(self.tables.leave[place, height])
            for price, heights in self.starts(origin, place - 1, (height, size), budget - leave):
                yield price + leave, heights

    def bags(self, first: int, behind: int, size: int, budget: int) -> Iterator[Chosen]:
        """Every multiset of segments inside a window, of a size and within a budget."""
        completion = self.windows.bag[first, behind]
        if completion[size] > budget:
            return
        options = [
            Option(price, taken, ((i, heights),))
            for taken in range(1, size + 1)
            if self.windows.segment[first, behind, taken] + completion[size - taken] <= budget
            for i in range(first, behind)
            for place in range(i + 1, behind + 1)
            for price, heights in self.ended(
                i, place, taken, budget - int(completion[size - taken])
            )
        ]
        yield from self._multisets(options, 0, size, budget, completion)

    def _multisets(
        self, options: list[Option], at: int, size: int, budget: int, completion: Ints
    ) -> Iterator[Chosen]:
        """Multisets of options from index `at` on, of exactly a size."""
        if size == 0:
            if budget >= 0:
                self._count()
                yield ()
            return
        for index in range(at, len(options)):
            option = options[index]
            left, rest = size - option.size, budget - option.price
            if left >= 0 and completion[left] <= rest:
                for chosen in self._multisets(options, index, left, rest, completion):
                    yield (option, *chosen)

    def tuples(
        self, options: list[Option], at: int, size: int, budget: int, powers: list[Ints]
    ) -> Iterator[Chosen]:
        """Multisets of len(powers) - 1 options of exactly a size; powers[n] completes n of them."""
        if len(powers) == 1:
            if size == 0 and budget >= 0:
                self._count()
                yield ()
            return
        for index in range(at, len(options)):
            option = options[index]
            left, rest = size - option.size, budget - option.price
            if left >= 0 and powers[-2][left] <= rest:
                for chosen in self.tuples(options, index, left, rest, powers[:-1]):
                    yield (option, *chosen)


def affordable(steps: Ints, before: Ints, size: int, budget: int) -> list[int]:
    """Sizes of a step that leave enough of the budget for what comes before it."""
    room = min(size + 1, len(steps))
    total = steps[:room] + before[size - np.arange(room)]
    return [int(taken) for taken in np.flatnonzero(total <= budget)]


def price_of(chosen: Chosen) -> int:
    """Price of some options together."""
    return sum(option.price for option in chosen)


def segments_of(chosen: Chosen) -> list[Segment]:
    """The segments of some options."""
    return [segment for option in chosen for segment in option.segments]


def covers(segments: list[Segment], first: int, behind: int) -> bool:
    """Whether every stage of a window is touched."""
    touched = {p for start, heights in segments for p in range(start, start + len(heights))}
    return touched.issuperset(range(first, behind))
