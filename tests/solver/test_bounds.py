"""What a search proves: integer weights, weights under rules, levels put together, rounding."""

import threading
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from planner.baseline import score
from planner.cost import links, total
from planner.grid import Grid
from planner.plan import megatron_order
from planner.solver import counting
from planner.solver.outcome import Options
from planner.solver.state import Search
from planner.solver.translation import model_weights
from planner.solver.weighing import weigh
from planner_models import master
from tests.problems import problem

LEAVES = {"nodes": 4, "gpus_per_node": 2, "levels": [{"name": "leaf", "nodes_per_domain": 2}]}
JOB = {"decoder": {"tp": 2, "cp": 2}, "dp": 2}
WEIGHTS = {"tp": 8, "cp": 4, "dp": 2, "pp": 1}


def search(
    cluster: Any = LEAVES, job: Any = JOB, weights: Any = WEIGHTS, gap: float = 0.0, **more: Any
) -> Search:
    made = problem(cluster, job, objective={"weights": weights}, **more)
    options = Options(10.0, gap, 1, 0, False, None, threading.Event())
    return Search(made.resolved, Grid.of(made.resolved), options)


def with_costs(state: Search, cost: int, levels: tuple[int, ...], bounds: list[int]) -> Search:
    """The search with an incumbent of some cost, level weights and bounds."""
    state.placement = megatron_order(state.machines, state.grid.world)
    state.cost = cost
    state.weighing = replace(state.weighing, levels=levels)
    state.level_bounds = bounds
    return state


class TestWeightsUnderRules:
    @pytest.mark.parametrize(
        ("within", "heavy"),
        [
            ({"tp": "node"}, [{"tp"}, {"tp"}]),
            ({"tp": "leaf"}, [set(), {"tp"}]),
            ({"cp": "node", "dp_cp": "leaf"}, [{"cp"}, {"cp", "dp"}]),
            ({"dp": "node", "tp_cp": "leaf", "mp": "node"}, [set(), set()]),
        ],
    )
    def test_a_kind_that_may_not_be_cut_outweighs_all_that_a_cut_could_save(self, within, heavy):
        state = search(constraints={"within": within})
        for level, kinds in enumerate(heavy):
            weights = state.weights_at(level)
            for kind in ("tp", "cp", "dp", "pp"):
                plain = state.weighing.kinds[kind]
                saved = 2 * state.grid.world * sum(state.weighing.kinds.values())
                at = getattr(weights, kind)
                assert at > 5 * sum(state.weighing.kinds.values()) if kind in kinds else at == plain
                assert at < saved

    def test_groups_of_slices_that_exchange_are_not_rings(self):
        traffic = {"model": {"decoder": {"layers": 2, "hidden": 64, "heads": 8, "ffn": 64}}}
        traffic |= {"sequence": 64, "global_batch": 4, "cp": "a2a"}
        made = problem(
            LEAVES, JOB, objective={"traffic": traffic}, constraints={"within": {"cp": "node"}}
        )
        state = Search(made, Grid.of(made), search().options)
        assert state.weights_at(0) == state.weights

    def test_a_rule_raises_the_bound_and_not_above_a_plan_that_keeps_it(self):
        free, ruled = (
            search(
                {"nodes": [{"name": "a[1-3]", "gpus": 3}, {"name": "b", "gpus": 2}]},
                {"decoder": {"tp": 2, "pp": 2}, "dp": 2},
                {"tp": 1, "pp": 50, "dp": 40},
                constraints=rules,
            )
            for rules in ({}, {"within": {"tp": "node"}})
        )
        for state in (free, ruled):
            counting.bound_by_counting(state)
        kept = np.array([0, 1, 3, 4, 6, 7, 9, 10])  # a tensor pair a node
        assert free.bound < ruled.bound <= ruled.score(kept)


