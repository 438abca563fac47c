"""Flat tables of a task and the counts that moves keep up to date.

All members are flat sequences: numpy arrays for the compiled loop, lists for the interpreted one
(which indexes lists several times faster). Sparse relations are stored as `*_at` and `*`: row i
is `x[x_at[i] : x_at[i + 1]]`. A *seat* is the index of a usable device in `Task.devices`.
"""

from typing import Any, NamedTuple

import numpy as np

from planner_models.annealing.problem import Family, Ints, Task

Row = Any  # list[int] or an integer array: the same code reads both


class Tables(NamedTuple):
    """What stays: sizes, domains, groups, links, bundles."""

    seats: int
    slots: int
    levels: int
    groups: int  # rings first, then all-to-alls
    rings: int  # how many of them are rings
    domain: Row  # [levels * seats] domain of a seat, numbered from 0 in each level
    domains: Row  # [levels] number of domains
    counts_at: Row  # [levels] where the level's [groups, domains] counts start
    seat_at: Row  # [domains of all levels + 1], the levels one after the other
    seat: Row  # seats of a domain
    first_domain: Row  # [levels] row of the level's domain 0 in `seat_at`
    ring_at: Row  # [slots + 1]
    ring: Row  # rings of a slot
    cross_at: Row  # [slots + 1]
    cross: Row  # all-to-alls of a slot
    link_at: Row  # [slots + 1]
    link: Row  # the other ends of a slot's pair links
    link_weight: Row  # beside `link`
    member_at: Row  # [groups + 1]
    member: Row  # slots of a group
    weight: Row  # [levels * groups] cost of a link of the group at the level
    level_weight: Row  # [levels]
    kinds: int  # kinds of bundles: pieces first, blocks after them
    pieces: int  # how many of them are pieces
    bundle: Row  # [kinds * slots] bundle of a slot, numbered through all kinds; -1: none
    bundled_at: Row  # [bundles + 1]
    bundled: Row  # slots of a bundle, ascending: its lanes
    alike: Row  # [bundles] class: bundles of one kind and size
    alike_at: Row  # [classes + 1]
    alikes: Row  # bundles of a class


class State(NamedTuple):
    """What moves: who sits where, the counts behind the cost, and scratch space."""

    held: Row  # [seats] slot on a seat, -1: idle
    sits: Row  # [slots] seat of a slot
    count: Row  # members of a group in a domain, see `Tables.counts_at`
    touched: Row  # [levels * groups] domains a ring touches
    fixed: Row  # [seats] 1 where a frozen slot sits
    left: Row  # [seats] seats of a proposal's transpositions ...
    right: Row  # [seats] ... and the seats they trade with
    mark: Row  # [seats] last proposal that took this seat; negative: that left it


# Types of the arrays that do not fit, or do not need, 32 bits. Counts are most of the memory, and
# a chain is as fast as the cache that holds them.
WIDTH = {
    "weight": np.int64,
    "level_weight": np.int64,
    "link_weight": np.int64,
    "mark": np.int64,
    "count": np.int16,
}
LARGEST_GROUP = 32_767


def penalty(task: Task) -> int:
    """Cost of a broken `within` link: fifty times all other links of the task together.

    A run starts at the cost of a single link, so a move that breaks a rule is never accepted.
    """
    most = int(task.pairs.weight.sum())
    for family in task.families:
        size = np.bincount(family.group[family.group >= 0])
        links = size * (size - 1) // 2 if family.all_to_all else size
        most += family.weight * int(links.sum())
    return 50 * max(1, most * sum(level.weight for level in task.levels))


