"""Seeded tiny jobs and prices for the tests and the brute force of `planner_models.units`."""

import random

import numpy as np

from planner_models.job import Job, ModuleShape, Weights
from planner_models.units.heights import Pipeline

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
    room = job.world + rng.choice([0, 0, 0, 1, 2, 3])
    capacities: list[int] = []
    while sum(capacities) < room:
        capacities.append(min(rng.choice([1, 2, 3, 4, 5, 6, 8]), room - sum(capacities)))
    rng.shuffle(capacities)
    return job, weights, capacities


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
