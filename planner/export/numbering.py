"""A plan's ranks counted in one of its two numberings: by the trainer, or host by host."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from planner.errors import Complaint, InputError
from planner.grid import Ints, rows
from planner.plan import Plan

SINGLE_AXES = ("tp", "cp", "dp", "pp", "ep", "expt_tp", "expt_dp")
"""Families whose groups vary one coordinate, so that a member's place in them has a meaning."""


@dataclass(frozen=True, eq=False)
class View:
    """A plan as its consumers see it. Arrays are [world], by rank in the view's numbering.

    Attributes:
        plan: the plan.
        numbering: ``trainer`` or ``host``.
        number: [world] the view's rank of each trainer rank.
        host: position in `plan.hosts` of each rank's host.
        gpu: GPU index inside the host.
        local_rank: number of smaller ranks on the same host.
    """

    plan: Plan
    numbering: str
    number: Ints
    host: Ints
    gpu: Ints
    local_rank: Ints

    @classmethod
    def of(cls, plan: Plan, numbering: str = "trainer") -> "View":
        """The plan in a numbering.

        Raises:
            InputError: host ranks do not rise with every coordinate. `torch.distributed` sorts the
                ranks of a group, so members would silently change places.
        """
        seats = plan.seats
        if numbering == "trainer":
            own = np.arange(plan.grid.world, dtype=np.int64)
            return cls(plan, numbering, own, seats.host, seats.gpu, seats.local_rank)
        _check_rises(plan)
        order = np.argsort(seats.host_rank)
        host = seats.host[order]
        first = np.searchsorted(host, np.arange(len(plan.hosts)))
        local = np.arange(len(host)) - first[host]
        return cls(plan, numbering, seats.host_rank, host, seats.gpu[order], local)

    @property
    def world(self) -> int:
        """Number of ranks."""
        return self.plan.grid.world

    @property
    def hosts(self) -> list[str]:
        """Used hosts; the first is the master."""
        return self.plan.hosts

    @cached_property
    def host_of(self) -> list[str]:
        """[world] name of each rank's host."""
        return [self.hosts[h] for h in self.host.tolist()]

    @cached_property
    def local_sizes(self) -> list[int]:
        """[hosts] ranks on each host."""
        sizes: list[int] = np.bincount(self.host, minlength=len(self.hosts)).tolist()
        return sizes

    @cached_property
    def gpus_of(self) -> list[list[int]]:
        """[hosts] GPU indices of each host in the order of its local ranks."""
        order = np.lexsort((self.local_rank, self.host))
        cuts = np.cumsum(self.local_sizes)[:-1]
        return [part.tolist() for part in np.split(self.gpu[order], cuts)]

    @cached_property
    def visible_devices(self) -> list[str]:
        """[hosts] CUDA_VISIBLE_DEVICES of each host: its GPUs in the order of its local ranks."""
        return [",".join(map(str, gpus)) for gpus in self.gpus_of]

    @property
    def groups(self) -> dict[str, list[list[int]]]:
        """Every group family as sorted, ascending lists of ranks."""
        return {
            name: rows([np.sort(self.number[groups], axis=1) for groups in family])
            for name, family in self.plan.grid.groups.items()
        }

    @property
    def bridge(self) -> list[list[int]]:
        """(encoder rank, decoder rank) pairs, ascending."""
        pairs: list[list[int]] = self.number[self.plan.grid.bridge].tolist()
        return sorted(pairs)

    def mesh(self, module: str) -> Ints:
        """[pp, dp, cp, tp] ranks of a module."""
        return self.number[self.plan.mesh(module)]

    @property
    def modules(self) -> list[str]:
        """Names of the modules, encoder first."""
        return [m.name for m in self.plan.grid.modules]

    def require_runs(self, consumer: str) -> None:
        """Refuse a plan in which some host's ranks are not one run of consecutive numbers.

        Raises:
            InputError: naming the first such host and what would help.
        """
        starts = np.flatnonzero(np.diff(self.host, prepend=-1))
        hosts, counts = np.unique(self.host[starts], return_counts=True)
        split = hosts[counts > 1]
        if not len(split):
            return
        first = int(self.host[starts[np.isin(self.host[starts], split)][0]])
        held = np.flatnonzero(self.host == first)
        raise InputError(
            Complaint(
                "$.ranks",
                f"{consumer} gives every node one run of consecutive ranks",
                got=f"{self.hosts[first]} with ranks {_runs(held)}",
                remedy="set constraints.launch to 'node-contiguous' in the problem and solve it "
                "again, or use a launcher that places rank by rank (slurm, openmpi, hydra)",
            )
        )


def _check_rises(plan: Plan) -> None:
    number = plan.seats.host_rank
    for name, family in plan.grid.groups.items():
        if name not in SINGLE_AXES and not name.startswith("hcp_"):
            continue
        for groups in family:
            falls = np.flatnonzero((np.diff(number[groups], axis=1) <= 0).any(axis=1))
            if len(falls):
                group = groups[falls[0]]
                raise InputError(
                    Complaint(
                        f"$.groups.{name}",
                        "host ranks do not rise along this group, and torch would sort its list",
                        got=f"trainer ranks {group.tolist()} with host ranks "
                        f"{number[group].tolist()}",
                        remedy="use --numbering trainer and a launcher that places rank by rank",
                    )
                )


def _runs(ranks: Ints) -> str:
    """Ascending ranks in short form, the first few runs of them."""
    cuts = np.flatnonzero(np.diff(ranks) != 1) + 1
    runs = [(int(part[0]), int(part[-1])) for part in np.split(ranks, cuts)]
    text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs[:4])
    return f"{text}, ..." if len(runs) > 4 else text
