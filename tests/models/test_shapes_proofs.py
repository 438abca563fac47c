"""The shapes bound and its placements against every placement of tiny jobs, and on known jobs."""

import dataclasses
import random

import numpy as np
import pytest

from benchmarks.shapes_bruteforce import check, optimum, random_problem
from planner_models import shapes
from planner_models.job import Job, ModuleShape, Weights
from planner_models.shapes import atoms, bounding, integer_master, stages
from planner_models.shapes.packing import Packing
from planner_models.shapes.planes import SCALE, RowPlanes
from tests.oracle.slots_cost import cost

DEFAULT = Weights(1000, 100, 1, 10, ep=100, expt_tp=1000, expt_dp=1, embd=1)


@pytest.mark.parametrize("experts", [False, True])
def test_bounds_are_below_the_optimum_and_nearly_always_equal(experts):
    rng = random.Random(2024 + experts)
    tight = 0
    for _ in range(100):
        job, weights, capacities = random_problem(rng, experts=experts, most=10)
        best = optimum(job, weights, capacities)
        bound = shapes.bound(job, weights, capacities)
        assert bound.value <= best, (job, weights, capacities)
        tight += bound.value == best
        plan = shapes.assemble(bound)
        if plan is not None:
            check(job, weights, capacities, plan)
            assert plan.cost >= best
    assert tight >= 96


@pytest.mark.parametrize("most", [atoms.MOST_CLASSES, 0])
def test_split_blocks_bound_from_below_too(most, monkeypatch):
    monkeypatch.setattr(stages, "MAX_CELLS", 2)
    monkeypatch.setattr(atoms, "MOST_CLASSES", most)
    rng = random.Random(99)
    for _ in range(40):
        job, weights, capacities = random_problem(rng, experts=True, most=9)
        assert shapes.bound(job, weights, capacities).value <= optimum(job, weights, capacities)


def test_expert_groups_larger_than_a_listed_block_are_split():
    job = Job((ModuleShape(1, 1, 1, ep=24, etp=1),), dp=24)
    bound = shapes.bound(job, DEFAULT, [8, 8, 8])
    assert bound.relaxation.graph.split
    assert bound.value == 3 * 64 * DEFAULT.ep + 3 * DEFAULT.dp  # 8 x 8 pairs between any two
    assert shapes.assemble(bound) is None


# job, weights, capacities, optimum: without the term the bound passes the optimum
WITHOUT = {
    "full planes in the pruning": (
        Job((ModuleShape(1, 1, 3),), dp=2, tied=True),
        Weights(tp=5, cp=1, dp=12, pp=12, embd=9),
        (4, 5),
        42,
    ),
    "full planes refunded": (
        Job((ModuleShape(4, 1, 1),), dp=2),
        DEFAULT,
        (3, 3, 5),
        2006,
    ),
    "links that close a cycle": (
        Job((ModuleShape(1, 1, 3, vpp=2),), dp=2),
        DEFAULT,
        (2, 4),
        24,
    ),
    "overlaps": (
        Job((ModuleShape(1, 1, 1), ModuleShape(2, 1, 3, vpp=2)), dp=1, tied=True),
        DEFAULT,
        (1, 1, 2, 3),
        2062,
    ),
}


