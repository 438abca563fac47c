"""Which kind a file is guessed to be."""

import pytest

from planner.errors import InputError
from planner.inventory.reading import KINDS, PAGED, PARSERS, Source, guess, read
from tests.inventory.examples import EXAMPLES, KUBERNETES, KUBERNETES_JSON, TREE

# A hostfile of DeepSpeed is one of Open MPI too, but for the text behind the slots.
OTHERS = {"alpha\nalpha\nbravo\nbravo\n": "pbs"}


@pytest.mark.parametrize("example", EXAMPLES, ids=[e.kind for e in EXAMPLES])
def test_every_example_is_recognised(example):
    assert guess(example.text, "f") == OTHERS.get(example.text, example.kind)


def test_every_kind_has_a_title_and_one_way_to_read_it():
    assert set(KINDS) == {*PARSERS, *PAGED}
    assert not set(PARSERS) & set(PAGED)
    assert {example.kind for example in EXAMPLES} == set(KINDS)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("\n# c\n  SwitchName = a Nodes=n1\n", "slurm-topology"),
        ("NodeName=n1 Arch=x86_64\n", "slurm-nodes"),
        ('<?xml version="1.0"?>\n<!-- dump -->\n<topology version="2.0"/>', "hwloc"),
        ("Warning: old driver\n\tGPU0\tGPU1\nGPU0\t X \tSYS\n", "nvidia-smi"),
        ('[{"name": "a", "machineType": "a3"}]', "gcp"),
        ('{"Instances": []}', "aws"),
        ("kind: Topology\n", "kubernetes"),
        ("---\n- topology: t\n  flat: true\n", "slurm-topology-yaml"),
        ("---\n- cluster_default: true\n  topology: t\n  flat: true\n", "slurm-topology-yaml"),
    ],
)
def test_recognised(text, kind):
    assert guess(text, "f") == kind


@pytest.mark.parametrize("text", ["", "hello out there\n", "<html/>", '{"a": 1}', "\x00\x01\n"])
def test_no_known_kind(text):
    with pytest.raises(InputError) as caught:
        guess(text, "f")
    message = str(caught.value)
    assert message.startswith("f: no known kind of file; got '")
    assert message.endswith("; name it with --kind")


def test_a_kind_that_is_given_is_not_guessed():
    (reading,) = read([Source("f", "a slots=8\n", "deepspeed")])
    assert (reading.kind, reading.guessed) == ("deepspeed", False)


def test_files_of_kubernetes_are_read_together():
    tree, cluster = read(
        [
            Source("a", KUBERNETES_JSON),
            Source("t", TREE),
            Source("b", KUBERNETES.replace("a", "z")),
        ][:2]
    )
    assert (tree.names, cluster.names) == (("t",), ("a",))
    with pytest.raises(InputError, match="a node is described twice"):
        read([Source("a", KUBERNETES_JSON), Source("b", KUBERNETES)])
