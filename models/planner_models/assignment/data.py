"""What an assignment problem is made of: slots, nested domains, links and hard constraints.

Everything is an integer or an integer array. A slot is identified with its trainer rank, devices
are numbered node by node, a *cell* is a domain of the finest level, `cells[s]` the cell of slot s.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True)
class Level:
    """One level of the fabric.

    Attributes:
        weight: cost of a link that leaves a domain, a non-negative integer.
        domain: [devices] domain of each device, numbered 0, 1, … without holes.
    """

    weight: int
    domain: IntArray

    @property
    def domains(self) -> int:
        """Number of domains."""
        return int(self.domain.max()) + 1


@dataclass(frozen=True, eq=False, slots=True)
class Groups:
    """Groups of equal size that share a kind and a weight: rings, or all-to-alls.

    Attributes:
        name: unique among all links of the problem; it names the variables.
        weight: cost of one link.
        members: [groups, size] slots.
    """

    name: str
    weight: int
    members: IntArray


@dataclass(frozen=True, eq=False, slots=True)
class Pairs:
    """Links between two slots each; `ends` is [pairs, 2]. A pair may appear in several of them."""

    name: str
    weight: int
    ends: IntArray


@dataclass(frozen=True, eq=False, slots=True)
class Bridge:
    """Links from the lanes of one module's last stage to those of the next module's first.

    Attributes:
        name: as for `Groups`.
        weight: cost of one link.
        sources: [slices, a] lanes that send; a row is one (context, data) slice.
        targets: [slices, b] lanes of the same slice that receive.
        lanes: [max(a, b)] the balanced map: partner of each lane of the larger side (of the
            targets, if both are equal), as an index into the other side.
    """

    name: str
    weight: int
    sources: IntArray
    targets: IntArray
    lanes: IntArray

    @property
    def many(self) -> IntArray:
        """Lanes of the larger side, [slices, max(a, b)]."""
        return self.targets if self.sources.shape[1] <= self.targets.shape[1] else self.sources

    @property
    def few(self) -> IntArray:
        """Lanes of the smaller side, [slices, min(a, b)]."""
        return self.sources if self.sources.shape[1] <= self.targets.shape[1] else self.targets

    @property
    def partner(self) -> IntArray:
        """Slot each lane of the larger side is tied to, [slices, max(a, b)]."""
        return self.few[:, self.lanes]

    @property
    def ends(self) -> IntArray:
        """The links under the balanced map, [slices * max(a, b), 2]."""
        return np.stack([self.partner.ravel(), self.many.ravel()], axis=1)


@dataclass(frozen=True, eq=False, slots=True)
class Within:
    """Each group (row of `members`) stays inside one domain of a level."""

    label: str
    level: int
    members: IntArray


@dataclass(frozen=True, eq=False, slots=True)
class Footprint:
    """Context peers look alike; each array of `peers` is [stages and copies, cp, tp].

    At every level the tp groups `peers[k, c]` of one k touch equally many domains, and the members
    of a cp group `peers[k, :, t]` are spread over the domains it touches to within one.
    """

    label: str
    peers: tuple[IntArray, ...]


@dataclass(frozen=True, slots=True)
class Contiguous:
    """Each domain of a level holds one run of consecutive slots."""

    label: str
    level: int


@dataclass(frozen=True, slots=True)
class Pin:
    """A slot sits on a given device."""

    label: str
    slot: int
    device: int


@dataclass(frozen=True, eq=False, slots=True)
class Floor:
    """Least price of what a domain of a level holds.

    The price is doubled and leaves the level's weight out: 2w a ring held in part, w for each
    member held and member not held of an all-to-all, -2w a pair link inside. (The level costs half
    the sum of its prices plus the weight of all pair links.)

    Attributes:
        level: index of the level.
        classes: slots of each class (one class a module); together they hold every slot.
        table: one axis a class; `table[a, b]` is a lower bound on the price of any a slots of the
            first class with b of the second.
    """

    level: int
    classes: tuple[IntArray, ...]
    table: IntArray


@dataclass(frozen=True, eq=False)
class Assignment:
    """Slots to be placed on the devices of nested domains.

    Attributes:
        slots: number of slots, in trainer-rank order.
        levels: finest first; each domain lies inside one domain of the next level.
        usable: [devices] whether a device may hold a slot.
        shapes: [groups, size] arrays that partition the slots (the tp groups).
        rings: a group pays a link for each domain it touches, if they are two or more.
        all_to_alls: a group pays a link for each two members in different domains.
        pairs: a pair pays a link if its ends are in different domains.
        bridges: pair links whose ends are paired inside a slice.
        within, hierarchical_cp, footprint, contiguous, pins: the user's hard constraints.
        offline_label: name of the line that makes devices unusable, for conflicts.
        floors: bounds that domains obey anyway.
        least: a lower bound on the cost of every placement.
        exchanges: [slots] permutations of the slots that may leave the problem as it is. The model
            checks each and uses those that do.

    Raises:
        ValueError: the data contradict each other.
    """

    slots: int
    levels: tuple[Level, ...]
    usable: BoolArray
    shapes: tuple[IntArray, ...]
    rings: tuple[Groups, ...] = ()
    all_to_alls: tuple[Groups, ...] = ()
    pairs: tuple[Pairs, ...] = ()
    bridges: tuple[Bridge, ...] = ()
    within: tuple[Within, ...] = ()
    hierarchical_cp: tuple[Within, ...] = ()
    footprint: Footprint | None = None
    contiguous: Contiguous | None = None
    pins: tuple[Pin, ...] = ()
    offline_label: str = "cluster offline"
    floors: tuple[Floor, ...] = ()
    least: int = 0
    exchanges: tuple[IntArray, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        for fault in _faults(self):
            raise ValueError(fault)

    @cached_property
    def up(self) -> tuple[IntArray, ...]:
        """For each level, [cells] the domain that holds a cell; the first is the identity."""
        return tuple(_parents(self.levels[0], level) for level in self.levels)

    def sizes(self, level: int) -> IntArray:
        """Devices of each domain of a level, unusable ones included."""
        return np.bincount(self.levels[level].domain)

    def capacities(self, level: int) -> IntArray:
        """Usable devices of each domain of a level."""
        domain = self.levels[level].domain
        return np.bincount(domain[self.usable], minlength=self.levels[level].domains)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the user's lines that constrain this problem, without repeats."""
        found = [c.label for c in (*self.within, *self.hierarchical_cp)]
        found += [c.label for c in self.pins]
        found += [self.footprint.label] if self.footprint else []
        found += [self.contiguous.label] if self.contiguous else []
        found += [] if self.usable.all() else [self.offline_label]
        return tuple(dict.fromkeys(found))

    @property
    def size(self) -> int:
        """Rough number of Boolean variables of the whole model: what a caller should look at."""
        links = sum(2 * len(g.members) for g in self.rings)
        links += sum(g.members.size for g in self.all_to_alls)
        links += sum(len(p.ends) for p in self.pairs) + sum(b.many.size for b in self.bridges)
        return (self.slots + links) * sum(level.domains for level in self.levels)


