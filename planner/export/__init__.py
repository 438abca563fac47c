"""Write a plan the way someone else reads it: one module a consumer, which only translates.

Each consumer's module has a function ``files(view)`` that returns the text of its files by name,
the main one first, and raises `InputError` with the reason when its consumer cannot express the
plan.
"""

from dataclasses import dataclass
from importlib import import_module

from planner.export.numbering import View
from planner.plan import Plan


@dataclass(frozen=True, slots=True)
class Consumer:
    """Somebody who reads plans.

    Attributes:
        module: module of this package that writes for it.
        what: what the files are, in a few words.
        several: whether there is more than one file.
    """

    module: str
    what: str
    several: bool = False


CONSUMERS = {
    "ranks": Consumer("ranks", "every group as lists of ranks, JSON"),
    "env": Consumer("env", "rank to host, local rank and GPU; a wrapper for any launcher", True),
    "slurm": Consumer("slurm", "hostfile for srun -m arbitrary, sbatch script", True),
    "openmpi": Consumer("openmpi", "seq file and rankfile for mpirun 4.x and 5.x", True),
    "hydra": Consumer("hydra", "hostfile and -rankmap for mpiexec of MPICH", True),
    "torchrun": Consumer("torchrun", "static rendezvous, one command a node"),
    "deepspeed": Consumer("deepspeed", "hostfile for the deepspeed launcher", True),
    "kubernetes": Consumer("kubernetes", "JobSet, one replicated job a node"),
    "ray": Consumer("ray", "placement group: bundles and their label selectors, JSON"),
    "torch": Consumer("torch", "mesh arrays and groups for planner.runtime.torch, JSON"),
    "megatron": Consumer("megatron", "arguments that reproduce the numbering", True),
    "deepspeed-topology": Consumer("deepspeed_topology", "axes of ProcessTopology, JSON"),
    "jax": Consumer("jax", "device permutation for jax.sharding.Mesh, JSON"),
}
"""Consumers by the name `planner export --to` takes, in the order it lists them."""


def export(plan: Plan, to: str, numbering: str = "trainer") -> dict[str, str]:
    r"""A plan as one consumer reads it.

    Args:
        plan: the plan.
        to: a name of `CONSUMERS`; KeyError if it is none.
        numbering: ``trainer``, or ``host`` to count ranks host by host.

    Returns:
        Text of each file by name, the main one first. Names ending in ``.sh`` are scripts.

    Raises:
        InputError: the consumer cannot express this plan, or the numbering would reorder a group.

    Example:
        >>> from planner.spec.problem import Problem
        >>> import numpy as np
        >>> problem = Problem.model_validate({"cluster": {"nodes": "b,a", "gpus_per_node": 1},
        ...     "job": {"decoder": {"tp": 2}}})
        >>> export(Plan(problem, np.array([1, 0]), {}), "slurm")["hosts"]
        'a\nb\n'
    """
    consumer = CONSUMERS[to]
    view = View.of(plan, numbering)
    files: dict[str, str] = import_module(f"planner.export.{consumer.module}").files(view)
    return files
