"""Units: every term of the costs, credits and limits, by its right value."""

import random
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from ortools.sat.python import cp_model

from planner_models import bridge, units
from planner_models.job import Job, ModuleShape, Weights
from planner_models.units import gap, integer_master, whole_groups
from planner_models.units.column_generation import Generation, generate
from planner_models.units.cut_groups import cut_bound, shared_out
from planner_models.units.flattening import Flattened
from planner_models.units.heights import copies_in_block, pattern_cost, pattern_pairs, pipeline_of
from planner_models.units.lanes import cut_at_prices
from planner_models.units.programme import domains_of
from tests.models.units_cases import WHOLE, domain_of_slots, every_pattern, every_segment, tiny
from tests.oracle import all_placements
from tests.oracle.slots_cost import content_cost, cost, optimum, rings


def most_pairs(before, after):
    """[a, b] most bridge pairs between a slices of the encoder and b of the decoder."""
    joined = bridge.slices_joined(Job((ModuleShape(1, before, 1), ModuleShape(1, after, 1)), 1))
    return [
        [
            max(
                int(joined[np.ix_(left, right)].sum())
                for left in combinations(range(before), a)
                for right in combinations(range(after), b)
            )
            for b in range(after + 1)
        ]
        for a in range(before + 1)
    ]


@pytest.mark.parametrize(("before", "after"), list(product(range(1, 6), repeat=2)))
def test_slices_at_the_bridge_are_credited_what_they_share_at_most(before, after):
    job = Job((ModuleShape(1, before, 1), ModuleShape(1, after, 1)), dp=1)
    credit = pipeline_of(job, Weights(0, 0, 0, 1)).credit[1, : before + 1, : after + 1]
    over = credit - most_pairs(before, after)
    assert (over >= 0).all()
    assert over.max() <= (min(before, after) > 2)


@pytest.mark.parametrize("lanes", [(2, 6), (6, 2), (2, 3), (3, 2), (1, 4)])
def test_bridge_of_unequal_lanes_has_as_many_links_as_the_larger_side(lanes):
    job = Job(tuple(ModuleShape(tp, 1, 2) for tp in lanes), dp=3)
    pipeline = pipeline_of(job, Weights(WHOLE, 0, 0, 10))
    saved = pipeline.factor * pipeline.credit[:, 1, 1] // 2
    assert saved.tolist() == [0, 10 * lanes[0], 10 * max(lanes), 10 * lanes[1], 0]
    assert pipeline.links(pipeline.constant) == 3 * saved.sum()


def test_costs_are_counted_in_what_they_have_in_common():
    """Then a bound between two multiples is rounded up to the next."""
    job, weights = Job((ModuleShape(8, 2, 3),), dp=2), Weights(9, 4, 6, 2)
    pipeline = pipeline_of(job, weights)
    assert pipeline.factor == 2 * 8 * 2  # links are counted from either end
    assert (pipeline.own[0, 1], pipeline.plane[0, 1], pipeline.credit[1, 2, 2]) == (2, 3, 2)


@pytest.mark.parametrize("seed", range(80))
def test_two_modules_of_any_lanes_and_slices_are_bounded_and_placed(seed):
    job, weights, capacities = tiny(random.Random(seed), lanes=(1, 2, 3), modules=2)
    best = optimum(job, weights, capacities)
    found = units.bound(job, weights, capacities)
    if best >= WHOLE:
        assert found.whole is None or best >= found.whole
        return
    assert found.whole is not None
    assert found.whole <= best
    if job.modules[0].cp == job.modules[1].cp:
        assert found.whole == best
    slots = domain_of_slots(job, units.assemble(job, weights, found))
    assert cost(job, weights, slots) >= best


def test_planes_that_fit_are_refunded_where_others_do_not():
    """A domain of four holds the encoder's plane whole, but no stage of the decoder."""
    job = Job((ModuleShape(1, 1, 1), ModuleShape(3, 1, 1)), dp=3)
    weights = Weights(WHOLE, 0, 5, 1)
    for capacities in ([3, 3, 3, 3], [4, 4, 4], [6, 3, 3], [6, 6]):
        best = optimum(job, weights, capacities)
        assert best < WHOLE
        assert units.bound(job, weights, capacities).whole == best


def test_tied_stages_are_refused():
    with pytest.raises(ValueError, match="tied embeddings"):
        units.bound(Job((ModuleShape(1, 1, 3),), dp=2, tied=True), Weights(1, 1, 1, 1), [3, 3])


def cut(job, weights, capacities, master=None):
    return cut_bound(job, weights, pipeline_of(job, weights), capacities, master)


