"""topology.yaml."""

import pytest

from planner.errors import InputError
from planner.inventory.slurm_topology_yaml import parse
from tests.inventory.examples import TOPOLOGIES
from tests.inventory.looks import levels, names, notes


def read(text):
    return parse(text, "t.yaml")


def refused(text):
    with pytest.raises(InputError) as caught:
        read(text)
    return str(caught.value)


def test_the_default_is_read_and_the_others_are_named():
    found = read(TOPOLOGIES)
    assert names(found) == "alpha charlie bravo delta"
    assert levels(found) == {
        "leaf": {"left": "alpha charlie", "right": "bravo delta"},
        "spine": {"top": "alpha charlie bravo delta"},
    }
    assert notes(found) == [
        (
            "t.yaml:2: [0]: topology 'first' is not the cluster's default: not read; left out: "
            "echo,foxtrot"
        ),
        "t.yaml:18: [2]: topology 'third' is not the cluster's default: not read",
    ]


def test_scalars_stay_text():
    text = "- topology: on\n  tree:\n    switches:\n    - switch: 0012\n      nodes: '1101,0x1'\n"
    text += "    - {switch: off, nodes: 0012}\n"
    assert levels(read(text)) == {"leaf": {"0012": "1101 0x1", "off": "0012"}}


def test_blocks():
    text = """\
- topology: t
  block:
    block_sizes: [2, 4]
    blocks:
    - {block: b1, nodes: "n[1-2]"}
    - {block: b2, nodes: "n[3-4]"}
    - {block: b3}
    - {block: b4, nodes: "n[5-6]"}
"""
    assert levels(read(text)) == {
        "block": {"b1": "n1 n2", "b2": "n3 n4", "b4": "n5 n6"},
        "block4": {"b1-b2": "n1 n2 n3 n4", "b4": "n5 n6"},
    }


def test_ring_and_torus():
    ring = "- topology: t\n  ring: {rings: [{ring: r, nodes: 'n[2,1]'}]}\n"
    assert levels(read(ring)) == {"ring": {"r": "n2 n1"}}
    torus = """\
- topology: t
  torus3d:
    toruses:
    - name: pod1
      dims: {x: 2, y: 1, z: 1}
      nodes: n[1-2]
      placements:
      - dims: {x: 1, y: 1, z: 1}
"""
    assert levels(read(torus)) == {"torus": {"pod1": "n1 n2"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "- topology: t\n  flat: true\n",
            (
                "t.yaml:2: [0].flat: a flat topology names no nodes; give --nodes and a file that tells "
                "GPUs, without this one"
            ),
        ),
        (
            (
                "- {topology: a, cluster_default: true, flat: true}\n"
                "- {topology: b, cluster_default: yes, flat: true}\n"
            ),
            "t.yaml:2: [1]: two topologies are the cluster's default; got b, and a at t.yaml:1: [0]",
        ),
        (
            "- topology: t\n  tree:\n    switches:\n    - switch: a\n      node: n1\n",
            (
                "t.yaml:5: [0].tree.switches[0].node: an unknown key; got 'node'; expected children, "
                "nodes, switch"
            ),
        ),
        (
            "- topology: t\n  tree:\n    switches:\n    - switch: a\n      nodes: n[1\n",
            (
                "t.yaml:5: [0].tree.switches[0].nodes: not a hostlist (column 2); got '[' that is never "
                "closed in 'n[1'; expected ']' after the last range"
            ),
        ),
        (
            "- topology: t\n  tree: {}\n  flat: true\n",
            (
                "t.yaml:1: [0]: not one plugin; got tree, flat; expected one of tree, block, ring, "
                "torus3d, flat"
            ),
        ),
        ("[]\n", "t.yaml: no topology in the file"),
        ("- &a x\n- *a\n", "t.yaml:1: anchors are not read; expected the value written out"),
        ("topology: t\n", "t.yaml:1: wrong kind of value; got an object; expected a list"),
    ],
)
def test_refused(text, message):
    assert refused(text) == message
