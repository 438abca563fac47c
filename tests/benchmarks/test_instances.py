"""Every instance is a problem, and the shapes are those they are named for."""

import pytest

from benchmarks.instances import FAMILIES, FAMILY_OF, INSTANCES, TITLES
from benchmarks.instances.building import dead, uneven
from planner.cost import links, total
from planner.grid import Grid
from planner.plan import megatron_order

APART = ("weights", "cycles", "two-levels", "encoders")


def test_there_are_enough_of_every_kind():
    assert len(INSTANCES) == sum(map(len, FAMILIES.values())) >= 40
    assert set(FAMILIES) == set(TITLES)
    assert all(len(FAMILIES[family]) >= 5 for family in APART)
    assert len(FAMILIES["constraints"]) == 10


@pytest.mark.parametrize("name", INSTANCES)
def test_every_instance_is_a_problem_named_for_its_size(name):
    problem = INSTANCES[name].problem()
    assert str(problem.world_size) in name.split("-")
    assert (len(problem.job.modules) == 2) == ("enc" in name)
    weighted = {level.name for level in problem.cluster.machines.levels if level.weight}
    assert weighted
    assert (FAMILY_OF[name] == "constraints") == (
        problem.document()["constraints"]
        != INSTANCES["tp2-ep6-96"].problem().document()["constraints"]
        or bool(problem.job.hierarchical_cp)
    )


@pytest.mark.parametrize(
    ("name", "cost"),
    [
        ("enc2-tp6-56", 11_716),
        ("enc2-tp6-256", 47_200),
        ("enc3-tp5-1056", 279_036),
        ("tp6-108-mixed", 18_990),
        ("leaves-512", 8_144),
        ("rack72-tp4-864", 7_920),
        ("ep64-512-dead", 1_451_953),
        ("enc3-tp6-etp2-108", 32_328),
    ],
)
def test_known_shapes_have_the_known_cost_in_megatrons_order(name, cost):
    problem = INSTANCES[name].problem()
    grid, machines = Grid.of(problem), problem.cluster.machines
    placement = megatron_order(machines, grid.world)
    assert total(problem, machines, links(grid, machines, placement)) == cost


def test_leaf_sizes_are_seeded_and_add_up():
    sizes = uneven(200, 9, 17, seed=3)
    assert sizes == uneven(200, 9, 17, seed=3) != uneven(200, 9, 17, seed=4)
    assert sum(sizes) == 200
    assert all(9 <= size <= 17 for size in sizes[:-1])


def test_dead_gpus_lie_where_they_are_said_to():
    nodes = dead(10, 4, first=1, stride=3)["nodes"]
    assert {i: n["offline"] for i, n in enumerate(nodes) if "offline" in n} == {
        1: [0],
        5: [3],
        9: [6],
    }