def tables(task: Task) -> Tables:
    """The fixed tables of a task, as numpy arrays.

    The counts of a state, two bytes for each group and domain of every level, are most of what a
    chain needs: 2 MB for 3,200 slots on 400 nodes, 1.6 GB for 131,072 slots on 16,384 nodes (and
    0.1 GB for their TP groups as units).

    Raises:
        ValueError: a group has more than 32,767 members, too many for its counts.
    """
    rings = [f for f in task.families if not f.all_to_all]
    crosses = [f for f in task.families if f.all_to_all]
    ring_of, ring_family = _numbered([f.group for f in rings], 0)
    first_cross = ring_family.size
    cross_of, cross_family = _numbered([f.group for f in crosses], first_cross)
    groups = first_cross + cross_family.size
    domain, domains = _domains(task)
    sizes = domains * groups
    bundle, kind_of = _numbered([*task.pieces, *task.blocks], 0)
    bundled_at, bundled = _rows(bundle.ravel(), kind_of.size, task.slots)
    alike = _ranked(kind_of * (task.slots + 1) + np.diff(bundled_at))
    alike_at, alikes = _rows(alike, int(alike.max(initial=-1)) + 1, max(alike.size, 1))
    first_domain = np.cumsum(domains) - domains
    seat_at, seat = _rows(
        (domain + first_domain[:, None]).ravel(), int(domains.sum()), task.devices.size
    )
    link_at, link, link_weight = _links(task)
    ring_at, ring = _memberships(ring_of, task.slots)
    cross_at, cross = _memberships(cross_of, task.slots)
    member_at, member = _rows(
        np.concatenate([ring_of.ravel(), cross_of.ravel()]), groups, task.slots
    )
    if np.diff(member_at).max(initial=0) > LARGEST_GROUP:
        raise ValueError(f"a group has more than {LARGEST_GROUP} members")
    return Tables(
        seats=int(task.devices.size),
        slots=task.slots,
        levels=len(task.felt),
        groups=groups,
        rings=first_cross,
        domain=domain.ravel(),
        domains=domains,
        counts_at=np.cumsum(sizes) - sizes,
        seat_at=seat_at,
        seat=seat,
        first_domain=first_domain,
        ring_at=ring_at,
        ring=ring,
        cross_at=cross_at,
        cross=cross,
        link_at=link_at,
        link=link,
        link_weight=link_weight,
        member_at=member_at,
        member=member,
        weight=_weights(
            task, [*rings, *crosses], np.concatenate([ring_family, cross_family + len(rings)])
        ),
        level_weight=np.array([task.levels[k].weight for k in task.felt], dtype=np.int64),
        kinds=len(task.pieces) + len(task.blocks),
        pieces=len(task.pieces),
        bundle=bundle.ravel(),
        bundled_at=bundled_at,
        bundled=bundled,
        alike=alike,
        alike_at=alike_at,
        alikes=alikes,
    )


def _numbered(labels: list[Ints], first: int) -> tuple[Ints, Ints]:
    """[families, slots] group numbers through all families, and the family of each group."""
    found, family = [], []
    for k, label in enumerate(labels):
        dense = np.full(label.size, -1, dtype=np.int64)
        dense[label >= 0] = _ranked(label[label >= 0])
        n = int(dense.max(initial=-1)) + 1
        found.append(np.where(dense >= 0, dense + first, -1))
        family.append(np.full(n, k, dtype=np.int64))
        first += n
    empty = np.zeros(0, dtype=np.int64)
    return (
        np.stack(found) if found else np.zeros((0, 0), dtype=np.int64),
        np.concatenate([*family, empty]),
    )


