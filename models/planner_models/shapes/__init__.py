"""Bound for levels whose domains cut tensor groups, and placements that meet it.

Column generation whose columns remember how the pieces of a block fit together; see
`models/README.md`, section "Shapes".
"""

from planner_models.shapes.assembly import Assembly, assemble
from planner_models.shapes.bounding import NoPlacementError, ShapesBound, applies, bound
from planner_models.shapes.rules import Rules

__all__ = ["Assembly", "NoPlacementError", "Rules", "ShapesBound", "applies", "assemble", "bound"]
