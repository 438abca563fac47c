"""The cheapest content of one domain, size by size: a pass over windows of stages."""

from collections.abc import Iterator

import numpy as np

from planner_models.units.heights import Ints, Pattern, Pipeline, Segment
from planner_models.units.planes import Planes
from planner_models.units.pricing import NEVER, Segments, Windows, add_up, capped


class Contents:
    """Cheapest patterns under prices, for every size up to a capacity.

    Args:
        pipeline: units and what cutting them costs.
        prices: price earned by each pair, in 1 / scale, [P + 1, H + 1, H + 1].
        scale: how many price units make one unit of cost.
        capacity: the greatest size asked for.
        touched: a stage that a window has to pay for.

    Attributes:
        value: reduced cost of the cheapest pattern of each size, [capacity + 1].

        closed: cheapest content in front of a stage, [P + 1, capacity + 1].
        gap: the same if the stage before that is not touched, [P + 2, capacity + 1].
        full: cheapest content up to a stage that is held whole, [P, capacity + 1].

    Example:
        Eight units hold two copies of a stage pair whole::

            contents = Contents(pipeline, np.zeros_like(pipeline.credit), scale=1, capacity=8)
            contents.pattern(8)     # ((0, (2, 2)), (0, (2, 2)))
    """

    def __init__(
        self,
        pipeline: Pipeline,
        prices: Ints,
        scale: int,
        capacity: int,
        touched: int | None = None,
    ) -> None:
        self.pipeline, self.touched = pipeline, touched
        self.windows = Windows(Segments(pipeline, prices, scale, capacity))
        sums = np.concatenate([[0], np.cumsum(scale * pipeline.whole)])
        self.paid = sums - sums[:, None]
        whole = pipeline.copies * pipeline.slices * pipeline.size
        refunds = pipeline.whole.any() and whole.min() <= capacity
        self.planes = Planes(self.windows, self.paid) if refunds else None
        self._pass(capacity)
        self.value = self.closed[-1]
        self.gap = np.vstack([self.closed[:1], self.closed])
        if touched is not None:
            self.gap[touched + 1] = NEVER

    def _pass(self, capacity: int) -> None:
        """Fill `closed` in front of every place and `full` at every stage."""
        P, bag = self.pipeline.stages, self.windows.bag
        self.closed = np.full((P + 1, capacity + 1), NEVER)
        self.full = np.full((P, capacity + 1), NEVER)
        self.closed[0, 0] = 0
        for j in range(P + 1):
            if j:
                reached = add_up(self.closed[:j], bag[:j, j]) + self.paid[:j, j, None]
                self.closed[j] = capped(reached.min(0))
                if j - 1 != self.touched:
                    self.closed[j] = np.minimum(self.closed[j], self.closed[j - 1])
            if self.planes is None:
                continue
            if j:
                closing = add_up(self.planes.closing[:j, j], self.full[:j]).min(0)
                self.closed[j] = np.minimum(self.closed[j], closing)
            if j < P and self.planes.weight[j] <= capacity:
                entered = add_up(self.planes.opening[: j + 1, j], self.closed[: j + 1]).min(0)
                if j:
                    linked = add_up(self.planes.linking[:j, j], self.full[:j]).min(0)
                    entered = np.minimum(entered, linked)
                weight = int(self.planes.weight[j])
                self.full[j, weight:] = entered[: capacity + 1 - weight]

    def pattern(self, size: int, behind: int | None = None) -> Pattern:
        """The cheapest pattern of a size, inside the stages in front of `behind` if that is given.

        Its price `closed[behind, size]` must be below `NEVER`.
        """
        found: list[Segment] = []
        j = self.pipeline.stages if behind is None else behind
        while size:
            value = self.closed[j, size]
            if j - 1 != self.touched and self.closed[j - 1, size] == value:
                j -= 1
                continue
            i, taken = self._window(j, size)
            if i >= 0:
                found += self.windows.traced(i, j, taken)
                j, size = i, size - taken
            else:
                j, size = self._detour(j, size, found)
        return tuple(sorted(found))

    def shorter(self, size: int) -> Iterator[Pattern]:
        """The cheapest pattern of a size, and those inside ever fewer stages from the first on."""
        price = NEVER
        for j in range(self.pipeline.stages + 1):
            if self.closed[j, size] < price:
                price = self.closed[j, size]
                yield self.pattern(size, j)

    def _window(self, j: int, size: int) -> tuple[int, int]:
        """A last window (its first stage, its size) that explains `closed[j, size]`, or (-1, 0)."""
        before = self.closed[:j, size::-1] if size else self.closed[:j, :1]
        total = before + self.windows.bag[:j, j, : size + 1] + self.paid[:j, j, None]
        hits = np.argwhere(total == self.closed[j, size])
        return (int(hits[0][0]), int(hits[0][1])) if len(hits) else (-1, 0)

    def _detour(self, j: int, size: int, found: list[Segment]) -> tuple[int, int]:
        """Trace the full stages behind `closed[j, size]`; returns the closed state before them."""
        assert self.planes is not None
        s, taken = self._step(self.full[:j], self.planes.closing[:j, j], self.closed[j, size], size)
        bag, suffixes = self.planes.closed(s, j, taken)
        found += bag
        size -= taken
        while True:
            value, inner = self.full[s, size], size - int(self.planes.weight[s])
            opening = self.planes.opening[: s + 1, s]
            i, taken = self._step(self.closed[: s + 1], opening, value, inner)
            if i >= 0:
                found += self.planes.opened(i, s, taken, suffixes)
                return i, inner - taken
            t = s
            s, taken = self._step(self.full[:t], self.planes.linking[:t, t], value, inner)
            more, suffixes = self.planes.linked(s, t, taken, suffixes)
            found += more
            size = inner - taken

    @staticmethod
    def _step(before: Ints, step: Ints, value: np.int64, size: int) -> tuple[int, int]:
        """A state and a size of the step from it that reach a value, or (-1, 0)."""
        room = min(size + 1, step.shape[-1])
        total = before[:, size - np.arange(room)] + step[:, :room]
        hits = np.argwhere(total == value)
        return (int(hits[0][0]), int(hits[0][1])) if len(hits) else (-1, 0)
