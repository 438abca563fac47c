"""The exact model: small problems to proof, and any first plan under hard constraints."""

from math import inf

from planner.errors import Infeasible, NoPlan
from planner.solver.state import Search
from planner.solver.translation import exact_problem
from planner_models import assignment

_TINY_BITS = 800  # model size up to which the exact model proves in seconds
_TINY_SECONDS = 5.0
_RULED_BITS = 6_000  # the same where rules leave few placements
_MOST_BITS = 60_000  # and up to which a proof or an improvement is worth what time is left
_MOST_BITS_FIRST = 4_000_000  # and up to which a first plan is looked for
BY = "the exact model"


def solve_tiny_exactly(search: Search) -> None:
    """`solve_exactly` where that takes seconds, before anything cleverer is tried."""
    ruled = search.problem.constraints.launch == "node-contiguous"
    if _problem(search).size <= (_RULED_BITS if ruled else _TINY_BITS):
        solve_exactly(search, _TINY_SECONDS)


def solve_exactly(search: Search, most: float = inf) -> None:
    """Improve the incumbent and the bound by the exact model, where it fits.

    Raises:
        Infeasible: proven, with a minimal set of the user's lines that conflict.
        NoPlan: there is no incumbent and none was found.
    """
    problem = _problem(search)
    first = search.placement is None
    if problem.size > (_MOST_BITS_FIRST if first else _MOST_BITS):
        if first:
            raise NoPlan(
                f"no regular layout satisfies the constraints, and {search.grid.world} ranks are "
                "too many for the exact model; loosen a constraint"
            )
        return
    start = None
    if search.placement is not None:
        start = problem.levels[0].domain[search.placement]
    result = assignment.solve(
        problem,
        search.limits(most),
        start=start,
        progress=lambda _cost, bound: search.raise_whole(bound or 0, BY),
        stop=search.options.stop,
    )
    if search.options.deterministic:
        search.spend(min(search.left, most))
    if result.status == "infeasible":
        raise _refusal(search, problem)
    search.raise_whole(result.bound, BY)
    if result.devices is not None:
        search.offer(result.devices, BY)
    elif first and search.left <= 0:
        limit = search.options.time_limit
        raise NoPlan(f"nothing found within {limit:g} s, and nothing proven; raise --time-limit")


def _problem(search: Search) -> assignment.Assignment:
    return exact_problem(search.problem, search.grid, search.weighing, (), search.bound)


def _refusal(search: Search, problem: assignment.Assignment) -> Infeasible:
    limits = assignment.Limits(seconds=10.0, workers=search.options.workers)
    found = assignment.conflict(problem, limits, stop=search.options.stop)
    labels = found.labels if found is not None and found.labels else problem.labels
    return Infeasible(
        labels,
        "the exact model proves that these lines exclude one another",
        "loosen any one of them" if found is not None and found.minimal else None,
    )
