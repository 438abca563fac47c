"""Presets against the parameter counts of the published checkpoints."""

import pytest

from planner.spec.job import Module
from planner.spec.presets import PRESETS
from planner.spec.traffic import Model
from planner.traffic.layers import deal_layers, shards, stage_layers

CHECKPOINTS = {
    "llama3-8b": 8_030_261_248,
    "llama3-70b": 70_553_706_496,
    "llama3-405b": 405_853_388_800,
    "mixtral-8x7b": 46_702_792_704,
    # without the routing bias of its 58 MoE layers, 256 each
    "deepseek-v3": 671_026_419_200 - 58 * 256,
    # encoder and decoder; without the relative position bias, 2 x 32 buckets x 128 heads
    "t5-11b": 11_307_321_344 - 8_192,
}


def parameters(model):
    held = shards(model.decoder, Module(), is_decoder=True, tied=model.tied_embeddings)
    if model.encoder is not None:
        held += shards(model.encoder, Module(), is_decoder=False, tied=model.tied_embeddings)
    return sum(shard.elements for shard in held)


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_preset_has_as_many_parameters_as_the_checkpoint(name):
    model = Model.model_validate(PRESETS[name])
    count = parameters(model)
    if model.encoder is not None:  # the checkpoint has one embedding, each module its own copy
        count -= model.encoder.vocabulary * model.encoder.hidden
    assert count == CHECKPOINTS[name]


def test_gpt3_has_its_published_size_without_biases_and_positions():
    """Matrices, embedding and norms: 96 x (12 h^2 + 2 h) + 50257 h + h with h = 12288."""
    h = 12288
    count = parameters(Model.model_validate(PRESETS["gpt3-175b"]))
    assert count == 96 * (12 * h * h + 2 * h) + 50257 * h + h
    assert round(count / 1e9) == 175


def test_vision_encoder_has_the_size_of_vit_l():
    encoder = Model.model_validate(PRESETS["clip-vit-l-llama3-8b"]).encoder
    (shard,) = shards(encoder, Module(), is_decoder=False, tied=False)
    assert shard.elements == 24 * (12 * 1024**2 + 2 * 1024) + 1024  # 0.3 billion


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("sizes", [{"tp": 4}, {"pp": 8}, {"tp": 2, "pp": 4, "vpp": 3}])
def test_cutting_a_model_loses_no_parameter(name, sizes):
    """The stages of one lane hold the whole model; lanes repeat norms, routers and down projections."""
    stack, module = Model.model_validate(PRESETS[name]).decoder, Module(**sizes)
    (whole,) = shards(stack, Module(), is_decoder=True, tied=False)
    cut = shards(stack, module, is_decoder=True, tied=False)
    dense, expert = (sum(getattr(s, part) for s in cut) for part in ("dense", "expert"))
    assert expert * module.tp == whole.expert
    repeated = dense * module.tp - whole.dense
    low = stack.latent
    per_layer = 2 * stack.hidden + (stack.hidden if stack.cross_attention else 0)
    if low is not None:
        per_layer += stack.hidden * (low.q_rank + low.kv_rank + low.rope_dim)
        per_layer += low.q_rank + low.kv_rank
    routers = sum(stack.moe_layers()) * stack.hidden * stack.experts
    assert repeated == (module.tp - 1) * (stack.layers * per_layer + routers + stack.hidden)


def test_layers_are_dealt_evenly_and_the_ends_go_short():
    assert deal_layers(126, 16) == [7, *[8] * 14, 7]
    assert deal_layers(61, 16) == [3, *[4] * 13, 3, 3]
    assert deal_layers(5, 5) == [1] * 5
    assert deal_layers(10, 4) == [2, 3, 3, 2]


def test_virtual_stages_hold_every_pth_chunk():
    """Six layers, the first two dense, on two stages with three chunks each: 0 2 4 and 1 3 5."""
    stack = Model.model_validate(
        {
            "decoder": {
                "layers": 6,
                "hidden": 8,
                "heads": 2,
                "experts": 4,
                "top_k": 1,
                "moe_layer_freq": [0, 0, 1, 1, 1, 1],
            }
        }
    ).decoder
    held = stage_layers(stack, Module(pp=2, vpp=3))
    assert [(s.dense, s.moe) for s in held] == [(1, 2), (1, 2)]
    held = stage_layers(stack, Module(pp=2))
    assert [(s.dense, s.moe) for s in held] == [(2, 1), (0, 3)]