def test_lanes_of_two_sizes_are_priced_as_many_as_there_are_of_each():
    """Five slots are two lanes of 2 stages and one of 1: a link is cut, and two tensor links."""
    job, weights = Job((ModuleShape(3, 1, 2),), dp=1), Weights(20, 0, 0, 1)
    assert cut(job, weights, [5, 1]) == 1 + 2 * 20 - 3 <= optimum(job, weights, [5, 1])


def test_tensor_links_as_heavy_as_half_of_a_slots_others_are_enough_for_lanes():
    job = Job((ModuleShape(2, 1, 2),), dp=1)
    assert cut(job, Weights(1, 0, 0, 1), [3, 1]) == 1
    assert cut(job, Weights(0, 0, 0, 1), [3, 1]) == 0  # too light, and nobody to ask


def test_without_a_bound_on_slots_two_modules_that_cut_cost_nothing_for_sure():
    job = Job((ModuleShape(2, 1, 1), ModuleShape(2, 1, 1)), dp=1)
    assert cut(job, Weights(5, 1, 1, 1), [3, 1]) == 0
    assert cut(job, Weights(5, 1, 1, 1), [3, 1], lambda _: -100) == 0


@pytest.mark.parametrize("seed", range(20))
def test_slots_are_shared_out_at_least_cost(seed):
    """Against every way to fill the domains; a content as large as a domain need not exist."""
    rng = random.Random(seed)
    capacities = [rng.randint(1, 5) for _ in range(rng.randint(1, 4))]
    slots = rng.randint(1, sum(capacities))
    cheapest = np.array(
        [0] + [rng.randint(-9, 9) for _ in range(rng.randint(max(capacities) - 1, 6))]
    )
    ways = [
        held
        for held in product(*(range(min(c, len(cheapest) - 1) + 1) for c in capacities))
        if sum(held) == slots
    ]
    if ways:
        least = min(int(cheapest[list(held)].sum()) for held in ways)
        assert shared_out(cheapest, capacities, slots) == least


@pytest.mark.parametrize("seed", range(40))
def test_patterns_of_an_optimal_plan_are_among_those_listed_up_to_its_cost(seed):
    job, weights, capacities = tiny(random.Random(seed))
    found = units.bound(job, weights, capacities)
    pipeline = pipeline_of(job, weights)
    domains = domains_of(pipeline, np.array(capacities))
    flat = Flattened(pipeline, max(capacities))
    high = 2 * found.reached // pipeline.factor
    listed = gap.survivors(flat, domains, generate(flat, domains), high)
    assert listed.complete

    def crowded(pattern):
        here = Counter(p for first, hs in pattern for p in range(first, first + len(hs)))
        return max(here.values(), default=0) > job.dp

    of_class = dict(zip(domains.capacity.tolist(), listed.patterns, strict=True))
    for capacity, pattern in zip(capacities, found.patterns, strict=True):
        if crowded(pattern):
            continue  # pieces of one copy count as one, which is never dearer
        uses = {pattern_pairs(pipeline, p).tobytes() for p in of_class[capacity]}
        assert pattern_pairs(pipeline, pattern).tobytes() in uses


def test_lists_given_up_are_not_complete(monkeypatch):
    pipeline = pipeline_of(Job((ModuleShape(1, 2, 3),), dp=2), Weights(0, 2, 1, 1))
    domains = domains_of(pipeline, np.array([5, 4, 4]))
    flat = Flattened(pipeline, 5)
    columns = generate(flat, domains)
    monkeypatch.setattr(gap, "LIMIT", 1)
    assert not gap.survivors(flat, domains, columns, columns.rounded + 3).complete


class TestWhatAnUnfinishedMasterProves:
    """Two domains of two hold a copy of two slices and two stages for 2, its pipeline cut."""

    @staticmethod
    def master():
        pipeline = pipeline_of(Job((ModuleShape(1, 2, 2),), dp=1), Weights(0, 1, 1, 1))
        patterns = [((0, (2,)),), ((1, (2,)),), ((0, (1, 1)),)]
        domains = domains_of(pipeline, np.array([2, 2]))
        return integer_master.IntegerMaster(pipeline, domains, [patterns], low=1, high=9)

    def test_nothing_without_an_answer(self, monkeypatch):
        monkeypatch.setattr(integer_master, "solved", lambda *_: (cp_model.UNKNOWN, None))
        assert self.master().solve() == integer_master.Choice(1, None, ())

    def test_nothing_by_a_plan_that_may_not_be_the_cheapest(self, monkeypatch):
        master = self.master()
        _, values = integer_master.solved(master.model, 0, None)
        monkeypatch.setattr(integer_master, "solved", lambda *_: (cp_model.FEASIBLE, values))
        assert (master.solve().proven, master.solve().cost) == (1, 2)

    def test_nothing_by_branch_and_cut_unless_it_meets_the_bound(self, monkeypatch):
        master = self.master()
        best = 2 - master.pipeline.constant
        monkeypatch.setattr(integer_master, "_proven", lambda *_: (cp_model.UNKNOWN, None))
        assert integer_master.solved(master.model, best - 1, None)[0] == cp_model.FEASIBLE
        assert integer_master.solved(master.model, best, None)[0] == cp_model.OPTIMAL


