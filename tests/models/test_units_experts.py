"""Units of jobs with experts: racks that cut expert groups, planes that depend on heights."""

import random

import numpy as np
import pytest

from planner_models import units
from planner_models.job import Job, ModuleShape, Weights
from planner_models.units.assembly import assembled
from planner_models.units.column_generation import generate
from planner_models.units.contents import Contents
from planner_models.units.flattening import Cheapest, Flattened
from planner_models.units.gap import PatternLists, survivors
from planner_models.units.heights import (
    Pipeline,
    copies_in_block,
    pattern_cost,
    pattern_pairs,
    pattern_size,
    pipeline_of,
)
from planner_models.units.lanes import cut_at_prices
from planner_models.units.programme import SCALE, domains_of
from tests.models.units_cases import (
    domain_of_slots,
    every_pattern,
    every_segment,
    fits,
    random_prices,
    reduced,
    tiny_experts,
)
from tests.oracle.slots_cost import content_cost, cost, optimum, slot

DEFAULT = Weights(tp=1000, cp=100, dp=1, pp=10, ep=100, expt_tp=1000, expt_dp=1)


@pytest.mark.parametrize("seed", range(60))
def test_tiny_expert_jobs_are_bounded_by_their_optimum(seed):
    job, weights, capacities = tiny_experts(random.Random(seed), most=8)
    best = optimum(job, weights, capacities)
    found = units.bound(
        job, weights, capacities, master=lambda other: optimum(job, other, capacities)
    )
    assert found.value == best
    placed = units.assemble(job, weights, found)
    if placed is not None:
        slots = domain_of_slots(job, placed)
        assert cost(job, weights, slots) >= best
        assert all(slots.count(n) <= capacity for n, capacity in enumerate(capacities))


@pytest.mark.parametrize("seed", range(60))
def test_no_bound_is_above_the_optimum_where_groups_of_experts_may_be_cut(seed):
    rng = random.Random(seed)
    job, weights, capacities = tiny_experts(rng, tensor=rng.choice([0, 1, 5, 20]), most=8)
    found = units.bound(job, weights, capacities)
    assert found.value <= optimum(job, weights, capacities)


@pytest.mark.parametrize(
    ("held", "weights"),
    [
        ((3, 0), Weights(0, 0, 0, 0, ep=5)),
        ((3, 0), Weights(0, 0, 5, 0)),
        ((4, 4), Weights(0, 0, 5, 0, expt_dp=3)),
        ((4, 1), Weights(0, 0, 0, 0, expt_dp=3)),
        ((2, 1), Weights(0, 0, 0, 0, expt_dp=3)),
        ((3, 2), Weights(0, 0, 2, 0, ep=1, expt_dp=3)),
    ],
)
def test_pattern_cost_is_the_share_of_a_domain_that_holds_such_parts_of_groups(held, weights):
    # Four tensor groups of two make up an expert group of eight; two groups a stage.
    job = Job((ModuleShape(2, 1, 1, ep=8),), dp=8)
    pipeline = pipeline_of(job, weights)
    slots = [
        slot(job, 0, t, 0, 4 * block + unit, 0)
        for block, height in enumerate(held)
        for unit in range(height)
        for t in range(2)
    ]
    pattern = tuple((0, (height,)) for height in held if height)
    assert pipeline.factor * pattern_cost(pipeline, pattern) == content_cost(job, weights, slots)


@pytest.mark.parametrize(
    ("shape", "height", "share"),
    [
        (ModuleShape(4, 1, 1, ep=4), 1, 0),  # a tensor group is the expert group
        (ModuleShape(4, 1, 1, ep=2, etp=4), 1, 4 * 1 * 1),  # four groups of two, a lane each
        (ModuleShape(4, 1, 1, ep=4, etp=2), 1, 2 * 2 * 2),  # two groups of four, two lanes each
        (ModuleShape(4, 1, 1, ep=8), 1, 4 * 4),
    ],
)
def test_all_to_alls_join_tensor_groups_as_the_expert_tensor_size_says(shape, height, share):
    job = Job((shape,), dp=4)
    pipeline = pipeline_of(job, Weights(0, 0, 0, 0, ep=1, expt_tp=9))
    assert pipeline.factor * pipeline.own[0, height] == share
    slots = [slot(job, 0, t, 0, 0, 0) for t in range(4)]
    assert content_cost(job, Weights(0, 0, 0, 0, ep=1, expt_tp=9), slots) == share


