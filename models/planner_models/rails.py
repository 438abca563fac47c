"""Colours inside cells: as many borders as possible between sides that share one.

Sets
    s ∈ S         slots, each bound to its cell
    v ∈ V         devices, each of one cell and one colour (rail); V_s those slot s may take
    a ∈ A         sides: sets of slots
    e = (a, b)    borders between two sides

Data
    colour_v      colour of a device
    leader        a slot that takes a smaller device than the slots in `led`, or none

Variables (0-1)
    at[s,v]       slot s takes device v ∈ V_s
    has[a,k]      some slot of side a has colour k
    good[e,k]     both sides of e have colour k
    aligned[e]    the border's sides share a colour

Subject to
    seat[s]       Σ_v at[s,v] = 1
    device[v]     Σ_s at[s,v] ≤ 1
    has[a,k]      has[a,k] ≤ Σ_{s∈a} Σ_{v: colour_v = k} at[s,v]
    good[e,k]     good[e,k] ≤ has[a,k], has[b,k]
    aligned[e]    aligned[e] ≤ Σ_k good[e,k]
    leader[s]     Σ_v v at[leader,v] < Σ_v v at[s,v]              s ∈ led

Maximise
    Σ_e aligned[e]

Given everybody else's colours, the best devices of one cell are a matching where sides have one
slot in the cell, and nearly so elsewhere: cells take turns until none gains. Small problems are
solved by the model as a whole.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from ortools.sat.python import cp_model

from planner_models import interruption
from planner_models.matching import best_matching

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_SHARE = 840  # divisible by every number up to 8: what a border is worth to one side
_WORK = 2.0  # deterministic units (about seconds) of the whole model
_EXACT_SLOTS = 24
_NOISE = 400  # of the worth of a colour, to break ties and cross plateaus
_PATIENCE = 12  # rounds without gain before giving up
_VISITS = 4000  # cells dealt again in all


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be coloured.

    Attributes:
        cell: [devices] cell of each device.
        colour: [devices] colour of each device, from 0 without holes.
        free: [devices] whether a device may be taken or given up.
        reserved: [devices] free ones that only the whole model touches: the leader's and smaller.
        side, slot: [members] the sides' slots, by side.
        ends: [borders, 2] sides.
        sides: number of sides.
        leader: a slot, or -1.
        led: slots that must take larger devices than the leader.
    """

    cell: Ints
    colour: Ints
    free: Bools
    reserved: Bools
    side: Ints
    slot: Ints
    ends: Ints
    sides: int
    leader: int
    led: Ints

    @cached_property
    def colours(self) -> int:
        """Number of colours."""
        return int(self.colour.max(initial=0)) + 1

    @cached_property
    def entries(self) -> tuple[Ints, Ints, Ints, Ints]:
        """(slot, border, other side, worth) of each slot at each border, by slot."""
        sizes = np.bincount(self.side, minlength=self.sides)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        both = np.concatenate([self.ends, self.ends[:, ::-1]])
        border = np.tile(np.arange(len(self.ends)), 2)
        count = sizes[both[:, 0]]
        which = np.repeat(np.arange(len(both)), count)
        nth = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
        slot = self.slot[starts[both[which, 0]] + nth]
        order = np.argsort(slot, kind="stable")
        worth = _SHARE // np.maximum(count, 1)
        which = which[order]
        return slot[order], border[which], both[which, 1], worth[which]

    def held(self, place: Ints) -> Bools:
        """[sides, colours] which colours each side holds."""
        out = np.zeros((self.sides, self.colours), bool)
        out[self.side, self.colour[place[self.slot]]] = True
        return out

    def aligned(self, place: Ints) -> int:
        """Borders whose sides share a colour.

        Args:
            place: [slots] device of each slot.
        """
        held = self.held(place)
        return int((held[self.ends[:, 0]] & held[self.ends[:, 1]]).any(axis=1).sum())


