"""The master: known values, brute force over placements and over fillings, and its invariances."""

import random
import time
from dataclasses import asdict
from functools import cache

import numpy as np
import pytest
from ortools.sat.python import cp_model

from planner_models import master
from planner_models.job import Job, ModuleShape, Weights
from planner_models.minplus import UNREACHABLE
from planner_models.staircases import best_content
from tests.oracle.random_problems import random_capacities, random_job, random_weights
from tests.oracle.slots_cost import optimum

DEFAULT = Weights(tp=1000, cp=100, dp=1, pp=10, ep=100, expt_tp=1000, expt_dp=1, embd=1)
MISFIT = Job((ModuleShape(2, 2, 1), ModuleShape(6, 2, 2)), dp=2)


def times(weights, factor):
    return Weights(**{kind: factor * weight for kind, weight in asdict(weights).items()})


def test_a_regular_job_is_bounded_by_its_optimum():
    assert master.bound(Job((ModuleShape(4, 2, 4),), dp=4), DEFAULT, [8] * 16) == 1024


def test_tied_embeddings_count_where_every_lane_is_cut():
    assert master.bound(Job((ModuleShape(4, 2, 4),), dp=4, tied=True), DEFAULT, [8] * 16) == 1056


def test_a_misfitting_encoder():
    assert master.bound(MISFIT, DEFAULT, [8] * 7) >= 7690


def test_a_cycle_is_not_cut_twice_at_its_dearest_link():
    job = Job((ModuleShape(1, 1, 4, vpp=2),), dp=1, tied=True)
    weights = Weights(tp=0, cp=0, dp=0, pp=10, embd=1)
    assert optimum(job, weights, [2, 2]) == 20
    assert master.bound(job, weights, [2, 2]) == 20


def chain(weights, capacities, *, stages=4, tied=True):
    return master.bound(Job((ModuleShape(1, 1, stages),), dp=1, tied=tied), weights, capacities)


def test_dear_embeddings_are_saved_by_one_piece_of_a_lane_alone():
    """Saved by both pieces they would leave nothing to pay, forgotten altogether one link."""
    weights = Weights(tp=0, cp=0, dp=0, pp=1, embd=10)
    assert chain(weights, [2, 2]) == 2


def test_embeddings_are_counted_in_the_decoder_whichever_module_is_interleaved():
    weights = Weights(tp=0, cp=0, dp=0, pp=1, embd=10)
    plain, interleaved = ModuleShape(1, 1, 4), ModuleShape(1, 1, 2, vpp=2)
    for encoder, decoder in ((interleaved, plain), (plain, interleaved)):
        job = Job((encoder, decoder), dp=1, tied=True)
        assert master.bound(job, weights, [2, 2, 2]) == optimum(job, weights, [2, 2, 2])


def test_whole_lanes_beside_pieces_keep_what_closes_them():
    """Here the bound with embeddings at their own weight is the better one."""
    job = Job((ModuleShape(1, 3, 2),), dp=1, tied=True)
    weights = Weights(tp=0, cp=1, dp=0, pp=0, embd=3)
    assert master.bound(job, weights, [4, 2, 2]) == optimum(job, weights, [4, 2, 2]) == 4


def test_links_of_one_kind_alone_have_their_weight():
    alone = Weights(tp=0, cp=0, dp=0, pp=3)
    assert chain(alone, [2, 2], tied=False) == 3
    assert master.bound(Job((ModuleShape(1, 1, 1), ModuleShape(1, 1, 1)), 1), alone, [1, 1]) == 3
    assert chain(Weights(tp=0, cp=0, dp=0, pp=2, embd=3), [1, 1], stages=2) == 5


@pytest.mark.parametrize(
    ("shapes", "tied", "unit"),
    [
        ([ModuleShape(2, 3, 1)], True, 14),  # no pipeline link, no embeddings
        ([ModuleShape(2, 3, 2)], False, 2),
        ([ModuleShape(2, 3, 2)], True, 1),
        ([ModuleShape(2, 3, 1), ModuleShape(2, 3, 1)], True, 2),  # a bridge
        ([ModuleShape(1, 1, 1)], False, 28),
        ([ModuleShape(2, 3, 1, ep=2, etp=3)], False, 7),
    ],
)
def test_weights_are_divided_by_what_those_that_occur_have_in_common(shapes, tied, unit):
    weights = Weights(tp=70, cp=42, dp=28, pp=6, ep=7, expt_tp=35, expt_dp=21, embd=5)
    found, divided = master._without_common_factor(Job(tuple(shapes), dp=2, tied=tied), weights)
    assert found == unit
    assert divided.dp == 28 // unit


