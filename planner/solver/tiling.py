"""Tiles: a few data copies on their share of the machines, solved once and repeated.

Ring groups over data copies touch the domains of all tiles, so the cost of a plan made of tiles is
the sum of the tiles' costs, but for rings that a tile holds in one domain. A large job that fits
its nodes badly becomes several equal small ones that assembly can finish.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from planner.baseline import device_orders
from planner.grid import Grid, Ints
from planner.solver.outcome import Options, Outcome
from planner.solver.state import Search
from planner.spec.problem import Problem

BY = "repeated tiles"
_RANKS = range(48, 700)  # sizes of a tile worth solving
_LARGE = 600  # ranks from which tiles are tried
_SHARE = 0.3  # of the time left, for each size of tile
_SIZES = 2  # sizes of tile tried

Solve = Callable[[Problem, Grid, Options], Outcome]


def offer_tiles(search: Search, solve: Solve) -> None:
    """Solve one tile of each promising size and offer its repetitions."""
    if search.proven or search.constrained or search.grid.world < _LARGE:
        return
    if not search.weighing.levels[search.machines.node_level]:
        return  # a tile is laid on nodes: where those cost nothing it has nothing to say
    for copies, shares in _tilings(search):
        if search.done:
            return
        seats = _solved(search, solve, copies, shares)
        if seats is not None:
            search.offer(seats, BY)


def _tilings(search: Search) -> Iterator[tuple[int, list[Ints]]]:
    """(data copies of a tile, nodes of each tile), smallest tiles first; all tiles alike."""
    grid = search.grid
    copy = grid.world // grid.dp
    found = 0
    for copies in range(1, grid.dp):
        if grid.dp % copies or copies * copy not in _RANKS or not _keeps_experts(search, copies):
            continue
        shares = _shares(search, grid.dp // copies, copies * copy)
        if shares is not None:
            yield copies, shares
            found += 1
        if found == _SIZES:
            return


def _keeps_experts(search: Search, copies: int) -> bool:
    """Whether expert groups lie inside that many data copies."""
    return all(
        m.shape.tp * m.shape.cp * copies % (m.shape.expert_tp * m.shape.ep) == 0
        for m in search.grid.modules
        if m.shape.has_experts
    )


def _shares(search: Search, tiles: int, ranks: int) -> list[Ints] | None:
    """Nodes of each tile: consecutive runs with the same capacities, or None."""
    machines = search.machines
    order = machines.device_node[device_orders(machines, search.grid.world)[0]]
    nodes = order[np.sort(np.unique(order, return_index=True)[1])]
    capacity = machines.capacities(machines.level("node"))[nodes]
    size = len(nodes) // tiles
    while size and capacity[:size].sum() < ranks:
        size += 1
    if not size or size * tiles > len(nodes):
        return None
    shares = nodes[: size * tiles].reshape(tiles, size)
    alike = capacity[: size * tiles].reshape(tiles, size)
    return list(shares) if (alike == alike[0]).all() else None


def _solved(search: Search, solve: Solve, copies: int, shares: list[Ints]) -> Ints | None:
    """The first tile solved and laid on the nodes of every tile."""
    share = search.left * _SHARE
    tile = _tile(search, copies, shares[0])
    grid = Grid.of(tile)
    outcome = solve(tile, grid, replace(search.options, time_limit=share, progress=None))
    search.spend(share)
    own = tile.cluster.machines
    node, gpu = own.device_node[outcome.placement], own.device_gpu[outcome.placement]
    out = np.empty(search.grid.world, np.int64)
    for i, nodes in enumerate(shares):
        seats = search.machines.first_device[nodes[node]] + gpu
        for module, part in zip(search.grid.modules, grid.modules, strict=True):
            out[module.mesh[:, i * copies : (i + 1) * copies]] = seats[part.mesh]
    return out if search.machines.online[out].all() else None


def _tile(search: Search, copies: int, nodes: Ints) -> Problem:
    """The problem of one tile: fewer copies, some of the nodes, the node level alone."""
    machines = search.machines
    document: dict[str, Any] = search.problem.document()
    document["job"]["dp"] = copies
    document["cluster"] = {
        "nodes": [_node(search, int(n)) for n in nodes],
        "node_weight": machines.level("node").weight,
    }
    return Problem.model_validate(document)


def _node(search: Search, node: int) -> dict[str, Any]:
    machines = search.machines
    first, gpus = int(machines.first_device[node]), int(machines.gpus[node])
    offline = np.flatnonzero(~machines.online[first : first + gpus]).tolist()
    return {"name": machines.hosts[node], "gpus": gpus, "offline": offline}
