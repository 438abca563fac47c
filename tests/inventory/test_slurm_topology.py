"""topology.conf and scontrol show topology."""

import pytest

from planner.errors import InputError
from planner.inventory.slurm_topology import parse
from tests.inventory.examples import BLOCKS, SHOWN_BLOCKS
from tests.inventory.looks import levels, names, notes


def read(text):
    return parse(text, "t.conf")


def refused(text):
    with pytest.raises(InputError) as caught:
        read(text)
    return str(caught.value)


TREE = {
    "leaf": {"leaf1": "n1 n3", "leaf2": "n2 n4"},
    "spine": {"spine": "n1 n3 n2 n4"},
}


def test_a_tree_with_its_root_first():
    text = "SwitchName=spine Switches=leaf[1-2]\nSwitchName=leaf1 Nodes=n[1,3]\n"
    found = read(text + "SwitchName=leaf2 Nodes=n[2,4] LinkSpeed=100\n")
    assert names(found) == "n1 n3 n2 n4"
    assert levels(found) == TREE
    assert notes(found) == []


def test_keys_in_any_case_comments_continued_lines_and_quotes():
    text = """\
# a comment
switchname=leaf1 NODES=n[1,3]   # another
SwitchName = leaf2 \\
    Nodes="n[2,4]"\r
SwitchName=spine Switches=leaf1,leaf2"""
    assert levels(read(text)) == TREE


def test_scontrol_repeats_the_nodes_below_a_switch():
    text = """\
SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1,3]
SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[2,4] Switches=(null)
SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=leaf[1-2]
"""
    assert levels(read(text)) == TREE


def test_a_switch_with_nodes_and_switches_is_a_leaf_of_its_own_nodes():
    found = read("SwitchName=a Nodes=n1\nSwitchName=top Nodes=n9 Switches=a\n")
    assert levels(found) == {"leaf": {"a": "n1", "top": "n9"}, "spine": {"top": "n1 n9"}}


def test_parallel_spines_are_one_domain_and_said_so():
    text = "SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n[2-3]\n"
    text += "".join(f"SwitchName=s{i} Switches=s[0-1]\n" for i in (4, 5, 6, 7))
    found = read(text)
    assert levels(found) == {
        "leaf": {"s0": "n0 n1", "s1": "n2 n3"},
        "spine": {"s4": "n0 n1 n2 n3"},
    }
    said = "spine: switches that lead to the same nodes, kept as one domain: s4, s5, s6, s7"
    assert notes(found) == [f"t.conf:4: {said}"]


def test_spines_that_overlap_are_one_domain_and_said_so():
    leaves = "".join(f"SwitchName=l{i} Nodes=n{i}\n" for i in (1, 2, 3))
    found = read(leaves + "SwitchName=a Switches=l1,l2\nSwitchName=b Switches=l2,l3\n")
    assert levels(found)["spine"] == {"a": "n1 n2 n3"}
    said = "switches that overlap, kept as one domain: a, b"
    assert notes(found) == [f"t.conf:5: spine: {said}"]


def test_a_forest_keeps_its_roots_apart():
    text = """\
switchname=spineA switches=a1,a2
SwitchName=a1 Nodes=n1
SwitchName=a2 Nodes=n2
SwitchName=lone Nodes=n3
"""
    found = read(text)
    assert levels(found) == {
        "leaf": {"a1": "n1", "a2": "n2", "lone": "n3"},
        "spine": {"spineA": "n1 n2", "lone": "n3"},
    }
    said = "nothing joins spineA, lone: Slurm starts no job across them unless TopoOptional is set"
    assert notes(found) == [f"t.conf:4: {said}"]


def test_uneven_depth():
    text = """\
SwitchName=core Switches=spine,far
SwitchName=spine Switches=l1,l2
SwitchName=l1 Nodes=n1
SwitchName=l2 Nodes=n2
SwitchName=far Nodes=n3
"""
    assert levels(read(text)) == {
        "leaf": {"l1": "n1", "l2": "n2", "far": "n3"},
        "spine": {"spine": "n1 n2", "far": "n3"},
        "core": {"core": "n1 n2 n3"},
    }


def test_a_level_that_joins_nothing_is_no_level():
    found = read("SwitchName=a Nodes=n[1-2]\nSwitchName=b Switches=a\nSwitchName=c Switches=b\n")
    assert levels(found) == {"leaf": {"a": "n1 n2"}}


def test_rails_with_the_same_nodes_are_one_leaf():
    text = "SwitchName=rail1 Nodes=n[1-2]\nSwitchName=rail2 Nodes=n[1-2]\n"
    found = read(text + "SwitchName=top Switches=rail[1-2]\n")
    assert levels(found) == {"leaf": {"rail1": "n1 n2"}}
    said = "leaf: rail2 lists the same nodes as rail1: kept as one domain"
    assert notes(found) == [f"t.conf:2: {said}"]


def test_topograph_comments_name_the_switches_and_nodes_without_place_are_kept():
    text = """\
# switch.1=spine-7
SwitchName=switch.1 Switches=switch.1.[1-2]
# switch.1.1=leaf-1-1
SwitchName=switch.1.1 Nodes=n1
# switch.1.2=leaf-1-2
SwitchName=switch.1.2 Nodes=n2
SwitchName=no-topology Nodes=n[3-4]
"""
    found = read(text)
    assert names(found) == "n1 n2 n3 n4"
    assert levels(found) == {
        "leaf": {"leaf-1-1": "n1", "leaf-1-2": "n2"},
        "spine": {"spine-7": "n1 n2"},
    }


