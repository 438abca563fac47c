"""What `objective.traffic` and `bandwidth` refuse, with path and remedy; what they resolve to."""

import re

import pytest
from jsonschema import Draft202012Validator

from planner.errors import InputError
from planner.spec.presets import PRESETS
from planner.spec.problem import Problem
from tests.problems import problem

SMALL = {"layers": 4, "hidden": 64, "heads": 8}
T = r"\$\.objective\.traffic"


def traffic(**more):
    return {"model": "llama3-8b", "sequence": 4096, "global_batch": 64} | more


def refused(job, given, cluster=2):
    with pytest.raises(InputError) as caught:
        problem(cluster, job, objective={"traffic": given})
    return str(caught.value)


CASES = {
    "unknown preset": (
        {},
        traffic(model="llama3-7b"),
        rf"{T}\.model: unknown model; got 'llama3-7b'; .*did you mean 'llama3-70?b'\?",
    ),
    "unknown key": (
        {},
        traffic(micro_bach=1),
        rf"{T}\.micro_bach: unknown key 'micro_bach'; did you mean 'micro_batch'\?",
    ),
    "unknown size": (
        {},
        traffic(model={"decoder": SMALL | {"hiden": 3}}),
        rf"{T}\.model\.decoder\.hiden: unknown key 'hiden'; did you mean 'hidden'\?",
    ),
    "missing batch": ({}, {"model": "llama3-8b", "sequence": 1}, rf"{T}\.global_batch: required"),
    "heads and hidden": (
        {},
        traffic(model={"decoder": SMALL | {"heads": 7}}),
        rf"{T}\.model\.decoder: heads must divide hidden; got hidden 64, heads 7; or set head_dim",
    ),
    "kv heads": (
        {},
        traffic(model={"decoder": SMALL | {"kv_heads": 3}}),
        r"kv_heads must divide heads; got heads 8, kv_heads 3",
    ),
    "experts without top_k": (
        {},
        traffic(model={"decoder": SMALL | {"experts": 8}}),
        r"experts and top_k do not fit; got experts 8, top_k 0; expected both 0, or 1 <= top_k",
    ),
    "moe pattern": (
        {},
        traffic(model={"decoder": SMALL | {"moe_layer_freq": [0, 1]}}),
        r"decoder\.moe_layer_freq: wrong length; got 2; expected 4, one a layer",
    ),
    "cross attention in an encoder": (
        {"encoder": {}},
        traffic(model={"decoder": SMALL, "encoder": SMALL | {"cross_attention": True}}),
        r"model\.encoder\.cross_attention: only a decoder attends to the encoder",
    ),
    "encoder in the model alone": (
        {},
        traffic(model="clip-vit-l-llama3-8b"),
        rf"{T}\.model: the model has an encoder, the job has none; give both or neither",
    ),
    "encoder in the job alone": (
        {"encoder": {}},
        traffic(),
        rf"{T}\.model: the job has an encoder, the model has none",
    ),
    "tied in the model alone": (
        {},
        traffic(model="gpt3-175b"),
        r"\$\.job\.tied_embeddings: differs from the model's; got false; expected true; set it to",
    ),
    "micro-batch": (
        {},
        traffic(micro_batch=3),
        rf"{T}\.micro_batch: must divide the global batch; got global_batch 64, micro_batch 3",
    ),
    "batch and dp": (
        {"dp": 3},
        traffic(),
        rf"{T}\.global_batch: micro_batch x dp must divide it; got 64 samples, micro-batch 1 x dp 3",
    ),
    "heads and tp": (
        {"decoder": {"tp": 3}},
        traffic(),
        r"\$\.job\.decoder: tp must divide the heads; got tp 3, heads 32",
    ),
    "layers and stages": (
        {"decoder": {"pp": 5}},
        traffic(model={"decoder": SMALL}),
        r"pp x vpp must not exceed the layers; got pp 5 x vpp 1, layers 4",
    ),
    "sequence": (
        {"decoder": {"cp": 2, "tp": 2}},
        traffic(sequence=100),
        r"the sequence must be cut evenly.*; got sequence 100, pieces 8",
    ),
    "ep of a dense model": (
        {"decoder": {"ep": 2}},
        traffic(),
        r"ep must divide the experts; got ep 2, experts 0",
    ),
    "experts without sequence parallel": (
        {"decoder": {"tp": 2}},
        traffic(model="mixtral-8x7b", sequence_parallel=False),
        r"experts with tp > 1 need sequence_parallel",
    ),
    "heads of an all-to-all": (
        {"decoder": {"cp": 8, "tp": 2}},
        traffic(model={"decoder": SMALL}, cp="a2a"),
        r"an all-to-all over cp must divide the heads of a tp rank; got cp 8, heads 8 / tp 2",
    ),
    "two steps without a hierarchy": (
        {"decoder": {"cp": 4}},
        traffic(cp="a2a+p2p"),
        rf"{T}\.cp: a2a\+p2p needs the two sizes of a hierarchy; got \$\.job\.hierarchical_cp None",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_refused_with_its_path(name):
    job, given, pattern = CASES[name]
    text = refused(job, given)
    assert re.search(pattern, text), text


def test_weights_and_traffic_exclude_one_another():
    objective = {"traffic": traffic(), "weights": {"tp": 1}}
    with pytest.raises(InputError, match="weights and traffic exclude one another; drop one"):
        problem(2, {}, objective=objective)


@pytest.mark.parametrize("given", [{}, {"per_gpu": 1, "per_node": 1}])
def test_bandwidth_is_said_in_one_way(given):
    with pytest.raises(InputError, match=r"bandwidth: .*give either per_gpu or per_node"):
        problem({"nodes": 2, "bandwidth": given})


def test_bandwidth_is_positive():
    with pytest.raises(InputError, match=r"\$\.cluster\.bandwidth\.per_gpu: .*greater than 0"):
        problem({"nodes": 2, "bandwidth": {"per_gpu": 0}})


def test_auto_dp_is_the_largest_that_divides_the_batch():
    """7 nodes of 8 with tp 8 fit dp 7, but 64 samples go to 4 copies."""
    p = problem(7, {"decoder": {"tp": 8}}, objective={"traffic": traffic()})
    assert p.dp == 4


def test_the_schema_takes_names_of_presets_and_sizes():
    validator = Draft202012Validator(Problem.model_json_schema())
    sizes = {"decoder": SMALL}
    for model in (*PRESETS, sizes):
        data = {"cluster": {"nodes": 2}, "objective": {"traffic": traffic(model=model)}}
        assert validator.is_valid(data)
    data = {"cluster": {"nodes": 2}, "objective": {"traffic": traffic(model="llama3-7b")}}
    assert not validator.is_valid(data)


@pytest.mark.parametrize("name", PRESETS)
def test_a_resolved_preset_reads_back_as_itself(name):
    """The document spells the preset's sizes, so a plan does not change when a preset does."""
    preset = PRESETS[name]
    job = {"decoder": {"tp": 2, "pp": 2}, "tied_embeddings": preset.get("tied_embeddings", False)}
    if "encoder" in preset:
        job["encoder"] = {"tp": 2}
    given = traffic(model=name, encoder_sequence=576)
    p = problem(2, job, objective={"traffic": given})
    document = p.document()
    assert document["objective"]["traffic"]["model"]["decoder"]["layers"] > 20
    assert "weights" not in document["objective"]
    again = Problem.model_validate(document)
    assert again.document() == document
    assert again.sha256 == p.sha256
