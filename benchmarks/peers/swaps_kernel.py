"""The loop of plain annealing, compiled by numba."""

from functools import cache
from typing import Any

import numpy as np

from planner.grid import Ints


def moved(
    slot: int,
    device: int,
    placement: Ints,
    domain: Ints,
    level_weight: Ints,
    group_of: Ints,
    group_weight: Ints,
    exchanged: Ints,
    size: Ints,
    counts: Any,
    starts: Ints,
    partners: Ints,
    pair_weight: Ints,
) -> int:
    """Move a slot to a device, whoever is there, and return what that changes."""
    change = 0
    for level in range(len(level_weight)):
        a, b = domain[level, placement[slot]], domain[level, device]
        if a == b:
            continue
        here = 0
        for g in group_of[slot]:
            if g < 0:
                continue
            left, joined = counts[level, g, a], counts[level, g, b]
            if exchanged[g]:
                here += group_weight[g] * (left - 1 - joined)
            else:
                before = int(left < size[g]) + int(joined > 0)
                after = int(left > 1) + int(joined + 1 < size[g])
                here += group_weight[g] * (after - before)
            counts[level, g, a] -= 1
            counts[level, g, b] += 1
        for i in range(starts[slot], starts[slot + 1]):
            c = domain[level, placement[partners[i]]]
            here += pair_weight[i] * (int(c != b) - int(c != a))
        change += level_weight[level] * here
    placement[slot] = device
    return change


def run(
    placement: Ints,
    slot_at: Ints,
    usable: Ints,
    domain: Ints,
    level_weight: Ints,
    group_of: Ints,
    group_weight: Ints,
    exchanged: Ints,
    size: Ints,
    counts: Any,
    starts: Ints,
    partners: Ints,
    pair_weight: Ints,
    proposals: int,
    temperature: float,
    seed: int,
) -> int:
    """Propose swaps at one temperature; returns the change of cost."""
    np.random.seed(seed)  # noqa: NPY002 - what numba compiles
    total = 0
    for _ in range(proposals):
        x = usable[np.random.randint(len(usable))]  # noqa: NPY002
        y = usable[np.random.randint(len(usable))]  # noqa: NPY002
        s, t = slot_at[x], slot_at[y]
        if x == y or (s < 0 and t < 0):
            continue
        change = 0
        for slot, device in ((s, y), (t, x)):
            if slot >= 0:
                change += moved(
                    slot, device, placement, domain, level_weight, group_of, group_weight,
                    exchanged, size, counts, starts, partners, pair_weight,
                )  # fmt: skip
        if change <= 0 or np.random.random() < np.exp(-change / temperature):  # noqa: NPY002
            slot_at[x], slot_at[y] = t, s
            total += change
            continue
        for slot, device in ((s, x), (t, y)):
            if slot >= 0:
                moved(
                    slot, device, placement, domain, level_weight, group_of, group_weight,
                    exchanged, size, counts, starts, partners, pair_weight,
                )  # fmt: skip
    return total


@cache
def compiled() -> Any:
    """`run`, compiled."""
    import numba  # noqa: PLC0415

    globals()["moved"] = numba.njit(moved)
    return numba.njit(run)
