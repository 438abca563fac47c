"""Parts that came out too large, made to fit by moving the slots that cost least."""

import numpy as np

from benchmarks.peers.topdown import Cut
from planner.grid import Ints


def balanced(cut: Cut, part: Ints) -> Ints:
    """[slots] the same parts, slots moved out of too large ones one by one, the cheapest first."""
    if cut.fits(part):
        return part
    state = _Counts(cut, part.copy())
    sizes = np.bincount(part, minlength=len(cut.capacities))
    while (sizes > cut.capacities).any():
        source = int((sizes - cut.capacities).argmax())
        room = np.flatnonzero(sizes < cut.capacities)
        slot, target = state.cheapest_move(source, room)
        state.move(slot, target)
        sizes[source] -= 1
        sizes[target] += 1
    return state.part


class _Counts:
    """Slots of each net in each part."""

    def __init__(self, cut: Cut, part: Ints) -> None:
        self.part = part
        self._weights = cut.weights
        self._counts = np.zeros((len(cut.weights), len(cut.capacities)), np.int32)
        np.add.at(self._counts, (cut.net, part[cut.pins]), 1)
        order = np.argsort(cut.pins, kind="stable")
        starts = np.searchsorted(cut.pins[order], np.arange(1, cut.slots))
        self._nets_of = np.split(cut.net[order], starts)

    def cheapest_move(self, source: int, room: Ints) -> tuple[int, int]:
        """The slot of a part, and the part with room, whose exchange costs least."""
        best: tuple[int, int, int] | None = None
        for slot in np.flatnonzero(self.part == source).tolist():
            costs = self._costs(slot, source, room)
            at = int(costs.argmin())
            if best is None or costs[at] < best[0]:
                best = (int(costs[at]), slot, int(room[at]))
        assert best is not None
        return best[1], best[2]

    def _costs(self, slot: int, source: int, room: Ints) -> Ints:
        nets = self._nets_of[slot]
        counts = self._counts[nets]
        degree = (counts > 0).sum(axis=1)
        after = degree[:, None] - (counts[:, source] == 1)[:, None] + (counts[:, room] == 0)
        before = np.where(degree > 1, degree, 0)[:, None]
        costs: Ints = self._weights[nets] @ (np.where(after > 1, after, 0) - before)
        return costs

    def move(self, slot: int, target: int) -> None:
        """Put a slot into another part."""
        nets = self._nets_of[slot]
        self._counts[nets, self.part[slot]] -= 1
        self._counts[nets, target] += 1
        self.part[slot] = target
