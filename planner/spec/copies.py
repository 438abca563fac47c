"""How many data copies: what batch and experts allow, and what the machines can hold by counting.

Ranks that `within` ties together form blocks, and a domain of g GPUs holds g // s blocks of s ranks
or more. That is necessary, and cheap; rules that counting does not see are left to the solver.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np

from planner.machines import Ints, Machines
from planner.spec.job import Job
from planner.spec.names import DENSE_GROUPS
from planner.spec.traffic import Traffic

_AXES = DENSE_GROUPS | {"pp": ("pp",), "mp": ("tp", "pp")}
"""Axes that the groups of a name vary; the experts' own groups are not counted here."""


@dataclass(frozen=True)
class Blocks:
    """Ranks tied together inside one domain of a level.

    Attributes:
        kinds: (ranks, blocks of that size) of one data copy.
        grow: whether the copies share blocks, so that sizes grow with dp and numbers do not.
        capacities: [domains] usable GPUs of each domain of the level.
    """

    kinds: tuple[tuple[int, int], ...]
    grow: bool
    capacities: Ints

    def fit(self, dp: int) -> bool:
        """Whether the domains have room for the blocks of that many copies, larger ones first."""
        size, number = (dp, 1) if self.grow else (1, dp)
        for least, _ in self.kinds:
            blocks = sum(n * number for ranks, n in self.kinds if ranks >= least)
            if blocks > int((self.capacities // (least * size)).sum()):
                return False
        return True


def tied_blocks(job: Job, machines: Machines, within: Mapping[str, str]) -> list[Blocks]:
    """The blocks of every level to which something is confined, those of experts left out.

    Example:
        >>> from planner.spec.problem import Problem
        >>> problem = Problem.model_validate({"cluster": {"nodes": 2},
        ...     "job": {"decoder": {"tp": 6, "pp": 2}}})
        >>> tied_blocks(problem.job, problem.cluster.machines, {"tp": "node"})[0].kinds
        ((6, 2),)
    """
    found = []
    confined: set[str] = set()
    inner = job.hierarchical_cp[0] if job.hierarchical_cp else 1
    chunk = 1  # context peers that hierarchical_cp ties
    for level in machines.levels:
        here = {name for name, at in within.items() if at == level.name and name in _AXES}
        confined |= here
        if level.name == "node":
            chunk = inner
        if here or (level.name == "node" and inner > 1):
            axes = {axis for name in confined for axis in _AXES[name]}
            kinds = tuple(sorted(_kinds(job, axes, chunk)))
            found.append(Blocks(kinds, "dp" in axes, machines.capacities(level)))
    return found


def _kinds(job: Job, axes: Collection[str], chunk: int) -> Iterator[tuple[int, int]]:
    """(ranks, number) of the blocks of one copy if groups along those axes stay together."""
    modules = list(job.modules.values())
    joined = "pp" in axes and len(modules) == 2 and len({m.cp for m in modules}) == 1
    if not joined:
        for m in modules:
            cp = m.cp if "cp" in axes else chunk
            size = cp * (m.tp if "tp" in axes else 1) * (m.pp if "pp" in axes else 1)
            yield size, m.size // size
        return
    cp = modules[0].cp if "cp" in axes else chunk
    number = modules[0].cp // cp
    if "tp" in axes:
        yield cp * sum(m.tp * m.pp for m in modules), number
        return
    few, many = sorted(modules, key=lambda m: m.tp)
    run, longer = divmod(many.tp, few.tp)  # lanes of the wider module fed by one of the other
    for length, lanes in ((run, few.tp - longer), (run + 1, longer)):
        if lanes:
            yield cp * (few.pp + many.pp * length), lanes * number


def allowed_copies(job: Job, traffic: Traffic | None, most: int) -> Ints:
    """Numbers of copies up to `most`, ascending, that batch and experts divide by.

    Example:
        >>> allowed_copies(Job.model_validate({"decoder": {"ep": 3, "etp": 1}}), None, 7).tolist()
        [3, 6]
    """
    dp = np.arange(1, most + 1, dtype=np.int64)
    if traffic is not None:
        share, rest = divmod(traffic.global_batch, traffic.micro_batch)
        dp = dp[share % dp == 0] if rest == 0 else dp[:0]
    for module in job.modules.values():
        folded, ranks = module.expert_tp * module.ep, module.tp * module.cp
        step = folded // gcd(folded, ranks)  # the least number of copies that divides
        dp = dp[dp % step == 0] if step <= most else dp[:0]
    return dp


def most_copies(
    job: Job, machines: Machines, within: Mapping[str, str], allowed: Sequence[int] | Ints
) -> int:
    """The largest of some ascending numbers of copies that the machines can hold; 0 if none.

    Example:
        >>> from planner.spec.problem import Problem
        >>> problem = Problem.model_validate({"cluster": {"nodes": 3},
        ...     "job": {"decoder": {"tp": 6}}})
        >>> most_copies(problem.job, problem.cluster.machines, {"tp": "node"}, range(1, 9))
        3
    """
    blocks = tied_blocks(job, machines, within)
    usable = len(machines.usable)

    def too_many(dp: int) -> bool:
        return dp * job.copy_size > usable or not all(block.fit(dp) for block in blocks)

    # Fewer copies are part of more, so what holds does so up to some number.
    at = bisect_right(allowed, False, key=too_many)
    return int(allowed[at - 1]) if at else 0
