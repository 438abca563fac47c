"""Staircases: the cheapest content of one domain.

Sets
    modules, encoder first; of each the lattice of its slots (see `lattice`), the pipeline axis
    counted from the bridge: the encoder's last stage and the decoder's first stage are 0.
Data
    a, b: slots of the encoder and of the decoder the domain holds.
    families: ring groups cost w in every domain that holds some but not all of their slots,
        all-to-all groups w for every pair of a held and a missing slot, half of it here.
    pair links: those inside the domain are *saved*.
Variables
    S: the slots held, a of the encoder and b of the decoder.
Subject to
    in each module S is a staircase: with a slot it holds every slot nearer to 0 on any digit
Minimise
    price(S) = ring and all-to-all links of S - pair links inside S   (doubled: a link has two ends)

The cost of a level is the sum of the prices of its domains plus the (doubled) weight of all pair
links. Why staircases suffice: push S towards 0 along one digit, line by line, in both modules at
once. No more groups are touched, no fewer are full; member pairs of an all-to-all inside S do not
decrease, nor do pipeline and bridge links. Where a pipeline is closed to a cycle, or the bridge
deals lanes unevenly, links inside S are over-estimated by numbers the push does not decrease either
(`lattice.inner_weights`, `bridge.estimate`).

Contents of up to a dozen slots are solved by listing all staircases (some thousand, 0.1 s or less
at 8 slots); larger ones by `sheets`.

Example: of two lanes of two stages, the best two slots are one lane, though they cut both rings:
    >>> job = Job((ModuleShape(tp=1, cp=2, pp=2),), dp=1)
    >>> best_content(job, Weights(tp=0, cp=5, dp=0, pp=30), 0, 2)
    -40
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from planner_models import bridge, sheets
from planner_models.job import Job, Weights
from planner_models.lattice import Family, Lattice, module_lattices
from planner_models.minplus import UNREACHABLE, IntArray

LISTED = {4: 12, 5: 10}
"""Largest content whose staircases are all listed, by number of axes; 8 slots beyond that."""


def best_content(job: Job, weights: Weights, a: int, b: int) -> int:
    """Least price of a domain that holds `a` encoder and `b` decoder slots (a valid lower bound).

    The price is doubled and counts pair links inside the domain as savings, so it may be negative.
    A job of one module is all decoder.

    Raises:
        ValueError: a module has fewer slots than that.
    """
    price = int(best_contents(job, weights, np.array([a]), np.array([b]))[0])
    if price == UNREACHABLE:
        raise ValueError(f"no content of {a} encoder and {b} decoder slots: the job has too few")
    return price


def best_contents(job: Job, weights: Weights, a: IntArray, b: IntArray) -> IntArray:
    """`best_content` of many pairs a[i], b[i]; `UNREACHABLE` where a module is too small."""
    largest = int((a + b).max(initial=0))
    limit = min(largest, _listed_size(job, weights))
    small = a + b <= limit
    prices = np.empty(len(a), dtype=np.int64)
    prices[small] = _listed_prices(job, weights, limit)[a[small], b[small]]
    if largest > limit:
        prices[~small] = sheets.best_contents(job, weights, a[~small], b[~small])
    return prices


def _listed_size(job: Job, weights: Weights) -> int:
    """Largest content for which listing all staircases is cheap."""
    axes = max(
        sum(radix > 1 for radix in (*lattice.radices, len(lattice.inner) - 1))
        for several in module_lattices(job, weights)
        for lattice in several
    )
    return LISTED.get(max(axes, 4), 8)


@lru_cache(maxsize=64)
def _listed_prices(job: Job, weights: Weights, limit: int) -> IntArray:
    """[a, b] best prices for a + b <= limit, by listing staircases; read only."""
    own: list[_Listing] = []
    extra: list[IntArray] = []
    for lattice, *apart in module_lattices(job, weights):
        own.append(_Listing(lattice, limit, keep_lanes=len(job.modules) > 1))
        extra.append(np.zeros(limit + 1, dtype=np.int64))
        for other in apart:
            extra[-1] += _Listing(other, limit, keep_lanes=False).least()
    prices = np.full((limit + 1, limit + 1), UNREACHABLE, dtype=np.int64)
    if len(job.modules) == 1:
        prices[0] = own[0].least() + extra[0]
    else:
        _pair_up(job, weights, own, prices)
        prices += extra[0][:, None] + extra[1][None, :]
    prices[prices > UNREACHABLE // 2] = UNREACHABLE
    prices.flags.writeable = False
    return prices


def _pair_up(job: Job, weights: Weights, own: Sequence["_Listing"], prices: IntArray) -> None:
    """Least price of an encoder and a decoder staircase together, the bridge links inside saved."""
    limit = len(prices) - 1
    sides = bridge.estimate(job, (own[0].lanes, own[1].lanes))
    contents = [
        [
            (side.most_links(held), cost)
            for held, cost in (module.contents(n) for n in range(limit + 1))
        ]
        for side, module in zip(sides, own, strict=True)
    ]
    for a, (left, left_cost) in enumerate(contents[0]):
        for b, (right, right_cost) in enumerate(contents[1][: limit + 1 - a]):
            saved = np.minimum(left[:, None, :], right[None, :, :]).sum(axis=2)
            total = left_cost[:, None] + right_cost[None, :] - 2 * weights.pp * saved
            prices[a, b] = total.min(initial=UNREACHABLE)


@dataclass(slots=True)
class _Group:
    """One family in the listing: which group a cell is in, and how many of each group are held."""

    of_cell: list[int]
    held: list[int]
    size: int
    weight: int
    all_to_all: bool

    def change(self, cell: int) -> int:
        """Doubled cost of holding one more cell."""
        held = self.held[self.of_cell[cell]]
        if self.all_to_all:
            return self.weight * (self.size - 1 - 2 * held)
        return 2 * self.weight * ((held == 0) - (held == self.size - 1))


class _Listing:
    """All staircases of up to `limit` slots of one lattice, the cheapest of each size kept.

    With `keep_lanes` the cheapest is kept for every set of lanes held at stage 0, which is all the
    bridge sees.
    """

    def __init__(self, lattice: Lattice, limit: int, *, keep_lanes: bool) -> None:
        shape = (*lattice.radices, len(lattice.inner) - 1)
        cells = list(_corner(shape, limit))
        number = {cell: i for i, cell in enumerate(cells)}
        at_bridge = [i for i, cell in enumerate(cells) if cell[-1] == 0]
        digits = np.array([cells[i][:-1] for i in at_bridge], dtype=np.int64)
        digits = digits.reshape(len(at_bridge), len(lattice.radices))
        self.lanes = digits @ np.array(lattice.cuts[:-1], dtype=np.int64)
        self._bit = dict.fromkeys(range(len(cells)), 0)
        if keep_lanes:
            self._bit |= {i: 1 << k for k, i in enumerate(at_bridge)}
        self._above = [
            [number[up] for up in _neighbours(cell, +1) if up in number] for cell in cells
        ]
        self._missing = [sum(x > 0 for x in cell) for cell in cells]
        self._saving = [lattice.inner[p + 1] - lattice.inner[p] for *_, p in cells]
        self._families = [_family_groups(lattice, f, cells) for f in lattice.families]
        self._limit = limit
        self._best: list[dict[int, int]] = [{0: 0}] + [{} for _ in range(limit)]
        if limit:
            self._grow(0, 0, 0, [number[(0,) * len(shape)]])

    def least(self) -> IntArray:
        """[size] least cost."""
        return np.array([min(best.values(), default=UNREACHABLE) for best in self._best])

    def contents(self, size: int) -> tuple[IntArray, IntArray]:
        """[sets, lanes] zero-one rows of lanes held at stage 0, and the least cost of each."""
        best = self._best[size]
        held = [[mask >> k & 1 for k in range(len(self.lanes))] for mask in best]
        rows = np.array(held, dtype=np.int64).reshape(len(best), len(self.lanes))
        return rows, np.array(list(best.values()), dtype=np.int64)

    def _grow(self, size: int, cost: int, lanes: int, options: list[int]) -> None:
        """Add each option in turn; later ones stay open to it, earlier ones are closed for good."""
        for k, cell in enumerate(options):
            total = cost - self._saving[cell] + sum(f.change(cell) for f in self._families)
            mask = lanes | self._bit[cell]
            best = self._best[size + 1]
            best[mask] = min(total, best.get(mask, total))
            if size + 1 < self._limit:
                opened = self._hold(cell)
                self._grow(size + 1, total, mask, options[k + 1 :] + opened)
                self._release(cell)

    def _hold(self, cell: int) -> list[int]:
        """Hold a cell; the cells that it opens."""
        for family in self._families:
            family.held[family.of_cell[cell]] += 1
        for up in self._above[cell]:
            self._missing[up] -= 1
        return [up for up in self._above[cell] if not self._missing[up]]

    def _release(self, cell: int) -> None:
        for family in self._families:
            family.held[family.of_cell[cell]] -= 1
        for up in self._above[cell]:
            self._missing[up] += 1


def _corner(shape: Sequence[int], limit: int) -> Iterator[tuple[int, ...]]:
    """Cells a staircase of `limit` cells can hold: the box below each has at most that many."""
    if not shape:
        yield ()
        return
    for x in range(min(shape[0], limit)):
        for rest in _corner(shape[1:], limit // (x + 1)):
            yield (x, *rest)


def _neighbours(cell: tuple[int, ...], step: int) -> Iterator[tuple[int, ...]]:
    for axis, x in enumerate(cell):
        yield (*cell[:axis], x + step, *cell[axis + 1 :])


def _family_groups(lattice: Lattice, family: Family, cells: Sequence[tuple[int, ...]]) -> _Group:
    """Number the groups of a family by what their cells agree on."""
    fixed = [not family.low <= cut < family.high for cut in lattice.cuts[:-1]]
    names: dict[tuple[int, ...], int] = {}
    of_cell = []
    for cell in cells:
        agreed = tuple(x for x, keep in zip(cell, (*fixed, True), strict=True) if keep)
        of_cell.append(names.setdefault(agreed, len(names)))
    size = family.high // family.low
    return _Group(of_cell, [0] * len(names), size, family.weight, family.all_to_all)
