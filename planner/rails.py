"""Which links between nodes stay on their rail.

GPUs of one rail of different nodes hang off the same switches. A pair link stays on its rail if
both its ends have one rail. A ring that leaves a node crosses a border wherever one node's members
are followed by another's (nodes in the order of their lowest rank); the border stays on its rail if
both nodes hold a member of one rail.
"""

from dataclasses import dataclass

import numpy as np

from planner.grid import Grid, Ints
from planner.machines import Bools, Machines
from planner.spec.names import LINK_KINDS


@dataclass(frozen=True, eq=False)
class Borders:
    """Links between nodes, each between two sides: the members a group has in one node.

    Attributes:
        kind: [borders] index into `LINK_KINDS`.
        ends: [borders, 2] sides.
        side: [members] side of each entry of `rank`, ascending.
        rank: [members] trainer ranks.
        sides: number of sides.
    """

    kind: Ints
    ends: Ints
    side: Ints
    rank: Ints
    sides: int


def borders(grid: Grid, machines: Machines, placement: Ints) -> Borders:
    """All links that leave a node; as many of each kind as `planner.cost` counts there.

    Args:
        grid: the job.
        machines: the devices.
        placement: [world] device of each trainer rank.
    """
    node = machines.device_node[placement]
    world = grid.world
    # Sides of pairs are the ranks themselves; those of rings are numbered after them.
    sides, ranks = [np.arange(world)], [np.arange(world)]
    kinds, ends = [], []
    count = world
    for kind, family in grid.rings.items():
        for groups in family:
            side, rank, border = _ring_borders(groups, node)
            sides.append(side + count)
            ranks.append(rank)
            ends.append(border + count)
            kinds.append(np.full(len(border), LINK_KINDS.index(kind)))
            count += len(border)  # a ring has as many borders as sides
    for kind, pairs in [*grid.pairs.items(), *_exchanged(grid)]:
        apart = pairs[node[pairs[:, 0]] != node[pairs[:, 1]]]
        ends.append(apart)
        kinds.append(np.full(len(apart), LINK_KINDS.index(kind)))
    return Borders(
        np.concatenate(kinds),
        np.concatenate(ends),
        np.concatenate(sides),
        np.concatenate(ranks),
        count,
    )


def _ring_borders(groups: Ints, node: Ints) -> tuple[Ints, Ints, Ints]:
    """(side of each member, rank of each member, [borders, 2] sides) of the groups that cross."""
    held = node[groups]
    crossing = (held != held[:, :1]).any(axis=1)
    members, held = groups[crossing], held[crossing]
    row = np.repeat(np.arange(len(members)), groups.shape[1])
    width = int(node.max(initial=0)) + 1
    _, first, inverse = np.unique(
        row * width + held.ravel(), return_index=True, return_inverse=True
    )
    # Sides in the order of their lowest rank, which is the ring's.
    order = np.argsort(first, kind="stable")
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    side = position[inverse]
    side_row = row[first[order]]
    starts = np.searchsorted(side_row, side_row, side="left")
    ends = np.searchsorted(side_row, side_row, side="right")
    here = np.arange(len(side_row))
    following = np.where(here + 1 < ends, here + 1, starts)
    by_side = np.argsort(side, kind="stable")
    return side[by_side], members.ravel()[by_side], np.stack([here, following], axis=1)


def _exchanged(grid: Grid) -> list[tuple[str, Ints]]:
    """Member pairs of the all-to-alls."""
    out = []
    for kind, family in grid.exchanges.items():
        for groups in family:
            a, b = np.triu_indices(groups.shape[1], 1)
            pairs = np.stack([groups[:, a].ravel(), groups[:, b].ravel()], axis=1)
            out.append((kind, pairs))
    return out


def on_rail(found: Borders, rail: Ints) -> Bools:
    """[borders] whether each stays on its rail.

    Args:
        found: the links.
        rail: [world] rail of each rank.
    """
    ends = found.ends
    # Sides of one member need no sets; the others are compared rail by rail.
    _, dense = np.unique(rail, return_inverse=True)
    aligned = np.zeros(len(ends), bool)
    for r in range(int(dense.max(initial=-1)) + 1):
        holds = np.zeros(found.sides, bool)
        holds[found.side[dense[found.rank] == r]] = True
        aligned |= holds[ends[:, 0]] & holds[ends[:, 1]]
    return aligned


def rail_counts(grid: Grid, machines: Machines, placement: Ints) -> dict[str, tuple[int, int]]:
    """(links on their rail, all links) that leave a node, by kind; kinds without any left out.

    Example:
        >>> from planner.spec.problem import Problem
        >>> made = Problem.model_validate({"cluster": {"nodes": 2, "gpus_per_node": 2},
        ...     "job": {"decoder": {"tp": 2, "pp": 2}, "dp": 1}})
        >>> rail_counts(Grid.of(made), made.cluster.machines, np.array([0, 1, 3, 2]))
        {'pp': (0, 2)}
    """
    found = borders(grid, machines, placement)
    aligned = on_rail(found, machines.rails[placement])
    total = np.bincount(found.kind, minlength=len(LINK_KINDS)).tolist()
    good = np.bincount(found.kind[aligned], minlength=len(LINK_KINDS)).tolist()
    return {k: (g, t) for k, g, t in zip(LINK_KINDS, good, total, strict=True) if t}
