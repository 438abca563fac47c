"""What a search is asked for and what it answers."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from planner.grid import Ints
from planner.solver.memory import Memory

Progress = Callable[[float | None, float, float], None]
"""Called with (cost of the incumbent or None, proven bound, seconds)."""

Stopped = Literal["optimal", "gap", "time", "interrupted", "exhausted"]


@dataclass(frozen=True)
class Options:
    """Limits and switches of a search; see `planner.solve`."""

    time_limit: float
    gap: float
    workers: int
    seed: int
    deterministic: bool
    progress: Progress | None
    stop: threading.Event
    memory: Memory = field(default_factory=Memory)


@dataclass(frozen=True)
class Proof:
    """A level's share of the bound.

    Attributes:
        level: name of the level, or ``all`` for a bound on the whole cost.
        bound: proven lower bound, level weight included.
        by: the formulation that proved it.
        seconds: when, counted from the start of the search.
    """

    level: str
    bound: Fraction
    by: str
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """A search's answer.

    Attributes:
        placement: [world] device of each trainer rank, the best found.
        bound: proven lower bound on the cost of every plan.
        proofs: how the bound was proven, a line a level.
        found_by: the search that found the placement.
        stopped: why the search ended.
    """

    placement: Ints
    bound: Fraction
    proofs: tuple[Proof, ...]
    found_by: str
    stopped: Stopped