def test_comments_that_give_two_switches_one_name_are_not_used():
    text = "# a=x\n# b=x\nSwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n"
    assert levels(read(text)) == {"leaf": {"a": "n1", "b": "n2"}}


def test_port_guids_as_nodes():
    assert (
        names(read("SwitchName=a Nodes=0xe41d2d0300,0xe41d2d0301\n")) == "0xe41d2d0300 0xe41d2d0301"
    )


def test_switches_without_nodes_are_named():
    found = read("SwitchName=a Nodes=n1\nSwitchName=b\n")
    assert notes(found) == ["t.conf:2: switches without nodes: b"]


def test_blocks_join_in_their_order_and_empty_ones_are_counted():
    found = read(BLOCKS)
    assert levels(found) == {
        "block": {"one": "alpha bravo", "two": "charlie", "four": "delta echo foxtrot"},
        "block6": {"one-two": "alpha bravo charlie", "four": "delta echo foxtrot"},
    }
    assert notes(found) == ["t.conf:3: blocks without nodes: three"]


def test_block_sizes_of_one_size_make_one_level():
    found = read("BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2\n")
    assert levels(found) == {"block": {"b1": "n1 n2", "b2": "n3 n4"}}


def test_blocks_as_scontrol_shows_them():
    assert levels(read(SHOWN_BLOCKS)) == {
        "block": {"b1": "alpha bravo", "b2": "charlie delta", "b3": "echo foxtrot"},
        "block4": {"b1-b2": "alpha bravo charlie delta", "b3": "echo foxtrot"},
    }


def test_rings_keep_the_order_of_their_nodes():
    found = read("RingName=r0 Nodes=n[3,1]\nRingName=r1 Nodes=n2\n")
    assert names(found) == "n3 n1 n2"
    assert levels(found) == {"ring": {"r0": "n3 n1", "r1": "n2"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[2-3]\n",
            (
                "t.conf:2: n2 is under two switches; got b here, a at t.conf:1; expected every node under "
                "one switch; several rails cannot be told here: import the output of ibnetdiscover"
            ),
        ),
        (
            "SwitchName=a Nodes=n1\n\nSwitchName=a Nodes=n2\n",
            "t.conf:3: a switch is described twice; got a, first at t.conf:1",
        ),
        (
            "SwitchName=top Switches=a,b\nSwitchName=a Nodes=n1\n",
            "t.conf:1: a switch that no record describes; got b",
        ),
        (
            "SwitchName=a Switches=b\nSwitchName=b Switches=a\n",
            (
                "t.conf:1: switches that lie below themselves; got a (t.conf:1), b (t.conf:2); expected "
                "every switch above those it lists"
            ),
        ),
        (
            "SwitchName=a Nodes=n[3-1]\n",
            (
                "t.conf:1: not a hostlist (column 3); got '3-1' in 'n[3-1]'; expected low before high: "
                "'1-3'"
            ),
        ),
        (
            "SwitchName=a Node=n1\n",
            "t.conf:1: an unknown key; got 'node=n1'; expected level, linkspeed, nodes, switches",
        ),
        ("SwitchName=a n1\n", "t.conf:1: not a Key=Value pair; got 'n1'; expected Key=Value"),
        (
            "SwitchName=aNodes=n1\n",
            "t.conf:1: not a Key=Value pair; got 'SwitchName=aNodes=n1'; expected Key=Value",
        ),
        (
            "SwitchName=a Nodes=n1 Nodes=n2\n",
            "t.conf:1: a key stands twice in one record; got 'Nodes=n2'",
        ),
        (
            "Nodes=n1\n",
            (
                "t.conf:1: not a record of a Slurm topology; got 'Nodes=n1'; expected SwitchName, "
                "BlockName, BlockSizes or RingName first"
            ),
        ),
        (
            "SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n",
            (
                "t.conf:2: records of two topology plugins in one file; got block here, tree at t.conf:1; "
                "expected one of tree, block and ring"
            ),
        ),
        (
            "BlockName=a Nodes=n1\nBlockName=b Nodes=n1\n",
            "t.conf:2: a node is described twice; got n1, first at t.conf:1; expected every node once",
        ),
        (
            "BlockName=a Nodes=n1\nBlockSizes=4,6\n",
            (
                "t.conf:2: block sizes that do not nest; got 4 and 6; expected each a multiple of the one "
                "before"
            ),
        ),
        (
            "BlockName=a Nodes=n1\nBlockSizes=4,x\n",
            "t.conf:2: not a block size; got 'x'; expected a positive number",
        ),
        (
            (
                "BlockName=b BlockIndex=0 Nodes=n1 BlockSize=1\n"
                "AggregatedBlock=b BlockIndex=1 Nodes=n[1-2] BlockSize=2\n"
            ),
            "t.conf:2: a larger block has a node of no block; got n2 in b",
        ),
        ("# nothing\n", "t.conf: no switch, block or ring in the file"),
    ],
)
def test_refused(text, message):
    assert refused(text) == message
