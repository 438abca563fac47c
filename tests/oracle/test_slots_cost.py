"""The oracle itself: worked examples, and its three views of one cost agree."""

import random

from planner_models.job import Job, ModuleShape, Weights
from tests.oracle.slots_cost import (
    bridge,
    content_cost,
    content_costs,
    cost,
    lane_pairs,
    links,
    optimum,
    pairs,
)

WEIGHTS = Weights(tp=1000, cp=100, dp=1, pp=10, ep=70, expt_tp=900, expt_dp=2, embd=3)


def test_lanes_are_dealt_in_runs_whichever_side_is_larger():
    assert lane_pairs(2, 3) == [(0, 0), (0, 1), (1, 2)]
    assert lane_pairs(3, 2) == [(0, 0), (1, 0), (2, 1)]


def test_bridge_of_two_encoder_and_three_decoder_lanes():
    job = Job((ModuleShape(2, 2, 1), ModuleShape(3, 2, 1)), dp=1)
    assert sorted(bridge(job)) == [(0, 4), (0, 5), (1, 6), (2, 7), (2, 8), (3, 9)]


def test_a_slice_of_a_coarser_cut_feeds_all_it_overlaps():
    job = Job((ModuleShape(1, 2, 1), ModuleShape(1, 3, 1)), dp=1)
    assert sorted(bridge(job)) == [(0, 2), (0, 3), (1, 3), (1, 4)]


def test_wrap_of_two_stages_is_a_link_of_its_own():
    job = Job((ModuleShape(1, 1, 2, vpp=2),), dp=1, tied=True)
    assert pairs(job) == [("pp", (0, 1)), ("pp", (1, 0)), ("embd", (1, 0))]
    assert links(job, [0, 1])["pp"] == 2


def test_expert_links_of_a_stage_cut_in_halves():
    job = Job((ModuleShape(2, 1, 1, ep=2, etp=1),), dp=2)
    count = links(job, [0, 1, 0, 1])  # lane 0 of both copies beside lane 1
    assert count == {
        "tp": 4, "cp": 0, "dp": 0, "pp": 0, "ep": 2, "expt_tp": 0, "expt_dp": 0, "embd": 0,
    }  # fmt: skip


def test_shares_of_the_domains_sum_to_twice_the_cost():
    rng = random.Random(3)
    jobs = [
        Job((ModuleShape(2, 3, 2, vpp=2),), dp=2, tied=True),
        Job((ModuleShape(2, 2, 2), ModuleShape(3, 1, 3, vpp=2)), dp=2, tied=True),
        Job((ModuleShape(2, 1, 2, ep=3, etp=1), ModuleShape(2, 2, 1, ep=2, etp=3)), dp=3),
    ]
    for job in jobs:
        for _ in range(20):
            domain_of = [rng.randrange(4) for _ in range(job.world)]
            shares = (
                content_cost(job, WEIGHTS, [s for s in range(job.world) if domain_of[s] == n])
                for n in range(4)
            )
            assert sum(shares) == 2 * cost(job, WEIGHTS, domain_of)


def test_costs_of_all_contents_are_those_of_each():
    job = Job((ModuleShape(1, 1, 1, vpp=2), ModuleShape(2, 1, 2, ep=2, etp=1)), dp=2, tied=True)
    costs = content_costs(job, WEIGHTS)
    for mask, total in enumerate(costs):
        assert total == content_cost(job, WEIGHTS, [s for s in range(10) if mask >> s & 1])


def test_optimum_of_a_cycle_of_four_stages_on_two_pairs():
    job = Job((ModuleShape(1, 1, 4, vpp=2),), dp=1, tied=True)
    assert optimum(job, Weights(tp=0, cp=0, dp=0, pp=10, embd=1), [2, 2]) == 20


def test_optimum_may_leave_places_idle():
    job = Job((ModuleShape(2, 1, 1),), dp=2)
    assert optimum(job, Weights(tp=5, cp=0, dp=1, pp=0), [3, 3]) == 4
