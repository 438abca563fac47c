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
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Rank layout problem",
        **{key: value for key, value in schema.items() if key != "title"},
    }
