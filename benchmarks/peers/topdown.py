"""Placements from any partitioner: the slots are cut level by level, from the coarsest down.

Within a domain the next finer level is cut with the links that have two ends or more inside it. A
ring of weight w that touches k >= 2 parts pays w*k, the sum of external degrees that hypergraph
partitioners minimise (SOED); a pair pays its weight once, so it is a net of half the weight of a
ring's. A ring the level above has cut already pays w for each *further* part, and its net weighs
half.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from benchmarks.peers.task import Limits, NotApplicable, Task
from planner.grid import Ints

_MOST_PINS = 4_000_000


@dataclass(frozen=True, eq=False)
class Cut:
    """One cut to make: slots 0 .. n-1 into parts of limited size.

    Attributes:
        slots: n.
        capacities: [parts] most slots of each.
        pins: [pins] slots of all nets, net after net.
        net: [pins] the net of each pin, ascending.
        weights: [nets] doubled for rings, single for pairs.
    """

    slots: int
    capacities: Ints
    pins: Ints
    net: Ints
    weights: Ints

    def nets(self) -> list[Ints]:
        """The slots of each net."""
        return np.split(self.pins, np.flatnonzero(np.diff(self.net)) + 1) if len(self.net) else []

    def cost(self, part: Ints) -> int:
        """Sum of external degrees under a part of each slot ([slots])."""
        touched = np.unique(self.net * len(self.capacities) + part[self.pins])
        degree = np.bincount(touched // len(self.capacities), minlength=len(self.weights))
        return int(self.weights @ np.where(degree > 1, degree, 0))

    def fits(self, part: Ints) -> bool:
        """Whether no part is too large."""
        sizes = np.bincount(part, minlength=len(self.capacities))
        return bool((sizes <= self.capacities).all())


Partitioner = Callable[[Cut, float, Limits], Ints]
"""(cut, share of the time that is left, limits) -> [slots] part of each, sizes respected."""


def place(task: Task, limits: Limits, partition: Partitioner) -> Ints:
    """[world] placement by cutting level after level."""
    nets = _Nets(task)
    home = np.zeros(task.grid.world, np.int64)
    parents = np.zeros(len(task.machines.online), np.int64)
    for level, weight in reversed(list(zip(task.machines.levels, task.levels, strict=True))):
        if not weight:
            continue
        home = _refined(task, nets, home, parents, level.domain, limits, partition)
        parents = level.domain
    return seated(task, home, parents)


def _refined(
    task: Task,
    nets: "_Nets",
    home: Ints,
    parents: Ints,
    domain: Ints,
    limits: Limits,
    partition: Partitioner,
) -> Ints:
    """[world] domain of each slot, within the domains of the level above."""
    usable = task.machines.usable
    out = np.empty_like(home)
    done = 0
    for parent in np.unique(home):
        slots = np.flatnonzero(home == parent)
        inside = usable[parents[usable] == parent]
        children, capacities = np.unique(domain[inside], return_counts=True)
        share = len(slots) / (task.grid.world - done)
        done += len(slots)
        part = np.zeros(len(slots), np.int64)
        if len(children) > 1:
            part = partition(nets.cut(slots, capacities), share, limits)
        out[slots] = children[part]
    return out


def seated(task: Task, home: Ints, parents: Ints) -> Ints:
    """[world] devices, slots and devices of a domain matched in order."""
    usable = task.machines.usable
    slots, devices = np.argsort(home, kind="stable"), np.argsort(parents[usable], kind="stable")
    inside = np.bincount(parents, minlength=int(home.max()) + 1)
    starts = np.searchsorted(parents[usable][devices], np.arange(len(inside)))
    order = home[slots]
    nth = np.arange(len(order)) - np.searchsorted(order, order)
    placement = np.empty_like(home)
    placement[slots] = usable[devices[starts[order] + nth]]
    return placement


class _Nets:
    """All nets of a task, to be restricted to a domain's slots."""

    def __init__(self, task: Task) -> None:
        self._world = task.grid.world
        self._families = list(families(task))
        if sum(members.size for members, _, _ in self._families) > _MOST_PINS:
            raise NotApplicable("too many links for an explicit graph")

    def cut(self, slots: Ints, capacities: Ints) -> Cut:
        """The cut of some slots ([n] trainer ranks, ascending)."""
        local = np.full(self._world, -1, np.int64)
        local[slots] = np.arange(len(slots))
        pins, net, weights = [], [], []
        first = 0
        for members, weight, ring in self._families:
            inside = local[members]
            held = (inside >= 0).sum(axis=1)
            rows = inside[held > 1]
            degree = held[held > 1]
            pins.append(rows[rows >= 0])
            net.append(first + np.repeat(np.arange(len(rows)), degree))
            whole = degree == members.shape[1]
            weights.append(np.where(whole, 2, 1) * weight if ring else np.full(len(rows), weight))
            first += len(rows)
        return Cut(len(slots), capacities, *(np.concatenate(x) for x in (pins, net, weights)))


def families(task: Task) -> Iterator[tuple[Ints, int, bool]]:
    """(members [nets, size], link weight, whether a ring) of every kind that costs something."""
    grid, kinds = task.grid, task.kinds
    for kind, family in grid.rings.items():
        for groups in family:
            if kinds[kind] and groups.shape[1] > 1:
                yield groups, kinds[kind], True
    for kind, family in grid.exchanges.items():
        for groups in family:
            if kinds[kind]:
                pairs = list(combinations(range(groups.shape[1]), 2))
                yield groups[:, pairs].reshape(-1, 2), kinds[kind], False
    for kind, ends in grid.pairs.items():
        if kinds[kind]:
            yield ends, kinds[kind], False