def _parents(fine: Level, coarse: Level) -> IntArray:
    parents = np.zeros(fine.domains, dtype=np.int64)
    parents[fine.domain] = coarse.domain
    return parents


def _faults(problem: Assignment) -> Iterator[str]:
    yield from _level_faults(problem)
    shaped = sorted(s for groups in problem.shapes for s in groups.ravel().tolist())
    if shaped != list(range(problem.slots)):
        yield "shapes do not partition the slots"
    names = [link.name for link in _links(problem)]
    if len(set(names)) < len(names):
        yield f"links share a name: {names}"
    for array in _slot_arrays(problem):
        if array.size and (array.min() < 0 or array.max() >= problem.slots):
            yield f"a group names slots outside 0 … {problem.slots - 1}"
    if len({p.slot for p in problem.pins}) < len(problem.pins):
        yield "a slot is pinned twice"
    if len({p.device for p in problem.pins}) < len(problem.pins):
        yield "a device is pinned twice"
    if any(not problem.usable[p.device] for p in problem.pins):
        yield "a pin names an unusable device"


def _level_faults(problem: Assignment) -> Iterator[str]:
    if not problem.levels:
        yield "no level"
    for i, level in enumerate(problem.levels):
        if level.domain.shape != problem.usable.shape:
            yield f"level {i} and usable differ in their number of devices"
        if (np.bincount(level.domain) == 0).any():
            yield f"level {i} has a domain without devices"
    for i, (fine, coarse) in enumerate(pairwise(problem.levels)):
        if not np.array_equal(_parents(fine, coarse)[fine.domain], coarse.domain):
            yield f"level {i} does not nest in level {i + 1}"


def _links(problem: Assignment) -> Iterator[Groups | Pairs | Bridge]:
    yield from problem.rings
    yield from problem.all_to_alls
    yield from problem.pairs
    yield from problem.bridges


def _slot_arrays(problem: Assignment) -> Iterator[IntArray]:
    yield from (g.members for g in (*problem.rings, *problem.all_to_alls))
    yield from (g.members for g in (*problem.within, *problem.hierarchical_cp))
    yield from (p.ends for p in problem.pairs)
    for bridge in problem.bridges:
        yield from (bridge.sources, bridge.targets)
    yield from problem.footprint.peers if problem.footprint else ()
    yield from (c for floor in problem.floors for c in floor.classes)
    yield from problem.exchanges