class TestLevelsTogether:
    def test_bounds_of_levels_add_up_with_their_weights(self):
        state = with_costs(search(), 100, (3, 2), [10, 7])
        assert state.bound == 44
        state.raise_whole(43, "x")
        assert state.bound == 44
        state.raise_whole(45, "x")
        assert state.bound == 45
        assert not state.proven
        state.raise_level(0, 9, "weaker")
        assert state.level_bounds == [10, 7]
        state.raise_level(1, 35, "better")
        assert state.bound == 100
        assert state.proven

    def test_costs_are_multiples_of_what_kinds_and_levels_have_in_common(self):
        state = with_costs(search(), 100, (6, 9), [1, 1])
        state.weighing = replace(state.weighing, kinds={"tp": 4, "cp": 10, "dp": 0})
        assert state.granularity == 6
        assert state.bound == 18
        state.raise_whole(19, "x")
        assert state.bound == 24

    def test_where_nothing_costs_the_bound_is_nothing(self):
        state = search(weights=dict.fromkeys(WEIGHTS, 0))
        assert (state.granularity, state.bound) == (1, 0)

    def test_a_level_has_proven_enough_once_the_others_do_the_rest(self):
        state = with_costs(search(), 100, (3, 2), [10, 7])
        assert state.enough_at(0) == 29  # 3 * 29 + 14 >= 100 > 3 * 28 + 14
        assert state.enough_at(1) == 35  # 30 + 2 * 35
        state.weighing = replace(state.weighing, levels=(3, 0))
        assert state.enough_at(1) is None
        state.placement = None
        assert state.enough_at(0) is None

    def test_a_wanted_gap_is_kept(self):
        state = with_costs(search(gap=0.1), 100, (3, 2), [10, 29])
        assert state.bound == 88
        assert not state.done
        assert state.enough == 97
        state.raise_level(1, 30, "x")
        assert state.done
        assert not state.proven


class TestWeighing:
    def test_every_placement_costs_its_integers_times_the_unit(self):
        made = problem(
            {**LEAVES, "node_weight": 0.75},
            JOB,
            objective={"weights": {"tp": 0.125, "cp": 0.5, "dp": 3}},
        )
        grid, machines = Grid.of(made), made.cluster.machines
        weighing = weigh(made, grid, machines)
        assert weighing.is_exact
        rng = np.random.default_rng(0)
        for _ in range(5):
            placement = rng.permutation(machines.usable)[: grid.world]
            integer = score(grid, machines, weighing.kinds, weighing.levels, placement)
            assert integer * weighing.unit == total(
                made, machines, links(grid, machines, placement)
            )

    def test_weights_that_do_not_fit_are_rounded_down_and_hardly(self):
        weights = {"tp": 1e12, "cp": 1 / 3, "dp": 123456.789, "pp": 7}
        made = problem(LEAVES, JOB, objective={"weights": weights})
        grid, machines = Grid.of(made), made.cluster.machines
        weighing = weigh(made, grid, machines)
        assert not weighing.is_exact
        placement = np.random.default_rng(0).permutation(machines.usable)[: grid.world]
        integer = score(grid, machines, weighing.kinds, weighing.levels, placement)
        true = total(made, machines, links(grid, machines, placement))
        assert true * Fraction(99999, 100000) < integer * weighing.unit <= true

    def test_kinds_without_links_do_not_coarsen_the_others(self):
        state = search(job={"decoder": {"tp": 2}, "dp": 4}, weights={"tp": 8, "dp": 2, "pp": 1})
        assert state.weighing.kinds["pp"] == 0
        assert (state.weighing.kinds["tp"], state.weighing.kinds["dp"]) == (4, 1)

    @pytest.mark.parametrize(("cp", "pairs"), [(2, 0), (3, 1), (4, 1), (5, 2)])
    def test_a_ring_link_stands_for_no_more_than_its_pairs(self, cp, pairs):
        """n of c members apart have n (c - 1) / 2 pairs at least; half pairs are left out."""
        traffic = {"model": {"decoder": {"layers": 2, "hidden": 60, "heads": 60, "ffn": 64}}}
        traffic |= {"sequence": 240, "global_batch": 4, "cp": "a2a"}
        made = problem(
            {"nodes": 4, "gpus_per_node": 2},
            {"decoder": {"cp": cp}, "dp": 1},
            objective={"traffic": traffic},
        )
        weighing = replace(
            weigh(made, Grid.of(made), made.cluster.machines),
            kinds=dict.fromkeys(("tp", "cp", "dp", "pp", "ep", "expt_tp", "expt_dp", "embd"), 1),
        )
        assert model_weights(weighing, Grid.of(made)).cp == pairs


def test_every_level_that_costs_is_counted_with_its_own_domains():
    cluster = {**LEAVES, "node_weight": 0, "nodes": [{"name": "a[1-3]"}, {"name": "b", "gpus": 4}]}
    state = search(cluster)
    counting.bound_by_counting(state)
    assert state.level_bounds[0] == 0
    assert state.level_bounds[1] == master.bound(state.job, state.weights, [4, 6]) > 0
    even = search()
    counting.bound_by_counting(even)
    assert even.level_bounds == [
        master.bound(even.job, even.weights, capacities) for capacities in ([2] * 4, [4] * 2)
    ]
