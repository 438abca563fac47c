"""Simulated annealing of placements, with moves that know how a job is built."""

from planner_models.annealing.problem import Family, Level, Pairs, Task, broken, cost
from planner_models.annealing.schedule import Schedule, Stop
from planner_models.annealing.search import Result, anneal
from planner_models.annealing.structure import Structure, structure
from planner_models.annealing.units import Coarse, coarse

__all__ = [
    "Coarse",
    "Family",
    "Level",
    "Pairs",
    "Result",
    "Schedule",
    "Stop",
    "Structure",
    "Task",
    "anneal",
    "broken",
    "coarse",
    "cost",
    "structure",
]
