"""The same problem with whole bundles for slots: a coarser task where no bundle is ever cut.

Where every TP group of T lanes lies inside one domain of the finest level, its lanes need no moves
of their own. A *unit* is such a group, its place a *seat* of T devices of one domain; groups that
join the same units merge into one of summed weight, so a placement costs the same in both tasks.
Moves are T times cheaper to make and reach T times further.
"""

from dataclasses import dataclass

import numpy as np

from planner_models.annealing.problem import Family, Ints, Level, Pairs, Task


@dataclass(frozen=True, eq=False)
class Coarse:
    """A task over units, and the way back.

    Attributes:
        task: the problem with units as slots and seats as devices; its bundles are those of the
            finer task that are made of several whole units.
        members: [units, T] slots of each unit, ascending.
        seats: [seats, T] devices of each seat.
    """

    task: Task
    members: Ints
    seats: Ints

    def expand(self, place: Ints) -> Ints:
        """[slots] devices, from the [units] seats of a placement of `task`."""
        found = np.empty(self.members.size, dtype=np.int64)
        found[self.members] = self.seats[place]
        return found


def coarse(task: Task, unit: Ints) -> Coarse:
    """Make units the slots of a task.

    Args:
        task: the problem.
        unit: [slots] number of each slot's unit, from 0; all units of one size, no slot without.

    Raises:
        ValueError: units of several sizes, frozen slots, too few whole seats, or a family that does
            not treat the lanes of a unit alike.

    Example:
        TP groups of a job without an encoder: `coarse(task, structure(job, weights).pieces[0])`.
    """
    sizes = np.bincount(unit)
    if np.unique(sizes).size != 1:
        raise ValueError("units have to be of one size")
    if task.frozen.size:
        raise ValueError("a frozen slot cannot be part of a unit")
    members = np.argsort(unit, kind="stable").reshape(sizes.size, -1)
    seats = _seats(task, int(sizes[0]))
    return Coarse(
        Task(
            slots=sizes.size,
            families=tuple(f for family in task.families for f in _merged(family, unit)),
            pairs=_merged_pairs(task.pairs, unit),
            levels=tuple(Level(v.weight, v.domain[seats[:, 0]]) for v in task.levels),
            devices=np.arange(len(seats)),
            pieces=tuple(k[members[:, 0]] for k in task.pieces if _holds_whole(k, members)),
            blocks=tuple(k[members[:, 0]] for k in task.blocks if _holds_whole(k, members)),
        ),
        members,
        seats,
    )


def _holds_whole(bundles: Ints, members: Ints) -> bool:
    """Whether bundles are made of whole units, two or more in some."""
    of_unit = bundles[members]
    even = bool((of_unit == of_unit[:, :1]).all())
    return even and bool((np.bincount(of_unit[of_unit[:, 0] >= 0, 0]) > 1).any())


def _seats(task: Task, size: int) -> Ints:
    """[seats, size] devices, as many whole seats as each domain of the finest level has."""
    domain = np.unique(task.levels[0].domain[task.devices], return_inverse=True)[1]
    order = np.argsort(domain, kind="stable")
    count = np.bincount(domain)
    first = np.cumsum(count) - count
    nth = np.arange(order.size) - first[domain[order]]
    whole = nth < (count // size * size)[domain[order]]
    return task.devices[order[whole]].astype(np.int64).reshape(-1, size)


def _merged(family: Family, unit: Ints) -> list[Family]:
    """The families over units that cost together what one over slots does."""
    units = int(unit.max()) + 1
    member = family.group >= 0
    cells, lanes = np.unique(family.group[member] * units + unit[member], return_counts=True)
    group, which = cells // units, cells % units
    width = np.bincount(group)
    found = []
    for size in np.unique(width[width > 1]):
        inside = width[group] == size
        rows = np.stack([which[inside], lanes[inside]], axis=1).reshape(-1, 2 * size)
        rows, times = np.unique(rows, axis=0, return_counts=True)
        for alike in np.unique(times):
            found += _families(family, rows[times == alike], int(alike), units)
    return found


def _families(family: Family, rows: Ints, times: int, units: int) -> list[Family]:
    """Families of groups that stand for `times` groups each, from rows unit, lanes, unit, ..."""
    lanes = rows[:, 1::2]
    found = []
    for count in np.unique(lanes[:, 0]) if family.all_to_all else [1]:
        chosen = rows[lanes[:, 0] == count] if family.all_to_all else rows
        members = chosen[:, ::2]
        even = not family.all_to_all or bool((chosen[:, 1::2] == count).all())
        if not even or np.unique(members).size != members.size:
            raise ValueError("a family does not treat the lanes of a unit alike")
        label = np.full(units, -1, dtype=np.int64)
        label[members] = np.arange(len(members))[:, None]
        weight = family.weight * times * int(count) ** 2
        found.append(Family(weight, label, family.all_to_all, family.within))
    return found


def _merged_pairs(pairs: Pairs, unit: Ints) -> Pairs:
    """Links between units: those of their slots together."""
    units = int(unit.max()) + 1
    low = np.minimum(unit[pairs.a], unit[pairs.b])
    high = np.maximum(unit[pairs.a], unit[pairs.b])
    apart = low != high
    cells, at = np.unique(low[apart] * units + high[apart], return_inverse=True)
    weight = np.zeros(cells.size, dtype=np.int64)
    np.add.at(weight, at, pairs.weight[apart])
    return Pairs(cells // units, cells % units, weight)