def align(task: Task, place: Ints) -> Ints:
    """[slots] devices with as many borders aligned as found; cells stay as they are.

    Args:
        task: what is to be coloured.
        place: [slots] device of each slot, to start from.

    Example:
        Two cells of two devices; slots 0 and 2 are linked, and so are 1 and 3, crosswise at first.

        >>> one = np.arange(4)
        >>> task = Task(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.ones(4, bool),
        ...     np.zeros(4, bool), one, one, np.array([[0, 2], [1, 3]]), 4, -1, one[:0])
        >>> align(task, np.array([0, 1, 3, 2])).tolist() in ([0, 1, 2, 3], [1, 0, 3, 2])
        True
    """
    best = _Turns(task, place).settled()
    if len(place) <= _EXACT_SLOTS and task.aligned(best) < len(task.ends):
        return _solved(task, best)
    return best


def _movable(task: Task, place: Ints) -> Ints:
    return np.flatnonzero(task.free[place] & ~task.reserved[place])


def _spans(starts: Ints, which: Ints) -> Ints:
    """Positions of the entries of some owners, given where each owner's entries start."""
    return np.concatenate([np.arange(starts[i], starts[i + 1]) for i in which.tolist()])


class _Turns:
    """Cells taking turns."""

    def __init__(self, task: Task, place: Ints) -> None:
        self.task = task
        self.place = place.copy()
        self.held = task.held(place)
        slot = task.entries[0]
        self.starts = np.searchsorted(slot, np.arange(len(place) + 1))
        by_slot = np.argsort(task.slot, kind="stable")
        self.side_of = task.side[by_slot]
        self.side_starts = np.searchsorted(task.slot[by_slot], np.arange(len(place) + 1))
        self.member_starts = np.searchsorted(task.side, np.arange(task.sides + 1))
        movable = _movable(task, place)
        cells = task.cell[place[movable]]
        order = np.argsort(cells, kind="stable")
        cuts = np.flatnonzero(np.diff(cells[order])) + 1
        self.slots_of = np.split(movable[order], cuts)
        devices = np.flatnonzero(task.free & ~task.reserved)
        by_cell = devices[np.argsort(task.cell[devices], kind="stable")]
        self.devices_of = {
            int(task.cell[part[0]]): part
            for part in np.split(by_cell, np.flatnonzero(np.diff(task.cell[by_cell])) + 1)
            if len(part)
        }

    def settled(self) -> Ints:
        """[slots] devices once no cell has gained by a turn for some rounds.

        Turns that gain nothing are taken too, ties broken by chance, so that plateaus are crossed.
        """
        rng = np.random.default_rng(0)
        visits, stale = _VISITS, 0
        while stale < _PATIENCE and visits > 0:
            gained, waiting = 0, False
            for slots in self.slots_of:
                if len(slots) and visits > 0 and self._wanting(slots):
                    gained += self._turn(slots, rng)
                    visits -= 1
                    waiting = True
            if not waiting:
                break
            stale = 0 if gained else stale + 1
        return self.place

    def _wanting(self, slots: Ints) -> bool:
        """Whether a border of these slots is not aligned."""
        borders = np.unique(self.task.entries[1][_spans(self.starts, slots)])
        return self._aligned(borders) < len(borders)

    def _aligned(self, borders: Ints) -> int:
        ends = self.task.ends[borders]
        return int((self.held[ends[:, 0]] & self.held[ends[:, 1]]).any(axis=1).sum())

    def _turn(self, slots: Ints, rng: np.random.Generator) -> int:
        """Deal the devices of a cell again by what each colour is worth to each slot.

        Returns:
            Borders gained; a turn that would lose some is not taken.
        """
        slot, border, other, worth = self.task.entries
        rows = _spans(self.starts, slots)
        devices = self.devices_of[int(self.task.cell[self.place[slots[0]]])]
        value = np.zeros((len(slots), self.task.colours), np.int64)
        local = np.searchsorted(slots, slot[rows])
        np.add.at(value, local, worth[rows][:, None] * self.held[other[rows]])
        gain = np.zeros((len(devices), len(devices)), np.int64)
        gain[: len(slots)] = value[:, self.task.colour[devices]]
        gain += rng.integers(0, _NOISE, gain.shape)
        borders = np.unique(border[rows])
        before, old = self._aligned(borders), self.place[slots]
        self._seat(slots, devices[best_matching(gain)[: len(slots)]])
        after = self._aligned(borders)
        if after < before:
            self._seat(slots, old)
            return 0
        return after - before

    def _seat(self, slots: Ints, devices: Ints) -> None:
        self.place[slots] = devices
        touched = np.unique(self.side_of[_spans(self.side_starts, slots)])
        members = _spans(self.member_starts, touched)
        self.held[touched] = False
        colour = self.task.colour[self.place[self.task.slot[members]]]
        self.held[self.task.side[members], colour] = True


