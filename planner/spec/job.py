"""`job`: the parallel grid of the modules, and what their trainer expects of it."""

from math import prod
from typing import Literal

from pydantic import Field

from planner.errors import Complaint
from planner.spec.model import Count, Strict
from planner.spec.names import did_you_mean

AXES = ("tp", "cp", "ep", "dp", "pp")
DEFAULT_ORDER = "tp-cp-ep-dp-pp"
PATH = "$.job"


class Module(Strict):
    """Grid of one module; sizes are counts of ranks along each axis."""

    tp: Count = Field(1, description="Tensor parallel size")
    cp: Count = Field(1, description="Context parallel size")
    pp: Count = Field(1, description="Pipeline stages")
    vpp: Count = Field(1, description="Virtual stages held by a pipeline stage")
    ep: Count = Field(1, description="Expert parallel size; folds over tp, cp and dp")
    etp: Count | None = Field(None, description="Expert tensor parallel size; default tp")

    @property
    def expert_tp(self) -> int:
        """Expert tensor parallel size with Megatron's default, tp."""
        return self.tp if self.etp is None else self.etp

    @property
    def has_experts(self) -> bool:
        """Whether the experts' grid differs from the dense one."""
        return self.ep > 1 or self.expert_tp != self.tp

    @property
    def size(self) -> int:
        """Ranks of one data copy."""
        return self.tp * self.cp * self.pp

    def factors(self) -> str:
        """The sizes as a product, for messages."""
        return f"tp {self.tp} x cp {self.cp} x pp {self.pp}"


class Job(Strict):
    """Modules, data copies and rank numbering of the training job."""

    decoder: Module = Field(Module(), description="The decoder (or the only module)")
    encoder: Module | None = Field(None, description="The encoder, if there is one")
    dp: Count | Literal["auto"] = Field(
        "auto", description="Data parallel copies; auto is the most that fit and lie as within asks"
    )
    order: str = Field(
        DEFAULT_ORDER, description="Megatron's order string, fastest axis of the rank number first"
    )
    tied_embeddings: bool = Field(
        False, description="First and last decoder stage share the embedding"
    )
    datasets: Literal["first-last", "every-stage"] | None = Field(
        None, description="Which stages build datasets"
    )
    hierarchical_cp: list[Count] | None = Field(
        None, description="hierarchical_context_parallel_sizes, innermost first"
    )

    @property
    def modules(self) -> dict[str, Module]:
        """The modules by name, encoder first."""
        if self.encoder is None:
            return {"decoder": self.decoder}
        return {"encoder": self.encoder, "decoder": self.decoder}

    @property
    def copy_size(self) -> int:
        """Ranks of one data copy of all modules."""
        return sum(m.size for m in self.modules.values())

    def factors(self) -> str:
        """The product behind the world size, for messages; EP is not part of it."""
        inner = " + ".join(f"{name} {m.factors()}" for name, m in self.modules.items())
        return f"({inner})" if self.encoder else inner

    def tokens(self) -> list[str]:
        """The order string's axes, fastest first."""
        return self.order.split("-")

    def warnings(self) -> list[str]:
        """What will be planned although the trainer may refuse it."""
        tokens = self.tokens()
        dense_last = [t for t in tokens if t != "ep"]
        pp_last = not dense_last or dense_last[-1] == "pp" or "pp" not in dense_last
        return [
            f"{PATH}.order: Megatron refuses {self.order!r} for the {name}: pp is not last "
            f"and etp x ep = {m.expert_tp * m.ep} differs from tp x cp = {m.tp * m.cp}"
            for name, m in self.modules.items()
            if not pp_last and m.pp > 1 and m.expert_tp * m.ep != m.tp * m.cp
        ]


def _order_complaints(job: Job) -> list[Complaint]:
    tokens = job.tokens()
    where = f"{PATH}.order"
    for i, token in enumerate(tokens):
        if token not in AXES:
            return [
                Complaint(
                    where,
                    f"unknown axis {token!r}",
                    got=repr(job.order),
                    expected="tp, cp, ep, dp, pp joined by '-'",
                    remedy=did_you_mean(token, AXES),
                )
            ]
        if token in tokens[:i]:
            return [Complaint(where, f"axis {token!r} stands twice", got=repr(job.order))]
    sizes = {
        axis: max(getattr(m, axis) for m in job.modules.values()) for axis in ("tp", "cp", "pp")
    }
    sizes["dp"] = 2 if job.dp == "auto" else job.dp
    missing = [axis for axis, size in sizes.items() if size > 1 and axis not in tokens]
    if missing:
        return [
            Complaint(
                where,
                f"does not name {', '.join(missing)}, larger than 1",
                got=repr(job.order),
                remedy=f"add it, or leave the order out for {DEFAULT_ORDER!r}",
            )
        ]
    return _expert_order_complaints(job, tokens, where)


def _expert_order_complaints(job: Job, tokens: list[str], where: str) -> list[Complaint]:
    if not any(m.has_experts for m in job.modules.values()):
        return []
    named = [t for t in tokens if t != "pp"]
    needs_ep = any(m.ep > 1 for m in job.modules.values())
    if named == [t for t in ("tp", "cp", "ep", "dp") if t in named] and (
        "ep" in named or not needs_ep
    ):
        return []
    return [
        Complaint(
            where,
            "with experts tp, cp, ep, dp must stand in this sequence (pp anywhere)",
            got=repr(job.order),
            expected=f"for example {DEFAULT_ORDER!r}",
        )
    ]


def _hierarchy_complaints(job: Job) -> list[Complaint]:
    sizes = job.hierarchical_cp
    if sizes is None:
        return []
    where = f"{PATH}.hierarchical_cp"
    cps = {m.cp for m in job.modules.values()}
    if len(cps) > 1:
        return [Complaint(where, "needs equal cp in both modules", got=f"cp {sorted(cps)}")]
    (cp,) = cps
    if prod(sizes) != cp:
        product = " x ".join(map(str, sizes)) or "nothing"
        return [
            Complaint(
                where,
                "its product must be cp",
                got=f"{product} = {prod(sizes)}",
                expected=f"{cp}",
            )
        ]
    return []


def job_complaints(job: Job) -> list[Complaint]:
    """Everything wrong with the job that needs no machines."""
    found = [
        Complaint(
            f"{PATH}.{name}.vpp",
            "virtual stages need a pipeline",
            got=f"vpp {m.vpp} with pp {m.pp}",
            expected="pp of 2 or more",
            remedy=f"leave vpp out or set {PATH}.{name}.pp",
        )
        for name, m in job.modules.items()
        if m.vpp > 1 and m.pp == 1
    ]
    return [*found, *_order_complaints(job), *_hierarchy_complaints(job)]


def expert_complaint(name: str, module: Module, dp: int) -> Complaint | None:
    """The complaint that etp * ep does not divide the ranks of a stage, or None."""
    folded = module.expert_tp * module.ep
    ranks = module.tp * module.cp * dp
    if ranks % folded == 0:
        return None
    default = " (etp defaults to tp, as in Megatron)" if module.etp is None else ""
    return Complaint(
        f"{PATH}.{name}",
        "etp x ep must divide tp x cp x dp",
        got=f"etp {module.expert_tp} x ep {module.ep} = {folded}{default}, "
        f"tp {module.tp} x cp {module.cp} x dp {dp} = {ranks}",
        remedy="set etp or change ep or dp",
    )
