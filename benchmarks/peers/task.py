"""The problem as peers see it."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from time import monotonic

from planner.baseline import score
from planner.grid import Grid, Ints
from planner.machines import Machines
from planner.solver.weighing import weigh
from planner.spec.problem import Problem


class NotApplicable(Exception):  # noqa: N818 - an answer, not an error
    """The peer cannot take this problem; the text says why."""


@dataclass(frozen=True, eq=False)
class Task:
    """A problem with integer weights.

    Attributes:
        problem, grid, machines: the problem in its forms.
        kinds: weight of a link by kind.
        levels: weight of each level of the machines, finest first.
    """

    problem: Problem
    grid: Grid
    machines: Machines
    kinds: dict[str, int]
    levels: tuple[int, ...]

    @classmethod
    def of(cls, problem: Problem) -> "Task":
        """The task of a problem."""
        grid, machines = Grid.of(problem), problem.cluster.machines
        weighing = weigh(problem, grid, machines)
        return cls(problem, grid, machines, weighing.kinds, weighing.levels)

    def cost(self, placement: Ints) -> int:
        """Integer cost of a placement."""
        return score(self.grid, self.machines, self.kinds, self.levels, placement)

    @property
    def constrained(self) -> bool:
        """Whether the user asks for more than the cheapest placement."""
        c = self.problem.constraints
        free = c.launch == "free" and c.cp_symmetry == "mapping"
        return bool(c.within or c.pins or self.grid.hierarchy) or not free


@dataclass(frozen=True)
class Limits:
    """When a peer has to stop.

    Attributes:
        deadline: `time.monotonic` at which to stop.
        threads: how many it may use.
        seed: of its random decisions.
    """

    deadline: float
    threads: int = 1
    seed: int = 0

    @property
    def left(self) -> float:
        """Seconds left."""
        return max(0.0, self.deadline - monotonic())


Peer = Callable[[Task, Limits], Ints]


def require(package: str) -> None:
    """Refuse where an optional package is missing."""
    if find_spec(package) is None:
        raise NotApplicable(f"{package} is not installed")


def refuse_constraints(task: Task) -> None:
    """Refuse problems whose hard constraints a general tool cannot be told."""
    if task.constrained:
        raise NotApplicable("cannot be told the hard constraint")
