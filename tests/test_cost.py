"""Vectorised links against plain loops over the definition, and what must not change a cost."""

from fractions import Fraction

import numpy as np
import pytest

from planner.cost import as_number, exact, exchange_links, links, ring_links, total
from planner.grid import Grid
from planner.solver.translation import model_job, to_canonical
from planner.spec.problem import Problem
from tests.oracle import slots_cost
from tests.problems import problem, random_problem


@pytest.mark.parametrize("seed", range(120))
def test_links_are_those_of_the_definition(seed: int) -> None:
    made = Problem.model_validate(random_problem(seed, most_slots=40))
    grid, machines = Grid.of(made), made.cluster.machines
    rng = np.random.default_rng(seed)
    placement = rng.permutation(machines.usable)[: grid.world]
    counted = links(grid, machines, placement)
    for level in machines.levels:
        domains = to_canonical(grid, level.domain[placement]).tolist()
        wanted = slots_cost.links(model_job(grid), domains)
        assert {k: n for k, n in counted[level.name].items() if n} == {
            k: n for k, n in wanted.items() if n
        }


def test_rings_and_exchanges_by_hand() -> None:
    domains = np.array([[0, 0, 0, 0], [0, 0, 1, 1], [2, 1, 0, 1]])
    assert ring_links(domains) == 0 + 2 + 3
    assert exchange_links(domains) == 0 + 4 + 5


def test_a_wrap_counts_beside_the_chain_even_with_two_stages() -> None:
    for vpp, wanted in ((1, 2), (2, 4)):
        made = problem(
            {"nodes": 2, "gpus_per_node": 2}, {"decoder": {"tp": 2, "pp": 2, "vpp": vpp}}
        )
        grid = Grid.of(made)
        counted = links(grid, made.cluster.machines, np.arange(4))
        assert counted["node"]["pp"] == wanted


def test_tied_embeddings_pay_once_a_lane() -> None:
    job = {"decoder": {"tp": 2, "pp": 3}, "tied_embeddings": True}
    made = problem({"nodes": 3, "gpus_per_node": 2}, job)
    counted = links(Grid.of(made), made.cluster.machines, np.arange(6))
    assert counted["node"]["embd"] == 2
    assert counted["node"]["pp"] == 4


def test_weights_of_levels_add_up_and_decimals_are_exact() -> None:
    levels = [{"name": "leaf", "nodes_per_domain": 2, "weight": 0.1}]
    made = problem(
        {"nodes": 4, "gpus_per_node": 1, "levels": levels, "node_weight": 0.2},
        {"decoder": {"tp": 4}},
        objective={"weights": {"tp": 3}},
    )
    grid, machines = Grid.of(made), made.cluster.machines
    cost = total(made, machines, links(grid, machines, np.arange(4)))
    assert cost == Fraction(3) * (4 * Fraction(1, 5) + 2 * Fraction(1, 10))
    assert as_number(cost) == 3.0
    assert exact(0.1) == Fraction(1, 10)


def test_the_worked_example_of_the_contract() -> None:
    """enc tp1, dec tp2, cp2: the right lanes on {0,2,3} and {1,4,5} cross no pipeline link."""
    job = {"encoder": {"cp": 2}, "decoder": {"tp": 2, "cp": 2}, "dp": 1}
    made = problem({"nodes": 2, "gpus_per_node": 3}, job)
    grid, machines = Grid.of(made), made.cluster.machines
    split = np.array([0, 3, 1, 2, 4, 5])
    counted = links(grid, machines, split)["node"]
    assert (counted["pp"], counted["tp"], counted["cp"]) == (0, 0, 6)
    in_order = links(grid, machines, np.arange(6))["node"]
    assert (in_order["pp"], in_order["tp"]) == (3, 2)


@pytest.mark.parametrize("seed", range(20))
def test_renaming_nodes_keeps_the_cost_and_scaling_weights_scales_it(seed: int) -> None:
    data = random_problem(seed)
    made = Problem.model_validate(data)
    grid, machines = Grid.of(made), made.cluster.machines
    placement = np.random.default_rng(seed).permutation(machines.usable)[: grid.world]
    cost = total(made, machines, links(grid, machines, placement))
    for node in data["cluster"]["nodes"]:
        node["name"] = "renamed-" + node["name"]
    weights = data["objective"]["weights"]
    data["objective"]["weights"] = {k: 3 * w for k, w in weights.items()}
    again = Problem.model_validate(data)
    counted = links(Grid.of(again), again.cluster.machines, placement)
    assert total(again, again.cluster.machines, counted) == 3 * cost