def _solved(task: Task, start: Ints) -> Ints:
    """The whole model, within a fixed amount of work; the start if nothing better is found."""
    cp = cp_model.CpModel()
    at = [dict(_seats(cp, task, start, s)) for s in range(len(start))]
    for s, held in enumerate(at):
        cp.add_exactly_one(held.values()).with_name(f"seat[{s}]")
    for v in range(len(task.cell)):
        takers = [held[v] for held in at if v in held]
        if len(takers) > 1:
            cp.add_at_most_one(takers).with_name(f"device[{v}]")
    _lead(cp, task, at)
    cp.maximize(sum(_aligned_bits(cp, task, at)))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = _WORK
    if interruption.solve(solver, cp) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return start
    found = np.array([next(v for v, bit in held.items() if solver.value(bit)) for held in at])
    return found if task.aligned(found) > task.aligned(start) else start


def _seats(
    cp: cp_model.CpModel, task: Task, start: Ints, s: int
) -> Iterator[tuple[int, cp_model.IntVar]]:
    """at[s,v] for the devices a slot may take, hinted at the start."""
    here = int(start[s])
    mine = task.free & (task.cell == task.cell[here])
    for v in np.flatnonzero(mine).tolist() if task.free[here] else [here]:
        bit = cp.new_bool_var(f"at[{s},{v}]")
        cp.add_hint(bit, int(v == here))
        yield v, bit


def _lead(cp: cp_model.CpModel, task: Task, at: list[dict[int, cp_model.IntVar]]) -> None:
    if task.leader < 0:
        return
    first = sum(v * bit for v, bit in at[task.leader].items())
    for s in task.led.tolist():
        cp.add(first + 1 <= sum(v * bit for v, bit in at[s].items())).with_name(f"leader[{s}]")


def _aligned_bits(
    cp: cp_model.CpModel, task: Task, at: list[dict[int, cp_model.IntVar]]
) -> Iterator[cp_model.IntVar]:
    has: dict[tuple[int, int], cp_model.IntVar] = {}
    for a in np.unique(task.ends).tolist():
        for k in range(task.colours):
            has[a, k] = cp.new_bool_var(f"has[{a},{k}]")
            seats = [
                bit
                for s in task.slot[task.side == a].tolist()
                for v, bit in at[s].items()
                if task.colour[v] == k
            ]
            cp.add(has[a, k] <= sum(seats)).with_name(f"has[{a},{k}]")
    for e, (a, b) in enumerate(task.ends.tolist()):
        good = []
        for k in range(task.colours):
            bit = cp.new_bool_var(f"good[{e},{k}]")
            cp.add_implication(bit, has[a, k])
            cp.add_implication(bit, has[b, k])
            good.append(bit)
        aligned = cp.new_bool_var(f"aligned[{e}]")
        cp.add(aligned <= sum(good)).with_name(f"aligned[{e}]")
        yield aligned
