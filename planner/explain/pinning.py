"""Pins that other lines rule out, in words."""

import numpy as np

from planner.errors import Infeasible
from planner.explain.lines import offline_lines
from planner.explain.ties import Ties, lines_behind
from planner.feasibility import pinned
from planner.grid import Grid, Ints
from planner.machines import Machines
from planner.spec.problem import Problem
from planner.wording import a

_PIN = "$.constraints.pins[{}]"
_LAUNCH = "$.constraints.launch"


def refuse_pins(problem: Problem, grid: Grid, found: list[Ties]) -> None:
    """Raise where two pins, or a pin and what is tied to it, leave no plan.

    Raises:
        Infeasible: with the pins and the lines against them.
    """
    machines = problem.cluster.machines
    pins = np.array(pinned(problem, grid), np.int64).reshape(-1, 2)
    if not len(pins):
        return
    for tied in found:
        _refuse_split(pins, tied)
        _refuse_crowded(problem, grid, pins, tied)
    if problem.constraints.launch == "node-contiguous":
        _refuse_runs(problem, machines, pins)


def _refuse_split(pins: Ints, tied: Ties) -> None:
    """Two pinned ranks of one block in two domains."""
    block, domain = tied.block[pins[:, 0]], tied.level.domain[pins[:, 1]]
    order = np.lexsort([domain, block])
    apart = (block[order][1:] == block[order][:-1]) & (domain[order][1:] != domain[order][:-1])
    if not apart.any():
        return
    at = int(np.flatnonzero(apart)[0])
    i, j = sorted(order[at : at + 2].tolist())
    a, b = (tied.level.names[int(domain[k])] for k in (i, j))
    raise Infeasible(
        [*tied.paths, _PIN.format(i), _PIN.format(j)],
        f"ranks {pins[i, 0]} and {pins[j, 0]} {_shared(tied)}, but are pinned to {a} and {b}: "
        "these lines exclude one another",
        f"pin both inside one {tied.level.name}",
    )


def _shared(tied: Ties) -> str:
    what = " and ".join(tied.names)
    if len(tied.names) == 1:
        return f"share {a(f'{what} group')} that must stay inside one {tied.level.name}"
    return f"are tied to one {tied.level.name} through their {what} groups"


def _refuse_crowded(problem: Problem, grid: Grid, pins: Ints, tied: Ties) -> None:
    """Blocks pinned to a domain that cannot hold them all."""
    machines = problem.cluster.machines
    block, domain = tied.block[pins[:, 0]], tied.level.domain[pins[:, 1]]
    pairs, first = np.unique(np.stack([domain, block]), axis=1, return_index=True)
    need = np.bincount(pairs[0], weights=tied.sizes[pairs[1]], minlength=len(tied.level.names))
    room = machines.capacities(tied.level)
    full = np.flatnonzero(need > room)
    if not len(full):
        return
    d = int(full[0])
    which = sorted(first[pairs[0] == d].tolist())
    behind = lines_behind(problem, grid, tied, pairs[1][pairs[0] == d])
    raise Infeasible(
        [*behind, *(_PIN.format(i) for i in which)],
        f"the pins bring {int(need[d])} ranks that stay together to {tied.level.names[d]}, which "
        f"holds {room[d]}",
        f"pin them to {a(tied.level.name)} with more usable GPUs",
    )


def _refuse_runs(problem: Problem, machines: Machines, pins: Ints) -> None:
    """Pins on one host whose run of ranks is longer than the host, or holds a foreign pin."""
    rank_order = np.argsort(pins[:, 0], kind="stable")
    node = machines.device_node[pins[:, 1]]
    room = machines.capacities(machines.levels[machines.node_level])
    for host in np.unique(node).tolist():
        mine = rank_order[node[rank_order] == host].tolist()
        i, j = mine[0], mine[-1]
        low, high = int(pins[i, 0]), int(pins[j, 0])
        name = machines.hosts[host]
        run = f"pins of ranks {low} and {high} put that run of {high - low + 1} ranks on {name}"
        if high - low + 1 > room[host]:
            raise Infeasible(
                [_LAUNCH, _PIN.format(i), _PIN.format(j), *offline_lines(problem)],
                f"{run}, which holds {room[host]}: these lines exclude one another",
                "pin ranks closer to one another",
            )
        for k in rank_order.tolist():
            if node[k] != host and low < pins[k, 0] < high:
                raise Infeasible(
                    [_LAUNCH, _PIN.format(i), _PIN.format(k), _PIN.format(j)],
                    f"{run}, but rank {pins[k, 0]} of that run is pinned to "
                    f"{machines.hosts[int(node[k])]}",
                    "pin ranks in the order of the hosts",
                )
