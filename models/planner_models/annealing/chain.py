"""One annealing chain: what `kernel.run` needs, kept between its calls."""

from types import ModuleType
from typing import TypeVar

import numpy as np

from planner_models.annealing import kernel as interpreted
from planner_models.annealing.problem import Ints, Task
from planner_models.annealing.state import WIDTH, Row, State, Tables, penalised_cost, seated

Parts = TypeVar("Parts", Tables, State)


class Chain:
    """A chain with its own random numbers; the same numbers give the same chain in either kernel.

    Args:
        task: the problem.
        fixed: its tables (`state.tables`), which chains may share.
        kernel: `kernel`, or its compiled twin.
        numbers: where the chain's random numbers come from.
    """

    def __init__(
        self, task: Task, fixed: Tables, kernel: ModuleType, numbers: np.random.Generator
    ) -> None:
        self._task = task
        self._kernel = kernel
        self._numbers = numbers
        self._compiled = kernel is not interpreted
        self._fixed = fixed
        self._tables = self._cast(fixed)

    def begin(self, place: Ints, hot: float, cold: float, proposals: int) -> None:
        """Sit down at `place` [slots], to cool from `hot` to `cold` in so many proposals."""
        state = seated(self._task, self._fixed, place)
        cost = penalised_cost(self._fixed, state)
        self._state = self._cast(state)
        self._best = self._column(state.held, np.int32)
        self._tally = self._column([cost, cost, 0, 0], np.int64)
        self._heat = self._column([hot, 1.0], np.float64)
        self._cold = cold
        self.cool_in(proposals)

    def cool_in(self, proposals: int) -> None:
        """Change the pace: be cold after so many more proposals."""
        heat = self._heat[interpreted.HEAT]
        self._heat[interpreted.COOLING] = (self._cold / heat) ** (1 / max(proposals, 1))

    def advance(self, proposals: int) -> None:
        """Make some more proposals."""
        draws = self._numbers.random(proposals * interpreted.DRAWS)
        u = draws if self._compiled else draws.tolist()
        run = self._kernel.run
        run(self._tables, self._state, u, proposals, self._tally, self._heat, self._best)

    @property
    def cost(self) -> int:
        """Cost of the present placement, penalties included."""
        return int(self._tally[interpreted.COST])

    @property
    def least(self) -> int:
        """Least cost seen since `begin`, penalties included."""
        return int(self._tally[interpreted.BEST])

    @property
    def accepted(self) -> int:
        """Proposals accepted since `begin`."""
        return int(self._tally[interpreted.ACCEPTED])

    def best(self) -> Ints:
        """[slots] device of each slot in the cheapest placement since `begin`."""
        return self._placement(self._best)

    def now(self) -> Ints:
        """[slots] device of each slot in the present placement."""
        return self._placement(self._state.held)

    def _placement(self, held: Row) -> Ints:
        slot = np.asarray(held, dtype=np.int64)
        place = np.empty(self._task.slots, dtype=np.int64)
        place[slot[slot >= 0]] = self._task.devices[slot >= 0]
        return place

    def _cast(self, parts: Parts) -> Parts:
        """Tables or a state in the form the kernel runs fastest on."""
        return parts._replace(
            **{
                name: self._column(part, WIDTH.get(name, np.int32))
                for name, part in parts._asdict().items()
                if not isinstance(part, int)
            }
        )

    def _column(self, values: Row, kind: type) -> Row:
        """An array for the compiled kernel, a list for the interpreted one."""
        return np.array(values, dtype=kind) if self._compiled else np.asarray(values).tolist()
