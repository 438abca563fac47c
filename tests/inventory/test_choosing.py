"""Which machines are used, and their GPUs."""

import pytest

from planner.errors import InputError
from planner.inventory.choosing import Allocation, choose
from planner.inventory.model import Inside, Inventory, Node


def inventory(*nodes, inside=None):
    return Inventory(nodes=nodes, inside=inside)


def chosen(found, nodes=None, gpus=None):
    result = choose(found, nodes and Allocation(nodes, "--nodes"), gpus)
    return " ".join(f"{n.name}={n.gpus}" for n in result.nodes), [str(n) for n in result.notes]


def refused(found, nodes=None, gpus=None):
    with pytest.raises(InputError) as caught:
        chosen(found, nodes, gpus)
    return str(caught.value)


A, B, C = (Node(name, f"f:{i}", gpus=8) for i, name in enumerate("abc", start=1))
BARE = Node("d", "f:4")


def test_all_nodes_in_order():
    assert chosen(inventory(B, A)) == ("b=8 a=8", [])


def test_an_allocation_has_its_own_order():
    assert chosen(inventory(A, B, C), "c,a") == ("c=8 a=8", [])


def test_down_and_aside_are_left_out_and_named():
    down = [Node(f"x{i}", f"f:{i}", 8, down="DOWN*") for i in (1, 2)]
    aside = Node("y", "f:9", 8, aside="MIXED+DRAIN")
    assert chosen(inventory(A, *down, aside)) == (
        "a=8",
        ["f:1: left out, DOWN*: x[1-2]", "f:9: left out, MIXED+DRAIN: y"],
    )


def test_an_allocation_may_name_what_is_set_aside():
    aside = Node("y", "f:9", 8, aside="MIXED+DRAIN")
    assert chosen(inventory(A, aside), "y") == (
        "y=8",
        ["f:9: y is kept, since it is named: MIXED+DRAIN"],
    )


def test_nodes_without_gpus_are_left_out_and_named():
    assert chosen(inventory(A, Node("z", "f:9", 0))) == ("a=8", ["f:9: left out, no GPU: z"])


def test_the_flag_fills_in_what_no_file_tells():
    assert chosen(inventory(A, BARE), gpus=4) == ("a=8 d=4", [])
    assert chosen(inventory(A), gpus=8) == ("a=8", [])


def test_a_file_of_the_inside_fills_in_too():
    inside = Inside("topo", 8)
    assert chosen(inventory(A, BARE, inside=inside)) == ("a=8 d=8", [])
    assert chosen(inventory(A, BARE, inside=inside), gpus=8) == ("a=8 d=8", [])


def test_nodes_unlike_the_inside_are_named():
    found = inventory(A, Node("s", "f:9", 4), inside=Inside("topo", 8))
    assert chosen(found) == ("a=8 s=4", ["topo: 8 GPUs, unlike the nodes s"])


def test_how_often_a_host_is_named_gives_way():
    found = inventory(Node("a", "f:1", slots=2))
    said = "f:1: as many GPUs as a host is named times; --gpus-per-node would say otherwise"
    assert chosen(found) == ("a=2", [said])
    assert chosen(found, gpus=8) == ("a=8", [])


def test_the_inside_alone_is_one_node_or_those_of_the_allocation():
    inside = inventory(inside=Inside("topo", 4))
    said = "topo: tells the inside of one node and no name: a cluster of one (see --nodes)"
    assert chosen(inside) == ("node0=4", [said])
    assert chosen(inside, "n[1-2]") == ("n1=4 n2=4", [])


@pytest.mark.parametrize(
    ("found", "nodes", "gpus", "message"),
    [
        (
            inventory(A, BARE),
            None,
            None,
            (
                "f:4: no file tells the GPUs of d; give --gpus-per-node N, or add scontrol show nodes or "
                "nvidia-smi topo -m"
            ),
        ),
        (
            inventory(A, B),
            None,
            4,
            (
                "--gpus-per-node: contradicts a file that tells the GPUs; got 4 here, 8 at f:1; leave "
                "--gpus-per-node out: no machine needs it"
            ),
        ),
        (
            inventory(BARE, inside=Inside("topo", 8)),
            None,
            4,
            (
                "--gpus-per-node: contradicts a file that tells the GPUs; got 4 here, 8 at topo; leave "
                "--gpus-per-node out: no machine needs it"
            ),
        ),
        (
            inventory(A, inside=Inside("topo", 4)),
            None,
            None,
            "topo: two files disagree about the GPUs of a node; got 4 here, 8 at f:1 (a)",
        ),
        (
            inventory(Node("node01", "f:1", 8)),
            "node1,x",
            None,
            (
                "--nodes: names machines that no file knows; got node1,x; expected names such as those of "
                "f; did you mean 'node01'?"
            ),
        ),
        (inventory(A), "a,a", None, "--nodes: names a machine twice; got a"),
        (
            inventory(Node("a", "f:1", 8, down="DOWN*")),
            "a",
            None,
            "--nodes: names a, which is down; got DOWN* at f:1; expected machines that are up",
        ),
        (
            inventory(A, Node("z", "f:9", 0)),
            "z",
            None,
            "--nodes: names a machine without GPUs; got z at f:9",
        ),
        (
            inventory(A),
            "n[1",
            None,
            (
                "--nodes: not a hostlist (column 2); got '[' that is never closed in 'n[1'; expected ']' "
                "after the last range"
            ),
        ),
        (
            inventory(Node("a", "f:1", 8, down="DOWN")),
            None,
            None,
            "f:1: no machine is left; got f:1: left out, DOWN: a",
        ),
        (inventory(), None, None, "the files: they name no machine"),
        (
            inventory(A, BARE),
            None,
            10_000_000,
            "f:1: too many GPUs; got 10,000,008 GPUs; expected at most 4,194,304",
        ),
    ],
)
def test_refused(found, nodes, gpus, message):
    assert refused(found, nodes, gpus) == message
