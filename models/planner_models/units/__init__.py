"""Levels whose domains hold whole tensor groups: leaves, pods, racks."""

from planner_models.units.bounds import UnitsBound, bound

__all__ = ["UnitsBound", "bound"]