def test_blocks_are_as_many_copies_as_expert_groups_need():
    def of(*shapes: ModuleShape, dp: int = 12) -> int | None:
        return copies_in_block(Job(shapes, dp))

    assert of(ModuleShape(2, 1, 8, ep=16), dp=72) == 8
    assert of(ModuleShape(1, 1, 1, ep=4), ModuleShape(2, 1, 1, ep=12)) == 12
    assert of(ModuleShape(2, 2, 1)) == 1
    assert of(ModuleShape(4, 1, 1, ep=2)) is None  # two expert groups in a tensor group
    assert of(ModuleShape(1, 4, 1, ep=2)) is None  # a context ring across expert groups
    assert of(ModuleShape(2, 1, 1, ep=3, etp=4)) is None
    with pytest.raises(ValueError, match="experts only of whole copies"):
        pipeline_of(Job((ModuleShape(4, 1, 1, ep=2),), 2), DEFAULT)


def _planes(rng: random.Random) -> Pipeline:
    """Small blocks with planes of every kind."""
    shape = ModuleShape(1, 1, rng.choice([1, 2, 3]), ep=rng.choice([2, 3]))
    job = Job((shape,), dp=shape.ep * rng.choice([1, 2, 2, 3]))
    weights = Weights(
        0, 0, rng.choice([0, 1, 4]), rng.choice([0, 2]), ep=rng.choice([0, 1, 3]), expt_dp=2
    )
    return pipeline_of(job, weights)


@pytest.mark.parametrize("seed", range(40))
def test_no_content_is_priced_above_its_cost(seed):
    pipeline = _planes(random.Random(seed))
    capacity = min(6, pipeline.total)
    flat = Flattened(pipeline, capacity)
    prices = random_prices(np.random.default_rng(seed), pipeline) // 2
    if pipeline.symmetric:
        prices = prices + prices[::-1].transpose(0, 2, 1)
    cheapest = Cheapest(flat, prices, 4)
    segments = every_segment(pipeline, capacity)
    for size in range(1, capacity + 1):
        patterns = [p for p in every_pattern(pipeline, segments, size) if fits(pipeline, p)]
        for pattern in patterns:
            assert flat.cost(pattern) <= pattern_cost(pipeline, pattern)
        real = [reduced(pipeline, prices, 4, p) for p in patterns]
        assert cheapest.value[size] <= min(real, default=cheapest.value[size])


def test_parts_of_blocks_beside_whole_ones_and_alone_are_priced_exactly():
    pipeline = pipeline_of(Job((ModuleShape(2, 1, 8, ep=16),), dp=72), DEFAULT)
    flat = Flattened(pipeline, 36)
    for pattern in (
        ((0, (8, 8, 8, 8, 4)),),
        ((4, (8, 8, 8, 8)), (7, (4,))),
        ((0, (4, 4, 4)), (3, (8, 8, 8))),
        ((2, (8,)), (2, (8,)), (2, (8,)), (2, (8,)), (2, (4,))),
    ):
        assert flat.cost(pattern) == pattern_cost(pipeline, pattern)


def test_dense_jobs_are_priced_once():
    pipeline = pipeline_of(Job((ModuleShape(2, 2, 4),), dp=4), DEFAULT)
    assert [part.pipeline for part in Flattened(pipeline, 8).parts] == [pipeline]


def test_lanes_of_different_contents_are_bounded():
    # A lane a domain: two tensor groups cut, four links of 1; whole groups cost eight rings.
    job, weights = Job((ModuleShape(2, 1, 1, ep=4),), dp=2), Weights(1, 0, 3, 0)
    pipeline = pipeline_of(job, weights)
    nothing = np.zeros_like(pipeline.credit)
    assert cut_at_prices(pipeline, nothing, [2, 2], 2, 1) == 4 == optimum(job, weights, [2, 2])
    assert cut_at_prices(pipeline, nothing, [2, 2], 2, 9) > 12


def test_racks_that_hold_half_an_expert_group_are_solved_to_proof():
    # Racks of 12 hold a group of eight and a half.
    job = Job((ModuleShape(2, 1, 2, ep=8),), dp=12)
    found = units.bound(job, DEFAULT, [12] * 4)
    slots = domain_of_slots(job, units.assemble(job, DEFAULT, found))
    assert found.value == found.reached == cost(job, DEFAULT, slots)
    assert [slots.count(n) for n in range(4)] == [12] * 4


def test_blocks_of_several_expert_groups_fill_them_one_by_one():
    job = Job((ModuleShape(1, 1, 1, ep=2), ModuleShape(1, 1, 1, ep=4)), dp=4)
    pipeline = pipeline_of(job, Weights(0, 0, 0, 0, ep=1, expt_dp=2))
    assert (pipeline.factor * pipeline.own).tolist() == [[0, 1, 0, 1, 0], [0, 3, 4, 3, 0]]
    assert (pipeline.factor * pipeline.plane).tolist() == [[0, 4, 4, 8, 8], [0, 0, 0, 0, 0]]
    flat = Flattened(pipeline, 4)
    for height in range(1, 5):
        pattern = ((0, (height,)),)
        assert flat.cost(pattern) == pattern_cost(pipeline, pattern)


