"""Units: tables, lists and models against their definitions."""

import random
from collections import Counter

import numpy as np
import pytest
from ortools.sat.python import cp_model

from planner_models.job import Job, ModuleShape, Weights
from planner_models.units.branch_and_cut import searched
from planner_models.units.column_generation import generate
from planner_models.units.contents import Contents
from planner_models.units.copies import cheapest_copy, copy_arcs
from planner_models.units.cut_groups import cut_bound
from planner_models.units.flattening import Flattened
from planner_models.units.gap import PatternLists, survivors
from planner_models.units.heights import (
    mirrored,
    pattern_cost,
    pattern_pairs,
    pattern_size,
    pipeline_of,
)
from planner_models.units.integer_master import IntegerMaster
from planner_models.units.orders import filled, first_patterns
from planner_models.units.pricing import NEVER, add_up
from planner_models.units.programme import SCALE, domains_of
from tests.models.units_cases import (
    every_pattern,
    every_segment,
    fits,
    random_prices,
    reduced,
    tiny,
)
from tests.oracle.slots_cost import content_cost, slot


@pytest.mark.parametrize("seed", range(40))
def test_cheapest_content_is_a_pattern_of_that_size_and_price(seed):
    job, weights, _ = tiny(random.Random(1000 + seed), lanes=(1, 2))
    pipeline = pipeline_of(job, weights)
    prices = random_prices(np.random.default_rng(seed), pipeline)
    contents = Contents(pipeline, prices, 4, pipeline.total)
    for size in np.flatnonzero(contents.value < NEVER // 2).tolist():
        pattern = contents.pattern(size)
        assert pattern_size(pipeline, pattern) == size
        assert reduced(pipeline, prices, 4, pattern) == contents.value[size]


@pytest.mark.parametrize("seed", range(40))
def test_lists_hold_every_pattern_within_the_budget_and_no_other(seed):
    rng = random.Random(seed)
    shapes = [ModuleShape(1, rng.choice([1, 2]), rng.randint(1, 3)) for _ in range(1 + seed % 2)]
    weights = Weights(0, rng.randint(0, 4), rng.choice([0, 1, 3]), rng.randint(0, 3))
    pipeline = pipeline_of(Job(tuple(shapes), rng.choice([1, 2])), weights)
    prices = random_prices(np.random.default_rng(seed), pipeline) // 2
    capacity = min(pipeline.total, rng.randint(2, 5))
    contents = Contents(pipeline, prices, 4, capacity)

    def seen(patterns):
        patterns = [p for p in patterns if fits(pipeline, p)]
        return {(pattern_cost(pipeline, p), pattern_pairs(pipeline, p).tobytes()) for p in patterns}

    segments = every_segment(pipeline, capacity)
    for size in range(1, capacity + 1):
        budget = int(contents.value[size]) + rng.choice([0, 2, 5])
        listed = list(PatternLists(contents).patterns(size, budget))
        wanted = [
            p
            for p in every_pattern(pipeline, segments, size)
            if reduced(pipeline, prices, 4, p) <= budget
        ]
        assert seen(listed) == seen(wanted)


@pytest.mark.parametrize("heights", [(2, 1), (1, 2, 2), (2, 2, 0, 1), (1, 0, 1, 1)])
def test_pattern_cost_is_the_share_of_a_domain_that_holds_such_slices(heights):
    weights = Weights(0, 4, 3, 2)
    job = Job((ModuleShape(1, 2, 4),), dp=2)
    pipeline = pipeline_of(job, weights)
    slots = [slot(job, 0, 0, c, 0, p) for p, h in enumerate(heights) for c in range(h)]
    runs, first = [], None
    for p, h in enumerate((*heights, 0)):
        if h and first is None:
            first = p
        if not h and first is not None:
            runs.append((first, heights[first:p]))
            first = None
    # A pipeline link counts half on either side in the share, and not at all in the pattern's cost,
    # which is credited for the links inside instead.
    ends = sum((p > 0) + (p < 3) for p, h in enumerate(heights) for _ in range(h))
    share = content_cost(job, weights, slots)
    assert pipeline.factor * pattern_cost(pipeline, tuple(runs)) == share - weights.pp * ends


def test_whole_planes_are_not_paid():
    pipeline = pipeline_of(Job((ModuleShape(1, 2, 3),), dp=2), Weights(0, 0, 5, 0))
    assert pattern_cost(pipeline, ((0, (2, 2)), (1, (2,)))) * pipeline.factor == 10
    assert pattern_cost(pipeline, ((1, (2,)), (1, (2,)))) == 0
    assert pattern_cost(pipeline, ((1, (2,)), (1, (1,)), (1, (1,)))) * pipeline.factor == 10


def test_reading_backwards_keeps_the_cost_of_a_symmetric_pipeline():
    pipeline = pipeline_of(Job((ModuleShape(2, 3, 4),), dp=2), Weights(9, 4, 3, 2))
    pattern = ((0, (1, 3)), (1, (2,)))
    assert pipeline.symmetric
    assert mirrored(pipeline, pattern) == ((2, (2,)), (2, (3, 1)))
    assert pattern_cost(pipeline, mirrored(pipeline, pattern)) == pattern_cost(pipeline, pattern)


def test_copies_match_pieces_of_neighbouring_stages_in_every_way():
    pipeline = pipeline_of(Job((ModuleShape(1, 2, 2),), dp=1), Weights(0, 1, 1, 1))
    enter, inner, leave = copy_arcs(pipeline)
    assert (len(enter.uses), len(inner.uses), len(leave.uses)) == (2, 9, 2)
    prices = np.zeros_like(pipeline.credit)
    prices[1, 2, 2], prices[1, 1, 1], prices[2, 2, 0] = 9, 2, 1
    assert cheapest_copy([enter, inner, leave], prices).price == 0
    prices[1] += 5
    # two pieces of one slice all through (2 * 7), two pieces (0,2) (2,0) with one end (5 + 5 + 1),
    # one pair (2,2) (14 + 1), or pieces 2 -> 1 + nothing -> 1 that end as ones (5 + 5)
    copy = cheapest_copy([enter, inner, leave], prices)
    assert copy.price == 10
    uses = [here.uses[arc] for here, arc in zip((enter, inner, leave), copy.arcs, strict=True)]
    assert sum(int(u @ p.ravel()) for u, p in zip(uses, prices, strict=True)) == 10


def test_convolution_of_one_entry_of_each():
    left, right = np.array([0, 3, NEVER]), np.array([5, NEVER, 1])
    assert add_up(left, right).tolist() == [5, 8, 1]


def test_integer_master_is_made_of_its_families_of_constraints():
    pipeline = pipeline_of(Job((ModuleShape(1, 2, 2),), dp=1), Weights(0, 1, 1, 1))
    domains = domains_of(pipeline, np.array([2, 2]))
    patterns = [((0, (2,)),), ((1, (2,)),), ((0, (1, 1)),), ((0, (2,)),)]
    master = IntegerMaster(pipeline, domains, [patterns], low=0, high=99)
    families = {c.name.split("[")[0] for c in master.model.proto.constraints}
    assert families == {"classes", "coupling", "flow", "window"}
    assert {v.name.split("[")[0] for v in master.model.proto.variables} == {"taken", "arc"}
    choice = master.solve()
    assert choice.cost == choice.proven == 2
    assert Counter(choice.patterns[0]) == {((0, (2,)),): 1, ((1, (2,)),): 1}


def test_integer_master_proves_that_nothing_is_below_a_cost():
    pipeline = pipeline_of(Job((ModuleShape(1, 2, 2),), dp=1), Weights(0, 1, 1, 1))
    domains = domains_of(pipeline, np.array([2, 2]))
    master = IntegerMaster(pipeline, domains, [[((0, (2,)),), ((1, (2,)),)]], low=0, high=1)
    assert (master.solve().proven, master.solve().cost) == (2, None)


@pytest.mark.parametrize("seed", range(20))
def test_filling_orders_give_patterns_of_whole_plans(seed):
    job, weights, capacities = tiny(random.Random(seed))
    pipeline = pipeline_of(job, weights)
    domains = domains_of(pipeline, np.array(capacities))
    plans = list(first_patterns(pipeline, domains))
    assert len(plans) == 6
    for plan in plans:
        for patterns, count, least, most in zip(
            plan, domains.count, domains.least, domains.capacity, strict=True
        ):
            assert len(patterns) == count
            assert all(least <= pattern_size(pipeline, p) <= most for p in patterns)
        uses = sum(pattern_pairs(pipeline, p) for patterns in plan for p in patterns)
        held = (uses * np.arange(pipeline.most + 1)).sum((1, 2))[:-1]
        assert held.tolist() == (pipeline.copies * pipeline.slices).tolist()


def test_larger_units_may_not_fit_in_every_order():
    pipeline = pipeline_of(
        Job((ModuleShape(1, 1, 1), ModuleShape(2, 1, 1)), dp=1), Weights(0, 0, 0, 1)
    )
    held = filled(pipeline, np.array([1, 2]), (0, 1, 2))
    assert held.ravel().tolist() == [0, 1]
    assert filled(pipeline, np.array([2, 1]), (0, 1, 2)) is None


def test_branch_and_cut_gives_whole_values_of_the_same_model():
    model = cp_model.CpModel()
    x, y = model.new_int_var(0, 5, "x"), model.new_int_var(-2, 5, "y")
    model.add_linear_constraint(2 * x + 3 * y, 7, 40)
    model.minimize(3 * x + 4 * y)
    values = searched(model)
    assert 2 * values[0] + 3 * values[1] >= 7
    assert 3 * values[0] + 4 * values[1] == 10
    model.add_linear_constraint(x + y, 11, 12)
    assert searched(model) is None


@pytest.mark.parametrize(("stages", "copies", "slices"), [(4, 1, 2), (4, 2, 1), (3, 2, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_cheapest_content_is_the_cheapest_of_all_patterns(stages, copies, slices, seed):
    job = Job((ModuleShape(1, slices, stages),), dp=copies)
    pipeline = pipeline_of(job, Weights(0, 1, 3, 1))
    prices = random_prices(np.random.default_rng(seed), pipeline) // 3
    # Going through from one whole plane to the next is dear, fair or cheap.
    prices[1:-1, slices, slices] += 12 * (seed - 1)
    capacity = 6 if slices * copies == 2 else 5
    contents = Contents(pipeline, prices, 4, capacity)
    segments = every_segment(pipeline, capacity)
    for size in range(1, capacity + 1):
        patterns = every_pattern(pipeline, segments, size)
        assert contents.value[size] == min(reduced(pipeline, prices, 4, p) for p in patterns)


def test_between_whole_planes_one_copy_may_go_through_and_another_not():
    pipeline = pipeline_of(Job((ModuleShape(1, 1, 3),), dp=2), Weights(0, 0, 3, 1))
    prices = np.zeros_like(pipeline.credit)
    prices[1, 0, 1] = prices[2, 1, 0] = -50  # nothing begins or ends at the middle stage
    contents = Contents(pipeline, prices, 1, 5)
    assert contents.pattern(5) == ((0, (1,)), (0, (1, 1, 1)), (2, (1,)))
    assert contents.value[5] == 3 - 2


def test_one_copy_of_one_slice_has_no_planes():
    assert not pipeline_of(Job((ModuleShape(2, 1, 3),), dp=1), Weights(9, 1, 1, 1)).plane.any()


def test_slots_beyond_whole_groups_are_priced_between_lanes_of_both_sizes():
    job, weights = Job((ModuleShape(2, 1, 2),), dp=1), Weights(20, 0, 0, 1)
    pipeline = pipeline_of(job, weights)
    # Lanes hold 0, 1 or 2 stages for 0, 0 or -1; three slots are a lane of 2 and one of 1, and
    # the pipeline is two links: -1 + 2 = 1, and a cut adds two tensor links at 20 - 1 each.
    assert cut_bound(job, weights, pipeline, [3, 1], None) == 1 + 2 * 20 - 2


def test_a_bound_on_slots_is_asked_at_two_tensor_weights():
    job = Job((ModuleShape(2, 1, 1), ModuleShape(2, 1, 1)), dp=1)
    weights = Weights(20, 1, 1, 1)
    asked = []

    def master(other):
        asked.append(other.tp)
        return 100 + other.tp

    # Reduced to 2 * (1 + 1 + 1) / 2 = 3: 103 + 2 * (20 - 3) is more than 120.
    assert cut_bound(job, weights, pipeline_of(job, weights), [3, 1], master) == 137
    assert sorted(asked) == [3, 20]


def test_domains_hold_at_least_what_the_idle_places_leave():
    pipeline = pipeline_of(Job((ModuleShape(2, 1, 4),), dp=2), Weights(9, 1, 1, 1))
    domains = domains_of(pipeline, np.array([5, 1, 4, 1]))
    assert domains.capacity.tolist() == [1, 4, 5]
    assert domains.count.tolist() == [2, 1, 1]
    assert domains.least.tolist() == [0, 1, 2]
    assert domains_of(pipeline, np.array([4, 3])) is None


@pytest.mark.parametrize("above", [0, 1, 3])
def test_survivors_are_all_patterns_within_the_gap(above):
    pipeline = pipeline_of(Job((ModuleShape(1, 2, 3),), dp=2), Weights(0, 2, 1, 1))
    domains = domains_of(pipeline, np.array([5, 4, 4]))
    flat = Flattened(pipeline, 5)
    columns = generate(flat, domains)
    found = survivors(flat, domains, columns, columns.rounded + above)
    assert found.complete
    segments = every_segment(pipeline, 5)
    for patterns, least, most in zip(
        found.patterns, domains.least.tolist(), domains.capacity.tolist(), strict=True
    ):
        every = [
            (reduced(pipeline, columns.prices, SCALE, p), p)
            for size in range(least, most + 1)
            for p in every_pattern(pipeline, segments, size)
        ]
        budget = min(price for price, _ in every)
        budget += SCALE * (columns.rounded + above) - columns.bound
        wanted = {pattern_pairs(pipeline, p).tobytes() for price, p in every if price <= budget}
        fitting = {
            pattern_pairs(pipeline, p).tobytes()
            for price, p in every
            if price <= budget and fits(pipeline, p)
        }
        listed = {pattern_pairs(pipeline, p).tobytes() for p in patterns}
        assert fitting <= listed <= wanted


def test_partitions_of_neighbouring_places_must_agree():
    pipeline = pipeline_of(Job((ModuleShape(1, 4, 3),), dp=2), Weights(0, 1, 1, 1))
    domains = domains_of(pipeline, np.array([24]))
    # Before the middle stage its pieces are {1, 1, 1, 1} and {2, 2}, after it {2, 1, 1} twice.
    torn = ((0, (1, 2, 4)), (0, (3, 2, 3)), (0, (4, 1, 1)), (1, (1,)), (1, (1,)), (1, (1,)))
    assert IntegerMaster(pipeline, domains, [[torn]], low=0, high=99).solve().cost is None
    sound = ((0, (4, 4, 4)), (0, (4, 4, 4)))
    assert IntegerMaster(pipeline, domains, [[sound]], low=0, high=99).solve().cost == 0
