"""A plan: which device every trainer rank takes, what that costs, and the file that states it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from planner.cost import Links, as_number, links, total
from planner.files import write_whole
from planner.grid import Grid, Ints, rows
from planner.machines import Machines
from planner.spec.problem import Problem
from planner.traffic.measuring import measure

FORMAT = "planner.plan"
VERSION = 1


@dataclass(frozen=True, eq=False)
class Seats:
    """Where every trainer rank sits; arrays are [world], by trainer rank.

    Attributes:
        hosts: node index of each used host, by the lowest trainer rank it holds.
        host: position in `hosts` of each rank's host.
        gpu: GPU index inside the host.
        local_rank: number of smaller trainer ranks on the same host.
        host_rank: rank counted host by host, GPU index fastest.
    """

    hosts: Ints
    host: Ints
    gpu: Ints
    local_rank: Ints
    host_rank: Ints


def seats(machines: Machines, placement: Ints) -> Seats:
    """Seats of a placement ([world] device of each trainer rank).

    Example:
        >>> from planner.spec.problem import Problem
        >>> machines = Problem.model_validate({"cluster": {"nodes": 2, "gpus_per_node": 2}}
        ...     ).cluster.machines
        >>> seats(machines, np.array([3, 0, 2, 1])).host_rank.tolist()
        [1, 2, 0, 3]
    """
    node = machines.device_node[placement]
    gpu = machines.device_gpu[placement]
    nodes, first = np.unique(node, return_index=True)
    hosts = nodes[np.argsort(first)]
    position = np.empty(len(machines.hosts), np.int64)
    position[hosts] = np.arange(len(hosts))
    host = position[node]
    by_host = np.argsort(host, kind="stable")
    starts = np.searchsorted(host[by_host], np.arange(len(hosts)))
    local = np.empty_like(host)
    local[by_host] = np.arange(len(host)) - starts[host[by_host]]
    host_rank = np.empty_like(host)
    host_rank[np.lexsort((gpu, host))] = np.arange(len(host))
    return Seats(hosts, host, gpu, local, host_rank)


def megatron_order(machines: Machines, world: int) -> Ints:
    """Megatron's own order: trainer rank r on the r-th usable device of the nodes as given."""
    return machines.usable[:world]


