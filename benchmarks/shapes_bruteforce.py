"""Shapes bound against every placement of random tiny jobs.

    python benchmarks/shapes_bruteforce.py [problems] [seed] [rules]

prints how many bounds were above the optimum (must be 0), how many were tight, and how many
assembled placements were optimal, by feature. The rules that placements obey are "free" (none),
"hierarchical", "footprint" or "both"; "dearer" counts the problems whose optimum they raise.
"""

import random
import sys
from collections import Counter
from collections.abc import Sequence
from math import comb, gcd
from pathlib import Path

import numpy as np

if __package__ in (None, ""):
    root = Path(__file__).resolve().parents[1]
    sys.path[:0] = [str(root), str(root / "models")]

from planner_models import shapes
from planner_models.job import Job, ModuleShape, Weights
from planner_models.shapes import Rules
from tests.oracle import all_placements
from tests.oracle.slots_cost import all_to_alls, cost, pairs, rings, slot

MOST_SLOTS = 12
MOST_PLACEMENTS = 60_000
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


def ruled_problem(
    rng: random.Random, *, tied: bool, footprint: bool, most: int = MOST_SLOTS
) -> tuple[Problem, Rules]:
    """A problem whose context slices are under rules, with few enough placements to try all."""
    while True:
        job = _random_job(rng, not tied and rng.random() < 0.3, slices=(1, 2, 2, 3, 4, 4, 5, 6))
        slices = [m.cp for m in job.modules]
        largest = gcd(*slices) if min(slices) == gcd(*slices) else 1  # uneven bridges know no ties
        ties = [h for h in range(2, largest + 1) if largest % h == 0] if tied else [1]
        if not 3 <= job.world <= most or not ties or max(m.cp for m in job.modules) == 1:
            continue
        rules = Rules(rng.choice(ties), footprint)
        capacities = _random_capacities(rng, job.world)
        if (
            max(capacities) < job.world
            and _placements(job.world, capacities) <= MOST_PLACEMENTS
            and shapes.applies(job, capacities, rules=rules)
        ):
            return (job, _random_weights(rng), capacities), rules


def _placements(slots: int, capacities: Sequence[int]) -> int:
    """Number of ways to deal slots to domains."""
    ways = [1] + [0] * slots
    for capacity in capacities:
        ways = [
            sum(comb(n, k) * ways[n - k] for k in range(min(n, capacity) + 1))
            for n in range(slots + 1)
        ]
    return ways[slots]


def _random_job(
    rng: random.Random, experts: bool, slices: Sequence[int] = (1, 1, 1, 2, 2, 3)
) -> Job:
    dp = rng.choice([1, 1, 2, 2, 3, 4])
    modules = []
    for _ in range(rng.choice([1, 1, 2])):
        tp, cp = rng.choice([1, 1, 2, 2, 3, 4]), rng.choice(slices)
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


def ruled_optimum(problem: Problem, rules: Rules) -> int | None:
    """Least cost over all placements that obey the rules; None if none does."""
    job, weights, capacities = problem
    placed = all_placements.deals(job.world, list(capacities))
    placed = placed[obeying(job, rules, placed)]
    if not len(placed):
        return None
    level = (1, np.arange(len(capacities)))
    return int(all_placements.costs(job, weights, [level], placed).min())


def obeying(job: Job, rules: Rules, placed: "np.ndarray") -> "np.ndarray":
    """[placement] whether it obeys the rules; `placed` is [placement, slot] domains."""
    kept = np.ones(len(placed), bool)
    for i, m in enumerate(job.modules):
        for p in range(m.pp):
            for d in range(job.dp):
                slots = [[slot(job, i, t, c, d, p) for t in range(m.tp)] for c in range(m.cp)]
                block = placed[:, slots]
                inner = block.reshape(len(placed), -1, rules.tied, m.tp)
                kept &= (inner == inner[:, :, :1]).all(axis=(1, 2, 3))
                if rules.footprint:
                    kept &= _alike(block)
    return kept


def _alike(block: "np.ndarray") -> "np.ndarray":
    """[placement] whether context peers look alike; `block` is [placement, c, t] domains."""
    span = 1 + (np.diff(np.sort(block, axis=2), axis=2) != 0).sum(axis=2)
    held = np.stack([(block == n).sum(axis=1) for n in range(block.max() + 1)])  # [n, placement, t]
    most, least = held.max(axis=0), np.where(held > 0, held, block.shape[1]).min(axis=0)
    alike: np.ndarray = (span == span[:, :1]).all(axis=1) & (most - least <= 1).all(axis=1)
    return alike


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


def main(problems: int, seed: int, ruled: str = "free") -> None:
    """Compare and print."""
    rng = random.Random(seed)
    seen, tight, met = Counter[str](), Counter[str](), Counter[str]()
    above = without = 0
    for number in range(problems):
        problem, rules = _drawn(rng, ruled, experts=number % 2 == 1)
        best = optimum(*problem) if ruled == "free" else ruled_optimum(problem, rules)
        if best is None:
            without += 1
            continue
        bound = shapes.bound(*problem, rules=rules)
        value, plan = bound.value, shapes.assemble(bound)
        names = ["all", *features(problem[0])]
        if ruled != "free" and optimum(*problem) < best:
            names.append("dearer")
        if plan is not None:
            check(*problem, plan)
            assert obeying(problem[0], rules, plan.domain_of[None]).all(), (problem, rules)
        if value > best:
            above += 1
            print(f"ABOVE {value} > {best}: {problem} {rules}")
        for name in names:
            seen[name] += 1
            tight[name] += value == best
            met[name] += plan is not None and plan.cost == best
    print(
        f"{problems} problems, {ruled}, seed {seed}: {above} bounds above the optimum, "
        f"{without} without a plan"
    )
    for name, count in seen.most_common():
        print(
            f"  {name:12} {tight[name]:6} of {count:6} tight ({tight[name] / count:.1%}), "
            f"{met[name]:6} assembled at the optimum"
        )


def _drawn(rng: random.Random, ruled: str, *, experts: bool) -> tuple[Problem, Rules]:
    if ruled == "free":
        return random_problem(rng, experts=experts), Rules()
    return ruled_problem(rng, tied=ruled != "footprint", footprint=ruled != "hierarchical")


if __name__ == "__main__":
    given = [*sys.argv[1:], *["2000", "0", "free"][len(sys.argv) - 1 :]]
    main(int(given[0]), int(given[1]), given[2])
