"""Seeded tiny jobs and prices for the tests and the brute force of `planner_models.units`."""

import random
from collections import Counter
from itertools import product

import numpy as np

from planner_models.job import Job, ModuleShape, Weights
from planner_models.units.heights import (
    Pipeline,
    copies_in_block,
    pattern_cost,
    pattern_pairs,
    pattern_size,
)

WHOLE = 10**6
"""A tensor weight that keeps tensor groups whole."""


def tiny(
    rng: random.Random,
    *,
    lanes: tuple[int, ...] = (1,),
    tensor: int = WHOLE,
    modules: int | None = None,
):
    """A job of four to ten slots, weights, and domains for it, some with room to spare.

    One module most of the time unless their number is given; two have few stages to be small.
    """
    while True:
        shapes = tuple(
            ModuleShape(
                rng.choice(lanes),
                rng.choice([1, 1, 2, 2, 3, 4]),
                rng.randint(1, 2 if modules == 2 else 5),
            )
            for _ in range(modules or rng.choice([1, 1, 1, 2]))
        )
        job = Job(shapes, rng.randint(1, 4))
        if 4 <= job.world <= 10:
            break
    weights = Weights(
        tensor, rng.choice([0, 1, 2, 4]), rng.choice([0, 1, 2, 3]), rng.choice([0, 1, 2, 3])
    )
    return job, weights, _domains(rng, job.world)


def _domains(rng: random.Random, world: int) -> list[int]:
    """Capacities of domains, some with room to spare."""
    room = world + rng.choice([0, 0, 0, 1, 2, 3])
    capacities: list[int] = []
    while sum(capacities) < room:
        capacities.append(min(rng.choice([1, 2, 3, 4, 5, 6, 8]), room - sum(capacities)))
    rng.shuffle(capacities)
    return capacities


def random_prices(rng: np.random.Generator, pipeline: Pipeline) -> np.ndarray:
    """Small prices of both signs on the pairs that exist."""
    prices = rng.integers(-6, 7, pipeline.credit.shape)
    for p in range(pipeline.stages + 1):
        prices[p, pipeline.bordered[p] + 1 :] = 0
        prices[p, :, pipeline.bordered[p + 1] + 1 :] = 0
    prices[:, 0, 0] = 0
    return prices


def domain_of_slots(job: Job, domain_of: np.ndarray) -> list[int]:
    """Domain of every canonical slot, given the domain of every unit [P, D, C]."""
    found, stage = [], 0
    for module in job.modules:
        units = domain_of[stage : stage + module.pp, :, : module.cp]
        found.append(np.repeat(units.ravel(), module.tp))
        stage += module.pp
    return np.concatenate(found).tolist()


def tiny_experts(rng: random.Random, *, tensor: int = WHOLE, most: int = 12):
    """A job of four to `most` slots with expert groups that are made of whole copies."""
    while True:
        shapes = [_expert_shape(rng) for _ in range(rng.choice([1, 1, 1, 2]))]
        if len(shapes) == 2 and rng.random() < 0.5:
            shapes[rng.choice([0, 1])] = ModuleShape(rng.choice([1, 2]), rng.choice([1, 2]), 1)
        job = Job(tuple(shapes), rng.choice([1, 2, 2, 3, 4, 4, 6, 6, 8, 9, 12]))
        if 4 <= job.world <= most and copies_in_block(job):
            break
    weights = Weights(
        tensor,
        rng.choice([0, 1, 2]),
        rng.choice([0, 1, 2, 3]),
        rng.choice([0, 1, 2, 3, 8]),
        ep=rng.choice([0, 1, 1, 2, 5]),
        expt_tp=rng.choice([0, 1, 4]),
        expt_dp=rng.choice([0, 1, 2, 3, 5]),
    )
    return job, weights, _domains(rng, job.world)


def _expert_shape(rng: random.Random) -> ModuleShape:
    """One module: the expert tensor size divides the tensor size, and few of all are small."""
    tp = rng.choice([1, 1, 1, 2, 2, 4])
    etp = rng.choice([n for n in (1, 2, 4) if tp % n == 0])
    ep = rng.choice([2, 2, 3, 4, 4, 6])
    return ModuleShape(tp, rng.choice([1, 1, 1, 2]), rng.choice([1, 1, 2, 3, 4]), ep=ep, etp=etp)


def every_segment(pipeline, capacity):
    return sorted(
        (first, heights)
        for first in range(pipeline.stages)
        for behind in range(first + 1, pipeline.stages + 1)
        for heights in product(
            *(range(1, int(pipeline.slices[p]) + 1) for p in range(first, behind))
        )
        if pattern_size(pipeline, ((first, heights),)) <= capacity
    )


def every_pattern(pipeline, segments, size):
    sizes = [pattern_size(pipeline, (segment,)) for segment in segments]

    def chosen(at, left):
        if left == 0:
            yield ()
        for index in range(at, len(segments)):
            if sizes[index] <= left:
                for rest in chosen(index, left - sizes[index]):
                    yield (segments[index], *rest)

    return chosen(0, size)


def fits(pipeline, pattern):
    here = Counter(p for first, hs in pattern for p in range(first, first + len(hs)))
    return max(here.values(), default=0) <= pipeline.copies


def reduced(pipeline, prices, scale, pattern):
    earned = int((prices * pattern_pairs(pipeline, pattern)).sum())
    return scale * pattern_cost(pipeline, pattern) - earned
