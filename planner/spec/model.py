"""The strict pydantic base of everything a user writes."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=1, le=10**18)]
Index = Annotated[int, Field(ge=0, le=10**18)]
NONE_OF = "none_of"
"""Type of the error that a value is of none of several kinds; its message names them."""

LEAST_FACTOR, MOST_FACTOR = 1e-18, 1e18


def _sane(factor: float) -> float:
    """Refuse factors whose products leave the range of numbers a plan file can state.

    Raises:
        ValueError: it is neither 0 nor within the limits.
    """
    if factor and not LEAST_FACTOR <= factor <= MOST_FACTOR:
        raise ValueError(f"expected 0, or {LEAST_FACTOR:g} to {MOST_FACTOR:g}")
    return factor


Factor = Annotated[int | float, Field(ge=0, allow_inf_nan=False), AfterValidator(_sane)]


class Strict(BaseModel):
    """Unknown keys refused, no silent conversion of types, frozen once read."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some fields replaced; what was derived from the old fields is forgotten."""
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(copied).model_fields.keys():
            del copied.__dict__[name]
        return copied
