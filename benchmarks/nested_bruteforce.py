"""Bound on nodes inside leaves against every placement of random tiny jobs.

    python -m benchmarks.nested_bruteforce [problems] [seed]

prints how many bounds were above the optimum (must be 0) and how many were tight, by feature.
"""

import random
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

if __package__ in (None, ""):
    root = Path(__file__).resolve().parents[1]
    sys.path[:0] = [str(root), str(root / "models")]

from planner_models import nested
from planner_models.job import Job, ModuleShape, Weights
from tests.oracle.slots_cost import content_costs

Leaves = tuple[tuple[int, ...], ...]
Problem = tuple[Job, Weights, tuple[int, int], Leaves]

_FAR = 1 << 60


def random_problem(rng: random.Random, *, most: int = 10) -> Problem:
    """A job of at most `most` slots on small nodes in two or three leaves, any mix of features."""
    while True:
        job = _random_job(rng)
        if not 4 <= job.world <= most:
            continue
        leaves = _random_leaves(rng, job.world)
        levels = rng.choice([1, 1, 2]), rng.choice([1, 1, 2, 3])
        weights = _random_weights(rng)
        if len(leaves) > 1 and nested.applies(job, weights, levels, leaves):
            return job, weights, levels, leaves


def _random_job(rng: random.Random) -> Job:
    dp = rng.choice([1, 1, 2, 2, 3, 4])
    modules = []
    for _ in range(rng.choice([1, 1, 2])):
        tp, cp = rng.choice([1, 2, 3, 3, 4, 5]), rng.choice([1, 1, 2, 3])
        pp = rng.choice([1, 1, 2, 3])
        ep, etp = 1, tp
        if rng.random() < 0.2:
            cells = tp * cp * dp
            ep = rng.choice([e for e in range(1, cells + 1) if cells % e == 0])
            etp = rng.choice([e for e in range(1, 4) if cells // ep % e == 0])
        modules.append(ModuleShape(tp, cp, pp, ep=ep, etp=etp, vpp=rng.choice([1, 1, 1, 2])))
    return Job(tuple(modules), dp, tied=rng.random() < 0.2)


def _random_leaves(rng: random.Random, world: int) -> Leaves:
    idle = rng.choice([0, 0, 0, 1, 1, 2])
    nodes: list[int] = []
    while sum(nodes) < world + idle:
        nodes.append(min(rng.choice([2, 3, 3, 4]), world + idle - sum(nodes)))
    leaves: list[list[int]] = [[] for _ in range(rng.choice([2, 2, 3]))]
    for node in nodes:
        rng.choice(leaves).append(node)
    return tuple(tuple(sorted(leaf)) for leaf in leaves if leaf)


def _random_weights(rng: random.Random) -> Weights:
    default = Weights(1000, 100, 1, 10, ep=100, expt_tp=1000, expt_dp=1, embd=1)
    drawn = Weights(*(rng.randint(*rng.choice([(0, 3), (1, 4), (0, 12)])) for _ in range(8)))
    return rng.choice([default, drawn, drawn])


def optimum(
    job: Job, weights: Weights, levels: tuple[int, int], leaves: Sequence[Sequence[int]]
) -> int:
    """Least cost over all placements: every way to fill leaf after leaf, and node after node."""
    masks = np.arange(1 << job.world)
    size = np.bitwise_count(masks)
    share = np.array(content_costs(job, weights), dtype=np.int64)

    @cache
    def inside(nodes: tuple[int, ...]) -> "np.ndarray":
        """[content] least doubled node cost of a leaf that holds it."""
        if len(nodes) == 1:
            return np.where(size <= nodes[0], levels[0] * share, _FAR)
        return _joined(inside(nodes[:1]), inside(nodes[1:]))

    total: np.ndarray | None = None
    for nodes in leaves:
        leaf = inside(tuple(nodes))
        leaf = np.where(leaf < _FAR, leaf + levels[1] * share, _FAR)
        total = leaf if total is None else _joined(leaf, total)
    assert total is not None
    return int(total[-1]) // 2


def _joined(first: "np.ndarray", second: "np.ndarray") -> "np.ndarray":
    """[content] the cheapest way to hold it in two parts."""
    best = np.full(first.size, _FAR)
    masks = np.arange(first.size)
    for held in np.flatnonzero(first < _FAR).tolist():
        other = masks[(masks & held == 0) & (second < _FAR)]
        best[other | held] = np.minimum(best[other | held], first[held] + second[other])
    return np.minimum(best, _FAR)


def features(job: Job, leaves: Leaves) -> list[str]:
    """Names of what makes a problem hard."""
    found = {
        "two modules": len(job.modules) == 2,
        "cycles": any(m.vpp > 1 and m.pp > 1 for m in job.modules)
        or (job.tied and job.modules[-1].pp > 1),
        "experts": any(m.ep > 1 for m in job.modules),
        "idle": sum(map(sum, leaves)) > job.world,
        "three leaves": len(leaves) == 3,
    }
    return [name for name, present in found.items() if present] or ["plain"]


def main(problems: int, seed: int) -> None:
    """Compare and print."""
    rng = random.Random(seed)
    seen, tight = Counter[str](), Counter[str]()
    above = 0
    for _ in range(problems):
        job, weights, levels, leaves = random_problem(rng)
        best = optimum(job, weights, levels, leaves)
        value = nested.bound(job, weights, levels, leaves).value
        if value > best:
            above += 1
            print(f"ABOVE {value} > {best}: {job} {weights} {levels} {leaves}")
        for name in ["all", *features(job, leaves)]:
            seen[name] += 1
            tight[name] += value == best
    print(f"{problems} problems, seed {seed}: {above} bounds above the optimum")
    for name, count in seen.most_common():
        print(f"  {name:12} {tight[name]:6} of {count:6} tight ({tight[name] / count:.1%})")


if __name__ == "__main__":
    main(*(int(a) for a in [*sys.argv[1:], "2000", "0"][:2]))
