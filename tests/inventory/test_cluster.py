"""From an inventory to ``cluster`` of a problem file."""

import pytest

from planner.errors import InputError
from planner.inventory.cluster import to_cluster
from planner.inventory.model import Inside, Inventory, Level, Node
from planner.spec.cluster import Cluster


def inventory(names, levels=(), inside=None, **gpus):
    nodes = tuple(Node(name, "f", gpus.get(name, 8)) for name in names.split())
    return Inventory(
        nodes,
        tuple(
            Level(name, "f", {domain: tuple(text.split()) for domain, text in domains.items()})
            for name, domains in levels
        ),
        inside,
    )


def data(*args, **kwargs):
    found = to_cluster(inventory(*args, **kwargs)).data
    assert Cluster.model_validate(found).machines.hosts
    return found


def test_equal_nodes_are_one_hostlist():
    assert data("n3 n1 n2") == {"nodes": "n[3,1-2]", "gpus_per_node": 8}


def test_unequal_nodes_are_objects_in_their_place():
    assert data("n1 n2 n3 n4 n5", n2=4, n3=4) == {
        "nodes": ["n1", {"name": "n[2-3]", "gpus": 4}, "n[4-5]"],
        "gpus_per_node": 8,
    }


def test_offline_gpus_and_levels_inside():
    inside = Inside("topo", 4, (3,), (("nvlink", 2),))
    assert data("n1 n2 n3", inside=inside, n1=4, n2=4) == {
        "nodes": [{"name": "n[1-2]", "offline": [3]}, {"name": "n3", "gpus": 8}],
        "gpus_per_node": 4,
        "levels": [{"name": "nvlink", "weight": 1, "gpus_per_domain": 2}],
    }


def test_uuids():
    found = to_cluster(Inventory((Node("a", "f", 2, uuids=("u0", "u1")), Node("b", "f", 2))))
    assert found.data["nodes"] == [{"name": "a", "uuids": ["u0", "u1"]}, "b"]


LEVELS = [
    ("leaf", {"l1": "n1 n3", "l2": "n2 n4", "l3": "n5"}),
    ("spine", {"s1": "n1 n2 n3 n4", "s2": "n5"}),
]


def test_levels_have_the_nodes_that_are_used():
    assert data("n4 n1 n2", LEVELS)["levels"] == [
        {"name": "leaf", "weight": 1, "domains": {"l2": "n[4,2]", "l1": "n1"}},
        {"name": "spine", "weight": 1, "domains": {"s1": "n[4,1-2]"}},
    ]


def test_levels_of_other_nodes_are_no_levels():
    assert "levels" not in data("n7 n8", LEVELS)


def test_nodes_without_a_place_are_on_their_own_and_named():
    found = to_cluster(inventory("n1 n8 n2 n9", LEVELS))
    assert found.data["levels"][0]["domains"] == {"l1": "n1", "n8": "n8", "l2": "n2", "n9": "n9"}
    assert [str(n) for n in found.notes] == ["f: no leaf or spine known, each on its own: n[8-9]"]


def test_a_node_called_like_a_domain():
    found = data("l1 n1", LEVELS)
    assert found["levels"][0]["domains"] == {"l1": "l1", "l1-2": "n1"}


def test_names_a_problem_file_would_not_accept():
    levels = [("leaf", {"MF0;a:b/c": "n1", "MF0-a-b-c": "n2", "..": "n3"})]
    assert data("n1 n2 n3", levels)["levels"][0]["domains"] == {
        "MF0-a-b-c": "n1",
        "MF0-a-b-c-2": "n2",
        "domain": "n3",
    }


def test_levels_are_ordered_by_their_domains():
    levels = [
        ("rack", {"r1": "n1 n2", "r2": "n3 n4"}),
        ("pair", {"p": "n1 n2", "q": "n3", "r": "n4"}),
    ]
    assert [level["name"] for level in data("n1 n2 n3 n4", levels)["levels"]] == ["pair", "rack"]


def test_levels_that_do_not_nest():
    levels = [("rack", {"r1": "n1 n2", "r2": "n3"}), ("row", {"a": "n1", "b": "n2 n3"})]
    with pytest.raises(InputError) as caught:
        to_cluster(inventory("n1 n2 n3", levels))
    assert str(caught.value) == (
        "f: levels must nest, but rack 'r1' lies in two domains of row; got 'a' and 'b' (f); "
        "leave one of the files out"
    )


@pytest.mark.parametrize(
    ("names", "gpus", "summary"),
    [
        (
            "n1 n2 n3 n4",
            {},
            [
                "4 nodes, 8 GPUs each: 32 GPUs",
                "leaf: 2 domains of 2 nodes",
                "spine: 1 domain of 4 nodes",
            ],
        ),
        (
            "n1 n2 n3 n5",
            {"n5": 4},
            [
                "4 nodes, 3 with 8 and 1 with 4: 28 GPUs",
                "leaf: 3 domains, uneven: 1 of 2, 2 of 1 nodes",
                "leaf: 1 node each but for l1 2",
                "spine: 2 domains, uneven: 1 of 3, 1 of 1 nodes",
                "spine: 3 nodes each but for s2 1",
            ],
        ),
    ],
)
def test_summary(names, gpus, summary):
    assert list(to_cluster(inventory(names, LEVELS, **gpus)).summary) == summary


def test_summary_of_levels_inside():
    inside = Inside("topo", 8, (), (("numa", 4),))
    assert to_cluster(inventory("n1", inside=inside)).summary == (
        "1 node, 8 GPUs each: 8 GPUs",
        "numa: domains of 4 GPUs",
    )
