"""Units: bounds and plans against every placement of tiny jobs."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

from planner_models import master, units
from planner_models.job import Job, ModuleShape, Weights
from tests.models.units_cases import domain_of_slots, tiny
from tests.oracle.slots_cost import cost, optimum

DEFAULT = Weights(tp=1000, cp=100, dp=1, pp=10)


@pytest.mark.parametrize("seed", range(60))
def test_tiny_jobs_are_solved_to_proof(seed):
    job, weights, capacities = tiny(random.Random(seed))
    best = optimum(job, weights, capacities)
    found = units.bound(job, weights, capacities)
    slots = domain_of_slots(job, units.assemble(job, weights, found))
    assert found.value == found.reached == best
    assert cost(job, weights, slots) == best
    assert all(slots.count(n) <= capacity for n, capacity in enumerate(capacities))


@pytest.mark.parametrize("seed", range(40))
def test_no_bound_is_above_the_optimum_where_groups_may_be_cut(seed):
    rng = random.Random(seed)
    job, weights, capacities = tiny(rng, lanes=(2, 3), tensor=rng.choice([0, 1, 5, 20]))
    found = units.bound(
        job, weights, capacities, master=lambda other: optimum(job, other, capacities)
    )
    assert found.value <= optimum(job, weights, capacities)


def test_several_whole_planes_in_one_domain_are_all_refunded():
    job, weights = Job((ModuleShape(1, 2, 5),), dp=1), Weights(0, 1, 3, 1)
    assert units.bound(job, weights, [4, 4, 2]).value == 4 == optimum(job, weights, [4, 4, 2])


def test_gap_above_the_linear_programme_is_closed_by_patterns():
    job = Job((ModuleShape(8, 1, 16),), dp=16)
    leaves = [8 * nodes for nodes in (17, 17, 26, 26, 26, 26, 26, 26, 30, 26, 10)]
    found = units.bound(job, DEFAULT, leaves)
    assert (found.value, found.reached, found.proof) == (1880, 1880, "integer")


def test_rings_that_fit_no_domain_by_halves_are_met():
    job = Job((ModuleShape(8, 4, 4),), dp=4)
    found = units.bound(job, DEFAULT, [8 * n for n in (13, 9, 11, 14, 12, 5)])
    placed = units.assemble(job, DEFAULT, found)
    paid = cost(job, DEFAULT, domain_of_slots(job, placed))
    assert found.whole == found.reached == paid


@pytest.mark.parametrize(
    ("shape", "dp", "weights", "capacities", "best"),
    [
        (ModuleShape(1, 2, 5), 2, Weights(0, 1, 0, 5), [1, 8, 3, 8], 21),
        (ModuleShape(1, 2, 5), 3, Weights(0, 2, 1, 20), [8, 3, 4, 4, 11], 107),
        (ModuleShape(1, 4, 3), 2, Weights(0, 1, 0, 5), [1, 3, 4, 10, 6], 22),
    ],
)
def test_patterns_whose_segments_do_not_fill_the_copies_are_replaced(
    shape, dp, weights, capacities, best
):
    job = Job((shape,), dp)
    found = units.bound(job, weights, capacities)
    paid = cost(job, weights, domain_of_slots(job, units.assemble(job, weights, found)))
    assert found.whole == found.reached == paid == best


def test_an_incumbent_that_is_met_ends_the_search():
    job = Job((ModuleShape(8, 2, 6),), dp=6)
    leaves = [8 * n for n in (15, 9, 12, 16, 10, 13)]
    best = units.bound(job, DEFAULT, leaves)
    told = units.bound(job, DEFAULT, leaves, incumbent=best.value)
    assert told.value == best.value == 584
    assert told.patterns == ()
    assert units.assemble(job, DEFAULT, told) is None


def test_spare_domains_and_renamed_ones_change_nothing():
    job, leaves = Job((ModuleShape(2, 2, 4),), dp=3), [12, 20, 16, 8]
    found = units.bound(job, DEFAULT, leaves).value
    assert units.bound(job, DEFAULT, leaves[::-1]).value == found
    assert units.bound(job, DEFAULT, [*leaves, 4]).value <= found
    scaled = Weights(3000, 300, 3, 30)
    assert units.bound(job, scaled, leaves).value == 3 * found


def test_without_room_for_whole_groups_only_the_cut_case_is_left():
    job = Job((ModuleShape(2, 1, 2),), dp=1)
    found = units.bound(job, Weights(5, 1, 1, 1), [3, 1])
    assert found.whole is None
    assert found.value == found.cut <= optimum(job, Weights(5, 1, 1, 1), [3, 1])


def test_modules_whose_groups_cannot_be_packed_are_found_impossible():
    job = Job((ModuleShape(2, 1, 1), ModuleShape(3, 1, 1)), dp=2)
    assert units.bound(job, DEFAULT, [4, 6]).whole is not None
    assert units.bound(job, DEFAULT, [1, 4, 5]).whole is None


def test_jobs_that_units_do_not_know_are_refused():
    job = Job((ModuleShape(2, 1, 4, vpp=2),), dp=2)
    with pytest.raises(ValueError, match="no virtual stages"):
        units.bound(job, DEFAULT, [16])
    with pytest.raises(ValueError, match="16 slots do not fit 15 places"):
        units.bound(Job((ModuleShape(2, 1, 4),), dp=2), DEFAULT, [15])


def test_a_group_cut_at_a_level_is_cut_at_the_finer_ones_too():
    def level(whole, cut):
        return SimpleNamespace(whole=whole, cut=cut)

    assert units.across_levels([1, 2], [level(5, 9), level(4, 3)]) == 13
    assert units.across_levels([1, 2], [level(5, 6), level(4, 3)]) == 12
    assert units.across_levels([1, 2], [level(None, 6), level(4, None)]) == 14
    with pytest.raises(ValueError, match="neither whole nor cut"):
        units.across_levels([1], [level(None, None)])


def test_encoder_slices_beside_fewer_or_more_decoder_slices():
    job = Job((ModuleShape(1, 2, 1), ModuleShape(1, 1, 3)), dp=2)
    weights = Weights(0, 2, 1, 1)
    for capacities in ([4, 3, 3], [5, 5], [6, 2, 2], [7, 3]):
        found = units.bound(job, weights, capacities)
        assert found.value == optimum(job, weights, capacities)


def test_domain_of_every_unit_lists_each_unit_once():
    job = Job((ModuleShape(8, 2, 6),), dp=6)
    leaves = [8 * n for n in (15, 9, 12, 16, 10, 13)]
    placed = units.assemble(job, DEFAULT, units.bound(job, DEFAULT, leaves))
    assert placed.shape == (6, 6, 2)
    assert (np.bincount(placed.ravel(), minlength=6) * 8 <= leaves).all()


def test_stages_of_many_slices_are_counted():
    job = Job((ModuleShape(8, 16, 4),), dp=2)
    found = units.bound(job, DEFAULT, [8 * 32] * 4)
    # A leaf holds two stages of a copy: each pipeline is cut once, each plane in two.
    assert (found.value, found.proof) == (8 * 32 * 10 + 4 * 8 * 2, "counted")


@pytest.mark.parametrize(
    ("shape", "dp", "leaves"),
    [
        (ModuleShape(8, 2, 4), 4, [64] * 4),
        (ModuleShape(4, 2, 8), 4, [128, 128]),
        (ModuleShape(8, 1, 4), 8, [32] * 8),
        (ModuleShape(2, 4, 4), 4, [16] * 8),
    ],
)
def test_regular_jobs_have_the_bound_that_counts_slots(shape, dp, leaves):
    job = Job((shape,), dp)
    assert units.bound(job, DEFAULT, leaves).value == master.bound(job, DEFAULT, leaves)


def test_uneven_leaves_are_bounded_above_what_counting_slots_gives():
    job, leaves = Job((ModuleShape(8, 2, 6),), dp=6), [8 * n for n in (15, 9, 12, 16, 10, 10)]
    assert units.bound(job, DEFAULT, leaves).value > master.bound(job, DEFAULT, leaves)


def test_one_stage_is_not_closed_to_a_cycle():
    plain = Job((ModuleShape(2, 2, 1),), dp=4)
    closed = Job((ModuleShape(2, 2, 1, vpp=2),), dp=4, tied=True)
    assert units.bound(closed, DEFAULT, [6, 6, 4]) == units.bound(plain, DEFAULT, [6, 6, 4])
