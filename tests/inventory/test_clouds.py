"""AWS, GCP, topograph."""

import json

import pytest

from planner.errors import InputError
from planner.inventory import aws, gcp, topograph
from tests.inventory.examples import AWS, GCP, GRAPH, MODEL, MODEL_LISTS
from tests.inventory.looks import levels, names, notes


def read_aws(*pages):
    return aws.parse([v for i, page in enumerate(pages) for v in aws.read(page, f"{i}.json")])


def instances(**paths):
    listed = [{"InstanceId": name, "NetworkNodes": path.split()} for name, path in paths.items()]
    return json.dumps({"Instances": listed})


def test_aws_counts_levels_from_the_leaf():
    found = read_aws(AWS)
    assert levels(found) == {
        "leaf": {"nn-3": "alpha", "nn-4": "bravo", "nn-7": "charlie"},
        "spine": {"nn-2": "alpha bravo", "nn-6": "charlie"},
        "core": {"nn-1": "alpha bravo charlie"},
    }


def test_aws_sets_instances_without_network_nodes_aside():
    aside = "no network nodes: not running, or of a type without topology"
    assert [(n.name, n.aside) for n in read_aws(AWS).nodes][2:] == [
        ("charlie", None),
        ("delta", aside),
        ("echo", aside),
    ]


def test_aws_says_what_it_cannot_tell():
    assert notes(read_aws(AWS)) == [
        "0.json: nodes are called by instance id: AWS tells no host names",
        "0.json: instances of several types: 2 p5.48xlarge, 1 p6-b200.48xlarge",
        "0.json: NextToken: the answer goes on: import its other pages too",
    ]


def test_aws_pages_are_read_together():
    found = read_aws(instances(a="r s1 l1", b="r s1 l2"), instances(c="r s1 l2", d="r s2 l3"))
    assert levels(found) == {
        "leaf": {"l1": "a", "l2": "b c", "l3": "d"},
        "spine": {"s1": "a b c", "s2": "d"},
        "core": {"r": "a b c d"},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "0.json: 'Instances' is missing"),
        ('{"Instances": [{}]}', "0.json: Instances[0]: 'InstanceId' is missing"),
        (
            '{"Instances": {}}',
            "0.json: Instances: wrong kind of value; got an object; expected a list",
        ),
        (
            '{"Instances": [{"InstanceId": "a"}, {"InstanceId": "a"}]}',
            (
                "0.json: Instances[1]: a node is described twice; got a, first at 0.json: Instances[0]; "
                "expected every node once"
            ),
        ),
        (
            '{"Instances": [], "Instances": []}',
            "0.json: line 1: $.Instances: a key stands twice in one object",
        ),
        (
            instances(a=" ".join(f"n{i}" for i in range(17))),
            "0.json: a: 17 switches above one node; expected at most 16",
        ),
    ],
)
def test_aws_refused(text, message):
    with pytest.raises(InputError) as caught:
        read_aws(text)
    assert str(caught.value).startswith(message)


def test_gcp_reads_both_spellings_and_both_generations():
    found = gcp.parse(GCP, "g.json")
    assert levels(found) == {
        "leaf": {"c.b1.s1": "alpha", "s2": "bravo", "b2.s1": "charlie"},
    }
    assert [(n.name, n.gpus, n.aside) for n in found.nodes] == [
        ("alpha", 8, None),
        ("bravo", 8, None),
        ("charlie", 8, None),
        ("delta", None, "no physical host: not placed by topology"),
    ]


def gcp_instance(name, **status):
    return {"name": name, "resourceStatus": status}


def test_gcp_levels():
    topology = [("b1", "s1"), ("b1", "s2"), ("b2", "s3")]
    listed = [
        gcp_instance(f"n{i}", physicalHostTopology={"cluster": "c", "block": b, "subblock": s})
        for i, (b, s) in enumerate(topology)
    ]
    assert levels(gcp.parse(json.dumps({"items": listed}), "g.json")) == {
        "leaf": {"s1": "n0", "s2": "n1", "s3": "n2"},
        "spine": {"b1": "n0 n1", "b2": "n2"},
        "core": {"c": "n0 n1 n2"},
    }


def test_gcp_stopped_instances_are_down():
    stopped = json.dumps(
        [{"name": "a", "status": "TERMINATED"}, {"name": "b", "status": "RUNNING"}]
    )
    assert [node.down for node in gcp.parse(stopped, "g.json").nodes] == ["TERMINATED", None]


