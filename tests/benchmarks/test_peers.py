"""Peers answer with placements; their parts agree with the cost they stand for."""

from time import monotonic

import numpy as np
import pytest

from benchmarks.contenders import CONTENDERS, PEERS
from benchmarks.instances import INSTANCES
from benchmarks.peers import Limits, NotApplicable, Task
from benchmarks.peers.balancing import balanced
from benchmarks.peers.meshes import jax_mesh
from benchmarks.peers.plain_cpsat import plain_cpsat
from benchmarks.peers.restarts import SEEDS, best_of
from benchmarks.peers.swaps import _Tables
from benchmarks.peers.swaps_kernel import run
from benchmarks.peers.task import require
from benchmarks.peers.topdown import Cut, place
from planner.feasibility import broken_constraints
from tests.problems import problem

RNG = np.random.default_rng(0)
SMALL = problem(
    {"nodes": [{"name": "n[0-2]", "gpus": 4}, {"name": "n3", "gpus": 4, "offline": [1]}]},
    {"decoder": {"tp": 2, "cp": 1, "pp": 3}, "encoder": {"tp": 1}, "dp": 2},
)


def task(name):
    return Task.of(INSTANCES[name].problem())


def limits(seconds=5.0):
    return Limits(monotonic() + seconds)


def is_plan(it, placement):
    return not broken_constraints(it.problem, it.grid, placement)


def in_order(cut, _share, _limits):
    """Part after part filled, slots as numbered."""
    return np.repeat(np.arange(len(cut.capacities)), cut.capacities)[: cut.slots]


@pytest.mark.parametrize("name", ["megatron", "axes"])
def test_orders_are_plans(name):
    it = task("leaves-enc2-tp4-256")
    assert is_plan(it, CONTENDERS[name].peer(it, limits()))


def test_every_peer_has_a_home():
    assert all(callable(CONTENDERS[name].peer) for name in PEERS)


@pytest.mark.parametrize(
    "name", ["enc2-tp6-56", "leaves-576-spares", "rack72-tp4-864", "tp6-108-mixed"]
)
def test_cutting_in_order_is_a_plan_on_any_machines(name):
    it = task(name)
    assert is_plan(it, place(it, limits(), in_order))


@pytest.mark.parametrize("name", ["enc2-tp6-56", "tp4-ep8-72-dead", "cycle-tp5-80"])
def test_a_cut_costs_twice_what_the_planner_counts(name):
    it, seen = task(name), []

    def partition(cut, *_):
        part = RNG.permutation(np.repeat(np.arange(len(cut.capacities)), cut.capacities))[
            : cut.slots
        ]
        seen.append(cut.cost(part))
        return part

    placement = place(it, limits(), partition)
    assert seen == [2 * it.cost(placement)]


def test_a_ring_cut_above_weighs_half_below():
    it = Task.of(
        problem(
            {"nodes": 4, "gpus_per_node": 2, "levels": [{"name": "leaf", "nodes_per_domain": 2}]},
            {"decoder": {"tp": 8}},
        )
    )
    cuts = []
    place(it, limits(), lambda cut, *rest: cuts.append(cut) or in_order(cut, *rest))
    assert [cut.weights.tolist() for cut in cuts] == [[2], [1], [1]]
    assert [len(net) for net in cuts[1].nets()] == [4]


def test_too_large_parts_are_made_to_fit_where_it_costs_least():
    # Slots 0 1 2 hang together, 3 4 5 too; 2 is loosest, since it also hangs on 3.
    nets = [[0, 1], [0, 1, 2], [2, 3], [3, 4, 5]]
    pins, net = np.concatenate(nets), np.repeat(np.arange(4), [len(n) for n in nets])
    cut = Cut(6, np.array([2, 4]), pins, net, np.array([9, 1, 1, 9]))
    part = balanced(cut, np.array([0, 0, 0, 1, 1, 1]))
    assert part.tolist() == [0, 0, 1, 1, 1, 1]
    assert cut.cost(part) == 2


def test_the_best_seed_wins_and_time_is_kept():
    cut = Cut(2, np.array([1, 1]), np.array([0, 1]), np.array([0, 0]), np.array([1]))
    tried = []

    def once(seed):
        tried.append(seed)
        return np.array([0, 1])

    assert best_of(cut, 1.0, limits(), once).tolist() == [0, 1]
    assert tried == list(range(SEEDS))
    tried.clear()
    best_of(cut, 1.0, Limits(monotonic() - 1), once)
    assert tried == [0]


@pytest.mark.parametrize("it", [Task.of(SMALL), task("tp4-ep8-72-dead"), task("leaves-tp5-200")])
@pytest.mark.parametrize("temperature", [1.0, 5000.0])
def test_swaps_know_what_they_change(it, temperature):
    start = CONTENDERS["megatron"].peer(it, limits())
    tables = _Tables.of(it, start)
    before = it.cost(start)
    change = run(*tables.arrays, 300, temperature, 1)
    assert before + change == it.cost(tables.placement)
    assert is_plan(it, tables.placement)


def test_the_plain_model_solves_a_tiny_job():
    it = Task.of(
        problem({"nodes": 2, "gpus_per_node": 4}, {"decoder": {"tp": 4, "pp": 2}, "dp": 1})
    )
    placement = plain_cpsat(it, limits())
    assert is_plan(it, placement)
    assert it.cost(placement) == 4  # pipeline links, in units of the common factor of all weights


def test_the_plain_model_sees_coarser_levels():
    it = Task.of(
        problem(
            {"nodes": 4, "gpus_per_node": 1, "levels": [{"name": "leaf", "nodes_per_domain": 2}]},
            {"decoder": {"pp": 4}, "dp": 1},
        )
    )
    assert it.cost(plain_cpsat(it, limits())) == 3 + 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [("enc2-tp6-56", "one module"), ("tp6-108-mixed", "unequal"), ("hcp-tp3-cp4-72", "constraint")],
)
def test_meshes_say_what_they_cannot_take(name, reason):
    with pytest.raises(NotApplicable, match=reason):
        jax_mesh(task(name), limits())


def test_missing_packages_are_named():
    with pytest.raises(NotApplicable, match="no_such_partitioner is not installed"):
        require("no_such_partitioner")
