"""The strict pydantic base of everything a user writes."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=1, le=10**18)]
Index = Annotated[int, Field(ge=0, le=10**18)]
Factor = Annotated[int | float, Field(ge=0, allow_inf_nan=False)]


class Strict(BaseModel):
    """Unknown keys refused, no silent conversion of types, frozen once read."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)
