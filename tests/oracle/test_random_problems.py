"""What the generators of random tiny problems mix, in tests and in the brute force of benchmarks."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import astuple
from itertools import combinations

import pytest

from benchmarks.shapes_bruteforce import random_problem
from planner_models.job import Job, Weights
from tests.models.units_cases import tiny
from tests.oracle.random_problems import random_capacities, random_job, random_weights

Case = tuple[Job, Weights, list[int]]


def features(job: Job, weights: Weights, capacities: list[int]) -> set[str]:
    """What makes a problem hard."""
    encoder, decoder = job.modules[0], job.modules[-1]
    found = {
        "idle GPUs": sum(capacities) > job.world,
        "uneven domains": len(set(capacities)) > 1,
        "two modules": len(job.modules) == 2,
        "unequal cp": encoder.cp != decoder.cp,
        "unequal lanes": encoder.tp != decoder.tp,
        "vpp": any(m.vpp > 1 and m.pp > 1 for m in job.modules),
        "tied": job.tied and decoder.pp > 1,
        "experts": any(m.ep > 1 for m in job.modules),
        "weights of 0": 0 in astuple(weights)[:4],
    }
    return {name for name, present in found.items() if present}


PLAIN = {"idle GPUs", "uneven domains", "weights of 0"}
MODULES = {"two modules", "unequal cp", "unequal lanes"}
CYCLES = {"vpp", "tied"}


def counting(rng: random.Random, number: int) -> Case:
    job = random_job(rng, largest=9)
    return job, random_weights(rng), random_capacities(rng, job.world)


def shapes(rng: random.Random, number: int) -> Case:
    job, weights, capacities = random_problem(rng, experts=number % 2 == 1)
    return job, weights, list(capacities)


def units(rng: random.Random, number: int) -> Case:
    modules = 2 if number % 3 == 0 else None
    return tiny(rng, lanes=(1, 2, 2, 3), tensor=rng.choice([0, 1, 5, 20]), modules=modules)


@pytest.mark.parametrize(
    ("generator", "names"),
    [
        (counting, PLAIN | MODULES | CYCLES | {"experts"}),
        (shapes, PLAIN | MODULES | CYCLES | {"experts"}),
        (units, PLAIN | MODULES),
    ],
)
def test_every_feature_occurs_and_beside_every_other(
    generator: Callable[[random.Random, int], Case], names: set[str]
) -> None:
    rng = random.Random(0)
    found = [features(*generator(rng, number)) for number in range(2000)]
    alone = Counter(name for several in found for name in several)
    assert {name for name, times in alone.items() if times >= 100} == names
    pairs = Counter(pair for several in found for pair in combinations(sorted(several), 2))
    assert {pair for pair, times in pairs.items() if times >= 10} == set(
        combinations(sorted(names), 2)
    )
