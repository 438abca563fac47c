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
