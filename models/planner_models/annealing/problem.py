"""What the annealer is given: slots, who talks to whom, seats, and which slots move as one.

Sets
    s in S        slots, 0 .. slots - 1
    v in V        devices; only those in `devices` may hold a slot
    k             families of groups; g in G_k its groups
    (a, b)        pair links
    l             levels, fine to coarse: the domains of one lie inside domains of the next
Data
    w_k           weight of a family, w_ab of a pair, w_l of a level
    dom_l(v)      domain of a device
Variables
    place[s]      device of a slot; no two alike
Minimise
    sum_l w_l * (  sum over rings g    w_k * (touched_l(g) if touched_l(g) > 1 else 0)
                 + sum over all-to-alls g  w_k * pairs of members of g in two domains
                 + sum over pairs (a, b)   w_ab * [dom_l(place[a]) != dom_l(place[b])] )
Subject to
    frozen slots keep their device; a family with `within = l` keeps each group in one domain of l
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]

_NOBODY = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Family:
    """Disjoint groups of slots that pay alike.

    Attributes:
        weight: cost of one link.
        group: [slots] number of the slot's group, from 0; -1 where a slot is in none.
        all_to_all: pay for every pair of members in two domains, not for touched domains.
        within: index of the level one domain of which has to hold each group (rings only).

    Example:
        Two rings of three on seven slots, the last in no group::

            Family(weight=1000, group=np.array([0, 0, 0, 1, 1, 1, -1]))
    """

    weight: int
    group: Ints
    all_to_all: bool = False
    within: int | None = None


@dataclass(frozen=True, eq=False)
class Pairs:
    """Links between two slots: ends `a` and `b` and the weight of each, all [pairs]."""

    a: Ints = field(default_factory=_NOBODY.copy)
    b: Ints = field(default_factory=_NOBODY.copy)
    weight: Ints = field(default_factory=_NOBODY.copy)


@dataclass(frozen=True, eq=False)
class Level:
    """One level of the fabric: the weight of a link that crosses it, domain of each [device]."""

    weight: int
    domain: Ints


@dataclass(frozen=True, eq=False)
class Task:
    """A placement problem in integers.

    Attributes:
        slots: number of slots.
        families: rings and all-to-alls; a slot is in at most one group of each.
        pairs: pair links; two links between the same slots add up.
        levels: fine to coarse, nested.
        devices: the devices that may be used, at least as many as slots.
        pieces: [slots] each, bundles that moves treat as a unit where they are cut (TP groups,
            expert blocks): bundle number, -1 for none. Lanes follow the slot numbers.
        blocks: as `pieces`, larger bundles that only trade places whole.
        frozen: slots that keep the device they start on.

    Raises:
        ValueError: too few devices, levels that do not nest, or an all-to-all with `within`.
    """

    slots: int
    families: tuple[Family, ...]
    pairs: Pairs
    levels: tuple[Level, ...]
    devices: Ints
    pieces: tuple[Ints, ...] = ()
    blocks: tuple[Ints, ...] = ()
    frozen: Ints = field(default_factory=_NOBODY.copy)

    def __post_init__(self) -> None:
        if self.devices.size < self.slots:
            raise ValueError(f"{self.slots} slots, but only {self.devices.size} usable devices")
        for fine, coarse in zip(self.levels, self.levels[1:], strict=False):
            inside = np.unique(
                np.stack([fine.domain[self.devices], coarse.domain[self.devices]]), axis=1
            )
            if inside.shape[1] != np.unique(inside[0]).size:
                raise ValueError("levels do not nest: a fine domain lies in two coarse ones")
        if any(f.all_to_all and f.within is not None for f in self.families):
            raise ValueError("`within` belongs to rings, not to an all-to-all")

    @cached_property
    def scale(self) -> tuple[int, int]:
        """Dearest and cheapest positive cost of one link.

        (0, 0) if there is nothing to search for, (1, 1) if only `within` rules are.
        """
        kinds = [f.weight for f in self.families] + np.unique(self.pairs.weight).tolist()
        found = [k * level.weight for k in kinds for level in self.levels]
        positive = [w for w in found if w > 0]
        if positive:
            return max(positive), min(positive)
        ruled = int(any(f.within is not None for f in self.families))
        return ruled, ruled

    @cached_property
    def felt(self) -> tuple[int, ...]:
        """The levels a search has to look at: those that cost something or that a rule names."""
        named = {f.within for f in self.families}
        found = (k for k, level in enumerate(self.levels) if level.weight or k in named)
        return tuple(found) or (0,)

    def first_fit(self) -> Ints:
        """The placement of slot i on the i-th usable device."""
        return self.devices[: self.slots].astype(np.int64)


def cost(task: Task, place: ArrayLike) -> int:
    """Cost of a placement, counted afresh: no table of the annealer is looked at.

    Args:
        task: the problem.
        place: [slots] device of each slot.
    """
    at = np.asarray(place, dtype=np.int64)
    return sum(
        level.weight * _links(task.families, task.pairs, level.domain[at])
        for level in task.levels
        if level.weight
    )


def broken(task: Task, place: ArrayLike) -> int:
    """How many groups are not within one domain of the level their family asks for."""
    at = np.asarray(place, dtype=np.int64)
    return sum(
        int(np.count_nonzero(_touched(f.group, task.levels[f.within].domain[at]) > 1))
        for f in task.families
        if f.within is not None
    )


def _links(families: Sequence[Family], pairs: Pairs, domain: Ints) -> int:
    """Weighted links at one level, given the domain of each slot."""
    total = int(pairs.weight[domain[pairs.a] != domain[pairs.b]].sum())
    for family in families:
        if family.all_to_all:
            total += family.weight * _cut_pairs(family.group, domain)
        else:
            touched = _touched(family.group, domain)
            total += family.weight * int(touched[touched > 1].sum())
    return total


def _touched(group: Ints, domain: Ints) -> Ints:
    """[groups] number of domains each group touches."""
    member = group >= 0
    width = int(domain.max(initial=0)) + 1
    cells = np.unique(group[member] * width + domain[member])
    return np.bincount(cells // width)


def _cut_pairs(group: Ints, domain: Ints) -> int:
    """Pairs of members of one group that lie in two domains."""
    member = group >= 0
    width = int(domain.max(initial=0)) + 1
    inside = np.unique(group[member] * width + domain[member], return_counts=True)[1]
    size = np.bincount(group[member])
    return int((size * (size - 1) // 2).sum() - (inside * (inside - 1) // 2).sum())
