"""Nodes inside leaves, bounded together: each part against a plainer way, and the whole by force."""

import random
import threading
import time

import numpy as np
import pytest

from benchmarks.nested_bruteforce import optimum, random_problem
from planner_models import interruption, nested
from planner_models.job import Job, ModuleShape, Weights
from planner_models.nested.contents import cheap_paths, cheapest_path, cuts_of
from planner_models.nested.fabric import leaves_of
from planner_models.nested.leaf_costs import MOST_OPEN
from planner_models.nested.leaf_pricing import FAR, LeafPricing
from planner_models.nested.relaxation import Prices, Relaxation
from planner_models.shapes.blocks import Block
from planner_models.shapes.planes import SCALE
from planner_models.shapes.stages import stage_graph
from tests.oracle.slots_cost import content_costs, pairs

DEFAULT = Weights(1000, 100, 1, 10)


def one_module(tp, cp=1, pp=1, dp=1, **more):
    return Job((ModuleShape(tp, cp, pp, **more),), dp)


def pricing(job, weights, capacity, idle=0):
    return LeafPricing(stage_graph(job, weights, job.world), capacity=capacity, idle=idle)


def held_values(job, weights, price):
    """Doubled cost less pair links and prices of every content, by mask, in units of 1 / SCALE."""
    graph = stage_graph(job, weights, job.world)
    ends = np.zeros(job.world, dtype=np.int64)
    for kind, members in pairs(job):
        ends[list(members)] += getattr(weights, kind)
    masks = np.arange(1 << job.world)
    values = np.array(content_costs(job, weights), dtype=np.int64)
    values -= (masks[:, None] >> np.arange(job.world) & 1) @ ends
    values *= SCALE
    first = 0
    for stage in range(len(graph.module)):
        block = graph.block(stage)
        for _ in range(block.blocks):
            inside = masks >> first & (1 << block.cells) - 1
            row = graph.offset[stage] + block.shape_of[inside]
            values -= np.where(inside > 0, price[row], 0)
            first += block.cells
    return values


class TestLeaves:
    def test_leaves_of_equal_nodes_are_one_class(self):
        first, second = leaves_of([[8, 7], [8, 8], [7, 8, 0]])
        assert (first.nodes, first.count, first.capacity) == (((7, 1), (8, 1)), 2, 15)
        assert (second.nodes, second.count, second.capacity) == (((8, 2),), 1, 16)


class TestCuts:
    BLOCK = Block(ModuleShape(3, 2, 1), dp=1, copies=1, weights=DEFAULT, largest=6)

    def test_a_block_is_cut_into_every_partition_by_size(self):
        cuts = cuts_of(self.BLOCK, largest=2)
        one_each = np.ones((1, len(self.BLOCK)), dtype=np.int64)
        assert cuts.outer.to_empty(one_each)[0, -1] == 1  # one content, the whole block
        assert cuts.inner.to_empty(one_each)[0, -1] == 3  # three nodes of two

    def test_pieces_of_a_path_add_up_to_what_is_cut(self):
        cuts = cuts_of(self.BLOCK, largest=4)
        price = np.array(random.Random(1).choices(range(100), k=len(self.BLOCK)))
        rest = cuts.inner.to_empty(price[None])[0]
        for content, size in enumerate(self.BLOCK.size.tolist()):
            path = cheapest_path(cuts.inner, price, rest, content + 1)
            assert self.BLOCK.size[list(path)].sum() == size
            assert price[list(path)].sum() == rest[content + 1]

    def test_cheap_paths_start_with_the_cheapest_and_differ_in_their_first_step(self):
        cuts = cuts_of(self.BLOCK, largest=4)
        price = np.array(random.Random(2).choices(range(50, 100), k=len(self.BLOCK)))
        rest = cuts.outer.to_empty(price[None])[0]
        paths = cheap_paths(cuts.outer, price, rest, 5)
        paid = [price[list(path)].sum() for path in paths]
        assert paid == sorted(paid)
        assert paid[0] == rest[-1]
        assert len(paths) == len({tuple(path) for path in paths}) == 5
        assert {self.BLOCK.size[list(path)].sum() for path in paths} == {6}