def test_gcp_two_places_of_one_instance():
    place = {"block": "b", "subblock": "s"}
    text = json.dumps([gcp_instance("a", physicalHost="/b/other/h", physicalHostTopology=place)])
    with pytest.raises(InputError) as caught:
        gcp.parse(text, "g.json")
    assert str(caught.value) == (
        "g.json: [0].resourceStatus.physicalHostTopology: two places of one instance; "
        "got 'b/s', and 'b/other' in physicalHost"
    )


def test_topograph_graph():
    found = topograph.parse_graph(GRAPH, "t.json")
    assert names(found) == "alpha bravo charlie delta"
    assert levels(found) == {
        "accelerator": {"rack1": "alpha bravo"},
        "leaf": {"left": "alpha bravo", "right": "charlie"},
        "spine": {"top": "alpha bravo charlie"},
    }


def test_topograph_accelerators_that_cut_leaves_win():
    text = json.dumps(
        {
            "instances": [
                {"id": name, "network_layers": [leaf, "top"], "labels": {"nvlink": rack}}
                for name, leaf, rack in [["a", "l1", "r1"], ["b", "l1", "r2"], ["c", "l2", "r2"]]
            ]
        }
    )
    found = topograph.parse_graph(text, "t.json")
    assert levels(found) == {
        "accelerator": {"r1": "a", "r2": "b c"},
        "spine": {"top": "a b c"},
    }
    assert notes(found) == [
        "t.json: accelerator 'r2' lies in leaf 'l1' and 'l2': level 'leaf' left out, levels must nest"
    ]


def test_topograph_model_of_blocks():
    found = topograph.parse_model(MODEL, "t.yaml")
    assert names(found) == "alpha bravo delta charlie"
    assert levels(found) == {
        "accelerator": {"rack1": "alpha bravo"},
        "leaf": {"left": "alpha bravo", "right": "delta charlie"},
        "spine": {"top": "alpha bravo delta charlie"},
    }


def test_topograph_model_of_lists():
    assert levels(topograph.parse_model(MODEL_LISTS, "t.yaml")) == {
        "accelerator": {"rack1": "alpha bravo", "rack2": "charlie", "rack3": "delta"},
        "leaf": {"left": "alpha bravo charlie", "right": "delta"},
        "spine": {"top": "alpha bravo charlie delta"},
    }


def test_topograph_model_of_nodes_with_attributes():
    text = """\
switches:
  S1: {switches: [S2]}
  S2: {nodes: ["I[21-22]"]}
nodes:
  I21: {attributes: {nvlink: CB2}}
  I22: {attributes: {nvlink: CB2}}
  I34: {}
"""
    found = topograph.parse_model(text, "t.yaml")
    assert names(found) == "I21 I22 I34"
    assert levels(found) == {"accelerator": {"CB2": "I21 I22"}, "leaf": {"S2": "I21 I22"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "switches: {a: {}}\nblocks: [{switch: b, nodes: [n]}]\n",
            "t.yaml:2: blocks[0]: the block of a switch that no entry describes",
        ),
        (
            "switches: {a: {labels: {x: [n]}}}\nblocks: [{switch: a, labels: {x: [n]}}]",
            "t.yaml:2: blocks[0].labels.x",
        ),
        ("switches: {a: {switches: [b]}}\n", "t.yaml:1: a switch that no record describes; got b"),
    ],
)
def test_topograph_model_refused(text, message):
    with pytest.raises(InputError) as caught:
        topograph.parse_model(text, "t.yaml")
    assert str(caught.value).startswith(message)


def test_topograph_fields_that_are_not_read_are_named():
    found = topograph.parse_model("switches: {a: {nodes: [n1], tor: n2}}\nracks: [n3]\n", "t.yaml")
    assert notes(found) == [
        "t.yaml:2: racks: not read: racks: ['n3']",
        "t.yaml:1: switches.a.tor: not read: tor: n2",
    ]


def test_topograph_entries_of_one_name():
    with pytest.raises(InputError) as caught:
        topograph.parse_model("switches:\n- {name: a}\n- {name: a}\n", "t.yaml")
    assert str(caught.value) == (
        "t.yaml:3: switches[1]: an entry is described twice; got a, first at t.yaml:2: switches[0]"
    )
