"""Kubernetes node lists and Kueue topologies."""

import json

import pytest

from planner.errors import InputError
from planner.inventory import kubernetes
from tests.inventory.examples import KUBERNETES, KUBERNETES_JSON
from tests.inventory.looks import levels, names, notes

NVIDIA = "network.topology.nvidia.com"


def read(*texts):
    return kubernetes.parse(
        [v for i, t in enumerate(texts) for v in kubernetes.read(t, f"{i}.json")]
    )


def node(name, labels=(), gpus=8, **more):
    resources = {"allocatable": {"nvidia.com/gpu": str(gpus)}, "capacity": {"nvidia.com/gpu": "8"}}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels)},
        "status": {**resources, **more.pop("status", {})},
        **more,
    }


def listed(*items):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def test_a_list_of_yaml_with_two_generations_of_labels():
    found = read(KUBERNETES)
    assert levels(found) == {
        "leaf": {"left": "alpha bravo", "right": "charlie"},
        "spine": {"top": "alpha bravo charlie"},
    }
    assert [(n.name, n.gpus, n.down, n.aside) for n in found.nodes] == [
        ("alpha", 8, None, None),
        ("bravo", 7, None, None),
        ("charlie", 8, None, "cordoned"),
        ("delta", 0, None, None),
    ]
    assert notes(found) == [
        "0.json:16: items[1]: bravo: 7 of 8 GPUs can be allocated, the file does not tell which"
    ]


GENERATIONS = {
    "topograph": {"fabric.topograph.run/tier-1": "s", "fabric.topograph.run/tier-0": "l"},
    "topograph middle": {f"{NVIDIA}/leaf": "l", f"{NVIDIA}/spine": "s"},
    "topograph first": {f"{NVIDIA}/block": "l", f"{NVIDIA}/spine": "s"},
    "GKE": {
        "cloud.google.com/gce-topology-block": "s",
        "cloud.google.com/gce-topology-subblock": "l",
        "cloud.google.com/gce-topology-host": "h",
    },
    "EKS": {
        "topology.k8s.aws/network-node-layer-1": "s",
        "topology.k8s.aws/network-node-layer-2": "l",
    },
    "OCI": {
        "oci.oraclecloud.com/host.network_block_id": "s",
        "oci.oraclecloud.com/host.rack_id": "l",
    },
}


@pytest.mark.parametrize("labels", GENERATIONS.values(), ids=GENERATIONS)
def test_generations_of_labels(labels):
    other = {key: value if value == "s" else "l2" for key, value in labels.items()}
    found = read(listed(node("a", labels), node("b", labels), node("c", other)))
    assert levels(found) == {"leaf": {"l": "a b", "l2": "c"}, "spine": {"s": "a b c"}}


def test_a_rack_name_in_two_blocks_is_two_racks():
    keys = ("oci.oraclecloud.com/host.rack_id", "oci.oraclecloud.com/host.network_block_id")
    paths = {"a": ("r1", "b1"), "b": ("r1", "b2")}
    found = read(listed(*(node(n, zip(keys, p, strict=True)) for n, p in paths.items())))
    assert levels(found) == {"leaf": {"b1.r1": "a", "b2.r1": "b"}}


@pytest.mark.parametrize(
    "key",
    [
        "accelerator.topograph.run/domain",
        f"{NVIDIA}/accelerator",
        "nvidia.com/gpu.clique",
        "topology.k8s.aws/ultraserver-id",
    ],
)
def test_accelerators(key):
    found = read(listed(node("a", {key: "x.1"}), node("b", {key: "x.1"}), node("c")))
    assert levels(found) == {"accelerator": {"x.1": "a b"}}


def test_sub_domains_of_accelerators():
    run = "accelerator.topograph.run"
    nodes = [node(n, {f"{run}/domain": "d", f"{run}/sub-domain": f"d.{n}"}) for n in "ab"]
    assert levels(read(listed(*nodes))) == {
        "accelerator-sub": {"d.a": "a", "d.b": "b"},
        "accelerator": {"d": "a b"},
    }


def test_zones_count_only_where_the_nodes_differ():
    zone, leaf = "topology.kubernetes.io/zone", f"{NVIDIA}/leaf"
    one = read(listed(node("a", {zone: "z", leaf: "l1"}), node("b", {zone: "z", leaf: "l2"})))
    assert levels(one) == {"leaf": {"l1": "a", "l2": "b"}}
    places = {"a": ("l1", "z1"), "b": ("l2", "z1"), "c": ("l3", "z2")}
    two = read(listed(*(node(n, {leaf: l, zone: z}) for n, (l, z) in places.items())))
    assert levels(two)["spine"] == {"z1": "a b", "z2": "c"}


def test_a_kueue_topology_says_which_labels_count():
    found = read(KUBERNETES_JSON)
    assert levels(found) == {
        "leaf": {"n3": "alpha", "n4": "bravo"},
        "spine": {"n2": "alpha bravo"},
    }


def test_nodes_and_topology_in_two_files():
    topology = {"kind": "Topology", "spec": {"levels": [{"nodeLabel": "rack"}]}}
    found = read(listed(node("a", {"rack": "r", f"{NVIDIA}/leaf": "l"})), json.dumps(topology))
    assert levels(found) == {"leaf": {"r": "a"}}


def test_nodes_that_cannot_be_used():
    conditions = [{"type": "Ready", "status": "Unknown"}]
    found = read(
        listed(
            node("a"),
            node("b", gpus=0),
            node("c", status={"conditions": conditions}),
            node("d", spec={"unschedulable": True}),
        )
    )
    assert [(n.name, n.down, n.aside) for n in found.nodes] == [
        ("a", None, None),
        ("b", "none of its 8 GPUs can be allocated", None),
        ("c", "not ready", None),
        ("d", None, "cordoned"),
    ]


def test_a_list_without_any_gpu_tells_nothing_about_them():
    bare = {"kind": "Node", "metadata": {"name": "a"}}
    assert [n.gpus for n in read(listed(bare)).nodes] == [None]


def test_a_single_node():
    assert names(read(json.dumps(node("a")))) == "a"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            json.dumps({"kind": "Topology", "spec": {"levels": []}}),
            "0.json: no node in the file; add the output of kubectl get nodes -o json",
        ),
        (listed({"kind": "Pod"}), "0.json: items[0]: not read; got Pod; expected Node or Topology"),
        (listed({"kind": "Node"}), "0.json: items[0]: 'metadata' is missing"),
        (listed(node("a"), node("a")), "0.json: items[1]: a node is described twice; got a, first"),
        (listed(node("a b")), "0.json: items[0].metadata.name: not a host name; got 'a b'"),
        (
            listed(node("a"), *[{"kind": "Topology"}] * 2),
            "0.json: items[2]: two topologies; got and 0.json: items[1]; expected one",
        ),
        (
            listed(node("a", gpus="many")),
            "0.json: items[0].status.allocatable.nvidia.com/gpu: wrong",
        ),
    ],
)
def test_refused(text, message):
    with pytest.raises(InputError) as caught:
        read(text)
    assert str(caught.value).startswith(message)
