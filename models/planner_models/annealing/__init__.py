"""Simulated annealing of placements, with moves that know how a job is built."""

from planner_models.annealing.problem import Family, Level, Pairs, Task, broken, cost
from planner_models.annealing.schedule import Schedule, Stop
from planner_models.annealing.search import Result, anneal
from planner_models.annealing.structure import Structure, structure

__all__ = [
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
    "cost",
    "structure",
]