@dataclass(frozen=True, eq=False)
class Plan:
    """A placement of a problem and how it was found.

    Attributes:
        problem: the problem, every default resolved.
        placement: [world] device of each trainer rank (nodes in file order, GPU index fastest).
        solver: status, cost, bound, gap, seed and whatever else the solver states.
        replan: of a replanned plan, the hash of the old one and who moved where.

    Example:
        >>> import planner
        >>> problem = planner.Problem.model_validate({"cluster": {"nodes": 1, "gpus_per_node": 4},
        ...     "job": {"decoder": {"tp": 2}}})
        >>> planner.solve(problem).groups["tp"]
        [[0, 1], [2, 3]]
    """

    problem: Problem
    placement: Ints
    solver: dict[str, Any]
    replan: dict[str, Any] | None = None

    @property
    def machines(self) -> Machines:
        """The devices."""
        return self.problem.cluster.machines

    @cached_property
    def grid(self) -> Grid:
        """Slots and group families as arrays."""
        return Grid.of(self.problem)

    @cached_property
    def seats(self) -> Seats:
        """Host, GPU, local rank and host rank of each trainer rank."""
        return seats(self.machines, self.placement)

    @cached_property
    def groups(self) -> dict[str, list[list[int]]]:
        """Every group family of the contract as ascending lists of trainer ranks."""
        return {name: rows(family) for name, family in self.grid.groups.items()}

    @cached_property
    def bridge(self) -> list[list[int]]:
        """(encoder rank, decoder rank) pairs; empty with one module."""
        pairs: list[list[int]] = self.grid.bridge.tolist()
        return pairs

    @cached_property
    def links(self) -> Links:
        """Links that leave a domain, by level and kind."""
        return links(self.grid, self.machines, self.placement)

    @cached_property
    def baseline(self) -> dict[str, Any]:
        """Cost and links of Megatron's own order on the nodes as given."""
        counted = links(self.grid, self.machines, megatron_order(self.machines, self.grid.world))
        cost = total(self.problem, self.machines, counted)
        stated = {"cost": as_number(cost), "links": counted}
        if self.traffic is not None:
            stated["traffic"] = self.measured(megatron_order(self.machines, self.grid.world))
        return stated

    @cached_property
    def traffic(self) -> dict[str, Any] | None:
        """GB a training step that leave each level's domains; None without objective.traffic."""
        if self.problem.objective.traffic is None:
            return None
        return self.measured(self.placement)

    def measured(self, placement: Ints) -> dict[str, Any]:
        """The traffic block of any placement of this problem."""
        return measure(self.problem, self.grid, self.machines, placement).document()

    @cached_property
    def cost(self) -> int | float:
        """Cost of the placement, recomputed from its definition."""
        return as_number(total(self.problem, self.machines, self.links))

    @cached_property
    def hosts(self) -> list[str]:
        """Used hosts by the lowest trainer rank they hold; the first is the master."""
        return [self.machines.hosts[h] for h in self.seats.hosts.tolist()]

    @cached_property
    def idle(self) -> Ints:
        """Usable devices that hold no rank."""
        return np.setdiff1d(self.machines.usable, self.placement)

    def mesh(self, module: str) -> Ints:
        """[pp, dp, cp, tp] trainer ranks of a module; KeyError if the job has none of that name."""
        return self.grid.mesh(module)

    def document(self) -> dict[str, Any]:
        """The plan file's content."""
        hosts, gpus = self.machines.hosts, self.machines.device_gpu
        nodes = self.machines.device_node[self.idle].tolist()
        return {
            "format": FORMAT,
            "version": VERSION,
            "problem_sha256": self.problem.sha256,
            "problem": self.problem.document(),
            "solver": self.solver,
            **({"replan": self.replan} if self.replan is not None else {}),
            "baseline": self.baseline,
            "links": self.links,
            **({"traffic": self.traffic} if self.traffic is not None else {}),
            "world_size": self.grid.world,
            "hosts": self.hosts,
            "idle": [
                {"host": hosts[n], "gpu": g}
                for n, g in zip(nodes, gpus[self.idle].tolist(), strict=True)
            ],
            "ranks": self._rank_entries(),
            "groups": self.groups,
            "bridge": self.bridge,
        }

    def _rank_entries(self) -> list[dict[str, Any]]:
        grid, seat = self.grid, self.seats
        names = [m.name for m in grid.modules]
        c = grid.coordinates
        columns = (
            range(grid.world),
            [self.hosts[h] for h in seat.host.tolist()],
            seat.gpu.tolist(),
            seat.local_rank.tolist(),
            seat.host_rank.tolist(),
            [names[m] for m in c["module"].tolist()],
            *(c[axis].tolist() for axis in ("pp", "dp", "cp", "tp")),
            grid.dataset.tolist(),
        )
        return [dict(zip(RANK_KEYS, row, strict=True)) for row in zip(*columns, strict=True)]

    def text(self) -> str:
        """The plan file: one line a key, one a rank, one a group family."""
        return "".join(_lines(self.document()))

    def save(self, path: str | Path) -> None:
        """Write the plan file, whole or not at all."""
        write_whole(path, self.text())


RANK_KEYS = (
    "rank",
    "host",
    "gpu",
    "local_rank",
    "host_rank",
    "module",
    "pp",
    "dp",
    "cp",
    "tp",
    "dataset",
)


def _lines(document: dict[str, Any]) -> Iterator[str]:
    dump = json.JSONEncoder(separators=(",", ":")).encode
    last = list(document)[-1]
    yield "{\n"
    for key, value in document.items():
        end = "\n" if key == last else ",\n"
        if key == "ranks" and value:
            yield ' "ranks": [\n  ' + ",\n  ".join(map(dump, value)) + "\n ]" + end
        elif key == "groups":
            inner = ",\n  ".join(f"{dump(name)}: {dump(lists)}" for name, lists in value.items())
            yield ' "groups": {\n  ' + inner + "\n }" + end
        else:
            yield f" {dump(key)}: {json.dumps(value)}{end}"
    yield "}\n"
