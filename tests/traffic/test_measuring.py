"""Bytes that leave domains, against plain loops over ranks; time; the plan file's block."""

import random
from collections import defaultdict
from itertools import combinations, pairwise

import numpy as np
import pytest

from planner.cost import links
from planner.grid import Grid
from planner.plan import Plan
from planner.planfile import PlanFile
from planner.spec.names import LINK_KINDS
from planner.traffic import StepBytes, kind_weights, measure
from planner.verification import verify
from tests.problems import problem

TINY = {"layers": 5, "hidden": 64, "heads": 8, "ffn": 96, "vocabulary": 100}
MOE = TINY | {"experts": 4, "top_k": 2, "moe_layer_freq": 2}
CASES = {
    "dense": ({"decoder": {"tp": 2, "cp": 2, "pp": 2, "vpp": 2}, "dp": 2}, {"decoder": TINY}, {}),
    "experts": ({"decoder": {"tp": 2, "pp": 2, "ep": 2}, "dp": 4}, {"decoder": MOE}, {}),
    "all-to-all": ({"decoder": {"tp": 2, "cp": 4}, "dp": 2}, {"decoder": TINY}, {"cp": "a2a"}),
    "two modules": (
        {
            "encoder": {"tp": 2, "cp": 2},
            "decoder": {"tp": 4, "cp": 2, "pp": 2},
            "dp": 2,
            "tied_embeddings": True,
        },
        {"encoder": TINY | {"hidden": 32}, "decoder": TINY, "tied_embeddings": True},
        {},
    ),
}
CLUSTER = {
    "nodes": [{"name": "n[0-2]", "gpus": 3}, {"name": "n[3-9]", "gpus": 5}],
    "levels": [{"name": "leaf", "nodes_per_domain": 4}],
}


def example(name, **cluster):
    job, model, more = CASES[name]
    traffic = {"model": model, "sequence": 128, "global_batch": 24, **more}
    return problem(CLUSTER | cluster, job, objective={"traffic": traffic})


def any_placement(p, seed):
    devices = p.cluster.machines.usable.tolist()
    random.Random(seed).shuffle(devices)
    return np.array(devices[: p.world_size])


class Ledger:
    """Bytes out of each (kind, domain), link by link."""

    def __init__(self, domain):
        self.domain = domain
        self.out = defaultdict(float)

    def sends(self, kind, rank, size):
        self.out[kind, self.domain[rank]] += float(size)

    def rings(self, kind, groups, size_of):
        for group in groups.tolist():
            touched = {self.domain[r]: r for r in group}
            if len(touched) > 1:
                for rank in touched.values():
                    self.sends(kind, rank, size_of(group))

    def exchanges(self, kind, groups, size_of):
        for group in groups.tolist():
            self.pairs(kind, combinations(group, 2), 2 * size_of(group))

    def pairs(self, kind, ends, both):
        for a, b in ends:
            if self.domain[a] != self.domain[b]:
                self.sends(kind, a, both / 2)
                self.sends(kind, b, both / 2)


def looped(p, placement, level):
    grid, step = Grid.of(p), StepBytes.of(p, p.objective.traffic)
    ledger = Ledger(p.cluster.machines.level(level).domain[placement].tolist())
    stage = grid.coordinates["pp"]
    for module in grid.modules:
        held = step.modules[module.name]
        for kind, groups, sizes in (
            ("tp", module.vary("tp"), held.tp),
            ("dp", module.vary("dp", "cp"), held.dp),
            ("cp", module.vary("cp"), held.cp_ring),
            ("expt_tp", module.vary_experts("tp"), held.expt_tp),
            ("expt_dp", module.vary_experts("dp"), held.expt_dp),
        ):
            ledger.rings(kind, groups, lambda group, sizes=sizes: sizes[stage[group[0]]])
        for kind, groups, sizes in (
            ("ep", module.vary_experts("ep"), held.ep_peer),
            ("cp", module.vary("cp"), held.cp_peer),
        ):
            ledger.exchanges(kind, groups, lambda group, sizes=sizes: sizes[stage[group[0]]])
        stages = module.mesh.reshape(module.shape.pp, -1).tolist()
        for here, there in pairwise(stages):
            ledger.pairs("pp", zip(here, there, strict=True), held.pp)
        if module.shape.vpp > 1:
            ledger.pairs("pp", zip(stages[-1], stages[0], strict=True), held.wrap)
    ledger.pairs("pp", grid.bridge.tolist(), step.bridge)
    if grid.tied:
        first, *_, last = grid.modules[-1].mesh.reshape(grid.modules[-1].shape.pp, -1).tolist()
        ledger.pairs("embd", zip(first, last, strict=True), step.embd)
    return ledger.out


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("level", ["node", "leaf"])
def test_bytes_out_of_each_domain(name, level):
    p = example(name)
    for seed in range(5):
        placement = any_placement(p, seed)
        report = measure(p, Grid.of(p), p.cluster.machines, placement).level(level)
        expected = np.zeros_like(report.out)
        for (kind, domain), size in looped(p, placement, level).items():
            expected[LINK_KINDS.index(kind), domain] = size
        np.testing.assert_allclose(report.out, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["dense", "experts", "all-to-all"])
