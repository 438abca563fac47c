"""The best of several seeds, as many as the time allows."""

from collections.abc import Callable
from time import monotonic

from benchmarks.peers.balancing import balanced
from benchmarks.peers.task import Limits
from benchmarks.peers.topdown import Cut
from planner.grid import Ints

SEEDS = 20


def best_of(cut: Cut, share: float, limits: Limits, run: Callable[[int], Ints]) -> Ints:
    """The cheapest parts over 20 seeds; at least one seed, whatever the time.

    Args:
        cut: what is cut.
        share: of the time that is left, for this cut.
        limits: of the whole placement.
        run: seed -> [slots] part of each slot, sizes not necessarily respected.
    """
    deadline = monotonic() + share * limits.left
    best = balanced(cut, run(limits.seed))
    cost = cut.cost(best)
    for seed in range(limits.seed + 1, limits.seed + SEEDS):
        if monotonic() > deadline:
            break
        part = balanced(cut, run(seed))
        if (found := cut.cost(part)) < cost:
            best, cost = part, found
    return best
