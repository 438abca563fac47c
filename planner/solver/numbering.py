"""Devices and labels that cost nothing to choose: who sits where inside a domain.

Contents of interchangeable domains are sorted by the lowest trainer rank they hold, ranks ascend
with the GPU index inside a domain, and context slices are labelled so that neighbours in the CP
ring share domains. Last, GPUs inside a domain trade places where that keeps links on their rail.
None of it changes a link count, but for rank 0 at the head of its host where domains inside it
differ in size.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import permutations

import numpy as np

from planner.cost import links, total
from planner.feasibility import broken_constraints
from planner.grid import Grid, Ints
from planner.machines import Machines
from planner.spec.problem import Problem

_EXACT_RING = 7  # slices up to which all ring orders are tried
_MOST_LABELS = 16  # of an axis that are tried in the place of the first


def number(problem: Problem, grid: Grid, placement: Ints) -> Ints:
    """The same plan with its free labels chosen well: [world] device of each trainer rank.

    Trainer rank 0 ends as host rank 0 unless a pin, or a rule inside its node, forbids it.
    """
    machines = problem.cluster.machines
    placement = _accepted(problem, grid, placement, _ring_order(problem, grid, placement))
    if not problem.constraints.pins:
        placement = _accepted(problem, grid, placement, _sorted_domains(machines, placement))
        placement = _led(problem, grid, placement)
    from planner.solver.rails import align_rails  # noqa: PLC0415 - OR-tools only when solving

    return align_rails(problem, grid, placement)


def _accepted(problem: Problem, grid: Grid, old: Ints, new: Ints) -> Ints:
    return old if broken_constraints(problem, grid, new) else new


def _sorted_domains(machines: Machines, placement: Ints) -> Ints:
    """Contents of interchangeable domains in the order of their lowest trainer rank.

    From the finest level up, a domain's shape is its parts' shapes; the contents of siblings of one
    shape may be exchanged. Inside a finest domain ranks take ascending devices.
    """
    rank_of = np.full(len(machines.online), -1, np.int64)
    rank_of[placement] = np.arange(len(placement))
    parts = _finest_domains(machines, rank_of)
    for level in machines.levels[1:]:
        parts = _merge_siblings(parts, level.domain)
    _, devices, ranks = _exchange(list(parts.values()))
    out = np.empty_like(placement)
    held = ranks >= 0
    out[ranks[held]] = devices[held]
    return out


_Part = tuple[int, Ints, Ints]
"""A domain: the number of its shape, its usable devices, and the ranks they hold (-1 idle)."""


def _finest_domains(machines: Machines, rank_of: Ints) -> dict[int, _Part]:
    usable = machines.usable
    domain = machines.levels[0].domain[usable]
    order = np.argsort(domain, kind="stable")
    cuts = np.flatnonzero(np.diff(domain[order])) + 1
    out: dict[int, _Part] = {}
    for devices in np.split(usable[order], cuts):
        ranks = rank_of[devices]
        held = np.sort(ranks[ranks >= 0])
        seated = np.full(len(devices), -1, np.int64)
        seated[: len(held)] = held
        out[int(machines.levels[0].domain[devices[0]])] = (len(devices), devices, seated)
    return out


def _merge_siblings(parts: dict[int, _Part], coarse: Ints) -> dict[int, _Part]:
    parent = {d: int(coarse[part[1][0]]) for d, part in parts.items()}
    children: dict[int, list[_Part]] = defaultdict(list)
    for d, part in parts.items():
        children[parent[d]].append(part)
    shapes: dict[tuple[int, ...], int] = {}
    out: dict[int, _Part] = {}
    for d, siblings in children.items():
        shape, devices, ranks = _exchange(siblings)
        out[d] = (shapes.setdefault(shape, len(shapes)), devices, ranks)
    return out


def _exchange(siblings: list[_Part]) -> tuple[tuple[int, ...], Ints, Ints]:
    """Siblings joined, contents of equal shapes sorted by lowest rank (idle ones last)."""
    by_shape: dict[int, list[int]] = defaultdict(list)
    for i, (shape, _, _) in enumerate(siblings):
        by_shape[shape].append(i)
    content = [part[2] for part in siblings]
    for places in by_shape.values():
        ordered = sorted((siblings[i][2] for i in places), key=_lowest)
        for i, ranks in zip(places, ordered, strict=True):
            content[i] = ranks
    devices = np.concatenate([part[1] for part in siblings])
    return tuple(part[0] for part in siblings), devices, np.concatenate(content)


def _lowest(ranks: Ints) -> float:
    held = ranks[ranks >= 0]
    return int(held.min()) if len(held) else float("inf")


def _led(problem: Problem, grid: Grid, placement: Ints) -> Ints:
    """Rank 0 on the lowest used GPU of its host; where that costs links, as few as found.

    Where every way there breaks a rule on domains inside the node, rank 0 stays where it is.
    """
    machines = problem.cluster.machines
    plain = rank_zero_first(machines, placement)
    cell = machines.levels[0].domain
    if cell[plain[0]] == cell[placement[0]]:
        return plain
    least = total(problem, machines, links(grid, machines, placement))
    best, paid = placement, None
    for candidate in _leading(grid, machines, placement):
        if broken_constraints(problem, grid, candidate):
            continue
        cost = total(problem, machines, links(grid, machines, candidate))
        if paid is None or cost < paid:
            best, paid = candidate, cost
        if paid <= least:
            break
    return best


def _leading(grid: Grid, machines: Machines, placement: Ints) -> Iterator[Ints]:
    """Placements with rank 0 first on its host: after exchanges there, then under other labels.

    The host's ranks ascend, or what lies in two domains of it changes places, or a copy, slice or
    lane takes the place of the first one. Whether that breaks a rule or costs links, the caller
    sees.
    """
    yield rank_zero_first(machines, placement)
    yield from _changed_places(machines, placement)
    for axis in (1, 2, 3):  # dp, cp, tp
        for i in range(1, min(_MOST_LABELS, grid.modules[0].mesh.shape[axis])):
            other = _sorted_domains(machines, _relabelled(grid, placement, axis, i))
            yield rank_zero_first(machines, other)
            yield from _changed_places(machines, other)


def _changed_places(machines: Machines, placement: Ints) -> Iterator[Ints]:
    node = machines.device_node
    mates = np.flatnonzero(node[placement] == node[placement[0]])
    out = placement.copy()
    out[mates] = np.sort(placement[mates])
    yield out
    first = mates[np.argmin(placement[mates])]
    for level in machines.levels:
        domain = level.domain
        one, other = domain[placement[0]], domain[placement[first]]
        if level.name == "node" or one == other:
            return
        moved = [
            (
                np.flatnonzero(domain[placement] == here),
                machines.usable[domain[machines.usable] == there],
            )
            for here, there in ((one, other), (other, one))
        ]
        if all(len(ranks) <= len(devices) for ranks, devices in moved):
            out = placement.copy()
            for ranks, devices in moved:
                ordered = ranks[np.argsort(placement[ranks])]
                out[ordered] = devices[: len(ranks)]
            yield rank_zero_first(machines, out)


def _relabelled(grid: Grid, placement: Ints, axis: int, i: int) -> Ints:
    """Index i of an axis of the grids takes the place of index 0."""
    out = placement.copy()
    for module in grid.modules:
        order = np.arange(module.mesh.shape[axis])
        if i < len(order):
            order[[0, i]] = i, 0
            out[module.mesh] = placement[np.take(module.mesh, order, axis=axis)]
    return out


def rank_zero_first(machines: Machines, placement: Ints) -> Ints:
    """Rank 0 on the lowest used GPU of its host, by an exchange if no free choice did it."""
    node = machines.device_node[placement]
    mates = np.flatnonzero(node == node[0])
    first = mates[np.argmin(placement[mates])]
    out = placement.copy()
    out[[0, first]] = placement[[first, 0]]
    return out


def _ring_order(problem: Problem, grid: Grid, placement: Ints) -> Ints:
    """Context slices of each data copy relabelled so that the CP ring crosses few borders.

    Only where any relabelling inside a copy leaves every counted group as it is: no experts, no
    hierarchical CP, equal cp in all modules, no pins, ranks not tied to hosts.
    """
    cp = grid.modules[0].shape.cp
    free = (
        len({m.shape.cp for m in grid.modules}) == 1
        and not any(m.shape.has_experts for m in grid.modules)
        and not grid.hierarchy
        and not problem.constraints.pins
        and problem.constraints.launch == "free"
    )
    if cp < 3 or not free:
        return placement
    apart = _apart(grid, problem.cluster.machines, placement)
    out = placement.copy()
    identity = np.arange(cp)
    for d in range(grid.dp):
        order = _short_ring(apart[d])
        if order is not None and not np.array_equal(order, identity):
            for module in grid.modules:
                out[module.mesh[:, d]] = placement[module.mesh[:, d][:, order]]
    return out


def _apart(grid: Grid, machines: Machines, placement: Ints) -> Ints:
    """[dp, cp, cp] how many lanes of two slices lie in different domains, over all levels."""
    cp = grid.modules[0].shape.cp
    apart = np.zeros((grid.dp, cp, cp), np.int64)
    for level in machines.levels:
        for module in grid.modules:
            domain = level.domain[placement[module.mesh]]
            lanes = domain.transpose(1, 2, 0, 3).reshape(grid.dp, cp, -1)
            for c in range(cp):
                apart[:, c] += np.count_nonzero(lanes != lanes[:, c : c + 1], axis=2)
    return apart


def _short_ring(apart: Ints) -> Ints | None:
    """An order of the slices whose closed ring is short; None where no order matters."""
    cp = len(apart)
    off_diagonal = apart[~np.eye(cp, dtype=bool)]
    if off_diagonal.min() == off_diagonal.max():
        return None
    if cp <= _EXACT_RING:
        rest = np.array(list(permutations(range(1, cp))), np.int64)
        orders = np.hstack([np.zeros((len(rest), 1), np.int64), rest])
        lengths = apart[orders, np.roll(orders, -1, axis=1)].sum(axis=1)
        best: Ints = orders[int(np.argmin(lengths))]
        return best
    return _improved(apart, _nearest_first(apart))


def _nearest_first(apart: Ints) -> Ints:
    order = [0]
    left = set(range(1, len(apart)))
    while left:
        nearest = min(left, key=lambda c: (int(apart[order[-1], c]), c))
        order.append(nearest)
        left.remove(nearest)
    return np.array(order, np.int64)


def _improved(apart: Ints, order: Ints) -> Ints:
    """2-opt: reverse stretches of the ring while that shortens it."""
    length = int(apart[order, np.roll(order, -1)].sum())
    improved = True
    while improved:
        improved = False
        for i in range(1, len(order) - 1):
            for j in range(i + 1, len(order)):
                turned = np.concatenate([order[:i], order[i : j + 1][::-1], order[j + 1 :]])
                new = int(apart[turned, np.roll(turned, -1)].sum())
                if new < length:
                    order, length, improved = turned, new, True
    return order