UNEVEN = Job((ModuleShape(8, 2, 6),), dp=6), [15, 9, 12, 16, 10, 10]


def pipeline_and_domains(job, capacities):
    pipeline = pipeline_of(job, Weights(1000, 100, 1, 10))
    return Flattened(pipeline, max(capacities)), domains_of(pipeline, np.array(capacities))


def test_prices_are_kept_unless_others_prove_more(monkeypatch):
    generation = Generation(*pipeline_and_domains(*UNEVEN))
    bound, prices = generation.bound, generation.prices
    for proven, kept in ((bound - 1, bound), (bound, bound), (bound + 7, bound + 7)):
        monkeypatch.setattr(Generation, "_priced", lambda *_, proven=proven: proven)
        generation.improve(prices + 1)
        assert generation.bound == kept
        assert (generation.prices is prices) == (kept == bound)


def test_a_target_is_reached():
    for leaves in ([15, 9, 12, 16, 10, 10], [15, 9, 12, 16, 10, 13]):
        flat, domains = pipeline_and_domains(UNEVEN[0], leaves)
        full = generate(flat, domains).rounded
        for target in range(full - 6, full + 1):
            assert generate(flat, domains, target=target).rounded >= target


@pytest.mark.parametrize(
    ("job", "weights", "capacities", "best", "linear"),
    [
        (Job((ModuleShape(1, 1, 3),), 2), Weights(0, 1, 1, 3), [5, 1, 2], 5, 4),
        (Job((ModuleShape(1, 1, 3),), 3), Weights(0, 4, 1, 1), [3, 1, 3, 5], 6, 5),
        (Job((ModuleShape(1, 3, 2),), 1), Weights(0, 1, 2, 0), [2, 1, 5, 1], 6, 5),
        (
            Job((ModuleShape(1, 4, 2), ModuleShape(1, 1, 2)), 1),
            Weights(0, 1, 2, 0),
            [3, 2, 2, 3],
            12,
            10,
        ),
    ],
)
def test_only_complete_lists_prove_more_than_the_linear_programme(
    job, weights, capacities, best, linear, monkeypatch
):
    found = units.bound(job, weights, capacities)
    assert found.value == found.reached == best == optimum(job, weights, capacities)
    assert found.proof == "integer"
    monkeypatch.setattr(gap, "LIMIT", 1)
    found = units.bound(job, weights, capacities)
    assert (found.value, found.proof) == (linear, "linear")
    assert found.reached >= best


def test_an_incumbent_between_two_multiples_is_proven():
    job, leaves = UNEVEN
    weights, capacities = Weights(1000, 100, 1, 10), [8 * n for n in leaves]
    best = units.bound(job, weights, capacities).value
    assert pipeline_of(job, weights).factor > 8
    for less in (1, 3):
        assert units.bound(job, weights, capacities, incumbent=best - less).value >= best - less


def test_a_class_without_patterns_rules_out_the_costs_looked_at_and_no_more():
    pipeline = pipeline_of(Job((ModuleShape(1, 2, 3),), dp=2), Weights(0, 2, 1, 1))
    domains, flat = domains_of(pipeline, np.array([5, 4, 4])), Flattened(pipeline, 5)
    search = whole_groups.Search(pipeline, flat, domains, generate(flat, domains), None)
    assert search._best([[((0, (2, 2)),)], []], 0, 7) == integer_master.Choice(8, None, ())


def cheapest_cut(job, weights, capacities):
    """Least cost of a placement that cuts a tensor group, None if there is none."""
    placed = all_placements.deals(job.world, capacities)
    groups = np.array([g.members for g in rings(job) if g.kind == "tp"])
    held = placed[:, groups]
    cut = (held != held[:, :, :1]).any(axis=(1, 2))
    costs = all_placements.costs(job, weights, [(1, np.arange(len(capacities)))], placed[cut])
    return int(costs.min()) if costs.size else None


