"""Bytes a rank sends for each kind of group, one function a kind.

Symbols, used by every function: b micro-batch (samples), s tokens of a sample in the module,
h width of the residual stream, e bytes of an activation element, t tensor parallel, c context
parallel, p pipeline stages, v virtual stages, d data copies, m micro-batches a step = global batch
/ (b d), k experts a token is sent to, V = b (s/c) h e the bytes of one micro-batch's activations on
one context slice.

Collectives are rings, so a rank of q sends n (q-1)/q bytes for an all-gather or reduce-scatter of
an n-byte tensor and twice that for an all-reduce (Thakur, Rabenseifner and Gropp 2005). Routing of
tokens to experts is uniform. The embedding and the output layer, once in the whole pipeline, are
left out of the tensor traffic. Every result is exact (a Fraction), in bytes.
"""

from fractions import Fraction


def column_input(size: Fraction | int, t: int, *, sequence_parallel: bool, again: bool) -> Fraction:
    """Tensor ring: input of a column-parallel layer, a micro-batch.

    Without sequence parallelism one all-reduce of the input's gradient: 2 n (t-1)/t. With it an
    all-gather before the layer, a reduce-scatter of the gradient, and Megatron-core's second
    all-gather for the weight gradient: 3 n (t-1)/t. A repeated forward pass gathers once more.

    Args:
        size: n, bytes of the layer's input over the tensor group (V for the residual stream).
        t: tensor parallel size.
        sequence_parallel: whether activations between layers are cut along the sequence.
        again: whether the forward pass is repeated (full recompute).

    Source: Narayanan et al. 2021 (arXiv 2104.04473, section 3.2), Korthikanti et al. 2022 (arXiv
    2205.05198, section 4.2); operation count of Megatron-core's ``tensor_parallel/layers.py``.
    """
    operations = 3 + again if sequence_parallel else 2
    return operations * Fraction(size) * Fraction(t - 1, t)


def row_output(size: Fraction | int, t: int, *, sequence_parallel: bool, again: bool) -> Fraction:
    """Tensor ring: output of a row-parallel layer, a micro-batch.

    Without sequence parallelism one all-reduce: 2 n (t-1)/t. With it a reduce-scatter, and an
    all-gather of the gradient: 2 n (t-1)/t as well. A repeated forward pass adds its part again.

    A layer of attention and feed-forward has two inputs and two outputs, so it sends 8 V (t-1)/t
    without and 10 V (t-1)/t with sequence parallelism.

    Args and source: as `column_input`.
    """
    operations = 2 + (1 if sequence_parallel else 2) * again
    return operations * Fraction(size) * Fraction(t - 1, t)


def key_value_ring(keys_values: Fraction | int, c: int, *, again: bool) -> Fraction:
    """Context ring, one attention and micro-batch: 3 (c-1) K.

    K, the keys and values of a context slice on one rank, travel c-1 hops in the forward pass; the
    backward pass moves them and their gradients, 2 (c-1) K (the first hop without gradients, the
    last without keys). The all-gather variant (gather, gather again, reduce-scatter) sends as much.

    Args:
        keys_values: K = 2 b (s/c) (g/t) dh e bytes, g key-value heads of width dh.
        c: context parallel size (the outer size c2 with a2a+p2p).
        again: whether the attention's forward pass is repeated (full or selective recompute).

    Source: Liu, Zaharia and Abbeel 2023 (ring attention, arXiv 2310.01889); message count of
    Transformer Engine's ``AttnFuncWithCPAndKVP2P`` and ``…KVAllGather``.
    """
    return (3 + again) * (c - 1) * Fraction(keys_values)


