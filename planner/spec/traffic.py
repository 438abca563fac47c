"""`objective.traffic`: the model and batch that the bytes of a step follow from."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from planner.errors import Complaint, InputError
from planner.spec.job import Job, Module
from planner.spec.model import Count, Factor, Index, Strict
from planner.spec.names import did_you_mean
from planner.spec.presets import PRESETS

PATH = "$.objective.traffic"


class Latent(Strict):
    """Multi-head latent attention: queries, keys and values come from low-rank projections."""

    q_rank: Count = Field(description="Rank of the queries' projection")
    kv_rank: Count = Field(description="Rank of the keys' and values' projection")
    rope_dim: Count = Field(description="Rotary part of a query or key head, beside head_dim")


class Stack(Strict):
    """One module's transformer layers; sizes in elements, the whole module (nothing divided)."""

    layers: Count = Field(description="Transformer layers")
    hidden: Count = Field(description="Width of the residual stream")
    heads: Count = Field(description="Query heads")
    kv_heads: Count | None = Field(None, description="Key-value heads; default heads")
    head_dim: Count | None = Field(None, description="Width of a head; default hidden / heads")
    ffn: Count | None = Field(None, description="Width of the dense feed-forward; default 4 hidden")
    gated: bool = Field(True, description="Three feed-forward matrices (SwiGLU), else two")
    vocabulary: Index = Field(0, description="Rows of the embedding; 0 where there is none")
    experts: Index = Field(0, description="Routed experts of an MoE layer; 0 is dense")
    top_k: Index = Field(0, description="Experts a token is sent to")
    expert_ffn: Count | None = Field(None, description="Width of an expert; default ffn")
    shared_ffn: Index = Field(0, description="Width of the shared experts together")
    moe_layer_freq: Count | list[Literal[0, 1]] = Field(
        1, description="n: every n-th layer from the first is MoE; or one 0 or 1 a layer"
    )
    latent: Latent | None = Field(None, description="Latent attention, if the model has it")
    cross_attention: bool = Field(False, description="Each layer also attends to the encoder")

    @property
    def kv(self) -> int:
        """Key-value heads."""
        return self.heads if self.kv_heads is None else self.kv_heads

    @property
    def head(self) -> int:
        """Width of a value head (and of a key head without latent attention)."""
        return self.hidden // self.heads if self.head_dim is None else self.head_dim

    @property
    def dense_ffn(self) -> int:
        """Width of the dense feed-forward."""
        return 4 * self.hidden if self.ffn is None else self.ffn

    @property
    def routed_ffn(self) -> int:
        """Width of one routed expert."""
        return self.dense_ffn if self.expert_ffn is None else self.expert_ffn

    def moe_layers(self) -> list[bool]:
        """Whether each layer is an MoE layer, in layer order."""
        if not self.experts:
            return [False] * self.layers
        if isinstance(self.moe_layer_freq, int):
            return [i % self.moe_layer_freq == 0 for i in range(self.layers)]
        return [bool(flag) for flag in self.moe_layer_freq]


class Model(Strict):
    """What is trained: the sizes of the published model."""

    decoder: Stack
    encoder: Stack | None = None
    tied_embeddings: bool = Field(False, description="Input and output embeddings are one")


class Precision(Strict):
    """Bytes of an element on the wire."""

    activations: Count = Field(2, description="Activations and their gradients")
    gradients: Count = Field(4, description="Gradients in their reduction (Megatron: fp32)")
    parameters: Count = Field(2, description="Parameters the distributed optimizer gathers")


CpKind = Literal["p2p", "all-gather", "a2a", "a2a+p2p"]


PresetName = Annotated[str, Field(json_schema_extra={"enum": list(PRESETS)})]


