"""Context slices that may not part, as one slot.

Where every domain holds the slots (t, c, d, p) of one c div h all or none, h of them are one slot
of a job with cp / h slices, and a domain of k places holds k div h of those:

* h tensor groups become one, as do h pair links: their weights count h times;
* a context group touches the same domains with cp / h members, a dp group likewise: their weights
  stay. The same holds for one left with a single member, which is never cut.

So the placements of both jobs are the same, at the same cost. Expert groups may part slots that
belong together, and where neither module's slices divide the other's, tied ones share more bridge
links with some than with others; such jobs are refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from planner_models.job import Job, Weights

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Contraction:
    """A job whose slots stand for `tied` slots each.

    Attributes:
        job, weights, capacities: the smaller problem.
        tied: slots of the job given that one of its slots stands for.
    """

    job: Job
    weights: Weights
    capacities: tuple[int, ...]
    tied: int

    def expanded(self, values: Ints) -> Ints:
        """Values by slot of the smaller job, repeated for each slot of the job given.

        Example:
            >>> from planner_models.job import ModuleShape
            >>> small = contract(Job((ModuleShape(2, 2, 1),), dp=1), Weights(1, 1, 1, 1), [4], 2)
            >>> small.expanded(np.array([5, 6])).tolist()
            [5, 6, 5, 6]
        """
        ends = np.cumsum([self.job.dp * m.tp * m.cp * m.pp for m in self.job.modules])
        parts = [
            np.repeat(part.reshape(-1, m.tp), self.tied, axis=0).ravel()
            for m, part in zip(self.job.modules, np.split(values, ends[:-1]), strict=True)
        ]
        return np.concatenate(parts)


def contract(job: Job, weights: Weights, capacities: Sequence[int], tied: int) -> Contraction:
    """The problem in which `tied` neighbouring context slices are one.

    Args:
        job: the job.
        weights: cost of a link of each kind.
        capacities: usable slots of each domain.
        tied: slices that every domain holds all of or none; divides cp in every module.

    Raises:
        ValueError: it does not divide cp, the job has experts, or an uneven bridge.
    """
    if tied == 1:
        return Contraction(job, weights, tuple(capacities), 1)
    fewest, most = min(m.cp for m in job.modules), max(m.cp for m in job.modules)
    if most % fewest or any(m.cp % tied or m.ep > 1 for m in job.modules):
        raise ValueError(f"{tied} context slices cannot be one where experts or other cp cut them")
    modules = tuple(replace(m, cp=m.cp // tied) for m in job.modules)
    heavier = {kind: tied * getattr(weights, kind) for kind in ("tp", "pp", "embd")}
    return Contraction(
        replace(job, modules=modules),
        replace(weights, **heavier),
        tuple(c // tied for c in capacities),
        tied,
    )
