"""pydantic's errors as complaints: a JSON path, what was written, what was expected, a remedy."""

import json
from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from planner.errors import Complaint
from planner.spec.model import NONE_OF
from planner.spec.names import did_you_mean

_SHORT = 60


_KINDS = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dict_type": "an object",
}
"""What should stand where a value is of another kind, by pydantic's name of the error."""


_LIMITS = {
    "greater_than_equal": ("too small", "{ge} or more"),
    "less_than_equal": ("too large", "at most {le}"),
    "finite_number": ("not finite", "a finite number"),
    "literal_error": ("no such value", "{expected}"),
}
"""What is wrong and what was expected, filled in from the error's context."""


def complaints_of(error: ValidationError, data: object, model: type[BaseModel]) -> list[Complaint]:
    """Every error of a validation as a complaint; one where a value is none of several kinds."""
    places: dict[tuple[str | int, ...], list[Any]] = {}
    for item in error.errors(include_url=False):
        keys = _keys(item["loc"], data, item["type"])
        places.setdefault(tuple(keys), []).append(item)
    return [_complaint(keys, items, model) for keys, items in places.items()]


def _complaint(keys: Sequence[str | int], items: list[Any], model: type[BaseModel]) -> Complaint:
    path, kind, key = json_path(keys), items[0]["type"], str(keys[-1]) if keys else ""
    if kind == "extra_forbidden":
        remedy = did_you_mean(key, _fields_at(model, keys[:-1]))
        return Complaint(path, f"unknown key {key!r}", remedy=remedy)
    if kind == "missing":
        return Complaint(path, "required, but not given", remedy=f"add {key!r}")
    told = [_told(item) for item in items]
    expected = list(dict.fromkeys(text for _, text in told if text is not None))
    if "a number" in expected and "a whole number" in expected:
        expected.remove("a whole number")
    value = items[0]["input"]
    return Complaint(
        path,
        told[0][0],
        got=_short(value),
        expected=" or ".join(expected) or None,
        remedy=_retyped(value, expected),
    )


def _told(item: Any) -> tuple[str, str | None]:
    """What is wrong, and what was expected, of one of pydantic's errors."""
    kind, context = item["type"], item.get("ctx", {})
    if kind in _KINDS:
        return "wrong kind of value", _KINDS[kind]
    if kind == NONE_OF:
        return "wrong kind of value", item["msg"]
    if kind == "value_error":
        text = str(context["error"])
        ranged = text.startswith("expected ")
        return ("out of range", text.removeprefix("expected ")) if ranged else (text, None)
    if kind in _LIMITS:
        what, expected = _LIMITS[kind]
        return what, expected.format(**context)
    return item["msg"], None


def _retyped(value: object, expected: Sequence[str]) -> str | None:
    """The number that was meant by text or by 2.0."""
    if "a whole number" not in expected and "a number" not in expected:
        return None
    if isinstance(value, float) and value.is_integer():
        return f"write {int(value)}"
    if isinstance(value, str) and value.strip().isdecimal():
        return f"write {value.strip()} without quotes"
    return None


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
