"""Bytes of one training step, per link, for every module and stage of a problem.

A link is what `planner.cost` counts. A ring laid out domain by domain crosses as many borders as it
touches domains, and each crossing carries what one rank sends: that is a ring link. A pair link
carries both directions.
"""

from dataclasses import dataclass
from fractions import Fraction

from planner.spec.job import Module
from planner.spec.problem import Problem
from planner.spec.traffic import Stack, Traffic
from planner.traffic import formulas
from planner.traffic.layers import Shard, StageLayers, shards, stage_layers

Stages = list[Fraction]
"""One number a pipeline stage."""


@dataclass(frozen=True)
class ModuleBytes:
    """Bytes a step of one module's links; lists have one entry a pipeline stage.

    Attributes:
        tp, dp, expt_tp, expt_dp: sent by one rank around its ring.
        cp_ring: sent by one rank around its context ring (the outer one with a2a+p2p).
        cp_peer: sent by one rank to each peer of its context all-to-all.
        ep_peer: sent by one rank to each peer of its expert all-to-all.
        pp: both directions between two consecutive stages, one lane.
        wrap: both directions between the last and the first stage, one lane; 0 without vpp.
        shards: parameters of one rank.
    """

    tp: Stages
    cp_ring: Stages
    cp_peer: Stages
    dp: Stages
    ep_peer: Stages
    expt_tp: Stages
    expt_dp: Stages
    pp: Fraction
    wrap: Fraction
    shards: list[Shard]


@dataclass(frozen=True)
class StepBytes:
    """Bytes a step of every link of a problem.

    Attributes:
        modules: by module name, encoder first.
        bridge: both directions of one (encoder lane, decoder lane) pair.
        embd: both directions of one tied embedding pair.
        micro_batches: of one data copy.
    """

    modules: dict[str, ModuleBytes]
    bridge: Fraction
    embd: Fraction
    micro_batches: int

    @classmethod
    def of(cls, problem: Problem, traffic: Traffic) -> "StepBytes":
        """The bytes of a problem's `objective.traffic`.

        Example:
            >>> problem = Problem.model_validate({
            ...     "cluster": {"nodes": 2}, "job": {"decoder": {"tp": 8}},
            ...     "objective": {"traffic": {"model": "llama3-8b", "sequence": 8192,
            ...                               "global_batch": 2}}})
            >>> step = StepBytes.of(problem, problem.objective.traffic)
            >>> float(step.modules["decoder"].tp[0]) / 1e9  # GB a rank sends, 32 layers
            18.79048192
        """
        job = problem.resolved.job
        count = traffic.global_batch // (traffic.micro_batch * problem.dp)
        modules = {
            name: _Formulas(problem, traffic, name, module, count).module_bytes()
            for name, module in job.modules.items()
        }
        return cls(modules, _bridge(problem, traffic, count), _embd(problem, traffic), count)


