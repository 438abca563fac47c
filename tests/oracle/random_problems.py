"""Random tiny problems of all features at once: small enough for brute force, seeded by callers."""

import random

from planner_models.job import Job, ModuleShape, Weights


def random_job(rng: random.Random, *, largest: int, modules: int | None = None) -> Job:
    """A job of at most `largest` slots; one or two modules if the number is not given."""
    while True:
        dp = rng.choice([1, 1, 2, 2, 3, 4])
        number = modules or rng.choice([1, 2])
        shapes = tuple(_random_module(rng, dp, thin=number == 2) for _ in range(number))
        job = Job(shapes, dp, tied=rng.random() < 0.3)
        if 2 <= job.world <= largest:
            return job


def random_weights(rng: random.Random) -> Weights:
    """Weights of all kinds, some zero, some of like size and some far apart."""
    return Weights(
        tp=rng.choice([0, 1, 5, 30, 1000]),
        cp=rng.choice([0, 1, 7, 100]),
        dp=rng.choice([0, 1, 3, 10]),
        pp=rng.choice([0, 1, 4, 10, 50]),
        ep=rng.choice([0, 1, 5, 20]),
        expt_tp=rng.choice([0, 2, 100]),
        expt_dp=rng.choice([0, 1, 6]),
        embd=rng.choice([0, 1, 3, 20]),
    )


def random_capacities(rng: random.Random, world: int) -> list[int]:
    """Domains that hold `world` slots: alike or not, full or with up to three places idle."""
    alike, spare = rng.random() < 0.6, rng.choice([0, 0, 0, 1, 2, 3])
    common = rng.choice([1, 2, 2, 3, 3, 4, 5, 6])
    capacities: list[int] = []
    while sum(capacities) < world + spare:
        capacities.append(common if alike else rng.randint(1, 6))
    if not alike:
        capacities[-1] -= sum(capacities) - world - spare
    return capacities


def _random_module(rng: random.Random, dp: int, *, thin: bool) -> ModuleShape:
    tp = rng.choice([1, 1, 2, 2, 3] if thin else [1, 2, 2, 3, 4])
    cp = rng.choice([1, 1, 1, 2, 3] if thin else [1, 1, 2, 3])
    pp = rng.choice([1, 1, 2, 3] if thin else [1, 2, 3, 4, 5])
    vpp = rng.choice([1, 1, 2])
    slots = tp * cp * dp
    experts = [
        (etp, ep)
        for etp in range(1, slots + 1)
        for ep in range(2, slots + 1)
        if slots % (etp * ep) == 0
    ]
    if not experts or rng.random() < 0.6:
        return ModuleShape(tp, cp, pp, vpp=vpp)
    etp, ep = rng.choice(experts)
    return ModuleShape(tp, cp, pp, ep=ep, etp=etp, vpp=vpp)
