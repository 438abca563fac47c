"""scontrol show nodes."""

import pytest

from planner.errors import InputError
from planner.inventory.slurm_nodes import parse
from tests.inventory.examples import NODES
from tests.inventory.looks import names, notes


def read(text):
    return parse(text, "nodes")


def record(**keys):
    return "NodeName=n1 " + " ".join(f"{key}={value}" for key, value in keys.items()) + "\n"


def gpus(gres, tres=""):
    """GPUs of a node beside one that has two."""
    other = "NodeName=n0 Gres=gpu:2 State=IDLE\n"
    return read(record(Gres=gres, State="IDLE", CfgTRES=tres) + other).nodes[0].gpus


def test_states_and_gpus_over_several_lines():
    found = read(NODES)
    assert [(n.name, n.gpus, n.down, n.aside) for n in found.nodes] == [
        ("alpha", 8, None, None),
        ("bravo", 8, None, "MIXED+DRAIN"),
        ("charlie", 8, "DOWN*+CLOUD", None),
        ("delta", 4, None, None),
        ("echo", 0, None, None),
    ]
    assert [node.where for node in found.nodes][:2] == ["nodes:1", "nodes:8"]
    said = "taken for free text: 'Reason=Not responding State=odd'"
    assert notes(found) == [f"nodes:13: {said}"]


@pytest.mark.parametrize(
    ("gres", "count"),
    [
        ("gpu:8", 8),
        ("gpu:h100:8", 8),
        ("gpu:h100:8(S:0-1)", 8),
        ("gpu:tesla_a100:4(IDX:0,1,2,3)", 4),
        ("gpu:a100:4(S:0,1),gpu:v100:2,nic:9", 6),
        ("gpu:a100", 1),
        ("gpu", 1),
        ("gpu:1g.10gb:7", 7),
        ("nic:4,craynetwork:2", 0),
        ("(null)", 0),
    ],
)
def test_counts_of_gres(gres, count):
    assert gpus(gres) == count


def test_configured_tres_where_gres_is_silent():
    assert gpus("(null)", "cpu=8,mem=1G,gres/gpu=4,gres/gpu:a100=4") == 4


def test_no_node_with_gpus_tells_nothing_about_them():
    assert read(record(Gres="(null)", State="IDLE")).nodes[0].gpus is None


@pytest.mark.parametrize("state", ["IDLE", "ALLOCATED", "MIXED+PLANNED", "IDLE~", "UNKNOWN", ""])
def test_states_that_are_up(state):
    node = read(record(State=state)).nodes[0]
    assert (node.down, node.aside) == (None, None)


@pytest.mark.parametrize(
    "state",
    ["DOWN", "DOWN*", "IDLE*", "IDLE+DRAIN", "DRAINED", "FAIL", "FUTURE", "DOWN+NOT_RESPONDING"],
)
def test_states_that_are_down(state):
    assert read(record(State=state)).nodes[0].down == state


@pytest.mark.parametrize("state", ["ALLOCATED+DRAIN", "MIXED+DRAIN", "DRAINING"])
def test_nodes_that_drain_may_still_be_named(state):
    node = read(record(State=state)).nodes[0]
    assert (node.down, node.aside) == (None, state)


def test_lines_of_slurm_conf():
    found = read("# nodes\nNodeName=n[1-3] CPUs=8 Gres=gpu:4 State=UNKNOWN\n")
    assert names(found) == "n1 n2 n3"
    assert {node.gpus for node in found.nodes} == {4}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("NodeName=a State=IDLE\nNodeName=a State=IDLE\n", "nodes:2: a node is described twice"),
        ("Name=a\n", "nodes:1: not the first line of a node; got 'Name=a'; expected NodeName="),
        ("NodeName=a\nState=IDLE\n", "nodes:2: not the first line of a node"),
        ("NodeName=a\n\n   State=IDLE\n", "nodes:3: not the first line of a node"),
        ("NodeName=a State=IDLE\n  odeName=b\n", "nodes:2: not the first line of a node"),
        ("NodeName=a\n   State=IDLE\n   State=DOWN\n", "nodes:1: a key stands twice in one node"),
        ("NodeName=a State=IDLENodeName=b\n", "nodes:1: two nodes on one line"),
        ("NodeName=a State=up,down\n", "nodes:1: not a state; got 'up,down'"),
        ("", "nodes: no NodeName= in the file"),
    ],
)
def test_refused(text, message):
    with pytest.raises(InputError) as caught:
        read(text)
    assert str(caught.value).startswith(message)