class Traffic(Strict):
    """Model, batch and switches; the weights become bytes a link carries in one training step."""

    model: Model = Field(description="Name of a preset, or the sizes themselves")
    sequence: Count = Field(description="Tokens of a sample in the decoder")
    encoder_sequence: Count | None = Field(
        None, description="Tokens of a sample in the encoder; default sequence"
    )
    micro_batch: Count = Field(1, description="Samples of a micro-batch")
    global_batch: Count = Field(description="Samples of a step, over all data copies")
    precision: Precision = Field(Precision(), description="Bytes of an element on the wire")
    sequence_parallel: bool = Field(True, description="Activations between layers are cut by tp")
    distributed_optimizer: bool = Field(
        True, description="Gradients reduce-scattered, parameters gathered"
    )
    recompute: Literal["none", "selective", "full"] = Field(
        "none", description="full repeats the forward pass in the backward pass"
    )
    cp: CpKind = Field("p2p", description="How context parallel attention moves keys and values")

    @field_validator("model", mode="before", json_schema_input_type=PresetName | Model)
    @classmethod
    def _preset(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if value not in PRESETS:
            raise InputError(
                Complaint(
                    f"{PATH}.model",
                    "unknown model",
                    got=repr(value),
                    expected="the name of a preset, or an object with the sizes",
                    remedy=did_you_mean(value, PRESETS),
                )
            )
        return PRESETS[value]

    @model_validator(mode="after")
    def _check(self) -> Self:
        stacks = {"decoder": self.model.decoder, "encoder": self.model.encoder}
        found = [c for name, s in stacks.items() if s for c in _stack_complaints(name, s)]
        if self.global_batch % self.micro_batch:
            got = f"global_batch {self.global_batch}, micro_batch {self.micro_batch}"
            where = f"{PATH}.micro_batch"
            found.append(Complaint(where, "must divide the global batch", got))
        if found:
            raise InputError(found)
        return self

    def stack(self, name: str) -> Stack:
        """Layers of the named module."""
        stack = self.model.encoder if name == "encoder" else self.model.decoder
        assert stack is not None, "checked against the job when the problem was read"
        return stack

    def tokens(self, name: str) -> int:
        """Sequence length of the named module."""
        if name == "encoder" and self.encoder_sequence is not None:
            return self.encoder_sequence
        return self.sequence

    def batch_divides(self, dp: int) -> bool:
        """Whether every data copy gets a whole number of micro-batches."""
        return self.global_batch % (self.micro_batch * dp) == 0


def _stack_complaints(name: str, stack: Stack) -> list[Complaint]:
    path = f"{PATH}.model.{name}"
    found = []
    if stack.head_dim is None and stack.hidden % stack.heads:
        got = f"hidden {stack.hidden}, heads {stack.heads}"
        found.append(Complaint(path, "heads must divide hidden", got, remedy="or set head_dim"))
    if stack.heads % stack.kv:
        got = f"heads {stack.heads}, kv_heads {stack.kv}"
        found.append(Complaint(path, "kv_heads must divide heads", got))
    if bool(stack.experts) != bool(stack.top_k) or stack.top_k > stack.experts:
        got = f"experts {stack.experts}, top_k {stack.top_k}"
        expected = "both 0, or 1 <= top_k <= experts"
        found.append(Complaint(path, "experts and top_k do not fit", got, expected))
    flags = stack.moe_layer_freq
    if isinstance(flags, list) and len(flags) != stack.layers:
        expected = f"{stack.layers}, one a layer"
        where = f"{path}.moe_layer_freq"
        found.append(Complaint(where, "wrong length", str(len(flags)), expected))
    if name == "encoder" and stack.cross_attention:
        found.append(Complaint(f"{path}.cross_attention", "only a decoder attends to the encoder"))
    return found


def traffic_complaints(traffic: Traffic, job: Job, dp: int) -> list[Complaint]:
    """What keeps this job from training this model; trainers refuse the same.

    Args:
        traffic: the model and batch.
        job: the grid.
        dp: its data copies, ``auto`` resolved.
    """
    model = traffic.model
    if (model.encoder is None) != (job.encoder is None):
        has, lacks = ("model", "job") if model.encoder else ("job", "model")
        return [
            Complaint(
                f"{PATH}.model",
                f"the {has} has an encoder, the {lacks} has none",
                remedy="give both or neither",
            )
        ]
    found = []
    if model.tied_embeddings != job.tied_embeddings:
        want = str(model.tied_embeddings).lower()
        found.append(
            Complaint(
                "$.job.tied_embeddings",
                "differs from the model's",
                got=str(job.tied_embeddings).lower(),
                expected=want,
                remedy=f"set it to {want}",
            )
        )
    if not traffic.batch_divides(dp):
        got = f"{traffic.global_batch} samples, micro-batch {traffic.micro_batch} x dp {dp}"
        remedy = "change dp, or leave it auto" if job.dp != "auto" else None
        where = f"{PATH}.global_batch"
        found.append(Complaint(where, "micro_batch x dp must divide it", got, remedy=remedy))
    for name, module in job.modules.items():
        found += _divisions(traffic, name, module)
    return [*found, *_context_complaints(traffic, job)]


def _divisions(traffic: Traffic, name: str, module: Module) -> list[Complaint]:
    """Sizes of a module that its parallel sizes must divide."""
    stack, tokens = traffic.stack(name), traffic.tokens(name)
    tp, chunks = module.tp, module.pp * module.vpp
    pieces = module.cp * (2 if module.cp > 1 else 1) * (tp if traffic.sequence_parallel else 1)
    rules = [
        (stack.heads % tp == 0, "tp must divide the heads", f"tp {tp}, heads {stack.heads}"),
        (
            stack.kv % tp == 0 or tp % stack.kv == 0,
            "tp and the kv_heads must divide one another",
            f"tp {tp}, kv_heads {stack.kv}",
        ),
        (
            stack.layers >= chunks,
            "pp x vpp must not exceed the layers",
            f"pp {module.pp} x vpp {module.vpp}, layers {stack.layers}",
        ),
        (
            tokens % pieces == 0,
            "the sequence must be cut evenly (by 2 cp if cp > 1, by tp if sequence_parallel)",
            f"sequence {tokens}, pieces {pieces}",
        ),
        (
            module.ep == 1 or (stack.experts > 0 and stack.experts % module.ep == 0),
            "ep must divide the experts",
            f"ep {module.ep}, experts {stack.experts}",
        ),
        (
            not (stack.experts and tp > 1) or traffic.sequence_parallel,
            "experts with tp > 1 need sequence_parallel",
            f"tp {tp}, sequence_parallel false",
        ),
        (
            traffic.cp not in ("a2a", "a2a+p2p")
            or (stack.heads // tp) % _inner(traffic, module) == 0,
            "an all-to-all over cp must divide the heads of a tp rank",
            f"cp {module.cp}, heads {stack.heads} / tp {tp}",
        ),
    ]
    return [Complaint(f"$.job.{name}", what, got) for holds, what, got in rules if not holds]


def _inner(traffic: Traffic, module: Module) -> int:
    return module.cp if traffic.cp == "a2a" else 1


def _context_complaints(traffic: Traffic, job: Job) -> list[Complaint]:
    sizes = job.hierarchical_cp
    if traffic.cp != "a2a+p2p" or (sizes is not None and len(sizes) == 2):
        return []
    return [
        Complaint(
            f"{PATH}.cp",
            "a2a+p2p needs the two sizes of a hierarchy",
            got=f"$.job.hierarchical_cp {sizes}",
            expected="[a2a size, p2p size]",
        )
    ]


class Bandwidth(Strict):
    """What can leave a domain in a second, one direction; exactly one way of saying it."""

    per_gpu: Annotated[Factor, Field(gt=0)] | None = Field(None, description="GB/s of each rank")
    per_node: Annotated[Factor, Field(gt=0)] | None = Field(None, description="GB/s of each node")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.per_gpu is None) == (self.per_node is None):
            raise ValueError("give either per_gpu or per_node, in GB/s")
        return self
