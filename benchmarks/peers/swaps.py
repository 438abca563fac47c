"""Plain simulated annealing: what two GPUs hold changes places, and nothing is known of groups."""

from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from benchmarks.peers.orders import megatron_order
from benchmarks.peers.task import Limits, NotApplicable, Task, refuse_constraints, require
from planner.grid import Ints

_CHUNK = 50_000  # proposals between two looks at the clock
_MOST_RANKS = 1024  # beyond, a minute of swaps hardly leaves Megatron's order


def swap_annealing(task: Task, limits: Limits) -> Ints:
    """Swaps from Megatron's order, the temperature falling geometrically over the time limit."""
    refuse_constraints(task)
    require("numba")
    if task.grid.world > _MOST_RANKS:
        raise NotApplicable(f"{task.grid.world} slots are too many")
    from benchmarks.peers import swaps_kernel as kernel  # noqa: PLC0415 - compiles for seconds

    tables = _Tables.of(task, megatron_order(task, limits))
    run = kernel.compiled()
    run(*tables.arrays, 0, 1.0, limits.seed)
    started, best, cost = monotonic(), tables.placement.copy(), task.cost(tables.placement)
    hot, cold = 3 * tables.heaviest, 0.3 * tables.lightest
    change, seed = 0, limits.seed
    start = cost
    while (now := monotonic()) < limits.deadline:
        done = (now - started) / max(limits.deadline - started, 1e-9)
        seed += 1
        change += run(*tables.arrays, _CHUNK, hot * (cold / hot) ** done, seed)
        if start + change < cost:
            cost, best = start + change, tables.placement.copy()
    assert task.cost(best) == cost
    return best


@dataclass(frozen=True, eq=False)
class _Tables:
    """Everything the loop reads and writes.

    Attributes:
        arrays: the loop's arguments, in order.
        placement: the one among them that holds the device of each slot.
        heaviest, lightest: largest and smallest positive cost of a link.
    """

    arrays: tuple[Any, ...]
    placement: Ints
    heaviest: int
    lightest: int

    @classmethod
    def of(cls, task: Task, placement: Ints) -> "_Tables":
        levels = [i for i, weight in enumerate(task.levels) if weight]
        domain = np.stack([task.machines.levels[i].domain for i in levels])
        weight = np.array([task.levels[i] for i in levels], np.int64)
        group_of, group_weight, exchanged, size = _groups(task)
        counts = np.zeros((len(levels), len(size), int(domain.max()) + 1), np.int16)
        for row in group_of:
            held = np.flatnonzero(row >= 0)
            for i in range(len(levels)):
                np.add.at(counts[i], (row[held], domain[i, placement[held]]), 1)
        starts, partners, pair_weight = _pairs(task)
        slot_at = np.full(domain.shape[1], -1, np.int64)
        slot_at[placement] = np.arange(len(placement))
        own = placement.copy()
        links = [w for w in task.kinds.values() if w]
        return cls(
            (
                own,
                slot_at,
                task.machines.usable,
                domain,
                weight,
                np.ascontiguousarray(group_of.T),
                group_weight,
                exchanged,
                size,
                counts,
                starts,
                partners,
                pair_weight,
            ),
            own,
            max(links) * int(weight.max()),
            min(links) * int(weight.min()),
        )


def _groups(task: Task) -> tuple[Ints, Ints, Ints, Ints]:
    """Groups of each slot ([families, world], -1 for none); weight, all-to-all?, size of each."""
    rows, weights, exchanged, sizes = [], [], [], []
    first = 0
    for several, shared in ((task.grid.rings, 0), (task.grid.exchanges, 1)):
        for kind, family in several.items():
            for groups in family:
                if not task.kinds[kind] or groups.shape[1] < 2:
                    continue
                row = np.full(task.grid.world, -1, np.int64)
                row[groups] = first + np.arange(len(groups))[:, None]
                rows.append(row)
                weights.append(np.full(len(groups), task.kinds[kind]))
                exchanged.append(np.full(len(groups), shared))
                sizes.append(np.full(len(groups), groups.shape[1]))
                first += len(groups)
    if not rows:
        raise NotApplicable("no groups")
    flat = [np.concatenate(x).astype(np.int64) for x in (weights, exchanged, sizes)]
    return np.stack(rows), flat[0], flat[1], flat[2]


def _pairs(task: Task) -> tuple[Ints, Ints, Ints]:
    """Partners of each slot: starts, partners, weights."""
    ends, weights = [np.empty((0, 2), np.int64)], [np.empty(0, np.int64)]
    for kind, pairs in task.grid.pairs.items():
        ends.append(pairs)
        weights.append(np.full(len(pairs), task.kinds[kind], np.int64))
    both = np.concatenate([*ends, *(e[:, ::-1] for e in ends)])
    order = np.argsort(both[:, 0], kind="stable")
    starts = np.searchsorted(both[order, 0], np.arange(task.grid.world + 1))
    return starts, both[order, 1], np.concatenate([*weights, *weights])[order]
