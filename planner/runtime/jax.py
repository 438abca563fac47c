"""A `jax.sharding.Mesh` with the plan's coordinates."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from planner.grid import MESH_AXES
from planner.plan import Plan
from planner.runtime.layout import Layout


def mesh(
    plan: Plan | Layout | str | Path,
    module: str = "decoder",
    devices: Sequence[Any] | None = None,
) -> Any:
    """The mesh of a module; JAX keeps whatever order of devices it is given.

    Args:
        plan: a plan, its file, or the file of `planner export --to torch`.
        module: ``encoder`` or ``decoder``.
        devices: device of each rank; default `jax.devices()`, right where process r is rank r.

    Raises:
        ModuleNotFoundError: jax is not installed.
        KeyError: no such module.

    Example::

        mesh = planner.runtime.jax.mesh("plan.json")
        jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("dp", "tp"))
    """
    jax = import_module("jax")
    ordered = np.array(jax.devices() if devices is None else devices)
    return jax.sharding.Mesh(ordered[Layout.of(plan).meshes[module]], MESH_AXES)
