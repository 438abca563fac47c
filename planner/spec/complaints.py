"""pydantic's errors as complaints: a JSON path, what was written, what was expected, a remedy."""

import json
from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from planner.errors import Complaint
from planner.spec.names import did_you_mean

_SHORT = 60


def complaints_of(error: ValidationError, data: object, model: type[BaseModel]) -> list[Complaint]:
    """Every error of a validation as a complaint."""
    return [_complaint(item, data, model) for item in error.errors(include_url=False)]


def _complaint(item: Any, data: object, model: type[BaseModel]) -> Complaint:
    keys = _keys(item["loc"], data, item["type"])
    path = json_path(keys)
    kind = item["type"]
    if kind == "extra_forbidden":
        known = _fields_at(model, keys[:-1])
        return Complaint(
            path, f"unknown key {str(keys[-1])!r}", remedy=did_you_mean(str(keys[-1]), known)
        )
    if kind == "missing":
        return Complaint(path, "required, but not given")
    what = "must be an object" if kind in {"model_type", "dict_type"} else item["msg"]
    return Complaint(path, what.removeprefix("Value error, "), got=_short(item["input"]))


def json_path(keys: Sequence[str | int]) -> str:
    """A JSON path such as ``$.cluster.nodes[1].gpus``."""
    return "$" + "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in keys)


def _keys(loc: Sequence[str | int], data: object, kind: str) -> list[str | int]:
    """The parts of `loc` that lead through the data; union tags are left out."""
    keys: list[str | int] = []
    here = data
    for i, part in enumerate(loc):
        if isinstance(here, dict) and part in here:  # noqa: SIM114 - types differ
            here = here[part]
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            here = here[part]
        elif not (kind == "missing" and i == len(loc) - 1):
            continue
        keys.append(part)
    return keys


def _fields_at(model: type[BaseModel], keys: Sequence[str | int]) -> list[str]:
    """Field names a user may write at a place of the file."""
    here: type[BaseModel] | None = model
    for key in keys:
        if here is None:
            return []
        field = here.model_fields.get(str(key))
        if field is not None:
            here = next(_models_in(field.annotation), None)
    return [] if here is None else [f.alias or name for name, f in here.model_fields.items()]


def _models_in(annotation: Any) -> Any:
    """The pydantic models inside a type annotation, outermost first."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _short(value: object) -> str:
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= _SHORT else text[: _SHORT - 3] + "..."
