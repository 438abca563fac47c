"""The strict pydantic base of everything a user writes."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=1, le=10**18)]
Index = Annotated[int, Field(ge=0, le=10**18)]
Factor = Annotated[int | float, Field(ge=0, allow_inf_nan=False)]


class Strict(BaseModel):
    """Unknown keys refused, no silent conversion of types, frozen once read."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some fields replaced; what was derived from the old fields is forgotten."""
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(copied).model_fields.keys():
            del copied.__dict__[name]
        return copied