@pytest.mark.parametrize("seed", range(8))
def test_a_stage_to_be_touched_is_paid_in_values_traces_and_lists(seed):
    pipeline = pipeline_of(
        Job((ModuleShape(1, 1, 3, ep=3),), dp=9), Weights(0, 0, 1, 1, ep=1, expt_dp=2)
    )
    prices = random_prices(np.random.default_rng(seed), pipeline) // 2
    segments = every_segment(pipeline, 5)
    for part in Flattened(pipeline, 5).parts[1:]:
        contents = Contents(part.pipeline, prices, 4, 5, part.touched)
        for size in range(1, 6):

            def price(pattern, part=part):
                earned = int((prices * pattern_pairs(pipeline, pattern)).sum())
                return 4 * part.cost(pattern) - earned

            value = int(contents.value[size])
            assert value >= min(map(price, every_pattern(pipeline, segments, size)))
            traced = contents.pattern(size)
            assert pattern_size(pipeline, traced) == size
            assert price(traced) <= value
            for pattern in PatternLists(contents).patterns(size, value + 6):
                assert price(pattern) <= value + 6


@pytest.mark.parametrize("capacities", [[4, 4], [3, 3, 2]])
def test_a_cut_group_is_cut_in_two_domains(capacities):
    pipeline = pipeline_of(Job((ModuleShape(2, 1, 1, ep=2),), dp=3), Weights(1, 0, 0, 0))
    assert cut_at_prices(pipeline, np.zeros_like(pipeline.credit), capacities, 2, 1) == 2


def test_columns_fit_their_domains_where_units_differ_in_size():
    job = Job((ModuleShape(1, 1, 2), ModuleShape(2, 1, 2)), dp=2)
    pipeline = pipeline_of(job, Weights(0, 1, 1, 1))
    domains = domains_of(pipeline, np.array([5, 4, 3]))
    columns = generate(Flattened(pipeline, 5), domains)
    for k, patterns in enumerate(columns.patterns):
        sizes = [pattern_size(pipeline, pattern) for pattern in patterns]
        assert domains.least[k] <= min(sizes)
        assert max(sizes) <= domains.capacity[k]


def test_a_domain_keeps_its_places_in_other_blocks_of_a_stage():
    # Domain 2 holds three units of one block and two of the other: three rings between them.
    pipeline = pipeline_of(
        Job((ModuleShape(1, 1, 1, ep=4),), dp=8), Weights(0, 0, 0, 0, ep=1, expt_dp=1)
    )
    patterns = [((0, (1,)),), ((0, (2,)),), ((0, (2,)), (0, (3,)))]
    placed = assembled(pipeline, patterns)[0]
    assert np.bincount(placed.ravel()).tolist() == [1, 2, 5]
    assert (placed == 2).any(axis=0).sum() == 3


def test_survivors_are_all_patterns_within_the_gap_whatever_their_heights():
    weights = Weights(0, 0, 0, 2, ep=1, expt_dp=2)
    pipeline = pipeline_of(Job((ModuleShape(1, 1, 2, ep=3),), dp=6), weights)
    assert pipeline.symmetric
    flat, domains = Flattened(pipeline, 5), domains_of(pipeline, np.array([5, 5, 2]))
    columns = generate(flat, domains)
    high = columns.rounded + 2
    listed = survivors(flat, domains, columns, high)
    assert listed.complete
    cheapest = Cheapest(flat, columns.prices, SCALE).value
    segments = every_segment(pipeline, 5)
    for k, capacity in enumerate(domains.capacity.tolist()):
        budget = int(cheapest[capacity]) + SCALE * high - columns.bound
        within = [
            p
            for p in every_pattern(pipeline, segments, capacity)
            if fits(pipeline, p) and reduced(pipeline, columns.prices, SCALE, p) <= budget
        ]
        assert {pattern_pairs(pipeline, p).tobytes() for p in within} <= {
            pattern_pairs(pipeline, p).tobytes() for p in listed.patterns[k]
        }


def test_no_time_is_spent_on_lanes_when_it_is_up():
    job = Job((ModuleShape(2, 1, 2, ep=8),), dp=12)
    assert units.bound(job, DEFAULT, [12] * 4, deadline=0.0).cut == 0
    assert units.bound(job, DEFAULT, [12] * 4).cut > 0