def test_half_a_link_is_a_link_and_less_than_nothing_is_nothing(monkeypatch):
    weights = Weights(tp=0, cp=0, dp=0, pp=5)
    for doubled, cost in ((7, 20), (8, 20), (-7, 0)):
        monkeypatch.setattr(master, "_doubled_bound", lambda *_, doubled=doubled: doubled)
        assert chain(weights, [2, 2], tied=False) == cost


@pytest.mark.parametrize(
    ("shape", "dp", "levels", "cost"),
    [
        # GPUs of a domain, weight of a level; the plans that meet these are nested boxes
        ((8, 1, 16), 128, [([8] * 2048, 1), ([16] * 1024, 1), ([3072] * 5 + [1024], 4)], 261_120),
        ((8, 16, 16), 8, [([8] * 2048, 1), ([256] * 64, 2)], 1_953_792),
        ((8, 4, 16), 256, [([8] * 16384, 1), ([256] * 512, 2), ([8192] * 16, 4)], 14_704_640),
    ],
    ids=["llama 3 405B", "its long contexts", "131,072 GPUs"],
)
def test_levels_of_large_machines_add_up_to_the_optimum(shape, dp, levels, cost):
    job = Job((ModuleShape(*shape),), dp=dp)
    assert sum(weight * master.bound(job, DEFAULT, gpus) for gpus, weight in levels) == cost


def test_never_above_the_optimum_over_all_placements():
    rng = random.Random(20)
    tight = 0
    for _ in range(120):
        job, weights = random_job(rng, largest=8), random_weights(rng)
        capacities = random_capacities(rng, job.world)
        bound, least = master.bound(job, weights, capacities), optimum(job, weights, capacities)
        assert bound <= least, (job, weights, capacities)
        tight += bound == least
    assert tight > 90


def test_the_programme_is_the_best_way_to_fill_domains():
    """Against recursion over domains, contents priced one by one."""
    rng = random.Random(21)
    for _ in range(40):
        job = random_job(rng, largest=24)
        weights = random_weights(rng)
        capacities = random_capacities(rng, job.world)
        sizes = [0, *(m.tp * m.cp * m.pp * job.dp for m in job.modules)][-2:]

        @cache
        def cheapest(n, a, b, job=job, weights=weights, capacities=capacities):
            if n == len(capacities):
                return UNREACHABLE if a or b else 0
            return min(
                best_content(job, weights, x, y) + cheapest(n + 1, a - x, b - y)
                for x in range(min(a, capacities[n]) + 1)
                for y in range(min(b, capacities[n] - x) + 1)
            )

        contents = master._contents(job, weights, capacities)
        assert master._cheapest_filling(contents, None) == cheapest(0, *sizes)
        every = np.arange(len(contents.price))
        programme = master._integer_programme(contents, every)
        assert master._proven(programme, None) == cheapest(0, *sizes)


def test_multipliers_keep_the_best_they_prove_and_what_is_above_it(monkeypatch):
    contents = master._contents(MISFIT, DEFAULT, [8] * 5 + [7, 6, 5])
    full = master._cheapest_filling(contents, None)
    proven = []
    for rounds in range(1, 12):
        monkeypatch.setattr(master, "ROUNDS", rounds)
        dual = master._best_multipliers(contents)
        assert dual.bound <= full * dual.scale
        assert np.minimum.reduceat(dual.reduced, contents.first).tolist() == [0] * 4
        proven.append(dual.bound)
    assert proven == sorted(proven)
    assert proven[-1] > 0.96 * full * dual.scale


@pytest.mark.parametrize(
    ("solved", "filling"),
    [
        (-UNREACHABLE, 42),  # only the multipliers prove anything: 41.2
        (45, 45),
        (10**6, 47),  # some column that was left out: 41.2 + 5.1
        (UNREACHABLE, 47),  # the columns kept fill nothing
    ],
)
def test_what_multipliers_and_programme_prove_together(monkeypatch, solved, filling):
    contents = master._contents(MISFIT, DEFAULT, [8] * 8)
    reduced = np.full(len(contents.price), 200)
    reduced[:4] = 60, 0, 0, 51
    dual = master._Dual(scale=10, bound=412, reduced=reduced)
    monkeypatch.setattr(master, "KEPT", 2)
    monkeypatch.setattr(master, "_best_multipliers", lambda _: dual)
    monkeypatch.setattr(master, "_proven", lambda model, deadline: solved)
    assert master._cheapest_filling(contents, None) == filling


