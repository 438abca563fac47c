"""KaMinPar, a graph partitioner: rings become cliques, or cycles where a clique is too large."""

import tempfile
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.restarts import best_of
from benchmarks.peers.task import Limits, NotApplicable, Task, refuse_constraints, require
from benchmarks.peers.topdown import Cut, place
from planner.grid import Ints

_CLIQUE = 64  # members of a ring beyond which it becomes a cycle
_SCALE = 64  # of edge weights, so that a clique's can be divided by its size
_MOST_EDGES = 5_000_000


def kaminpar(task: Task, limits: Limits) -> Ints:
    """The best of 20 seeds for every cut, top-down through the levels."""
    refuse_constraints(task)
    require("kaminpar")
    return place(task, limits, _partition)


def _partition(cut: Cut, share: float, limits: Limits) -> Ints:
    import kaminpar as library  # noqa: PLC0415

    graph = _graph(library, cut)

    def run(seed: int) -> Ints:
        library.reseed(seed)
        solver = library.KaMinPar(limits.threads, library.strong_context())
        parts = solver.compute_partition(graph, max_block_weights=cut.capacities.tolist())
        return np.array(parts, np.int64)[: cut.slots]

    return best_of(cut, share, limits, run)


def _graph(library: Any, cut: Cut) -> Any:
    """The graph, by way of a METIS file, which is all the binding reads."""
    starts, neighbours, weights = _adjacency(cut, int(cut.capacities.sum()))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.metis"
        with path.open("w") as out:
            out.write(f"{len(starts) - 1} {len(neighbours) // 2} 1\n")
            for a, b in pairwise(starts):
                row = np.stack([neighbours[a:b] + 1, weights[a:b]], axis=1).ravel()
                out.write(" ".join(map(str, row.tolist())) + "\n")
        return library.load_graph(str(path), library.GraphFileFormat.METIS)


def _adjacency(cut: Cut, size: int) -> tuple[Ints, Ints, Ints]:
    """Neighbours of every vertex, parallel edges added up: starts, neighbours, weights."""
    ends, weights = _edges(cut)
    both = np.concatenate([ends, ends[:, ::-1]])
    keys, inverse = np.unique(both[:, 0] * size + both[:, 1], return_inverse=True)
    summed = np.bincount(inverse, np.concatenate([weights, weights])).astype(np.int64)
    starts = np.searchsorted(keys, np.arange(size + 1) * size)
    return starts, keys % size, summed


def _edges(cut: Cut) -> tuple[Ints, Ints]:
    """Edges of all nets; a net that loses one slot, or all, costs what it would as a net."""
    ends, weights = [np.empty((0, 2), np.int64)], [np.empty(0, np.int64)]
    edges = 0
    for net, weight in zip(cut.nets(), cut.weights.tolist(), strict=True):
        m = len(net)
        if m <= _CLIQUE:
            own = net[list(combinations(range(m), 2))]
            each = max(1, round(2 * _SCALE * weight / (m - 1)))
        else:
            own = np.stack([net, np.roll(net, -1)], axis=1)
            each = _SCALE * weight
        ends.append(own)
        weights.append(np.full(len(own), each))
        edges += len(own)
        if edges > _MOST_EDGES:
            raise NotApplicable("too many edges for an explicit graph")
    return np.concatenate(ends), np.concatenate(weights)
