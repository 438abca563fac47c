"""Min-plus vectors against every combination of entries."""

from itertools import product

import numpy as np
import pytest

from planner_models.minplus import UNREACHABLE, convolve, power


def every_sum(tables, length):
    best = [UNREACHABLE] * length
    for choice in product(*(range(len(table)) for table in tables)):
        costs = [table[size] for table, size in zip(tables, choice, strict=True)]
        if sum(choice) < length and max(costs) < UNREACHABLE:
            best[sum(choice)] = min(best[sum(choice)], sum(costs))
    return best


def table(rng, size):
    costs = rng.integers(-50, 50, size)
    return np.where(rng.random(size) < 0.2, UNREACHABLE, costs)


@pytest.mark.parametrize("seed", range(8))
def test_convolutions_are_the_cheapest_sums(seed):
    rng = np.random.default_rng(seed)
    a, b = table(rng, 7), table(rng, int(rng.integers(1, 9)))
    for length in (1, 5, 20):
        expected = every_sum([a, b], min(length, len(a) + len(b) - 1))
        assert convolve(a, b, length).tolist() == expected


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("times", [1, 2, 3, 5])
def test_powers_are_the_cheapest_sums(seed, times):
    a = table(np.random.default_rng(seed), 4)
    for length in (1, 2, 4, 20):
        assert power(a, times, length).tolist() == every_sum([a] * times, length)


def test_most_of_a_large_power_stays_at_size_zero():
    a = np.array([-3, 4, UNREACHABLE, 1])
    assert power(a, 10**6, 4).tolist() == [-3 * 10**6 + extra for extra in (0, 7, 14, 4)]