def head_exchange(tensors: Fraction | int, c: int, *, again: bool) -> Fraction:
    """Context all-to-all (Ulysses), one attention and micro-batch: 2 (Q + O + K) (c-1)/c.

    Queries, keys and values are exchanged before and the output after the attention; the backward
    pass exchanges their gradients.

    Args:
        tensors: Q + O + K bytes on one rank; Q = O = b (s/c) (a/t) dh e with a query heads.
        c: context parallel size (the inner size c1 with a2a+p2p).
        again: whether the attention's forward pass is repeated.

    Source: Jacobs et al. 2023 (DeepSpeed-Ulysses, arXiv 2309.14509); Transformer Engine's
    ``AttnFuncWithCPAndQKVOA2A``.
    """
    return (2 + again) * Fraction(tensors) * Fraction(c - 1, c)


def token_exchange(
    tokens: Fraction | int, width: int, top_k: int, ep: int, *, again: bool
) -> Fraction:
    """Expert all-to-all, one MoE layer and micro-batch: 4 T k h e (ep-1)/ep.

    Dispatch and combine each move k copies of every token, in the forward and the backward pass.

    Args:
        tokens: T = b (s/c) / t tokens on one rank (sequence parallel).
        width: h e, bytes of a token.
        top_k: k.
        ep: expert parallel size.
        again: whether the forward pass is repeated (full recompute).

    Source: Lepikhin et al. 2020 (GShard, arXiv 2006.16668); operation count of Megatron-core's
    ``moe/token_dispatcher.py``.
    """
    return (4 + 2 * again) * Fraction(tokens) * top_k * width * Fraction(ep - 1, ep)


def expert_ring(
    tokens: Fraction | int, width: int, top_k: int, etp: int, *, again: bool
) -> Fraction:
    """Expert tensor ring, one MoE layer and micro-batch: 4 (etp-1) T k h e.

    After the dispatch an all-gather of the etp ranks' tokens, before the combine a reduce-scatter,
    and both again for the gradients; the gathered tensor has etp T k h e bytes.

    Args:
        tokens: T = b (s/c) / t tokens on one rank.
        width: h e, bytes of a token.
        top_k: k.
        etp: expert tensor parallel size.
        again: whether the forward pass is repeated (full recompute).

    Source: operation count of Megatron-core's ``moe/token_dispatcher.py``.
    """
    return (4 + 2 * again) * (etp - 1) * Fraction(tokens) * top_k * width


def stage_boundary(size: Fraction | int, t: int, *, sequence_parallel: bool) -> Fraction:
    """Pipeline: what one lane hands on, one micro-batch, virtual stage and direction.

    V bytes, or V / t with sequence parallelism. The gradient comes back at the same size.

    Args:
        size: V; with cross attention the decoder's state and the encoder's output together.
        t: tensor parallel size.
        sequence_parallel: whether a lane holds only its part of the sequence.

    Source: Narayanan et al. 2021 (arXiv 2104.04473, section 4.1); ``get_tensor_shapes`` in
    Megatron-core's ``pipeline_parallel/schedules.py``.
    """
    return Fraction(size) / (t if sequence_parallel else 1)


def gradient_ring(
    elements: Fraction, q: int, *, gradients: int, parameters: int, distributed: bool
) -> Fraction:
    """Data ring, once a step.

    All-reduce: 2 Ψ e_g (q-1)/q. Distributed optimizer: a reduce-scatter of the gradients and an
    all-gather of the parameters, Ψ (e_g + e_p) (q-1)/q.

    Args:
        elements: Ψ, parameters on one rank.
        q: ranks that share them: d c, for routed experts t c d / (etp ep).
        gradients: e_g, bytes of a gradient element.
        parameters: e_p, bytes of a parameter element.
        distributed: whether the optimizer is distributed.

    Source: Rajbhandari et al. 2019 (ZeRO, arXiv 1910.02054, section 7).
    """
    each = gradients + parameters if distributed else 2 * gradients
    return elements * each * Fraction(q - 1, q)


def tied_embedding(table: Fraction, *, gradients: int) -> Fraction:
    """Embedding pair, once a step: an all-reduce of two ranks, so each sends n bytes.

    Args:
        table: vocabulary x h / t elements.
        gradients: e_g, bytes of a gradient element.

    Source: Megatron-core's ``distributed/finalize_model_grads.py``.
    """
    return table * gradients