class TestLeafPricing:
    """Every term of a pattern's value: what it says is met by some content, and exceeded by none."""

    @pytest.mark.parametrize("seed", range(30))
    def test_no_content_is_cheaper_than_the_pattern(self, seed):
        rng = random.Random(seed)
        job, weights, _, _ = random_problem(rng, most=9)
        capacity, idle = rng.randint(1, job.world), rng.choice([0, 0, 1])
        priced = pricing(job, weights, capacity, idle)
        rows = stage_graph(job, weights, job.world).rows
        price = np.array([rng.randint(-500, 2000) * SCALE // 10 for _ in range(rows)])
        values = held_values(job, weights, price)
        size = np.bitwise_count(np.arange(values.size))
        allowed = (size >= capacity - idle) & (size <= capacity)
        closed = any(m.vpp > 1 for m in job.modules) or job.tied
        if not closed:  # links that close a cycle are not in the pattern
            assert priced.search(price)[0].value <= values[allowed].min()

    def value(self, job, weights, capacity, price=None, idle=0):
        rows = stage_graph(job, weights, job.world).rows
        price = np.zeros(rows, dtype=np.int64) if price is None else np.array(price) * SCALE
        found = pricing(job, weights, capacity, idle).search(price)[0]
        assert found.value == found.cost - price[list(found.rows)].sum()
        return found.value / SCALE

    def test_a_cut_group_is_paid_for(self):
        assert self.value(one_module(3, dp=2), Weights(7, 0, 0, 0), 4) == 2 * 7
        assert self.value(one_module(3, dp=2), Weights(7, 0, 0, 0), 3) == 0

    def test_a_price_is_taken_off_every_piece(self):
        assert self.value(one_module(3, dp=2), Weights(7, 0, 0, 0), 4, [5, 2, 3]) == 14 - 5 - 3

    def test_links_between_stages_are_credited(self):
        assert self.value(one_module(2, pp=3), Weights(9, 0, 0, 4), 6) == -2 * 4 * 4

    def test_a_link_that_closes_a_cycle_is_not(self):
        assert self.value(one_module(2, pp=3, vpp=2), Weights(9, 0, 0, 4), 6) == -2 * 4 * 4

    def test_an_open_stage_pays_for_all_its_plane_groups(self):
        assert self.value(one_module(3, dp=4), Weights(90, 0, 5, 0), 3) == 2 * 5 * 3

    def test_two_open_stages_pay_twice_and_one_is_enough_if_it_holds_all(self):
        job = one_module(3, pp=2, dp=8)
        assert self.value(job, Weights(90, 0, 5, 0), 6) == 2 * 5 * 3
        assert self.value(job, Weights(90, 0, 5, 50), 6) == 2 * (2 * 5 * 3 - 3 * 50)

    def test_pieces_where_no_stage_is_open_pay_a_share(self):
        assert self.value(one_module(3, dp=4), Weights(0, 0, 8, 0), 1) == 2 * 8 / 4

    def test_pieces_on_an_open_stage_pay_no_share(self):
        assert self.value(one_module(3, dp=8), Weights(90, 0, 8, 0), 4) == 2 * 90 + 2 * 8 * 3

    def test_plane_groups_held_whole_are_refunded(self):
        assert self.value(one_module(3, dp=2), Weights(90, 0, 8, 0), 6) == 0
        assert self.value(one_module(3, dp=2), Weights(90, 0, 8, 0), 5) == 2 * 90 + 2 * 8

    def test_idle_slots_may_stay_empty(self):
        assert self.value(one_module(3, dp=2), Weights(7, 0, 0, 0), 4, idle=1) == 0

    def test_with_many_stages_planes_are_shared_only(self):
        job = one_module(1, pp=MOST_OPEN + 1, dp=4)
        assert self.value(job, Weights(0, 0, 8, 0), 2) == 2 * 2 * 8 / 4

    def test_totals_are_values_without_prices(self):
        job, weights = one_module(3, pp=2, dp=9), Weights(70, 0, 3, 4)
        totals = pricing(job, weights, 8, idle=3).totals()
        free = np.zeros(stage_graph(job, weights, job.world).rows, dtype=np.int64)
        assert totals.tolist() == [
            pricing(job, weights, n).search(free)[0].value for n in range(5, 9)
        ]

    def test_a_leaf_smaller_than_a_block_holds_what_fits(self):
        assert self.value(one_module(5, dp=2), Weights(7, 0, 0, 0), 2) == 14
        assert self.value(one_module(5), Weights(7, 0, 0, 0), 2, [0, 0, 99, 99, 99]) < FAR


class TestRelaxation:
    @pytest.mark.parametrize("seed", range(20))
    def test_any_prices_give_a_bound(self, seed):
        rng = random.Random(seed)
        job, weights, levels, leaves = random_problem(rng, most=8)
        relaxation = Relaxation(job, weights, levels, leaves_of(leaves))
        size = len(relaxation.leaves), relaxation.node_graph.rows
        numbers = np.random.default_rng(seed)
        for scale in (0, 50, 5000):
            draw = numbers.integers(-scale, scale + 1, size=(2, *size))
            total = relaxation.evaluate(Prices(draw[0], draw[1])).total
            assert total <= 2 * SCALE * optimum(job, weights, levels, leaves)

    def evaluated(self, job, weights, levels, leaves, shapes=None, contents=None):
        relaxation = Relaxation(job, weights, levels, leaves_of(leaves))
        size = len(relaxation.leaves), relaxation.node_graph.rows
        prices = [
            np.zeros(size, np.int64) if p is None else np.array(p) for p in (shapes, contents)
        ]
        return relaxation.evaluate(Prices(*prices)).total / SCALE

    def test_every_node_and_every_leaf_counts(self):
        job, weights = one_module(4, dp=2), Weights(7, 0, 0, 0)
        assert self.evaluated(job, weights, (1, 1), [[2, 2], [2, 2]]) == 4 * 2 * 7
        assert self.evaluated(job, weights, (3, 1), [[2, 2], [2, 2]]) == 4 * 3 * 2 * 7
        assert self.evaluated(job, weights, (1, 5), [[4], [1, 3]]) == 2 * 2 * 7
        assert (
            self.evaluated(job, weights, (1, 5), [[4, 2], [2]]) == (1 + 1) * 2 * 7 + 2 * 5 * 2 * 7
        )

    def test_blocks_pay_the_prices_of_what_they_are_cut_into(self):
        job, weights = one_module(2, dp=3), Weights(1, 0, 0, 0)
        leaves = [[2, 2], [2]]
        free = self.evaluated(job, weights, (1, 1), leaves)
        shapes = np.array([[4, 6], [4, 6]]) * SCALE  # nodes of two save 2 * 4 - 2 or 6
        assert self.evaluated(job, weights, (1, 1), leaves, shapes) == free - 3 * 6 + 3 * 6
        assert self.evaluated(job, weights, (1, 1), leaves, None, shapes) == free - 3 * 6 + 3 * 6
        apart = np.array([[0, 9], [0, 9]]) * SCALE
        assert self.evaluated(job, weights, (1, 1), leaves, None, apart) == free - 3 * 9 + 0

    def test_pair_links_count_at_both_levels_unless_inside(self):
        job, weights = one_module(1, pp=2, dp=2), Weights(0, 0, 0, 5)
        assert self.evaluated(job, weights, (1, 1), [[1, 1], [1, 1]]) == 2 * 2 * 5
        assert self.evaluated(job, weights, (2, 3), [[2], [2]]) == 0
        assert self.evaluated(job, weights, (2, 3), [[1], [1], [1], [1]]) == 2 * 2 * (2 + 3) * 5

    def test_links_that_close_a_cycle_cost_nothing_at_the_leaf_level(self):
        job, weights = one_module(1, pp=3, dp=2, vpp=2), Weights(0, 0, 0, 5)
        assert self.evaluated(job, weights, (1, 3), [[3], [3]]) == 0
        assert self.evaluated(job, weights, (1, 3), [[1, 1, 1], [3]]) == 3 * 2 * 5


class TestBound:
    @pytest.mark.parametrize("seed", range(40))
    def test_it_is_below_the_optimum(self, seed):
        job, weights, levels, leaves = random_problem(random.Random(seed), most=9)
        found = nested.bound(job, weights, levels, leaves)
        assert found.value <= optimum(job, weights, levels, leaves)

    def test_it_sees_what_no_level_sees_alone(self):
        job = one_module(5, dp=8)  # forty slots, leaves of 12, 16 and 12 that nobody fills
        leaves = [[8, 4], [8, 8], [8, 4]]
        alone = [
            nested.bound(job, DEFAULT, levels, leaves).value for levels in ((1000, 1), (1, 1000))
        ]
        assert nested.bound(job, DEFAULT, (1, 1), leaves).value > sum(v // 1000 for v in alone)

    def test_it_stops_once_it_reaches_the_incumbent(self):
        job, leaves = one_module(5, dp=8), [[8, 4], [8, 8], [8, 4]]
        best = nested.bound(job, DEFAULT, (1, 1), leaves).value
        assert best > nested.bound(job, DEFAULT, (1, 1), leaves, incumbent=1).value > 0

    def test_it_stops_in_time_and_when_asked_with_something_proven(self):
        job, leaves = one_module(5, dp=8), [[8, 4], [8, 8], [8, 4]]
        best = nested.bound(job, DEFAULT, (1, 1), leaves).value
        late = nested.bound(job, DEFAULT, (1, 1), leaves, deadline=time.monotonic()).value
        stop = threading.Event()
        stop.set()
        with interruption.listening(stop):
            asked = nested.bound(job, DEFAULT, (1, 1), leaves).value
        assert 0 < late <= asked < best

    def test_it_is_a_multiple_of_the_weights(self):
        job = one_module(3, dp=4)
        found = nested.bound(job, Weights(6, 0, 9, 0), (2, 2), [[4, 2], [6]])
        assert found.value % 6 == 0


class TestApplies:
    def test_levels_that_cost_nothing_and_single_leaves_are_left_to_others(self):
        job, leaves = one_module(3, dp=2), [[2, 2], [2]]
        assert nested.applies(job, DEFAULT, (1, 1), leaves)
        assert not nested.applies(job, DEFAULT, (0, 1), leaves)
        assert not nested.applies(job, DEFAULT, (1, 0), leaves)
        assert not nested.applies(job, DEFAULT, (1, 1), [[2, 2, 2]])

    def test_blocks_nodes_and_leaves_that_are_too_large_are_refused(self):
        leaves = [[8, 8], [8, 8]]
        assert nested.applies(one_module(3, cp=4, dp=2), DEFAULT, (1, 1), leaves)
        assert not nested.applies(one_module(4, cp=4, dp=2), DEFAULT, (1, 1), leaves)
        assert not nested.applies(one_module(3, dp=8), DEFAULT, (1, 1), [[16], [16]])
        assert not nested.applies(
            one_module(3, dp=2000), DEFAULT, (1, 1), [[8] * 300] * 2 + [[8] * 200]
        )
        assert not nested.applies(one_module(3, dp=2), Weights(1 << 40, 0, 0, 0), (1, 1), leaves)

    def test_too_many_kinds_of_leaves_are_refused(self):
        leaves = [[8] * n for n in range(1, 14)]
        assert not nested.applies(one_module(3, dp=200), DEFAULT, (1, 1), leaves)