def test_with_one_stage_and_one_module_bytes_are_links_times_weight(name):
    """Then every link of a kind carries the mean, but for the rounding of the weights."""
    job, model, more = CASES[name]
    job = {"decoder": {k: v for k, v in job["decoder"].items() if "pp" not in k}, "dp": job["dp"]}
    traffic = {"model": model, "sequence": 128, "global_batch": 24, **more}
    p = problem(CLUSTER, job, objective={"traffic": traffic})
    placement = any_placement(p, 7)
    grid, machines = Grid.of(p), p.cluster.machines
    counted, weights = links(grid, machines, placement)["leaf"], kind_weights(p)
    report = measure(p, grid, machines, placement).level("leaf")
    for kind, out in zip(LINK_KINDS, report.out.sum(axis=1), strict=True):
        assert out == pytest.approx(counted[kind] * float(weights[kind]), rel=1e-4)
    assert report.total > 0


def test_two_step_context_counts_inner_pairs_and_outer_rings():
    """cp 4 as 2 x 2 on two nodes of 8: inner pairs at the socket level only, outer rings at both."""
    cluster = {"nodes": 2, "levels": [{"name": "socket", "gpus_per_domain": 1}]}
    traffic = {
        "model": {"decoder": TINY},
        "sequence": 128,
        "global_batch": 4,
        "cp": "a2a+p2p",
    }
    job = {"decoder": {"cp": 4}, "dp": 4, "hierarchical_cp": [2, 2]}
    p = problem(cluster, job, objective={"traffic": traffic})
    held = StepBytes.of(p, p.objective.traffic).modules["decoder"]
    # copies 0 and 1 with the outer halves of their context groups apart: ranks 0 1 | 2 3
    order = [0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15]
    report = measure(p, Grid.of(p), p.cluster.machines, np.array(order))
    cp = LINK_KINDS.index("cp")
    ring, peer = float(held.cp_ring[0]), float(held.cp_peer[0])
    assert report.level("node").out[cp].tolist() == [8 * ring, 8 * ring]
    assert report.level("socket").out[cp].tolist() == [ring + peer] * 16
    counted = links(Grid.of(p), p.cluster.machines, np.array(order))["node"]["cp"]
    assert counted * float(kind_weights(p)["cp"]) == pytest.approx(16 * ring, rel=1e-5)


def test_time_by_bandwidth_of_gpus_and_of_nodes():
    """The domain that takes longest, not the one that sends most: two ranks share less than five."""
    p = example("dense", bandwidth={"per_gpu": 2})
    placement = p.cluster.machines.usable[: p.world_size]
    report = measure(p, Grid.of(p), p.cluster.machines, placement).level("node")
    ranks = np.bincount(p.cluster.machines.device_node[placement], minlength=10)
    out = report.out.sum(axis=0)
    assert report.seconds == pytest.approx(np.max(out[ranks > 0] / (2e9 * ranks[ranks > 0])))
    p = example("dense", bandwidth={"per_node": 10})
    report = measure(p, Grid.of(p), p.cluster.machines, placement).level("node")
    assert report.seconds == pytest.approx(out.max() / 10e9)


def test_bandwidth_of_a_level_adds_up_its_nodes():
    levels = [{"name": "leaf", "nodes_per_domain": 4, "bandwidth": {"per_node": 5}}]
    p = example("dense", levels=levels)
    placement = p.cluster.machines.usable[:16]
    report = measure(p, Grid.of(p), p.cluster.machines, placement)
    out = report.level("leaf").out.sum(axis=0)
    # nodes of each leaf that hold ranks: three of 3 GPUs and one of 5; one of 5
    assert report.level("leaf").seconds == pytest.approx(max(out[0] / 5e9 / 4, out[1] / 5e9))
    assert out[2] == 0
    assert report.level("node").seconds is None


def test_the_plan_states_traffic_and_verification_recomputes_it():
    p = example("two modules", bandwidth={"per_gpu": 50})
    plan = Plan(p.resolved, p.cluster.machines.usable[: p.world_size], {})
    plan.solver.update(status="feasible", cost=plan.cost, bound=0, gap=1.0, seed=0)
    assert verify(plan) == []
    document = plan.document()
    node = document["traffic"]["node"]
    assert node["total_gb"] == pytest.approx(sum(node["gb"].values()), abs=1e-5)
    assert node["busiest"]["gb"] <= node["total_gb"]
    assert "seconds" in node
    assert "seconds" not in document["traffic"]["leaf"]
    node["gb"]["pp"] += 0.5
    (violation,) = verify(PlanFile.of(document))
    assert (violation.kind, violation.where) == ("traffic", "$.traffic.node.gb.pp")


def test_a_plan_without_traffic_states_none():
    p = problem(2, {"decoder": {"tp": 4}})
    plan = Plan(p.resolved, p.cluster.machines.usable, {})
    assert "traffic" not in plan.document()
    with pytest.raises(ValueError, match=r"problems with objective\.traffic"):
        measure(p, Grid.of(p), p.cluster.machines, plan.placement)


def test_state_and_bubble():
    """Llama 3 8B on 16 GPUs, tp 8, dp 2: (2 + 4) bytes an element and 12 shared by two."""
    traffic = {"model": "llama3-8b", "sequence": 8192, "global_batch": 8}
    p = problem(2, {"decoder": {"tp": 8}}, objective={"traffic": traffic})
    report = measure(p, Grid.of(p), p.cluster.machines, np.arange(16))
    norms = 65 * 4096
    assert report.state_bytes == ((8_030_261_248 - norms) / 8 + norms) * (6 + 12 / 2)
    assert report.bubble == 0
    p = problem(2, {"decoder": {"tp": 4, "pp": 2, "vpp": 2}}, objective={"traffic": traffic})
    report = measure(p, Grid.of(p), p.cluster.machines, np.arange(16))
    assert report.bubble == 1 / (2 * 4)
