"""Units: bounds against every placement of tiny jobs, and their parts against definitions."""

import random

import numpy as np
import pytest

from planner_models import units
from planner_models.job import Job, ModuleShape, Weights
from planner_models.units.contents import Contents
from planner_models.units.heights import (
    Pipeline,
    pattern_cost,
    pattern_pairs,
    pattern_size,
    pipeline_of,
)
from planner_models.units.pricing import NEVER
from tests.oracle.slots_cost import optimum

WHOLE = 10**6
"""A tensor weight that keeps tensor groups whole."""


def tiny(rng: random.Random, *, lanes: tuple[int, ...] = (1,)) -> tuple[Job, Weights, list[int]]:
    """A job of at most ten slots and domains for it, some of them with room to spare."""
    while True:
        shapes = tuple(
            ModuleShape(rng.choice(lanes), rng.choice([1, 1, 2, 2, 3, 4]), rng.randint(1, 5))
            for _ in range(rng.choice([1, 1, 1, 2]))
        )
        job = Job(shapes, rng.randint(1, 4))
        if 4 <= job.world <= 10:
            break
    weights = Weights(
        WHOLE, rng.choice([0, 1, 2, 4]), rng.choice([0, 1, 2, 3]), rng.choice([0, 1, 2, 3])
    )
    room = job.world + rng.choice([0, 0, 0, 1, 2, 3])
    capacities: list[int] = []
    while sum(capacities) < room:
        capacities.append(min(rng.choice([1, 2, 3, 4, 5, 6, 8]), room - sum(capacities)))
    rng.shuffle(capacities)
    return job, weights, capacities


def random_prices(rng: np.random.Generator, pipeline: Pipeline) -> np.ndarray:
    prices = rng.integers(-6, 7, pipeline.credit.shape)
    for p in range(pipeline.stages + 1):
        prices[p, pipeline.bordered[p] + 1 :] = 0
        prices[p, :, pipeline.bordered[p + 1] + 1 :] = 0
    prices[:, 0, 0] = 0
    return prices


@pytest.mark.parametrize("seed", range(60))
def test_bound_is_the_optimum_of_tiny_jobs(seed):
    job, weights, capacities = tiny(random.Random(seed))
    found = units.bound(job, weights, capacities)
    assert found.value == optimum(job, weights, capacities)


def test_several_whole_planes_in_one_domain_are_all_refunded():
    job = Job((ModuleShape(1, 2, 5),), dp=1)
    assert units.bound(job, Weights(0, 1, 3, 1), [4, 4, 2]).value == 4
    assert optimum(job, Weights(0, 1, 3, 1), [4, 4, 2]) == 4


@pytest.mark.parametrize("seed", range(40))
def test_cheapest_content_is_a_pattern_of_that_size_and_price(seed):
    rng = random.Random(1000 + seed)
    job, weights, _ = tiny(rng, lanes=(1, 2))
    pipeline = pipeline_of(job, weights)
    prices = random_prices(np.random.default_rng(seed), pipeline)
    contents = Contents(pipeline, prices, 4, pipeline.total)
    for size in np.flatnonzero(contents.value < NEVER // 2).tolist():
        pattern = contents.pattern(size)
        earned = int((prices * pattern_pairs(pipeline, pattern)).sum())
        assert pattern_size(pipeline, pattern) == size
        assert 4 * pattern_cost(pipeline, pattern) - earned == contents.value[size]
