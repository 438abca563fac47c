"""All contents whose last window holds a whole plane, up to a price: `planes`, listed.

How heads, links and tails are joined at a whole plane makes no difference to any use or cost, so
one way is enough.
"""

from collections.abc import Callable, Iterator

import numpy as np

from planner_models.units.contents import Contents
from planner_models.units.heights import Ints, Segment
from planner_models.units.listing import (
    Chosen,
    Listing,
    Option,
    affordable,
    covers,
    price_of,
    segments_of,
)
from planner_models.units.planes import Heights
from planner_models.units.pricing import NEVER, add_up

Before = Callable[[int, int, int], Iterator[list[Segment]]]


class Detours:
    """Lists of what the tables of `Planes` hold the cheapest of.

    Args:
        contents: tables, planes among them.
        listing: lists segments and bags.
        before: lists contents in front of a stage that is not touched (stage, size, budget).
    """

    def __init__(self, contents: Contents, listing: Listing, before: Before) -> None:
        assert contents.planes is not None
        self.contents, self.planes, self.before = contents, contents.planes, before
        self.windows, self.listing = contents.windows, listing
        self.stages, self.copies = contents.pipeline.stages, contents.pipeline.copies

    def ending(self, j: int, size: int, budget: int) -> Iterator[list[Segment]]:
        """Contents with a last window that ends in front of j and holds a whole plane."""
        for s in range(j):
            full, paid = self.contents.full[s], int(self.contents.paid[s + 1, j])
            for taken in affordable(self.planes.closing[s, j], full, size, budget):
                left = budget - paid - int(full[size - taken])
                one = self.planes.tail[s, j]
                for bag, tails in self._filled(s + 1, j, one, self._tails(s, j), taken, left):
                    ends = [(s + 1, tail.suffix) for tail in tails]
                    if covers(segments_of(bag) + ends, s + 1, j):
                        rest = budget - paid - price_of(bag) - price_of(tails)
                        suffixes = [tail.suffix for tail in tails]
                        for more in self._full(s, size - taken, rest, suffixes):
                            yield more + segments_of(bag)

    def _full(
        self, t: int, size: int, budget: int, suffixes: list[Heights]
    ) -> Iterator[list[Segment]]:
        """Contents up to a whole plane t, from where the D segments go on with the suffixes."""
        inner = size - int(self.planes.weight[t])
        if inner < 0 or self.contents.full[t, size] > budget:
            return
        for i in range(t + 1):
            yield from self._opened(i, t, inner, budget, suffixes)
        for s in range(t):
            yield from self._linked(s, t, inner, budget, suffixes)

    def _opened(
        self, i: int, t: int, inner: int, budget: int, suffixes: list[Heights]
    ) -> Iterator[list[Segment]]:
        """Those whose window begins at i and has no whole plane before t."""
        gap, paid = self.contents.gap[i], int(self.contents.paid[i, t])
        for taken in affordable(self.planes.opening[i, t], gap, inner, budget):
            left = budget - paid - int(gap[inner - taken])
            one = self.planes.head[i, t]
            for bag, heads in self._filled(i, t, one, self._heads(i, t), taken, left):
                if covers(segments_of(bag) + segments_of(heads), i, t):
                    rest = budget - paid - price_of(bag) - price_of(heads)
                    for more in self.before(i, inner - taken, rest):
                        yield more + segments_of(bag) + _joined(heads, suffixes)

    def _linked(
        self, s: int, t: int, inner: int, budget: int, suffixes: list[Heights]
    ) -> Iterator[list[Segment]]:
        """Those with the whole plane s as the last one before t."""
        full, paid = self.contents.full[s], int(self.contents.paid[s + 1, t])
        for taken in affordable(self.planes.linking[s, t], full, inner, budget):
            left = budget - paid - int(full[inner - taken])
            one = self.planes.link[s, t]
            for bag, links in self._filled(s + 1, t, one, self._links(s, t), taken, left):
                ends = [(s + 1, link.suffix) for link in links]
                if covers(segments_of(bag) + segments_of(links) + ends, s + 1, t):
                    rest = budget - paid - price_of(bag) - price_of(links)
                    before = [
                        link.suffix if link.segments else link.suffix + suffix
                        for link, suffix in zip(links, suffixes, strict=True)
                    ]
                    for more in self._full(s, inner - taken, rest, before):
                        yield more + segments_of(bag) + _joined(links, suffixes)

    def _filled(
        self,
        first: int,
        behind: int,
        one: Ints,
        options: Callable[[int, int], Iterator[Option]],
        size: int,
        budget: int,
    ) -> Iterator[tuple[Chosen, Chosen]]:
        """A bag inside a window and D options, together of a size and within a budget."""
        nothing = np.full_like(one, NEVER)
        nothing[0] = 0
        powers = [nothing]
        for _ in range(self.copies):
            powers.append(add_up(powers[-1], one))
        bag = self.windows.bag[first, behind]
        others = add_up(bag[: len(one)], powers[-2])
        found = [
            option for e in range(size + 1) for option in options(e, budget - int(others[size - e]))
        ]
        for taken in affordable(powers[-1], bag, size, budget):
            room = budget - int(powers[-1][taken])
            for chosen in self.listing.bags(first, behind, size - taken, room):
                for several in self.listing.tuples(
                    found, 0, taken, budget - price_of(chosen), powers
                ):
                    yield chosen, several

    def _heads(self, i: int, t: int) -> Callable[[int, int], Iterator[Option]]:
        """Segments that begin at i or later and reach t at full height."""
        whole = int(self.contents.pipeline.slices[t])
        entered = int(self.planes.weight[t]) // self.copies

        def options(size: int, budget: int) -> Iterator[Option]:
            for first in range(i, t + 1):
                reached = self.listing.starts(first, t, (whole, size + entered), budget)
                for price, heights in reached:
                    yield Option(price, size, ((first, heights),))

        return options

    def _tails(self, s: int, j: int) -> Callable[[int, int], Iterator[Option]]:
        """What goes on from full height at s and ends in front of j."""

        def options(size: int, budget: int) -> Iterator[Option]:
            for place in range(s + 1, j + 1):
                for price, heights in self.listing.ended(self.stages + s, place, size, budget):
                    yield Option(price, size, (), heights)

        return options

    def _links(self, s: int, t: int) -> Callable[[int, int], Iterator[Option]]:
        """Segments through both s and t, or a tail behind s and a head before t."""
        whole = int(self.contents.pipeline.slices[t])
        entered = int(self.planes.weight[t]) // self.copies
        heads, tails = self._heads(s + 1, t), self._tails(s, t)

        def options(size: int, budget: int) -> Iterator[Option]:
            through = self.listing.starts(self.stages + s, t, (whole, size + entered), budget)
            for price, heights in through:
                yield Option(price, size, (), heights)
            for cut in range(size + 1):
                least = int(self.planes.head[s + 1, t, size - cut])
                for tail in tails(cut, budget - least):
                    for head in heads(size - cut, budget - tail.price):
                        yield Option(tail.price + head.price, size, head.segments, tail.suffix)

        return options


def _joined(options: Chosen, suffixes: list[Heights]) -> list[Segment]:
    """The segments of heads, each with the heights behind the plane it enters."""
    return [
        (option.segments[0][0], option.segments[0][1] + suffix)
        for option, suffix in zip(options, suffixes, strict=True)
        if option.segments
    ]
