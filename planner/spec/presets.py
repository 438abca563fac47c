"""Published models by name, as `objective.traffic.model` takes them; each with its source."""

from typing import Any

_LLAMA3: dict[str, Any] = {"kv_heads": 8, "vocabulary": 128256}
_LLAMA3_8B = {**_LLAMA3, "layers": 32, "hidden": 4096, "heads": 32, "ffn": 14336}

PRESETS: dict[str, dict[str, Any]] = {
    # Dubey et al. 2024, "The Llama 3 Herd of Models", arXiv 2407.21783, table 3; the vocabulary
    # with its reserved tokens from the released config.json.
    "llama3-8b": {"decoder": _LLAMA3_8B},
    "llama3-70b": {"decoder": {**_LLAMA3, "layers": 80, "hidden": 8192, "heads": 64, "ffn": 28672}},
    "llama3-405b": {
        "decoder": {**_LLAMA3, "layers": 126, "hidden": 16384, "heads": 128, "ffn": 53248}
    },
    # Brown et al. 2020, "Language Models are Few-Shot Learners", arXiv 2005.14165, table 2.1;
    # embeddings tied as in GPT-2, whose vocabulary it keeps.
    "gpt3-175b": {
        "decoder": {
            "layers": 96,
            "hidden": 12288,
            "heads": 96,
            "head_dim": 128,
            "ffn": 49152,
            "gated": False,
            "vocabulary": 50257,
        },
        "tied_embeddings": True,
    },
    # Jiang et al. 2024, "Mixtral of Experts", arXiv 2401.04088, table 1.
    "mixtral-8x7b": {
        "decoder": {
            "layers": 32,
            "hidden": 4096,
            "heads": 32,
            "kv_heads": 8,
            "ffn": 14336,
            "vocabulary": 32000,
            "experts": 8,
            "top_k": 2,
        }
    },
    # DeepSeek-AI 2024, "DeepSeek-V3 Technical Report", arXiv 2412.19437, section 4.2, without the
    # multi-token prediction module.
    "deepseek-v3": {
        "decoder": {
            "layers": 61,
            "hidden": 7168,
            "heads": 128,
            "head_dim": 128,
            "ffn": 18432,
            "vocabulary": 129280,
            "experts": 256,
            "top_k": 8,
            "expert_ffn": 2048,
            "shared_ffn": 2048,
            "moe_layer_freq": [0] * 3 + [1] * 58,
            "latent": {"q_rank": 1536, "kv_rank": 512, "rope_dim": 64},
        }
    },
    # Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
    # Transformer", arXiv 1910.10683, section 3.7; padded vocabulary from the released config.json.
    "t5-11b": {
        "encoder": {
            "layers": 24,
            "hidden": 1024,
            "heads": 128,
            "head_dim": 128,
            "ffn": 65536,
            "gated": False,
            "vocabulary": 32128,
        },
        "decoder": {
            "layers": 24,
            "hidden": 1024,
            "heads": 128,
            "head_dim": 128,
            "ffn": 65536,
            "gated": False,
            "vocabulary": 32128,
            "cross_attention": True,
        },
        "tied_embeddings": True,
    },
    # Radford et al. 2021, "Learning Transferable Visual Models From Natural Language Supervision",
    # arXiv 2103.00020, table 20 (ViT-L/14 at 336 pixels: 576 patches an image), before Llama 3 8B
    # as LLaVA joins them (Liu et al. 2023, arXiv 2310.03744). Patch embedding and projector, under
    # 0.5 % of the parameters, are left out.
    "clip-vit-l-llama3-8b": {
        "encoder": {"layers": 24, "hidden": 1024, "heads": 16, "ffn": 4096, "gated": False},
        "decoder": _LLAMA3_8B,
    },
}
"""Name of a preset to its `model` object."""
