"""The model with move literals: each family alone, on problems small enough to do by hand."""

from itertools import permutations

import numpy as np
import pytest

from planner_models import moves
from planner_models.assignment import Assignment, Groups, Level, Limits, Neighbourhood
from planner_models.matching import best_matching
from planner_models.moves import Homes, Leader

PAIRS = np.array([[0, 1], [2, 3]])
LIMITS = Limits(seconds=20)


def two_cells(usable: list[int], weight: int = 10) -> Assignment:
    """Two pairs of slots on two cells of four devices."""
    node = Level(weight=1, domain=np.repeat([0, 1], 4))
    return Assignment(4, (node,), np.array(usable, bool), (PAIRS,), (Groups("tp", weight, PAIRS),))


ROOMY = [1, 1, 1, 0, 1, 1, 1, 1]
START = np.array([0, 0, 0, 1])


def test_the_fewest_moves_that_are_good_enough() -> None:
    homes = Homes(np.array([0, 0, 0, -1]), enough=0)
    found = moves.solve(two_cells(ROOMY), homes, LIMITS, start=START)
    assert found.cells is not None
    assert (found.status, found.bound, found.cost) == ("optimal", 2, 0)
    assert found.cells.tolist() == [0, 0, 1, 1]


def test_what_is_good_enough_need_not_be_best() -> None:
    homes = Homes(np.array([0, 0, 0, -1]), enough=20)
    found = moves.solve(two_cells(ROOMY), homes, LIMITS, start=START)
    assert (found.status, found.bound, found.cost) == ("optimal", 1, 20)


@pytest.mark.parametrize(("most", "cost"), [(1, 20), (2, 0)])
def test_the_least_cost_within_some_moves(most: int, cost: int) -> None:
    homes = Homes(np.array([0, 0, 0, -1]), most=most)
    found = moves.solve(two_cells(ROOMY), homes, LIMITS, start=START)
    assert (found.status, found.bound, found.cost) == ("optimal", cost, cost)


def test_too_few_moves_are_infeasible() -> None:
    homes = Homes(np.array([0, 0, -1, -1]), most=1)
    assert moves.solve(two_cells(ROOMY), homes, LIMITS, start=START).status == "infeasible"


def test_a_leader_that_arrives_moves_whoever_sits_first() -> None:
    homes = np.array([-1, 1, 1, 1])
    usable = [0, 0, 0, 0, 1, 1, 1, 1]
    first = Leader(0, np.arange(2), np.array([-1, 1]), 0)
    found = moves.solve(
        two_cells(usable), Homes(homes, enough=0, leader=first), LIMITS, start=np.array([1] * 4)
    )
    assert found.bound == 2
    free = Leader(0, np.arange(2), np.array([-1, -1]), 0)
    found = moves.solve(
        two_cells(usable), Homes(homes, enough=0, leader=free), LIMITS, start=np.array([1] * 4)
    )
    assert found.bound == 1


def test_a_leader_with_free_devices_below_moves_when_its_cell_fills() -> None:
    homes = np.array([0, 0, -1, -1])
    usable = [1, 1, 1, 1, 0, 0, 0, 0]
    for below, fewest in ((0, 2), (1, 3)):
        wish = Homes(homes, enough=0, leader=Leader(0, np.arange(2), np.array([-1, -1]), below))
        found = moves.solve(two_cells(usable), wish, LIMITS, start=np.zeros(4, np.int64))
        assert found.bound == fewest


def test_a_leader_goes_nowhere_behind_others_of_its_house() -> None:
    homes = np.array([-1, 1, 1, 0])
    usable = [1, 0, 0, 0, 1, 1, 1, 1]
    for houses, fewest in (([0, 1], 1), ([0, 0], 2)):
        leader = Leader(0, np.array(houses), np.array([-1, -1]), 0)
        found = moves.solve(
            two_cells(usable),
            Homes(homes, enough=40, leader=leader),
            LIMITS,
            start=np.array([1, 1, 1, 0]),
        )
        assert found.bound == fewest


def test_groups_move_whole_where_asked() -> None:
    homes = Homes(np.array([0, 0, 0, -1]), enough=20)
    found = moves.solve(two_cells(ROOMY), homes, LIMITS, start=START, together=PAIRS)
    assert found.cells is not None
    assert found.cells.tolist() == [0, 0, 1, 1]


def test_a_neighbourhood_counts_the_moves_of_all() -> None:
    homes = Homes(np.array([1, 0, 0, -1]), most=2)
    hood = Neighbourhood(np.array([2, 3]), np.array([0, 1]))
    found = moves.solve(two_cells(ROOMY), homes, LIMITS, start=START, neighbourhood=hood)
    assert found.cells is not None
    assert found.cells.tolist() == [0, 0, 0, 1]  # slot 0 has moved already, slot 3 must


@pytest.mark.parametrize("seed", range(10))
def test_matchings_are_best(seed: int) -> None:
    gain = np.random.default_rng(seed).integers(0, 9, (5, 5))
    best = max(sum(gain[i, j] for i, j in enumerate(p)) for p in permutations(range(5)))
    assert gain[np.arange(5), best_matching(gain)].sum() == best
