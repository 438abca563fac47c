"""Contents of large domains, put together from sheets: the slots of one tensor lane.

Sets
    t: the T tensor lanes of a module; sheet t is the lattice of its slices c, copies d, stages p.
Data
    n: slots of the module that the domain holds.
    sheet[m]: least price of m slots of one sheet; tensor groups left out, otherwise exact.
Variables
    n_t: slots held of sheet t.
Subject to
    sum of n_t = n
Minimise
    sum over t of sheet[n_t]  +  2 * w_tp * (max n_t - min n_t)

In a staircase the sheets are nested, so exactly max n_t - min n_t tensor groups are cut. All that
is forgotten is that the best sheets of these sizes need not nest. A sheet is solved exactly: its
copies meet only in the data planes, and those see only the tallest height U and the lowest V of all
copies:

    sheet[m] = min over V <= U of  2 * w_dp * (U - V) + (D-fold sum of best copies within V .. U)

Size: (pp + 1) ** 2 / 2 small powers for the copies, pp powers of vectors of n / T sizes for a
sheet. A domain of 8,192 slots takes 0.1 s; on domains of 72 and 256 the result is mostly what
CP-SAT finds for the staircase model itself, and within a few of the lightest links where it is not.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from planner_models import bridge
from planner_models.job import Job, Weights
from planner_models.lattice import Family, expert_families, inner_weights
from planner_models.minplus import UNREACHABLE, IntArray, power

SPREAD = 12
"""Differences max n_t - min n_t that are tried; larger ones are charged no more than one beyond."""

FREE = 4096
"""Content up to which sheets of larger differences are priced; beyond, by the links they save."""

SHARES = 4
"""The bridge is shared out between the modules in steps of 1 / SHARES."""


def best_contents(job: Job, weights: Weights, a: IntArray, b: IntArray) -> IntArray:
    """Lower bounds on the price of domains that hold a[i] encoder and b[i] decoder slots.

    The bridge links inside a domain are at most the encoder lanes held times the most links one of
    them has, and the same of the decoder: so at most any mixture of the two. A fixed mixture takes
    the modules apart; the best of some mixtures is returned. `UNREACHABLE` where a module has too
    few slots.
    """
    if len(job.modules) == 1:
        return _module_prices(job, weights, 0, 0, b)
    best = np.full(len(a), -UNREACHABLE, dtype=np.int64)
    for share in range(SHARES + 1):
        total = np.zeros(len(a), dtype=np.int64)
        for m, (sizes, part) in enumerate(((a, share), (b, SHARES - share))):
            credit = -(-2 * weights.pp * bridge.degrees(job)[m] * part // SHARES)
            total += _module_prices(job, weights, m, credit, sizes)
        np.maximum(best, total, out=best)
    best[best > UNREACHABLE // 2] = UNREACHABLE
    return best


def _module_prices(job: Job, weights: Weights, m: int, credit: int, sizes: IntArray) -> IntArray:
    """Lower bounds for one module, every lane held earning `credit` at the bridge."""
    shape = job.modules[m]
    inner = np.array(inner_weights(job, weights, m), dtype=np.int64)
    inner[1:] += credit
    total = shape.tp * shape.cp * job.dp * shape.pp
    n, where = np.unique(sizes, return_inverse=True)
    prices = np.full(len(n), UNREACHABLE, dtype=np.int64)
    fits = n <= total
    if fits.any():
        n = n[fits]
        w_cp, w_dp = weights.cp * (shape.cp > 1), weights.dp * (shape.cp * job.dp > 1)

        def sheet_up_to(size: int) -> IntArray:
            most = min(size, total // shape.tp)
            return _sheet(shape.cp, job.dp, w_cp, w_dp, inner=tuple(inner.tolist()), largest=most)

        prices[fits] = _sum_of_sheets(
            n,
            sheet_up_to,
            lanes=shape.tp,
            cut=2 * weights.tp,
            step=2 * (w_cp + w_dp) + int(np.diff(inner).max()),
            floor=np.min([-(n * saved // h) for h, saved in enumerate(inner) if h], axis=0),
        )
        for family in expert_families(shape, job.dp, weights):
            prices[fits] += _family_alone(family, n)
    return prices[where]


def _family_alone(family: Family, n: IntArray) -> IntArray:
    """Doubled cost of one family: whole groups and one remainder are cheapest."""
    size = family.high // family.low
    rest = n % size
    links = rest * (size - rest) if family.all_to_all else 2 * (rest > 0)
    return np.asarray(family.weight * links, dtype=np.int64)


def _sum_of_sheets(
    n: IntArray,
    sheet_up_to: Callable[[int], IntArray],
    *,
    lanes: int,
    cut: int,
    step: int,
    floor: IntArray,
) -> IntArray:
    """Least sums of `lanes` sheets of n slots together, plus `cut` times their difference.

    Args:
        n: ascending totals.
        sheet_up_to: prices of a sheet by size, up to a given size.
        lanes: number of sheets.
        cut: cost of every slot by which the largest sheet exceeds the smallest.
        step: no more than this lies between the prices of neighbouring sizes.
        floor: no sum of sheets is below this; of the shape of n.
    """
    mean, rest = np.divmod(n, lanes)
    sheet = sheet_up_to(int(mean[-1]) + SPREAD + 1)
    if lanes == 1:
        return sheet[n]
    level = (lanes - rest) * sheet[mean] + rest * sheet[np.minimum(mean + 1, len(sheet) - 1)]
    best = np.asarray(level + cut * (rest > 0), dtype=np.int64)
    reach = lanes * step  # sheets that differ by s are at most reach * (s + 1) / 2 below level ones
    for spread in range(2, SPREAD + 2):
        promising = (floor + cut * spread < best) & (spread <= n) & (spread < len(sheet))
        if 2 * cut >= reach:  # then wider spreads promise less
            promising &= 2 * (level + cut * spread) - reach * (spread + 1) < 2 * best
        if not promising.any():
            return best
        if spread <= SPREAD:
            _try_spread(n, sheet, lanes, cut, spread=spread, best=best)
    if n[-1] <= FREE:
        floor = power(sheet_up_to(int(n[-1])), lanes, int(n[-1]) + 1)[n]
    return np.where(promising, np.minimum(best, floor + cut * (SPREAD + 1)), best)


def _try_spread(
    n: IntArray, sheet: IntArray, lanes: int, cut: int, *, spread: int, best: IntArray
) -> None:
    """Lower `best` to what sheets can do whose sizes differ by at most `spread`."""
    mean = n // lanes
    last = min(int(mean[-1]), len(sheet) - 1 - spread)
    for smallest in range(max(0, int(mean[0]) - spread), last + 1):
        sums = power(sheet[smallest : smallest + spread + 1], lanes, lanes * spread + 1)
        bounds = [lanes * smallest, lanes * (smallest + spread) + 1]
        here = slice(*np.searchsorted(n, bounds))
        best[here] = np.minimum(best[here], sums[n[here] - bounds[0]] + cut * spread)


@lru_cache(maxsize=64)
def _sheet(
    slices: int, copies: int, w_cp: int, w_dp: int, *, inner: tuple[int, ...], largest: int
) -> IntArray:
    """[largest + 1] least price of every number of slots of one sheet; read only.

    The weights are 0 where a group has one slot; `inner` is what a lane with h stages saves.
    """
    tallest = min(len(inner) - 1, largest)
    prices = np.full(largest + 1, UNREACHABLE, dtype=np.int64)
    for (low, high), copy in _copies_within(slices, w_cp, inner[: tallest + 1], largest).items():
        base = slices * copies * low
        if base > largest or (w_dp == 0 and (low, high) != (0, tallest)):
            continue
        sums = power(copy[slices * low :], copies, largest + 1 - base)
        np.minimum(prices[base:], sums + 2 * w_dp * (high - low), out=prices[base:])
    prices[prices > UNREACHABLE // 2] = UNREACHABLE
    prices.flags.writeable = False
    return prices


def _copies_within(
    slices: int, w_cp: int, inner: tuple[int, ...], largest: int
) -> dict[tuple[int, int], IntArray]:
    """{(low, high): price by size} of one copy, all its lanes between these heights."""
    tallest = len(inner) - 1
    best: dict[tuple[int, int], IntArray] = {}
    for spread in range(tallest + 1):
        for low in range(min(tallest - spread, largest // slices) + 1):
            high, base = low + spread, slices * low
            prices = np.full(largest + 1, UNREACHABLE, dtype=np.int64)
            sums = power(-np.array(inner[low : high + 1]), slices, slices * spread + 1)
            fitting = sums[: largest + 1 - base] + 2 * w_cp * spread
            prices[base : base + len(fitting)] = fitting
            for narrower in ((low + 1, high), (low, high - 1)):
                if narrower in best:
                    np.minimum(prices, best[narrower], out=prices)
            best[low, high] = prices
    return best
