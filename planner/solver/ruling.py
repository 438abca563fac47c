"""Plans under footprint and hierarchical rules where shapes leave something open.

Shapes know these rules on levels of small domains; elsewhere, and where shapes ran out of time, the
problem is solved without them and what breaks them is mended. The relaxed problem's bound holds for
the ruled one. Its plan mostly obeys the rules by itself; the nodes that hold what does not are
freed and dealt again by the exact model, a few more each time that fails.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from planner.feasibility import offenders
from planner.grid import Grid, Ints
from planner.solver.neighbourhoods import linked_nodes, neighbourhood_of
from planner.solver.outcome import Options, Outcome
from planner.solver.state import Search
from planner.solver.translation import exact_problem
from planner.spec.problem import Problem
from planner_models import assignment

BY = "a mended plan"
_RELAXED_SHARE, _TRY_SHARE = 0.35, 0.3  # of the time left
_TRIES = 6
_WIDER = 2  # nodes freed beside the offending ones after each failure

Solve = Callable[[Problem, Grid, Options], Outcome]


def mend_rules(search: Search, solve: Solve) -> None:
    """Offer a plan mended from the one without footprint and hierarchical rules."""
    relaxed = _relaxed(search.problem)
    if relaxed is None or search.done:
        return
    share = search.left * _RELAXED_SHARE
    outcome = solve(
        relaxed, Grid.of(relaxed), replace(search.options, time_limit=share, progress=None)
    )
    search.spend(share)
    search.raise_whole(int(outcome.bound / search.weighing.unit), "the problem without its rules")
    found = _mended(search, outcome.placement)
    if found is not None:
        search.offer(found, BY)


def _relaxed(problem: Problem) -> Problem | None:
    """The problem without the rules; None if it has none of them."""
    if problem.constraints.launch != "free":
        return None
    if problem.constraints.cp_symmetry == "mapping" and problem.job.hierarchical_cp is None:
        return None
    document = problem.document()
    document["constraints"]["cp_symmetry"] = "mapping"
    document["job"].pop("hierarchical_cp", None)
    within: dict[str, str] = document["constraints"]["within"]
    # Without hierarchical CP there are no groups of its names.
    document["constraints"]["within"] = {
        group: level for group, level in within.items() if not group.startswith("hcp_")
    }
    return Problem.model_validate(document)


def _mended(search: Search, placement: Ints) -> Ints | None:
    broken = offenders(search.problem, search.grid, placement)
    if not broken.any():
        return placement
    node = search.machines.device_node
    nodes = np.unique(node[placement[broken]])
    problem = exact_problem(search.problem, search.grid, search.weighing, (), 0)
    rng = np.random.default_rng(search.options.seed)
    for _ in range(_TRIES):
        if search.done:
            return None
        result = assignment.solve(
            problem,
            search.limits(search.left * _TRY_SHARE),
            start=problem.levels[0].domain[placement],
            neighbourhood=neighbourhood_of(search, problem, placement, nodes),
            stop=search.options.stop,
        )
        search.spend(search.left * _TRY_SHARE)
        if result.devices is not None:
            return result.devices
        nodes = np.union1d(nodes, linked_nodes(search, placement, nodes, rng, _WIDER))
    return None
