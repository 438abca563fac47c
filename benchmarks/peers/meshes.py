"""JAX's `mesh_utils.create_hybrid_device_mesh`, with a node as granule.

It takes one module on equal nodes that are all full: a mesh of axes, and for each axis how much of
it lies inside a node. Every such split and every order of the axes is tried, the cheapest kept.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import prod

import numpy as np

from benchmarks.peers.task import Limits, NotApplicable, Task, refuse_constraints, require
from planner.grid import Ints


@dataclass(frozen=True)
class _Device:
    """What `mesh_utils` looks at."""

    id: int
    process_index: int
    platform: str = "gpu"
    device_kind: str = "gpu"


def jax_mesh(task: Task, limits: Limits) -> Ints:
    """The cheapest hybrid mesh."""
    refuse_constraints(task)
    size = _accepted(task)
    require("jax")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from jax.experimental import mesh_utils  # noqa: PLC0415

    devices = [
        _Device(int(d), int(task.machines.device_node[d])) for d in task.machines.usable.tolist()
    ]
    slots = task.grid.modules[0].mesh
    best: tuple[int, Ints] | None = None
    for order in permutations(range(slots.ndim)):
        turned = slots.transpose(order)
        for inner in _inside(size, turned.shape):
            outer = [n // i for n, i in zip(turned.shape, inner, strict=True)]
            mesh = mesh_utils.create_hybrid_device_mesh(
                inner, outer, devices, process_is_granule=True
            )
            placement = np.empty(task.grid.world, np.int64)
            placement[turned.ravel()] = [device.id for device in mesh.ravel()]
            cost = task.cost(placement)
            if best is None or cost < best[0]:
                best = (cost, placement)
            if not limits.left:
                return best[1]
    if best is None:
        raise NotApplicable(f"no split of the mesh fills a node of {size}")
    return best[1]


def _accepted(task: Task) -> int:
    """GPUs of a node, all of them equal and full."""
    sizes = np.unique(task.machines.capacities(task.machines.level("node")))
    if len(task.grid.modules) > 1:
        raise NotApplicable("a mesh holds one module")
    if len(sizes) > 1 or len(task.machines.usable) != task.grid.world:
        raise NotApplicable("nodes are unequal, or GPUs idle")
    return int(sizes[0])


def _inside(size: int, shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Parts of a mesh that fill a node and divide its axes."""
    sides = [[i for i in range(1, size + 1) if size % i == 0 and n % i == 0] for n in shape]
    return (inner for inner in product(*sides) if prod(inner) == size)
