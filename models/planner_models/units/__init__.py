"""Levels whose domains hold whole tensor groups: leaves, pods, racks."""

from planner_models.units.bounds import UnitsBound, assemble, bound
from planner_models.units.heights import applies
from planner_models.units.levels import across_levels

__all__ = ["UnitsBound", "across_levels", "applies", "assemble", "bound"]
