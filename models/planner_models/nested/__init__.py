"""Bound for nodes and leaves together, where both cut tensor groups.

See `models/README.md`, section "Nodes inside leaves".
"""

from planner_models.nested.bounding import NestedBound, applies, bound

__all__ = ["NestedBound", "applies", "bound"]
