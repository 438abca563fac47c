"""The search, step by step; each step only sees the incumbent and what is proven so far."""

from collections.abc import Callable

from planner.grid import Grid
from planner.solver.anneal import anneal
from planner.solver.counting import bound_by_counting
from planner.solver.exact import solve_exactly, solve_tiny_exactly
from planner.solver.launching import solve_by_runs
from planner.solver.leaves import solve_by_units
from planner.solver.neighbourhoods import improve_by_neighbourhoods
from planner.solver.nesting import solve_nested
from planner.solver.outcome import Options, Outcome
from planner.solver.regular import offer_regular
from planner.solver.ruling import mend_rules
from planner.solver.shaping import solve_by_shapes
from planner.solver.state import Search
from planner.solver.tiling import offer_tiles
from planner.spec.problem import Problem
from planner_models import interruption


def _mend(state: Search) -> None:
    mend_rules(state, search)


def _tile(state: Search) -> None:
    offer_tiles(state, search)


STEPS: tuple[Callable[[Search], None], ...] = (
    offer_regular,
    bound_by_counting,
    solve_by_runs,
    solve_tiny_exactly,
    _tile,
    solve_by_shapes,
    solve_by_units,
    solve_nested,
    _mend,
    anneal,
    improve_by_neighbourhoods,
    solve_exactly,
)


def search(problem: Problem, grid: Grid, options: Options) -> Outcome:
    """The best placement found within the limits and a proven bound.

    Raises:
        Infeasible: proven that no plan exists.
        NoPlan: none was found.
    """
    state = Search(problem, grid, options)
    with interruption.listening(options.stop):
        for step in STEPS:
            step(state)
            if state.done and state.placement is not None:
                break
    return state.outcome()
