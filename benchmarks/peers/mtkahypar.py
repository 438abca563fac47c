"""Mt-KaHyPar, whose SOED objective is the cost of rings, with individual part sizes."""

from functools import cache
from typing import Any

import numpy as np

from benchmarks.peers.restarts import best_of
from benchmarks.peers.task import Limits, Task, refuse_constraints, require
from benchmarks.peers.topdown import Cut, place
from planner.grid import Ints

_THOROUGH = 1024  # slots up to which the slowest preset is used


def mt_kahypar(task: Task, limits: Limits) -> Ints:
    """The best of 20 seeds for every cut, top-down through the levels."""
    refuse_constraints(task)
    require("mtkahypar")
    return place(task, limits, _partition)


def _partition(cut: Cut, share: float, limits: Limits) -> Ints:
    nets = [net.tolist() for net in cut.nets()]
    return best_of(cut, share, limits, lambda seed: _run(cut, nets, limits.threads, seed))


@cache
def _library(threads: int) -> Any:
    import mtkahypar  # noqa: PLC0415

    return mtkahypar.initialize(threads, print_warnings=False)


def _run(cut: Cut, nets: list[list[int]], threads: int, seed: int) -> Ints:
    """One partition; slots and nets are renumbered by the seed, else seeds differ little.

    Places that stay free are slots without links, so that the sizes add up.
    """
    import mtkahypar  # noqa: PLC0415

    library = _library(threads)
    rng = np.random.default_rng(seed)
    size = int(cut.capacities.sum())
    renamed = rng.permutation(size)
    order = rng.permutation(len(nets)).tolist()
    mtkahypar.set_seed(seed)
    presets = mtkahypar.PresetType
    context = library.context_from_preset(
        presets.HIGHEST_QUALITY if cut.slots <= _THOROUGH else presets.DEFAULT
    )
    context.set_partitioning_parameters(len(cut.capacities), 0.0, mtkahypar.Objective.SOED)
    context.set_individual_target_block_weights(cut.capacities.tolist())
    context.logging = False
    graph = library.create_hypergraph(
        context,
        size,
        len(nets),
        [renamed[nets[net]].tolist() for net in order],
        [1] * size,
        cut.weights[order].tolist(),
    )
    part = np.array(graph.partition(context).get_partition(), np.int64)
    return part[renamed[: cut.slots]]
