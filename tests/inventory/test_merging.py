"""Several files about the same machines."""

import pytest

from planner.errors import InputError
from planner.inventory.merging import merge
from planner.inventory.reading import Source, read
from tests.inventory.examples import HWLOC
from tests.inventory.looks import levels, names, notes

TREE = "SwitchName=l1 Nodes=n[1-2]\nSwitchName=l2 Nodes=n[3-4]\nSwitchName=s Switches=l[1-2]\n"
PAIRS = """\
\tGPU0\tGPU1\tGPU2\tGPU3
GPU0\t X \tNV4\tSYS\tSYS
GPU1\tNV4\t X \tSYS\tSYS
GPU2\tSYS\tSYS\t X \tNV4
GPU3\tSYS\tSYS\tNV4\t X
"""
SOCKETS = """\
\tGPU0\tGPU1\tGPU2\tGPU3\tNUMA Affinity
GPU0\t X \tSYS\tSYS\tSYS\t0
GPU1\tSYS\t X \tSYS\tSYS\t0
GPU2\tSYS\tSYS\t X \tSYS\t1
GPU3\tSYS\tSYS\tSYS\t X \t1
"""


def merged(**files):
    return merge(read(Source(name, text) for name, text in files.items()))


def refused(**files):
    with pytest.raises(InputError) as caught:
        merged(**files)
    return str(caught.value)


def test_a_fabric_and_the_inside_of_a_node():
    found = merged(tree=TREE, topo=PAIRS)
    assert names(found) == "n1 n2 n3 n4"
    assert list(levels(found)) == ["leaf", "spine"]
    assert found.inside.levels == (("nvlink", 2),)


def test_states_and_gpus_join_a_fabric():
    found = merged(tree=TREE, nodes="NodeName=n[1-3] Gres=gpu:8\nNodeName=n4 State=DOWN\n")
    assert [(n.name, n.where, n.gpus, n.down) for n in found.nodes] == [
        ("n1", "nodes:1", 8, None),
        ("n2", "nodes:1", 8, None),
        ("n3", "nodes:1", 8, None),
        ("n4", "nodes:2", 0, "DOWN"),
    ]


def test_a_hostfile_chooses_and_orders():
    found = merged(tree=TREE, hosts="n3 slots=8\nn1 slots=8\nn9 slots=8\n")
    assert names(found) == "n3 n1 n9"
    assert notes(found) == ["tree:1: left out, since no hostfile names them: n[2,4]"]


def test_two_files_of_one_level_that_agree():
    found = merged(tree=TREE, twin=TREE.replace("l1", "a").replace("l[1-2]", "a,l2"))
    assert levels(found)["leaf"] == {"l1": "n1 n2", "l2": "n3 n4"}


def test_two_files_of_one_level_add_up():
    more = "SwitchName=l2 Nodes=n[4-5]\nSwitchName=l3 Nodes=n6\n"
    found = merged(tree="SwitchName=l1 Nodes=n[1-2]\nSwitchName=l2 Nodes=n[3-4]\n", more=more)
    assert levels(found) == {"leaf": {"l1": "n1 n2", "l2": "n3 n4 n5", "l3": "n6"}}


def test_the_inside_from_two_files():
    found = merged(pairs=PAIRS, sockets=SOCKETS)
    assert found.inside.levels == (("nvlink", 2), ("numa", 2))


def test_uuids_belong_to_the_node_they_are_from():
    found = merged(hosts="alpha slots=4\nbravo slots=4\n", dump=HWLOC)
    assert [len(node.uuids) for node in found.nodes] == [4, 0]
    other = merged(hosts="bravo slots=4\n", dump=HWLOC)
    assert names(other) == "bravo"
    assert notes(other)[-1] == (
        "dump:5: alpha is none of the machines: taken for the inside of each of them"
    )


def test_a_node_known_from_its_inside_alone():
    assert names(merged(dump=HWLOC)) == "alpha"


def test_gpus_that_differ():
    message = refused(hosts="n1 slots=8\n", nodes="NodeName=n1 Gres=gpu:4\n")
    assert message == "nodes:1: two files disagree about the GPUs of n1; got 4 here, 8 at hosts:1"


def test_leaves_that_differ():
    message = refused(tree=TREE, other="SwitchName=x Nodes=n[1-3]\nSwitchName=y Nodes=n4\n")
    assert message == (
        "other: two files disagree about the level 'leaf'; got 'x' here lies in 'l1' and 'l2' of tree; "
        "leave one of the files out"
    )
    message = refused(tree=TREE, other="SwitchName=x Nodes=n1\nSwitchName=y Nodes=n2\n")
    assert "got 'l1' of tree lies in 'x' and 'y' here" in message


def test_insides_that_differ():
    two = "\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n"
    assert refused(pairs=PAIRS, two=two) == (
        "two: two files disagree about the GPUs of a node; got 2 here, 4 in pairs"
    )
    pairs = "\tGPU0\tGPU1\tGPU2\tGPU3\n"
    three = pairs + "GPU0\t X \tNV1\tNV1\tSYS\nGPU1\tNV1\t X \tNV1\tSYS\nGPU2\tNV1\tNV1\t X \tSYS\n"
    assert refused(pairs=PAIRS, three=three + "GPU3\tSYS\tSYS\tSYS\t X \n") == (
        "three: two files disagree about the level 'nvlink' inside a node; "
        "got 3 GPUs a domain here, 2 in pairs"
    )


def test_files_about_different_machines():
    assert refused(tree=TREE, hosts="gpu1 slots=8\n") == (
        "hosts:1: two files name no machine in common; got gpu1 here, n1 at tree:1; "
        "expected one name for one machine in all files"
    )
