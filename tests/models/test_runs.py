"""Runs against every way to cut a chain into consecutive pieces."""

import itertools
import random

import numpy as np
import pytest

from planner_models.runs import Chain, cheapest_runs, states


def chain_of(rng: random.Random, slots: int) -> Chain:
    def groups(size: int) -> np.ndarray:
        members = rng.sample(range(slots), slots // size * size)
        return np.sort(np.array(members, np.int64).reshape(-1, size), axis=1)

    rings = tuple((rng.choice([0, 1, 5, 20]), groups(rng.choice([1, 2, 3]))) for _ in range(2))
    shared = ((rng.choice([1, 3]), groups(3)),) if rng.random() < 0.5 else ()
    pairs = ((rng.choice([1, 4]), groups(2)), (2, groups(2)))
    return Chain(slots, rings, shared, pairs)


def cost(chain: Chain, domain: np.ndarray) -> int:
    total = 0
    for weight, groups in chain.rings:
        for group in groups:
            touched = len(set(domain[group].tolist()))
            total += weight * touched if touched > 1 else 0
    for weight, groups in chain.all_to_alls:
        for group in groups:
            total += weight * sum(a != b for a, b in itertools.combinations(domain[group], 2))
    for weight, ends in chain.pairs:
        total += weight * int((domain[ends[:, 0]] != domain[ends[:, 1]]).sum())
    return total


def every_cut(slots: int, capacities: list[int]):
    """[slots] domains, for every order of the domains and every number held by each."""
    for order in set(itertools.permutations(capacities)):
        for held in itertools.product(*(range(c + 1) for c in order)):
            if sum(held) == slots:
                yield np.repeat(np.arange(len(held)), held)


@pytest.mark.parametrize("seed", range(60))
def test_no_way_to_cut_is_cheaper_and_the_runs_cost_what_they_say(seed: int) -> None:
    rng = random.Random(seed)
    slots = rng.randint(3, 9)
    capacities = []
    while sum(capacities) < slots + rng.choice([0, 0, 1, 2]):
        capacities.append(rng.randint(1, 4))
    chain = chain_of(rng, slots)
    found = cheapest_runs(chain, capacities)
    assert found.cost == min(cost(chain, cut) for cut in every_cut(slots, capacities))
    lengths = [n for _, n in found.runs]
    assert sum(lengths) == slots
    assert cost(chain, np.repeat(np.arange(len(lengths)), lengths)) == found.cost
    used = sorted(k for k, _ in found.runs)
    assert all(used.count(k) <= capacities.count(k) for k in used)
    assert all(n <= k for k, n in found.runs)


def test_too_many_slots_are_refused() -> None:
    with pytest.raises(ValueError, match="5 slots do not fit 4 places"):
        cheapest_runs(Chain(5, (), (), ()), [2, 2])


def test_the_size_of_the_recursion_is_known_beforehand() -> None:
    assert states([8] * 10 + [7] * 2, 92) == 11 * 3 * 3