def test_lanes_at_any_prices_bound_every_placement_that_cuts_a_tensor_group():
    """Tensor links of any weight, domains far from even, experts at times; half of them tight."""
    rng, compared, tight = random.Random(1), 0, 0
    while compared < 120:
        tp, ep = rng.choice([2, 2, 3]), rng.choice([1, 1, 2])
        job = Job(
            (ModuleShape(tp, 1, rng.randint(1, 3), ep=ep * (tp if ep > 1 else 1), etp=1),),
            rng.randint(1, 2),
        )
        if not 4 <= job.world <= 8 or job.dp * tp % job.modules[0].ep or not units.applies(job):
            continue
        weights = Weights(
            rng.choice([0, 1, 3, 9, 30]), 1, rng.choice([0, 2]), rng.choice([0, 1, 5]), ep=1
        )
        capacities: list[int] = []
        while sum(capacities) < job.world + rng.choice([0, 0, 1]):
            capacities.append(rng.choice([1, 1, 2, 3, 5]))
        best = cheapest_cut(job, weights, capacities)
        if best is None or len(capacities) > 5:
            continue
        pipeline = pipeline_of(job, weights)
        prices = [np.zeros_like(pipeline.credit)]
        domains = domains_of(pipeline, np.array(capacities) // tp)
        if domains is not None:
            flat = Flattened(pipeline, int(domains.capacity[-1]))
            prices.append(generate(flat, domains).prices)
        found = [cut_at_prices(pipeline, mu, capacities, tp, weights.tp) for mu in prices]
        assert max(found) <= best, (job, weights, capacities)
        compared += 1
        tight += max(found) == best
    assert tight >= 50


TWO_GROUPS = Job((ModuleShape(1, 1, 1, ep=2, etp=1), ModuleShape(1, 1, 1, ep=4, etp=1)), dp=8)
LANES = Job((ModuleShape(2, 1, 1, ep=2, etp=2), ModuleShape(1, 1, 1, ep=4, etp=1)), dp=8)
SLICES = Job((ModuleShape(1, 2, 1, ep=4, etp=1),), dp=4)


@pytest.mark.parametrize("job", [TWO_GROUPS, LANES, SLICES])
def test_heights_of_blocks_with_experts_cost_what_their_best_units_do(job):
    """Encoder units of one block, or of the same in all blocks, against every choice of them."""
    k, shape = copies_in_block(job), job.modules[0]
    units_in_block = k * shape.cp
    for weights in (Weights(0, 3, 0, 0, ep=5), Weights(0, 0, 0, 0, expt_dp=7), Weights(0, 0, 2, 0)):
        pipeline = pipeline_of(job, weights)
        for h in range(1, units_in_block + 1):
            one, every = [], []
            for chosen in combinations(range(units_in_block), h):
                slots = [u * shape.tp + t for u in chosen for t in range(shape.tp)]
                step = units_in_block * shape.tp
                spread = [s + step * b for b in range(job.dp // k) for s in slots]
                one.append(content_cost(job, weights, slots))
                every.append(content_cost(job, weights, spread))
            own, blocks = int(pipeline.own[0, h]), job.dp // k
            plane, refund = int(pipeline.plane[0, h]), int(pipeline.refund[0, h])
            assert pipeline.factor * (own + plane) == min(one)
            assert pipeline.factor * (blocks * own + plane - refund) == min(every)


def test_expert_groups_over_all_copies_have_no_data_rings():
    job = Job((ModuleShape(1, 1, 2, ep=4, etp=1),), dp=4)
    for capacities in ([3, 3, 2], [5, 3]):
        free, dear = (
            units.bound(job, Weights(0, 0, 0, 1, ep=1, expt_dp=n), capacities).value for n in (0, 9)
        )
        assert free == dear == optimum(job, Weights(0, 0, 0, 1, ep=1), capacities)


@pytest.mark.parametrize("dp", [4, 8])
@pytest.mark.parametrize("shape", [ModuleShape(1, 1, 1, ep=2, etp=1), ModuleShape(1, 1, 1)])
def test_flat_planes_never_ask_more_of_a_pattern_than_it_costs(shape, dp):
    """One block a stage and two; the least of the flat pipelines is often just that."""
    job = Job((shape, ModuleShape(1, 1, 1, ep=4, etp=1)), dp)
    pipeline = pipeline_of(job, Weights(0, 1, 3, 1, ep=1, expt_dp=5))
    tight = compared = 0
    for capacity in (3, 6):
        flat = Flattened(pipeline, capacity)
        segments = every_segment(pipeline, capacity)
        for size in range(1, capacity + 1):
            for pattern in every_pattern(pipeline, segments, size):
                here = Counter(p for first, hs in pattern for p in range(first, first + len(hs)))
                if max(here.values()) <= pipeline.copies:
                    assert flat.cost(pattern) <= pattern_cost(pipeline, pattern), pattern
                    tight += flat.cost(pattern) == pattern_cost(pipeline, pattern)
                    compared += 1
    assert tight > compared / 4
