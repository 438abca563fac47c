"""The slots of a module as a lattice of digits, and its link families as directions in it.

The tp * cp * dp slots of a stage are numbered r = t + tp * (c + cp * d). Cut that number's range at
the sizes where some family of groups starts or stops, and r becomes a string of digits, lowest
first; the pipeline stage is one axis more. Every family is then "the slots that agree outside some
digits": tp groups free the digits below tp, expert groups those from etp up to etp * ep, and so on.
That is all the lower bounds need to know about a family.

Experts are a second factorisation of r. Common digits exist if all cuts divide one another in turn
(tp 4, ep 8: cuts 1, 4, 8); if not (tp 6, ep 4), the expert families get a lattice of their own.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from planner_models import bridge
from planner_models.job import Job, ModuleShape, Weights


@dataclass(frozen=True, slots=True)
class Family:
    """Groups of slots of one stage that agree on every digit outside [low, high).

    Attributes:
        low: stride of the lowest digit of r the family frees.
        high: stride at which the freed digits end; a group has high / low slots.
        weight: cost of one link.
        all_to_all: links are member pairs in different domains; otherwise domains touched, if two
            or more.
    """

    low: int
    high: int
    weight: int
    all_to_all: bool = False


@dataclass(frozen=True, slots=True)
class Lattice:
    """One module, one stage cut into digits.

    Attributes:
        cuts: ascending from 1 to the slots of a stage, each dividing the next; digit i has stride
            cuts[i] and takes cuts[i + 1] / cuts[i] values.
        families: the groups of a stage that cost something.
        inner: doubled weight of the pair links inside a lane of which h stages are held, for
            h = 0 .. pp (as an upper estimate over which h stages).
    """

    cuts: tuple[int, ...]
    families: tuple[Family, ...]
    inner: tuple[int, ...]

    @property
    def radices(self) -> tuple[int, ...]:
        """Number of values of each digit, lowest digit first."""
        return tuple(high // low for low, high in pairwise(self.cuts))


def families(shape: ModuleShape, dp: int, weights: Weights) -> list[Family]:
    """The families of a module that cost something, experts last."""
    slots = shape.tp * shape.cp * dp
    dense = [
        Family(1, shape.tp, weights.tp),
        Family(shape.tp, shape.tp * shape.cp, weights.cp),
        Family(shape.tp, slots, weights.dp),
    ]
    return _costly(dense) + expert_families(shape, dp, weights)


def expert_families(shape: ModuleShape, dp: int, weights: Weights) -> list[Family]:
    """The ep, expt_tp and expt_dp groups, those that cost something."""
    if shape.ep == 1:
        return []
    slots, replica = shape.tp * shape.cp * dp, shape.etp * shape.ep
    return _costly(
        [
            Family(shape.etp, replica, weights.ep, all_to_all=True),
            Family(1, shape.etp, weights.expt_tp),
            Family(replica, slots, weights.expt_dp),
        ]
    )


def _costly(several: list[Family]) -> list[Family]:
    return [f for f in several if f.weight and f.high > f.low]


def inner_weights(job: Job, weights: Weights, module: int) -> tuple[int, ...]:
    """Doubled weight of the pair links inside a lane that holds h of its stages, h = 0 .. pp.

    A lane is a chain of stages. Interleaving (vpp) and tied embeddings close it to a cycle by one
    link more; fewer than all stages then hold most if that link is among them or, whichever is
    dearer, if it is not. Two stages are joined by both.
    """
    shape = job.modules[module]
    decoder = module == len(job.modules) - 1
    closing = weights.pp * (shape.vpp > 1) + weights.embd * (job.tied and decoder)
    inner = [2 * weights.pp * max(h - 1, 0) for h in range(shape.pp + 1)]
    for h in range(2, shape.pp):
        inner[h] += 2 * max(closing - weights.pp, 0)
    if shape.pp > 1:
        inner[shape.pp] += 2 * closing
    return tuple(inner)


def module_lattices(job: Job, weights: Weights) -> list[list[Lattice]]:
    """For every module one lattice, or two, that together carry its families.

    Pair links belong to the first. Families whose cuts do not fit it go into the second: the least
    costs of either lattice add up to no more than the least cost of both at once.
    """
    every = [families(shape, job.dp, weights) for shape in job.modules]
    cuts = [_dense_cuts(shape, job.dp) for shape in job.modules]
    fitting: list[list[Family]] = [[] for _ in job.modules]
    for m, family in ((m, f) for m, several in enumerate(every) for f in several):
        wider = list(cuts)
        wider[m] = cuts[m] | {family.low, family.high}
        aligned = wider if wider == cuts else _aligned(job, wider)
        if aligned is not None:
            cuts = aligned
            fitting[m].append(family)
    lattices = []
    for m, several in enumerate(every):
        own = Lattice(tuple(sorted(cuts[m])), tuple(fitting[m]), inner_weights(job, weights, m))
        lattices.append([own])
        left = tuple(f for f in several if f not in fitting[m])
        if left:
            lattices[m].append(_experts_apart(job, m, left))
    return lattices


def _dense_cuts(shape: ModuleShape, dp: int) -> set[int]:
    return {1, shape.tp, shape.tp * shape.cp, shape.tp * shape.cp * dp}


def _experts_apart(job: Job, module: int, families: tuple[Family, ...]) -> Lattice:
    shape = job.modules[module]
    cuts = {1, shape.etp, shape.etp * shape.ep, shape.tp * shape.cp * job.dp}
    return Lattice(tuple(sorted(cuts)), families, inner=(0,) * (shape.pp + 1))


def _aligned(job: Job, cuts: list[set[int]]) -> list[set[int]] | None:
    """The cuts refined until all digits are common, or None where that is impossible.

    With two modules a digit of one must be a digit of the other too, or lie inside the runs in
    which the bridge deals lanes (and slices) of the larger side to the smaller.
    """
    if not all(map(_is_chain, cuts)):
        return None
    if len(job.modules) == 1:
        return cuts
    if not bridge.is_even(job):
        return None
    refined: list[set[int]] = [set(), set()]
    bases = [1, 1]
    for axis in ("tp", "cp", "dp"):
        sizes = [job.dp if axis == "dp" else int(getattr(m, axis)) for m in job.modules]
        zones = [
            {x // base for x in some if base <= x <= base * size}
            for some, base, size in zip(cuts, bases, sizes, strict=True)
        ]
        small, large = sorted((0, 1), key=lambda m: sizes[m])
        run = sizes[large] // sizes[small]
        zones[large] |= {run * x for x in zones[small]}
        if not _is_chain(zones[large]):
            return None
        zones[small] = {x // run for x in zones[large] if x >= run}
        for m in (0, 1):
            refined[m] |= {bases[m] * x for x in zones[m]}
            bases[m] *= sizes[m]
    return refined


def _is_chain(cuts: Iterable[int]) -> bool:
    """Whether, in ascending order, every cut divides the next."""
    return all(high % low == 0 for low, high in pairwise(sorted(cuts)))