def share_without_full_rows(self, capacity):
    most = min(self.blocks, capacity)
    return np.array([sum(SCALE * w * r // most for w, r, _ in row) for row in self.families])


def cost_without_full_rows(self, rows):
    pieces = {}
    for row in rows:
        pieces.setdefault(self.stage[row], []).append(self.families[row])
    return sum(
        family[0][0] * max(touched for _, touched, _ in family)
        for held in pieces.values()
        for family in zip(*held, strict=True)
    )


def graph_with_arcs(wanted):
    def build(*args, **kwargs):
        graph = real(*args, **kwargs)
        arcs = tuple(arc for arc in graph.arcs if wanted(arc))
        return dataclasses.replace(graph, arcs=arcs)

    real = bounding.stage_graph
    return build


MUTATIONS = {
    "full planes in the pruning": (RowPlanes, "share", share_without_full_rows),
    "full planes refunded": (RowPlanes, "cost", cost_without_full_rows),
    "links that close a cycle": (
        bounding,
        "stage_graph",
        graph_with_arcs(lambda arc: arc.ends[1] - arc.ends[0] == 1),
    ),
    "overlaps": (bounding, "stage_graph", graph_with_arcs(lambda _: False)),
}


@pytest.mark.parametrize("term", WITHOUT)
def test_a_bound_without_one_of_its_terms_is_wrong(term, monkeypatch):
    job, weights, capacities, best = WITHOUT[term]
    assert optimum(job, weights, capacities) == best
    assert shapes.bound(job, weights, capacities).value == best
    monkeypatch.setattr(*MUTATIONS[term])
    assert shapes.bound(job, weights, capacities).value > best


def test_dealing_segments_to_copies_closes_a_gap(monkeypatch):
    job = Job((ModuleShape(2, 1, 2),), dp=2)
    assert optimum(job, DEFAULT, (1, 3, 3, 3)) == 2036
    assert shapes.bound(job, DEFAULT, (1, 3, 3, 3)).value == 2036
    monkeypatch.setattr(integer_master, "MOST_DEALS", 0)
    assert shapes.bound(job, DEFAULT, (1, 3, 3, 3)).value == 2028


def test_packing_neighbouring_stages_closes_a_gap(monkeypatch):
    job = Job((ModuleShape(3, 2, 2),), dp=2)
    bound = shapes.bound(job, DEFAULT, [4] * 6)
    assert bound.value == shapes.assemble(bound).cost == 8120
    monkeypatch.setattr(Packing, "core", lambda *_: None)
    assert shapes.bound(job, DEFAULT, [4] * 6).value == 8102


# job, capacities, optimum
KNOWN = {
    "encoder tp1 beside tp5": (
        Job((ModuleShape(1, 1, 1), ModuleShape(5, 1, 2)), dp=6),
        [8] * 9,
        6297,
    ),
    "encoder tp2 beside tp6": (
        Job((ModuleShape(2, 2, 1), ModuleShape(6, 2, 2)), dp=2),
        [8] * 7,
        8490,
    ),
    "tp3 cp4 beside nothing": (Job((ModuleShape(3, 4, 3),), dp=2), [8] * 9, 16032),
    "a dead GPU in four nodes": (
        Job((ModuleShape(4, 2, 3),), dp=5),
        [7] * 4 + [8] * 12,
        6046,
    ),
    "tp6 on nodes of 8 and 4": (
        Job((ModuleShape(6, 1, 6),), dp=3),
        [4, 8, 8, 8, 8, 4, 8, 8, 8, 8, 4, 8, 8, 8, 8],
        15826,
    ),
    "tp4 ep8 with dead GPUs": (
        Job((ModuleShape(4, 1, 3, ep=8, etp=1),), dp=6),
        [7, 7, 7, 7, 7, 8, 8, 8, 8, 8],
        10271,
    ),
    "interleaved and tied": (
        Job((ModuleShape(5, 1, 3, vpp=2),), dp=3, tied=True),
        [8] * 6,
        6351,
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_irregular_jobs_are_placed_at_proven_optimum(name):
    job, capacities, best = KNOWN[name]
    bound = shapes.bound(job, DEFAULT, capacities)
    plan = shapes.assemble(bound)
    assert bound.value == plan.cost == best
    assert cost(job, DEFAULT, plan.domain_of.tolist()) == best
    held = np.bincount(plan.domain_of, minlength=len(capacities))
    assert (held <= capacities).all()


def test_an_incumbent_at_the_optimum_is_proven():
    job, capacities, best = KNOWN["tp6 on nodes of 8 and 4"]
    bound = shapes.bound(job, DEFAULT, capacities, incumbent=best)
    assert bound.value == best
    assert bound.solution is None
    assert shapes.assemble(bound) is None


def test_a_deadline_in_the_past_leaves_a_valid_bound():
    job, capacities, best = KNOWN["tp3 cp4 beside nothing"]
    assert 0 < shapes.bound(job, DEFAULT, capacities, deadline=0.0).value <= best


def test_scaling_the_weights_scales_the_bound():
    job, capacities, best = KNOWN["encoder tp1 beside tp5"]
    scaled = Weights(*(7 * w for w in dataclasses.astuple(DEFAULT)))
    assert shapes.bound(job, scaled, capacities).value == 7 * best


def test_another_idle_gpu_never_hurts():
    job = Job((ModuleShape(3, 1, 2),), dp=3)
    values = [shapes.bound(job, DEFAULT, [4] * 4 + [last]).value for last in (2, 3, 4)]
    values.append(shapes.bound(job, DEFAULT, [4] * 6).value)
    assert values == sorted(values, reverse=True)


def test_the_order_of_domains_does_not_matter():
    job, capacities, best = KNOWN["a dead GPU in four nodes"]
    plan = shapes.assemble(shapes.bound(job, DEFAULT, capacities[::-1]))
    held = np.bincount(plan.domain_of, minlength=len(capacities))
    assert (held <= capacities[::-1]).all()
    assert cost(job, DEFAULT, plan.domain_of.tolist()) == best


def test_a_domain_without_slots_stays_empty():
    plan = shapes.assemble(shapes.bound(Job((ModuleShape(3, 1, 1),), dp=2), DEFAULT, [3, 0, 3]))
    assert sorted(plan.domain_of.tolist()) == [0, 0, 0, 2, 2, 2]


def test_what_shapes_apply_to():
    job = Job((ModuleShape(4, 4, 2),), dp=2)
    assert shapes.applies(job, [8] * 8)
    assert not shapes.applies(job, [16] * 4)
    assert not shapes.applies(Job((ModuleShape(6, 3, 2),), dp=2), [8] * 9)
    assert shapes.applies(Job((ModuleShape(2, 1, 2, ep=32, etp=1),), dp=16), [8] * 8)
    assert not shapes.applies(Job((ModuleShape(2, 2, 2, ep=32, etp=1),), dp=8), [8] * 8)


def test_too_few_slots_are_refused():
    with pytest.raises(ValueError, match="6 slots do not fit 5 places"):
        shapes.bound(Job((ModuleShape(3, 1, 1),), dp=2), DEFAULT, [3, 2])
