"""Runs: every domain holds consecutive slots, as launchers that count node by node need.

Sets
    k: capacities, q[k] domains each. i: positions 0 .. W in the order of the slots.
Data
    price[i, n]: doubled price of a domain that holds the slots i .. i + n - 1: 2w a ring held in
    part, w for each member held and member not held of an all-to-all, -2w a pair link inside.
State
    (used[k] for each k, idle): domains filled so far and places left empty in them; the position
    is what they hold, sum of k * used[k] - idle.
Recursion
    best[used, idle] = min over k, e of best[used - 1_k, idle - e] + price[position, k - e]
Answer
    half of best[all] plus the weight of all pair links; a shortest path gives the runs.

Exact, since consecutive slots are all that is left to choose: which capacity comes next and how
many of its places stay empty. The price of all runs of one length is a sum of intervals: a group
is touched by the runs that start in (m - n, m] for some member m.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

MAX_STATES = 1_000_000
"""States beyond which the recursion is not tried."""

_FAR = np.iinfo(np.int64).max // 4


@dataclass(frozen=True, eq=False)
class Chain:
    """Slots in a fixed order and their links.

    Attributes:
        slots: number of slots.
        rings: (weight, [groups, members]) arrays of slots, rows ascending.
        all_to_alls: the same.
        pairs: (weight, [links, 2]).
    """

    slots: int
    rings: tuple[tuple[int, Ints], ...]
    all_to_alls: tuple[tuple[int, Ints], ...]
    pairs: tuple[tuple[int, Ints], ...]


@dataclass(frozen=True)
class Runs:
    """The cheapest way to cut a chain into runs.

    Attributes:
        cost: its cost, the level's weight left out.
        runs: (capacity, slots held) of each domain in the order of the chain; a domain that holds
            nothing is left out.
    """

    cost: int
    runs: tuple[tuple[int, int], ...]


def states(capacities: Sequence[int], slots: int) -> int:
    """Size of the recursion."""
    count = Counter(c for c in capacities if c)
    size = sum(capacities) - slots + 1
    for q in count.values():
        size *= q + 1
    return size


def cheapest_runs(chain: Chain, capacities: Sequence[int]) -> Runs:
    """Cut a chain into runs, one a domain, at least cost.

    Args:
        chain: the slots and their links.
        capacities: usable places of each domain.

    Raises:
        ValueError: the slots do not fit.

    Example:
        Two rings of two, domains of three and one: one ring is cut.

        >>> rings = np.array([[0, 1], [2, 3]])
        >>> cheapest_runs(Chain(4, ((5, rings),), (), ()), [3, 1])
        Runs(cost=10, runs=((1, 1), (3, 3)))
    """
    idle = sum(capacities) - chain.slots
    if idle < 0:
        raise ValueError(f"{chain.slots} slots do not fit {sum(capacities)} places")
    count = Counter(c for c in capacities if c)
    kinds = sorted(count, reverse=True)
    prices = {
        n: _prices(chain, n) for n in {k - e for k in kinds for e in range(min(idle, k) + 1)} if n
    }
    best, came = _recursion(chain.slots, kinds, [count[k] for k in kinds], idle, prices)
    constant = sum(weight * len(ends) for weight, ends in chain.pairs)
    return Runs(int(best) // 2 + constant, _path(kinds, came))


def _recursion(
    slots: int, kinds: list[int], count: list[int], idle: int, prices: dict[int, Ints]
) -> tuple[int, list[tuple[int, int]]]:
    """Least price of all runs, and the (kind, idle places) of each domain on a shortest path."""
    shape = tuple(q + 1 for q in count)
    best = np.full((*shape, idle + 1), _FAR, np.int64)
    step = np.full((*shape, idle + 1), -1, np.int64)
    best[(0,) * len(shape) + (0,)] = 0
    for used in product(*(range(n) for n in shape)):
        places = sum(k * u for k, u in zip(kinds, used, strict=True))
        for index, kind in enumerate(kinds):
            if used[index]:
                before = (*used[:index], used[index] - 1, *used[index + 1 :])
                _relax(best, step, used, before, places - kind, kind, index, slots, idle, prices)
    last = tuple(count)
    total, path, left = int(best[(*last, idle)]), [], idle
    while any(last):
        index, empty = divmod(int(step[(*last, left)]), idle + 1)
        path.append((index, empty))
        last = (*last[:index], last[index] - 1, *last[index + 1 :])
        left -= empty
    return total, path[::-1]


def _relax(
    best: Ints,
    step: Ints,
    used: tuple[int, ...],
    before: tuple[int, ...],
    places: int,
    kind: int,
    index: int,
    slots: int,
    idle: int,
    prices: dict[int, Ints],
) -> None:
    """Try a domain of one kind as the last one used, for every number of places left empty."""
    row, source = best[used], best[before]
    for empty in range(min(idle, kind) + 1):
        after = np.arange(empty, idle + 1)
        start = places - (after - empty)  # position at which the run begins
        held = kind - empty
        valid = (start >= 0) & (start + held <= slots) & (source[after - empty] < _FAR)
        if not valid.any():
            continue
        after, start = after[valid], start[valid]
        price = prices[held][start] if held else 0
        found = source[after - empty] + price
        better = found < row[after]
        row[after[better]] = found[better]
        step[used][after[better]] = index * (idle + 1) + empty


def _path(kinds: list[int], came: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple((kinds[i], kinds[i] - empty) for i, empty in came if kinds[i] > empty)


def _prices(chain: Chain, length: int) -> Ints:
    """[starts] doubled price of the run of one length from every start."""
    starts = chain.slots - length + 1
    price = np.zeros(starts + 1, np.int64)
    for weight, groups in chain.rings:
        if groups.shape[1] > 1 and weight:
            first, last = groups[:, :1], groups[:, -1:]
            _add(price, _touching(groups, length), 2 * weight)
            _add(price, [(last - length + 1, first)], -2 * weight)
    for weight, groups in chain.all_to_alls:
        size = groups.shape[1]
        _add(price, [(groups - length + 1, groups)], weight * size)
        for a, b in product(range(size), repeat=2):
            two = np.sort(groups[:, [a, b]], axis=1)
            _add(price, [(two[:, 1] - length + 1, two[:, 0])], -weight)
    for weight, ends in chain.pairs:
        low, high = ends.min(axis=1), ends.max(axis=1)
        _add(price, [(high - length + 1, low)], -2 * weight)
    return np.cumsum(price[:-1])


def _touching(groups: Ints, length: int) -> Iterable[tuple[Ints, Ints]]:
    """Starts from which a run holds member m but none before it: disjoint intervals."""
    after = np.full_like(groups, 0)
    after[:, 1:] = groups[:, :-1] + 1
    yield np.maximum(after, groups - length + 1), groups


def _add(price: Ints, intervals: Iterable[tuple[Ints, Ints]], weight: int) -> None:
    """Add a weight to every start in closed intervals, as differences of a running sum."""
    top = len(price) - 2  # the last start
    for first, last in intervals:
        low, high = np.maximum(first.ravel(), 0), np.minimum(last.ravel(), top)
        keep = low <= high
        np.add.at(price, low[keep], weight)
        np.add.at(price, high[keep] + 1, -weight)