@dataclass(frozen=True)
class _Formulas:
    """The formulas' letters for one module."""

    problem: Problem
    traffic: Traffic
    name: str
    module: Module
    micro_batches: int

    def module_bytes(self) -> ModuleBytes:
        layers = stage_layers(self.stack, self.module)
        held = shards(
            self.stack,
            self.module,
            is_decoder=self.name == "decoder",
            tied=self.traffic.model.tied_embeddings,
        )
        ring, peer = self._context()
        boundary = formulas.stage_boundary(
            self._slice_bytes() + self._memory_bytes(),
            self.module.tp,
            sequence_parallel=self.traffic.sequence_parallel,
        )
        both = 2 * self.micro_batches * boundary
        v = self.module.vpp
        return ModuleBytes(
            tp=[self.micro_batches * self._tensor(s) for s in layers],
            cp_ring=[self.micro_batches * s.count * ring for s in layers],
            cp_peer=[self.micro_batches * s.count * peer for s in layers],
            dp=[self._dense_gradients(s) for s in held],
            ep_peer=[self.micro_batches * s.moe * self._expert_peer() for s in layers],
            expt_tp=[self.micro_batches * s.moe * self._expert_ring() for s in layers],
            expt_dp=[self._expert_gradients(s) for s in held],
            pp=v * both,
            wrap=(v - 1) * both,
            shards=held,
        )

    @property
    def stack(self) -> Stack:
        return self.traffic.stack(self.name)

    @property
    def _element(self) -> int:
        return self.traffic.precision.activations

    @property
    def _again(self) -> bool:
        """Whether whole layers run forward twice."""
        return self.traffic.recompute == "full"

    @property
    def _own_experts(self) -> bool:
        """Whether the experts' rings are links of their own (the contract: ep > 1)."""
        return self.module.ep > 1

    def _tokens(self, name: str) -> Fraction:
        """Tokens of a micro-batch on one context slice, b s / c."""
        return Fraction(self.traffic.micro_batch * self.traffic.tokens(name), self.module.cp)

    def _slice_bytes(self) -> Fraction:
        """V."""
        return self._tokens(self.name) * self.stack.hidden * self._element

    def _memory_bytes(self) -> Fraction:
        """The encoder's output on one context slice, for a decoder that attends to it; else 0."""
        if not self.stack.cross_attention:
            return Fraction(0)
        return self._tokens("encoder") * self.stack.hidden * self._element

    def _tensor(self, held: StageLayers) -> Fraction:
        """Tensor ring of a stage, a micro-batch."""
        stream = self._slice_bytes()
        into = stream
        if self.stack.latent is not None:  # the low-rank activations are gathered, not the stream
            low = self.stack.latent
            width = low.q_rank + low.kv_rank + low.rope_dim
            into = self._tokens(self.name) * width * self._element
        attention = self._column(into) + self._row(stream)
        if self.stack.cross_attention:
            attention += self._column(stream) + self._row(stream)
            attention += self._column(self._memory_bytes())
        dense = self._column(stream) + self._row(stream)
        routed = dense if self.stack.shared_ffn else Fraction(0)
        if not self._own_experts and self.module.expert_tp == self.module.tp:
            routed += self._expert_ring()  # the experts' ring is the dense one
        return held.count * attention + held.dense * dense + held.moe * routed

    def _column(self, size: Fraction) -> Fraction:
        sp = self.traffic.sequence_parallel
        return formulas.column_input(size, self.module.tp, sequence_parallel=sp, again=self._again)

    def _row(self, size: Fraction) -> Fraction:
        sp = self.traffic.sequence_parallel
        return formulas.row_output(size, self.module.tp, sequence_parallel=sp, again=self._again)

    def _context(self) -> tuple[Fraction, Fraction]:
        """Bytes of a layer and micro-batch: around the context ring, to each all-to-all peer."""
        c, kind = self.module.cp, self.traffic.cp
        again = self.traffic.recompute != "none"
        attended = [self.name, "encoder"] if self.stack.cross_attention else [self.name]
        ring = peer = Fraction(0)
        for source in attended:
            keys_values, queries_output = self._attention_tensors(source)
            tensors = queries_output + keys_values
            if kind in ("p2p", "all-gather"):
                ring += formulas.key_value_ring(keys_values, c, again=again)
                continue
            inner = c if kind == "a2a" else (self.problem.job.hierarchical_cp or [c])[0]
            if inner > 1:
                peer += formulas.head_exchange(tensors, inner, again=again) / (inner - 1)
            ring += formulas.key_value_ring(keys_values, c // inner, again=again)
        return ring, peer

    def _attention_tensors(self, source: str) -> tuple[Fraction, Fraction]:
        """K and Q + O of one rank; keys and values come from `source`'s tokens."""
        stack, t = self.stack, self.module.tp
        rope = 0 if stack.latent is None else stack.latent.rope_dim
        kv_heads = stack.heads if stack.latent is not None else stack.kv
        on_rank = max(Fraction(kv_heads, t), Fraction(1))
        width = 2 * stack.head + rope
        keys_values = self._tokens(source) * on_rank * width * self._element
        queries = self._tokens(self.name) * Fraction(stack.heads, t) * width * self._element
        return keys_values, queries

    def _expert_peer(self) -> Fraction:
        """To each peer of the expert all-to-all, one MoE layer and micro-batch."""
        ep = self.module.ep
        if ep == 1:
            return Fraction(0)
        tokens, width = self._tokens(self.name) / self.module.tp, self.stack.hidden * self._element
        sent = formulas.token_exchange(tokens, width, self.stack.top_k, ep, again=self._again)
        return sent / (ep - 1)

    def _expert_ring(self) -> Fraction:
        """Around the experts' tensor ring, one MoE layer and micro-batch."""
        etp = self.module.expert_tp
        tokens, width = self._tokens(self.name) / self.module.tp, self.stack.hidden * self._element
        return formulas.expert_ring(tokens, width, self.stack.top_k, etp, again=self._again)

    def _dense_gradients(self, held: Shard) -> Fraction:
        elements = held.dense if self._own_experts else held.elements
        return self._gradients(elements, self.module.cp * self.problem.dp)

    def _expert_gradients(self, held: Shard) -> Fraction:
        if not self._own_experts:
            return Fraction(0)
        module = self.module
        ranks = module.tp * module.cp * self.problem.dp
        return self._gradients(held.expert, ranks // (module.expert_tp * module.ep))

    def _gradients(self, elements: Fraction, q: int) -> Fraction:
        precision = self.traffic.precision
        return formulas.gradient_ring(
            elements,
            q,
            gradients=precision.gradients,
            parameters=precision.parameters,
            distributed=self.traffic.distributed_optimizer,
        )


def _bridge(problem: Problem, traffic: Traffic, micro_batches: int) -> Fraction:
    """Both directions of an encoder-decoder lane pair: 2 m b (s / max c) h e, / t if cut by it.

    s and t are the encoder's, h the decoder's (a projector sits at the encoder's end). With unequal
    cp a pair moves the share of the sequence that both ends hold, s / max(c, c').
    """
    encoder, decoder = problem.job.encoder, problem.job.decoder
    if encoder is None:
        return Fraction(0)
    shared = Fraction(traffic.tokens("encoder"), max(encoder.cp, decoder.cp))
    width = traffic.model.decoder.hidden * traffic.precision.activations
    size = traffic.micro_batch * shared * width
    sp = traffic.sequence_parallel
    return 2 * micro_batches * formulas.stage_boundary(size, encoder.tp, sequence_parallel=sp)


def _embd(problem: Problem, traffic: Traffic) -> Fraction:
    """Both directions of a tied embedding pair."""
    stack, decoder = traffic.model.decoder, problem.job.decoder
    if not problem.job.tied_embeddings or decoder.pp == 1:
        return Fraction(0)
    table = Fraction(stack.vocabulary * stack.hidden, decoder.tp)
    return 2 * formulas.tied_embedding(table, gradients=traffic.precision.gradients)