def test_contents_left_out_of_the_programme_only_lower_the_bound(monkeypatch):
    job, capacities = Job((ModuleShape(3, 2, 2), ModuleShape(5, 2, 3)), dp=4), [8] * 9 + [7] * 16
    full = master.bound(job, DEFAULT, capacities)
    for kept in (1, 3, 10, 40):
        monkeypatch.setattr(master, "KEPT", kept)
        assert 0.9 * full < master.bound(job, DEFAULT, capacities) <= full


def test_without_time_or_effort_the_multipliers_still_prove_something(monkeypatch):
    full = master.bound(MISFIT, DEFAULT, [8] * 7)
    assert (
        0.9 * full < master.bound(MISFIT, DEFAULT, [8] * 7, deadline=time.monotonic() - 1) <= full
    )
    monkeypatch.setattr(master, "EFFORT", 0.0)
    assert 0.9 * full < master.bound(MISFIT, DEFAULT, [8] * 7) <= full


def test_a_failing_linear_solver_leaves_the_bound_valid(monkeypatch):
    full = master.bound(MISFIT, DEFAULT, [8] * 7)
    monkeypatch.setattr(master._Planes, "solve", lambda self: None)
    assert master.bound(MISFIT, DEFAULT, [8] * 7) == full  # the integer programme needs no help
    monkeypatch.setattr(master, "_proven", lambda model, deadline: -UNREACHABLE)
    assert 0 <= master.bound(MISFIT, DEFAULT, [8] * 7) < full


def test_a_solver_that_found_nothing_proves_nothing(monkeypatch):
    """CP-SAT reports the bound 0 then, far above a sum of savings."""
    monkeypatch.setattr(cp_model.CpSolver, "solve", lambda self, model: cp_model.UNKNOWN)
    assert master._proven(cp_model.CpModel(), None) == -UNREACHABLE


def test_families_of_the_programme():
    contents = master._contents(MISFIT, DEFAULT, [8] * 6 + [6, 4])
    model = master._integer_programme(contents, np.arange(len(contents.price))).proto
    names = [constraint.name for constraint in model.constraints]
    assert names == ["domains[0]", "domains[1]", "domains[2]", "encoder", "decoder"]
    assert {variable.name.split("[")[0] for variable in model.variables} == {"z"}


def test_bounds_scale_with_the_weights():
    assert master.bound(MISFIT, times(DEFAULT, 7), [8] * 7) == 7 * master.bound(
        MISFIT, DEFAULT, [8] * 7
    )


def test_bounds_are_multiples_of_what_the_weights_have_in_common():
    weights = Weights(tp=70, cp=42, dp=7, pp=14, embd=5)  # untied: no embedding link occurs
    bound = master.bound(Job((ModuleShape(3, 2, 3),), dp=3), weights, [8] * 7)
    assert bound > 0
    assert bound % 7 == 0


def test_neither_the_order_of_domains_nor_an_empty_one_matters():
    capacities = [8, 5, 8, 7, 6, 8, 8, 7]
    bound = master.bound(MISFIT, DEFAULT, capacities)
    assert master.bound(MISFIT, DEFAULT, sorted(capacities)) == bound
    assert master.bound(MISFIT, DEFAULT, [*capacities, 0, 0]) == bound


def test_another_domain_never_raises_the_bound():
    bounds = [master.bound(MISFIT, DEFAULT, [8] * 7 + [6] * more) for more in range(4)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < bounds[0]


def test_one_domain_for_all_costs_nothing():
    assert master.bound(MISFIT, DEFAULT, [100, 3]) == 0


def test_without_weights_nothing_costs():
    assert master.bound(MISFIT, Weights(tp=0, cp=0, dp=0, pp=0, embd=3), [8] * 7) == 0


def test_domains_that_are_too_small_together_are_refused():
    with pytest.raises(ValueError, match="56 slots do not fit 48 places"):
        master.bound(MISFIT, DEFAULT, [8] * 6)
