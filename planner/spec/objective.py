"""`objective`: what a crossing link costs; `constraints`: what a plan must hold."""

from typing import Literal, Self

from pydantic import Field, model_validator

from planner.errors import Complaint, InputError
from planner.spec.model import Count, Factor, Index, Strict
from planner.spec.names import DEFAULT_WEIGHTS
from planner.spec.traffic import Traffic


class KindWeights(Strict):
    """Cost of one link of each kind that leaves a domain."""

    tp: Factor = Field(DEFAULT_WEIGHTS["tp"], description="Tensor parallel ring")
    cp: Factor = Field(DEFAULT_WEIGHTS["cp"], description="Context parallel ring")
    dp: Factor = Field(DEFAULT_WEIGHTS["dp"], description="Gradient ring over dp and cp")
    pp: Factor = Field(DEFAULT_WEIGHTS["pp"], description="Pipeline and encoder-decoder pairs")
    ep: Factor = Field(DEFAULT_WEIGHTS["ep"], description="Expert all-to-all, per member pair")
    expt_tp: Factor = Field(DEFAULT_WEIGHTS["expt_tp"], description="Expert tensor ring")
    expt_dp: Factor = Field(DEFAULT_WEIGHTS["expt_dp"], description="Expert gradient ring")
    embd: Factor = Field(DEFAULT_WEIGHTS["embd"], description="Tied embedding pair")


class Objective(Strict):
    """What is minimised."""

    weights: KindWeights = Field(KindWeights(), description="Cost of a link, per kind")
    traffic: Traffic | None = Field(
        None, description="Model and batch; weights are then the bytes a link carries in a step"
    )

    @model_validator(mode="after")
    def _either(self) -> Self:
        if self.traffic is not None and "weights" in self.model_fields_set:
            remedy = "drop one of them"
            complaint = Complaint(
                "$.objective", "weights and traffic exclude one another", remedy=remedy
            )
            raise InputError(complaint)
        return self

    @property
    def exchanges_context(self) -> bool:
        """Whether context groups work by all-to-all, so that cp counts member pairs as ep does."""
        return self.traffic is not None and self.traffic.cp == "a2a"


class Slot(Strict):
    """One position of the grid; the module may be left out when there is only one."""

    module: Literal["encoder", "decoder"] | None = None
    pp: Index
    dp: Index
    cp: Index
    tp: Index


class Pin(Strict):
    """A slot that must sit on a given GPU."""

    slot: Slot
    host: str
    gpu: Index


class Constraints(Strict):
    """Hard constraints beyond those that always hold."""

    within: dict[str, str] = Field(
        {}, description="Groups of that name stay inside one domain of that level"
    )
    cp_symmetry: Literal["mapping", "footprint"] = Field(
        "mapping", description="How alike the context slices must lie"
    )
    launch: Literal["free", "node-contiguous"] = Field(
        "free", description="node-contiguous: every host holds one run of consecutive ranks"
    )
    pins: list[Pin] = Field([], description="Slots fixed to GPUs")


__all__ = ["Constraints", "Count", "KindWeights", "Objective", "Pin", "Slot"]
