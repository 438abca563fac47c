"""Bound for levels whose domains cut tensor groups, and placements that meet it.

Column generation whose columns remember how the pieces of a block fit together; see
`models/README.md`, section "Shapes".
"""

from planner_models.shapes.assembly import Assembly, assemble
from planner_models.shapes.bounding import ShapesBound, applies, bound

__all__ = ["Assembly", "ShapesBound", "applies", "assemble", "bound"]
