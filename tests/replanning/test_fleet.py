"""What happened to the machines: lost GPUs stay in place, offline; new nodes join their domains."""

import re

import numpy as np
import pytest

from planner.errors import InputError
from planner.replanning.fleet import extended, without
from planner.spec.cluster import Cluster

LEAVES = Cluster.model_validate(
    {
        "nodes": 5,
        "gpus_per_node": 2,
        "levels": [
            {"name": "leaf", "nodes_per_domain": 2},
            {"name": "pod", "nodes_per_domain": 4, "weight": 3},
        ],
    }
)
NAMED = Cluster.model_validate(
    {
        "nodes": ["a[1-2]", {"name": "b1", "gpus": 3, "offline": [1], "uuids": ["x", "y", "z"]}],
        "gpus_per_node": 2,
        "levels": [{"name": "leaf", "domains": {"l1": "a[1-2]", "l2": "b1"}}],
    }
)


def test_lost_gpus_are_offline_and_nothing_shifts() -> None:
    left = without(LEAVES, ["node[1-2]", "node4:1"]).machines
    before = LEAVES.machines
    assert left.hosts == before.hosts
    assert np.flatnonzero(~left.online).tolist() == [2, 3, 4, 5, 9]
    for old, new in zip(before.levels, left.levels, strict=True):
        assert (old.name, old.names, old.weight) == (new.name, new.names, new.weight)
        assert np.array_equal(old.domain, new.domain)


def test_nodes_keep_their_own_gpus_and_uuids() -> None:
    left = without(NAMED, ["b1:0,2"]).machines
    assert left.uuids == {"b1": ("x", "y", "z")}
    assert left.online.tolist() == [True] * 4 + [False] * 3


@pytest.mark.parametrize(
    ("lost", "text"),
    [
        ("node9", "--lost node9: unknown node; got 'node9'; did you mean"),
        ("node1:2", "--lost node1:2: node1 has no such GPU; got 2; expected 0 to 1"),
        ("node1:x", "--lost node1:x: not a GPU index; got 'x'; expected such as 0,3 or 4-7"),
        ("node[1", "--lost node[1: not a hostlist"),
    ],
)
def test_what_was_not_there_cannot_be_lost(lost: str, text: str) -> None:
    with pytest.raises(InputError, match=re.escape(text)):
        without(LEAVES, [lost])


def test_what_is_offline_cannot_be_lost_again() -> None:
    with pytest.raises(InputError, match="--lost b1:1: is offline already; got b1"):
        without(NAMED, ["b1:1"])


def test_new_nodes_join_the_domain_named_and_those_above_it() -> None:
    grown = extended(LEAVES, ["leaf1=spare[1-2]"]).machines
    assert grown.hosts == (*LEAVES.machines.hosts, "spare1", "spare2")
    leaf, pod = grown.level("leaf"), grown.level("pod")
    of_node = {h: leaf.names[leaf.domain[2 * i]] for i, h in enumerate(grown.hosts)}
    assert of_node["spare2"] == of_node["node2"] == "leaf1"
    assert pod.names[pod.domain[-1]] == "pod0"
    assert (leaf.weight, pod.weight) == (1, 3)


def test_without_a_domain_consecutive_nodes_go_on_counting() -> None:
    leaf = extended(LEAVES, ["node[5-6]"]).machines.level("leaf")
    assert leaf.domain[::2].tolist() == [0, 0, 1, 1, 2, 2, 3]


def test_a_listed_node_comes_back() -> None:
    assert extended(NAMED, ["b1"]).machines.online.all()


@pytest.mark.parametrize(
    ("added", "text"),
    [
        ("c1", "--added c1: the nodes need a leaf; expected DOMAIN=HOSTLIST, a leaf such as l1"),
        ("l3=c1", "--added l3=c1: no such domain; got 'l3'; known: l1, l2"),
        ("l1=a1", "--added l1=a1: the node is there and online; got 'a1'"),
    ],
)
def test_additions_that_have_no_place(added: str, text: str) -> None:
    with pytest.raises(InputError, match=re.escape(text)):
        extended(NAMED, [added])


def test_a_domain_must_be_fine_enough() -> None:
    with pytest.raises(InputError, match="the pod 'pod0' holds several leaves"):
        extended(LEAVES, ["pod0=new1"])
