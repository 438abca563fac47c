"""The JSON Schema of problem files (draft 2020-12)."""

from typing import Any

from planner.spec.problem import Problem


def problem_schema() -> dict[str, Any]:
    """Schema that editors use for completion and checking.

    Example:
        >>> problem_schema()["required"]
        ['cluster']
    """
    schema = Problem.model_json_schema(by_alias=True)
    schema.pop("description", None)
    _standard(schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Rank layout problem",
        **{key: value for key, value in schema.items() if key != "title"},
    }


_KEYWORDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


def _standard(schema: Any) -> None:
    """Give limits on unions, which pydantic writes by its own names, the standard's keywords."""
    if isinstance(schema, dict):
        if "properties" not in schema:
            for own, standard in _KEYWORDS.items():
                if isinstance(schema.get(own), int | float):
                    schema[standard] = schema.pop(own)
        for part in schema.values():
            _standard(part)
    elif isinstance(schema, list):
        for part in schema:
            _standard(part)
