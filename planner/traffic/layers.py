"""What one rank holds: which layers its stage has, and how many parameters of them.

Symbols: h hidden, a query heads, g key-value heads, dh head width, f feed-forward width, E experts,
t tensor parallel, p pipeline stages, v virtual stages, ep and etp the experts' grid.
"""

from dataclasses import dataclass
from fractions import Fraction

from planner.spec.job import Module
from planner.spec.traffic import Stack


@dataclass(frozen=True)
class StageLayers:
    """Layers of one pipeline stage, all its virtual stages together.

    Attributes:
        dense: layers with a dense feed-forward.
        moe: layers with routed experts.
    """

    dense: int
    moe: int

    @property
    def count(self) -> int:
        """All layers."""
        return self.dense + self.moe


def deal_layers(layers: int, chunks: int) -> list[int]:
    """Number of layers of each chunk, as even as possible.

    Where they do not divide, the outermost chunks go short first: they also hold the embedding and
    the output layer, as Llama 3 405B was cut (arXiv 2407.21783, section 3.3.2).

    Example:
        >>> deal_layers(126, 16)
        [7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7]
    """
    each, more = divmod(layers, chunks)
    inner_first = sorted(range(chunks), key=lambda i: abs(2 * i - (chunks - 1)))
    longer = set(inner_first[:more])
    return [each + (i in longer) for i in range(chunks)]


def stage_layers(stack: Stack, module: Module) -> list[StageLayers]:
    """Layers of each of the p stages; stage i holds every p-th chunk from the i-th."""
    moe = stack.moe_layers()
    held = [[0, 0] for _ in range(module.pp)]
    first = 0
    for chunk, count in enumerate(deal_layers(stack.layers, module.pp * module.vpp)):
        routed = sum(moe[first : first + count])
        held[chunk % module.pp][0] += count - routed
        held[chunk % module.pp][1] += routed
        first += count
    return [StageLayers(dense, routed) for dense, routed in held]


@dataclass(frozen=True)
class Shard:
    """Parameters one rank holds, in elements (exact; uneven cuts give fractions).

    Attributes:
        dense: parameters reduced over dp and cp.
        expert: routed experts' parameters, reduced over expt_dp where the experts have their own
            grid, else with the dense ones.
    """

    dense: Fraction
    expert: Fraction

    @property
    def elements(self) -> Fraction:
        """All parameters of the rank."""
        return self.dense + self.expert


def shards(stack: Stack, module: Module, *, is_decoder: bool, tied: bool) -> list[Shard]:
    """Parameters of one rank of each stage.

    Matrices are cut by t, those of routed experts by etp and ep; norms, routers and the low-rank
    projections of latent attention are whole on every rank. The first stage holds the embedding
    (vocabulary x h / t), a decoder's last stage the output layer, which is the embedding itself if
    it is tied and on the same stage. Biases and position embeddings (under 0.1 %) are left out.
    """
    layers = stage_layers(stack, module)
    table = Fraction(stack.vocabulary * stack.hidden, module.tp)
    out = []
    for stage, held in enumerate(layers):
        dense = held.count * _attention(stack, module.tp)
        dense += held.dense * _feed_forward(stack, stack.dense_ffn, module.tp)
        dense += held.moe * _feed_forward(stack, stack.shared_ffn, module.tp)
        dense += held.moe * stack.hidden * stack.experts
        if stage == 0:
            dense += table
        if stage == module.pp - 1:
            dense += stack.hidden
            if is_decoder and not (tied and stage == 0):
                dense += table
        routed = _feed_forward(stack, stack.routed_ffn, module.expert_tp) * stack.experts
        out.append(Shard(dense, held.moe * routed / module.ep))
    return out


def _feed_forward(stack: Stack, width: int, ways: int) -> Fraction:
    """(3 if gated else 2) h f / ways."""
    return Fraction((3 if stack.gated else 2) * stack.hidden * width, ways)


def _attention(stack: Stack, tp: int) -> Fraction:
    """Attention and norms of a layer: h dh (2a + 2g) / t for each attention, h for each norm."""
    h, a, dh = stack.hidden, stack.heads, stack.head
    kv_heads = max(Fraction(stack.kv, tp), Fraction(1))  # t > g: every rank keeps a whole head
    one = Fraction(2 * h * dh * a, tp) + 2 * h * dh * kv_heads
    if stack.latent is not None:
        low = stack.latent
        one = Fraction(h * (low.q_rank + low.kv_rank + low.rope_dim) + low.q_rank + low.kv_rank)
        one += Fraction(low.q_rank * a * (dh + low.rope_dim), tp)
        one += Fraction(low.kv_rank * a * 2 * dh + a * dh * h, tp)
    attentions = 2 if stack.cross_attention else 1
    return attentions * (one + h) + h
