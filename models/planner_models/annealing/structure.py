"""The annealer's families, links and bundles of a job, in canonical slot numbers.

A module's slots form an array [p, d, c, t] (stage, copy, slice, lane); every family of groups is
that array with some axes merged, so all of this is reshaping.
"""

from typing import NamedTuple

import numpy as np

from planner_models.annealing.problem import Family, Ints, Pairs
from planner_models.job import Job, ModuleShape, Weights


class Structure(NamedTuple):
    """What a job contributes to a `Task`: links, and the bundles that moves know.

    Attributes:
        families: groups that pay, one family a kind.
        pairs: pair links of all kinds.
        pieces: bundles that are cut and mended, finest first: TP groups, experts' etp * ep blocks,
            (stage, copy) blocks, whole copies. Kinds with one slot a bundle, or equal to a finer
            kind, are left out.
        blocks: bundles that trade places whole: the (stage, copy) blocks, or copies where a block
            is a single slot.
    """

    families: tuple[Family, ...]
    pairs: Pairs
    pieces: tuple[Ints, ...]
    blocks: tuple[Ints, ...]


def structure(job: Job, weights: Weights) -> Structure:
    """Families, pair links and bundles of a job.

    Example:
        Encoder tp2 and decoder tp3, one copy: TP groups {0, 1} and {2, 3, 4}::

            >>> job = Job((ModuleShape(2, 1, 1), ModuleShape(3, 1, 1)), dp=1)
            >>> structure(job, Weights(1000, 100, 1, 10)).pieces[0].tolist()
            [0, 0, 1, 1, 1]
    """
    kinds = {
        "tp": weights.tp,
        "cp": weights.cp,
        "dp": weights.dp,
        "expt_tp": weights.expt_tp,
        "expt_dp": weights.expt_dp,
        "ep": weights.ep,
    }
    families = tuple(
        Family(weight, _joined(job, kind), all_to_all=kind == "ep")
        for kind, weight in kinds.items()
        if weight and (_joined(job, kind) >= 0).any()
    )
    pieces: list[Ints] = []
    for kind in ("tp", "experts", "block"):
        bundles = _joined(job, kind)
        if _binds(bundles) and not any(_alike(bundles, finer) for finer in pieces):
            pieces.append(bundles)
    block, copy = _joined(job, "block"), _copies(job)
    blocks = (block if _binds(block) else copy,)
    return Structure(families, _pairs(job, weights), (*pieces, copy), blocks)


def _binds(bundles: Ints) -> bool:
    """Whether any bundle has two slots."""
    return bool((np.bincount(bundles[bundles >= 0]) > 1).any())


def _alike(one: Ints, other: Ints) -> bool:
    """Whether two kinds bundle the same slots."""
    both = np.unique(np.stack([one, other]), axis=1).shape[1]
    return bool(both == np.unique(one).size == np.unique(other).size)


def _copies(job: Job) -> Ints:
    """[world] the dp copy of each slot, encoder and decoder together."""
    return np.concatenate(
        [np.arange(m.tp * m.cp * m.pp * job.dp) // (m.tp * m.cp) % job.dp for m in job.modules]
    )


def _joined(job: Job, kind: str) -> Ints:
    """[world] groups of one kind through all modules, numbered on from one to the next."""
    parts, first = [], 0
    for shape in job.modules:
        group = _groups(shape, job.dp, kind)
        parts.append(np.where(group >= 0, group + first, -1))
        first += int(group.max(initial=-1)) + 1
    return np.concatenate(parts)


def _groups(shape: ModuleShape, dp: int, kind: str) -> Ints:
    """[slots of the module] group number of each slot; -1 where the module has no such kind."""
    size = shape.tp * shape.cp * dp
    number = np.arange(size * shape.pp, dtype=np.int64)
    stage, r = number // size, number % size
    t, c, d = r % shape.tp, r // shape.tp % shape.cp, r // (shape.tp * shape.cp)
    if kind in {"expt_tp", "ep", "expt_dp", "experts"} and shape.ep == 1:
        return np.full(number.size, -1, dtype=np.int64)
    inner, outer = r % shape.etp, r // (shape.etp * shape.ep)
    labels = {
        "tp": c + shape.cp * d,
        "cp": t + shape.tp * d,
        "dp": t,
        "block": d,
        "expt_tp": r // shape.etp,
        "ep": inner + shape.etp * outer,
        "expt_dp": r % (shape.etp * shape.ep),
        "experts": outer,
    }
    label = labels[kind]
    return stage * (int(label.max()) + 1) + label


def _pairs(job: Job, weights: Weights) -> Pairs:
    """Every pair link of the job: pipelines, their wrap, the bridge, tied embeddings."""
    found: list[tuple[Ints, Ints, int]] = []
    blocks, first = [], 0
    for shape in job.modules:
        size = shape.pp * job.dp * shape.cp * shape.tp
        block = np.arange(first, first + size, dtype=np.int64)
        blocks.append(block.reshape(shape.pp, job.dp, shape.cp, shape.tp))
        first += size
        found.append((blocks[-1][:-1], blocks[-1][1:], weights.pp))
        if shape.vpp > 1 and shape.pp > 1:
            found.append((blocks[-1][-1], blocks[-1][0], weights.pp))
    if job.tied and job.modules[-1].pp > 1:
        found.append((blocks[-1][-1], blocks[-1][0], weights.embd))
    if len(blocks) == 2:
        found.append((*_bridge(blocks[0][-1], blocks[1][0]), weights.pp))
    return Pairs(
        np.concatenate([a.ravel() for a, _, w in found if w] or [_nothing()]),
        np.concatenate([b.ravel() for _, b, w in found if w] or [_nothing()]),
        np.concatenate([np.full(a.size, w) for a, _, w in found if w] or [_nothing()]),
    )


def _nothing() -> Ints:
    """An empty array, for jobs without pair links."""
    return np.zeros(0, dtype=np.int64)


def _bridge(source: Ints, target: Ints) -> tuple[Ints, Ints]:
    """Linked slots of the encoder's last stage [d, c, t] and the decoder's first [d, c', t'].

    Slices i of E and j of D are linked where [i/E, (i+1)/E) and [j/D, (j+1)/D) overlap; the lanes
    of the larger side are dealt in runs to those of the smaller.
    """
    (_, E, T), (_, D, U) = source.shape, target.shape
    i, j = np.arange(E)[:, None], np.arange(D)[None, :]
    i, j = np.nonzero((i * D < (j + 1) * E) & (j * E < (i + 1) * D))
    lane = np.arange(max(T, U))
    few = min(T, U)
    dealt = np.repeat(
        np.arange(few), [lane.size // few + (k < lane.size % few) for k in range(few)]
    )
    t, u = (dealt, lane) if T <= U else (lane, dealt)
    a = source[:, i[:, None], t[None, :]]
    b = target[:, j[:, None], u[None, :]]
    return a, b
