"""The machines as arrays: devices numbered node after node, their domains at every level."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Level:
    """One level of the fabric: a partition of the devices.

    Attributes:
        name: ``node`` or the user's name.
        weight: cost factor of a link that leaves a domain of this level.
        domain: [devices] domain index of each device.
        names: name of each domain.
    """

    name: str
    weight: float
    domain: Ints
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Machines:
    """Nodes, their GPUs and the fabric above and below them.

    A device is an integer: nodes in the user's order, GPU index fastest, offline ones included.

    Attributes:
        hosts: node names in the user's order.
        gpus: [nodes] GPUs of each node, offline ones included.
        online: [devices] whether a device may hold a rank.
        uuids: for nodes that state them, the UUID of each GPU.
        levels: from the finest to the coarsest; the node level is always among them.
        rails: [devices] rail of each GPU; links between GPUs of one rail cross the fewest switches.
    """

    hosts: tuple[str, ...]
    gpus: Ints
    online: Bools
    uuids: dict[str, tuple[str, ...]]
    levels: tuple[Level, ...]
    rails: Ints

    @cached_property
    def first_device(self) -> Ints:
        """[nodes] device of each node's GPU 0."""
        return np.concatenate([[0], np.cumsum(self.gpus)[:-1]]).astype(np.int64)

    @cached_property
    def device_node(self) -> Ints:
        """[devices] node index of each device."""
        return np.repeat(np.arange(len(self.hosts), dtype=np.int64), self.gpus)

    @cached_property
    def device_gpu(self) -> Ints:
        """[devices] GPU index of each device inside its node."""
        return np.arange(len(self.online), dtype=np.int64) - self.first_device[self.device_node]

    @cached_property
    def usable(self) -> Ints:
        """The online devices, ascending."""
        return np.flatnonzero(self.online)

    @cached_property
    def node_index(self) -> dict[str, int]:
        """Index of each node by name."""
        return {name: i for i, name in enumerate(self.hosts)}

    @cached_property
    def node_level(self) -> int:
        """Position of the node level in `levels`."""
        return next(i for i, level in enumerate(self.levels) if level.name == "node")

    def level(self, name: str) -> Level:
        """The level of that name; KeyError if there is none."""
        for level in self.levels:
            if level.name == name:
                return level
        raise KeyError(name)

    def device(self, host: str, gpu: int) -> int:
        """Device number of a host's GPU."""
        return int(self.first_device[self.node_index[host]]) + gpu

    def capacities(self, level: Level) -> Ints:
        """[domains] online devices of each domain of a level."""
        return np.bincount(level.domain[self.online], minlength=len(level.names)).astype(np.int64)


def first_domain_that_splits(fine: Ints, coarse: Ints) -> int | None:
    """The first domain of `fine` ([devices]) that lies in two domains of `coarse`, or None."""
    _, first, inverse = np.unique(fine, return_index=True, return_inverse=True)
    split = np.flatnonzero(coarse[first][inverse] != coarse)
    return int(fine[split[0]]) if len(split) else None


def order_levels(levels: Sequence[Level]) -> tuple[Level, ...]:
    """Levels from the finest (most domains) to the coarsest, in a stable order."""
    return tuple(sorted(levels, key=lambda level: -len(level.names)))
