"""Shapes bound against every placement of random tiny jobs.

    python benchmarks/shapes_bruteforce.py [problems] [seed]

prints how many bounds were above the optimum (must be 0), how many were tight, and how many
assembled placements were optimal, by feature.
"""

import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

if __package__ in (None, ""):
    root = Path(__file__).resolve().parents[1]
    sys.path[:0] = [str(root), str(root / "models")]

from planner_models import shapes
from planner_models.job import Job, ModuleShape, Weights
from tests.oracle.slots_cost import all_to_alls, cost, pairs, rings

MOST_SLOTS = 12
Problem = tuple[Job, Weights, tuple[int, ...]]


def random_problem(rng: random.Random, *, experts: bool = False, most: int = MOST_SLOTS) -> Problem:
    """A job of at most `most` slots with any mix of features, on two to five domains."""
    while True:
        job = _random_job(rng, experts)
        if not 3 <= job.world <= most:
            continue
        capacities = _random_capacities(rng, job.world)
        if max(capacities) < job.world and shapes.applies(job, capacities):
            return job, _random_weights(rng), capacities


def _random_job(rng: random.Random, experts: bool) -> Job:
    dp = rng.choice([1, 1, 2, 2, 3, 4])
    modules = []
    for _ in range(rng.choice([1, 1, 2])):
        tp, cp = rng.choice([1, 1, 2, 2, 3, 4]), rng.choice([1, 1, 1, 2, 2, 3])
        pp = rng.choice([1, 2, 2, 3, 4])
        etp, ep = tp, 1
        if experts:
            cells = tp * cp * dp
            ep = rng.choice([e for e in range(1, cells + 1) if cells % e == 0])
            etp = rng.choice([e for e in range(1, 4) if cells // ep % e == 0])
        modules.append(ModuleShape(tp, cp, pp, ep=ep, etp=etp, vpp=rng.choice([1, 1, 2])))
    return Job(tuple(modules), dp, tied=rng.random() < 0.4)


def _random_capacities(rng: random.Random, world: int) -> tuple[int, ...]:
    capacities: list[int] = []
    largest = rng.choice([2, 3, 4, 5, 6, 7])
    while sum(capacities) < world:
        capacities.append(rng.randint(max(1, largest - 2), largest))
    if rng.random() < 0.5 and sum(capacities) > world:
        capacities[-1] -= sum(capacities) - world
    return tuple(sorted(c for c in capacities if c > 0))


def _random_weights(rng: random.Random) -> Weights:
    scale = rng.choice([(0, 3), (1, 4), (0, 12)])
    default = Weights(1000, 100, 1, 10, ep=100, expt_tp=1000, expt_dp=1, embd=1)
    drawn = Weights(*(rng.randint(*scale) for _ in range(8)))
    return rng.choice([default, drawn, drawn])


def optimum(job: Job, weights: Weights, capacities: Sequence[int]) -> int:
    """Least cost over all placements: contents domain after domain, over sets of slots placed."""
    everything = (1 << job.world) - 1
    masks = np.arange(everything + 1)
    share = _shares(job, weights, masks)
    size = np.bitwise_count(masks)
    far = np.iinfo(np.int64).max // 2
    best = np.full(masks.size, far)
    best[0] = 0
    left = sum(capacities)
    for capacity in capacities:
        left -= capacity
        following = np.full(masks.size, far)
        small = masks[(size <= capacity)]
        for placed in masks[best < far].tolist():
            content = small[small & placed == 0]
            union = content | placed
            fits = job.world - size[union] <= left
            union, content = union[fits], content[fits]
            following[union] = np.minimum(following[union], best[placed] + share[content])
        best = following
    return int(best[everything]) // 2


def _shares(job: Job, weights: Weights, masks: "np.ndarray") -> "np.ndarray":
    """Doubled cost share of every content of a domain."""
    total = np.zeros(masks.size, dtype=np.int64)
    for kind, members in rings(job):
        held = np.bitwise_count(masks & sum(1 << s for s in members)).astype(np.int64)
        total += 2 * getattr(weights, kind) * ((held > 0) & (held < len(members)))
    for kind, members in all_to_alls(job) + pairs(job):
        held = np.bitwise_count(masks & sum(1 << s for s in members)).astype(np.int64)
        total += getattr(weights, kind) * held * (len(members) - held)
    return total


def features(job: Job) -> list[str]:
    """Names of what makes a job hard."""
    found = {
        "two modules": len(job.modules) == 2,
        "vpp": any(m.vpp > 1 and m.pp > 1 for m in job.modules),
        "tied": job.tied and job.modules[-1].pp > 1,
        "unequal cp": len({m.cp for m in job.modules}) == 2,
        "experts": any(m.ep > 1 for m in job.modules),
    }
    return [name for name, present in found.items() if present] or ["plain"]


def check(job: Job, weights: Weights, capacities: Sequence[int], plan: shapes.Assembly) -> None:
    """Assert that an assembled placement fits and costs what it says, by the oracle."""
    used = np.bincount(plan.domain_of, minlength=len(capacities))
    assert (used <= np.array(capacities)).all(), (job, capacities, plan)
    assert cost(job, weights, plan.domain_of.tolist()) <= plan.cost, (job, weights, capacities)


def main(problems: int, seed: int) -> None:
    """Compare and print."""
    rng = random.Random(seed)
    seen, tight, met = Counter[str](), Counter[str](), Counter[str]()
    above = 0
    for number in range(problems):
        job, weights, capacities = random_problem(rng, experts=number % 2 == 1)
        best = optimum(job, weights, capacities)
        bound = shapes.bound(job, weights, capacities)
        value = bound.value
        plan = shapes.assemble(bound)
        if plan is not None:
            check(job, weights, capacities, plan)
        if value > best:
            above += 1
            print(f"ABOVE {value} > {best}: {job} {weights} {capacities}")
        for name in ["all", *features(job)]:
            seen[name] += 1
            tight[name] += value == best
            met[name] += plan is not None and plan.cost == best
    print(f"{problems} problems, seed {seed}: {above} bounds above the optimum")
    for name, count in seen.most_common():
        print(
            f"  {name:12} {tight[name]:6} of {count:6} tight ({tight[name] / count:.1%}), "
            f"{met[name]:6} assembled at the optimum"
        )


if __name__ == "__main__":
    main(*(int(a) for a in [*sys.argv[1:], "1000", "0"][:2]))