def _ranked(values: Ints) -> Ints:
    """Values replaced by their rank among the distinct values."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _rows(row: Ints, rows: int, period: int) -> tuple[Ints, Ints]:
    """Sparse rows: for each row the positions (modulo `period`) that name it, ascending."""
    named = np.flatnonzero(row >= 0)
    order = named[np.argsort(row[named], kind="stable")]
    at = np.concatenate([[0], np.cumsum(np.bincount(row[named], minlength=rows))])
    return at.astype(np.int64), (order % period).astype(np.int64)


def _memberships(group: Ints, slots: int) -> tuple[Ints, Ints]:
    """Sparse rows: the groups of each slot, from [families, slots]."""
    by_slot = group.T.reshape(slots, -1)
    at = np.concatenate([[0], np.cumsum((by_slot >= 0).sum(axis=1))])
    return at.astype(np.int64), by_slot[by_slot >= 0]


def _links(task: Task) -> tuple[Ints, Ints, Ints]:
    """Sparse rows: the other ends of each slot's pair links, with their weights."""
    here = np.concatenate([task.pairs.a, task.pairs.b])
    there = np.concatenate([task.pairs.b, task.pairs.a])
    at, order = _rows(here, task.slots, max(here.size, 1))
    return at, there[order], np.tile(task.pairs.weight, 2)[order]


def _domains(task: Task) -> tuple[Ints, Ints]:
    """[levels, seats] domain of each seat, numbered from 0 in each level; [levels] how many."""
    found = np.stack([_ranked(task.levels[k].domain[task.devices]) for k in task.felt])
    return found, found.max(axis=1) + 1


def _weights(task: Task, families: list[Family], family: Ints) -> Ints:
    """[levels * groups] weight of a link, with the penalty where `within` forbids it."""
    weight = np.array([f.weight for f in families], dtype=np.int64)
    level_weight = np.array([task.levels[k].weight for k in task.felt], dtype=np.int64)
    found = level_weight[:, None] * weight[family][None, :]
    for k, f in enumerate(families):
        if f.within is not None:
            found[task.felt.index(f.within), family == k] += penalty(task)
    return found.ravel()


def seated(task: Task, t: Tables, place: Ints) -> State:
    """The state of a placement [slots] of devices."""
    seat_of = np.full(int(task.devices.max()) + 1, -1, dtype=np.int64)
    seat_of[task.devices] = np.arange(task.devices.size)
    sits = seat_of[place]
    held = np.full(t.seats, -1, dtype=np.int64)
    held[sits] = np.arange(task.slots)
    count = np.zeros(int((t.domains * t.groups).sum()), dtype=np.int64)
    domain = t.domain.reshape(t.levels, t.seats)
    group_of_member = np.repeat(np.arange(t.groups), np.diff(t.member_at))
    touched = np.zeros((t.levels, t.groups), dtype=np.int64)
    for l in range(t.levels):
        cell = group_of_member * t.domains[l] + domain[l, sits[t.member]]
        size = int(t.domains[l]) * t.groups
        counts = np.bincount(cell, minlength=size)
        count[t.counts_at[l] : t.counts_at[l] + size] = counts
        touched[l] = (counts.reshape(t.groups, int(t.domains[l])) > 0).sum(axis=1)
    idle = np.zeros(t.seats, dtype=np.int64)
    fixed = idle.copy()
    fixed[sits[task.frozen]] = 1
    return State(held, sits, count, touched.ravel(), fixed, idle, idle, idle)


def penalised_cost(t: Tables, s: State) -> int:
    """Cost of a freshly seated state from its counts, with penalties for broken `within`."""
    touched = np.asarray(s.touched)
    size = np.diff(t.member_at)
    domain = t.domain.reshape(t.levels, t.seats)[:, s.sits]
    end = np.repeat(np.arange(t.slots), np.diff(t.link_at))
    total = 0
    for l in range(t.levels):
        at = int(t.counts_at[l])
        count = s.count[at : at + int(t.domains[l]) * t.groups].reshape(t.groups, int(t.domains[l]))
        links = touched[l * t.groups : (l + 1) * t.groups].copy()
        links[links == 1] = 0
        cut = (size * size - (count * count).sum(axis=1)) // 2
        links[t.rings :] = cut[t.rings :]
        total += int((t.weight[l * t.groups : (l + 1) * t.groups] * links).sum())
        parted = domain[l, end] != domain[l, t.link]
        total += int(t.level_weight[l]) * int(t.link_weight[parted].sum()) // 2
    return total
