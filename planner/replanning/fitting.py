"""Whether the machines still hold the job, and the largest number of copies that does fit."""

from dataclasses import replace

from planner.errors import Infeasible, InputError, NoPlan
from planner.explain import refuse_by_counting
from planner.grid import Grid
from planner.solver.outcome import Options
from planner.spec.cluster import Cluster
from planner.spec.problem import Problem
from planner.wording import counted

_SECONDS = 5.0  # of the search for any plan with fewer copies


def on_machines(old: Problem, cluster: Cluster, options: Options) -> Problem:
    """The old problem on other machines.

    Raises:
        InputError: the machines no longer have something the problem names.
        Infeasible: they have fewer GPUs than the job has ranks; names the largest dp that fits.
    """
    usable = len(cluster.machines.usable)
    if usable < old.world_size:
        raise with_largest_dp(
            Infeasible(
                ["$.cluster.nodes", "$.job.dp"],
                f"{counted(usable, 'GPU')} left for {counted(old.world_size, 'rank')} "
                f"= dp {old.dp} x {old.job.factors()}",
            ),
            old,
            cluster,
            options,
        )
    return _with(old, cluster, old.dp)


def with_largest_dp(
    refusal: Infeasible, old: Problem, cluster: Cluster, options: Options
) -> Infeasible:
    """The same refusal with the largest dp that still fits as its remedy."""
    room = len(cluster.machines.usable) // old.job.copy_size
    for dp in range(min(room, old.dp - 1), 0, -1):
        if _fits(old, cluster, dp, options):
            return Infeasible(refusal.conflict, refusal.reason, f"dp {dp} still fits")
    return Infeasible(refusal.conflict, refusal.reason, "not even dp 1 fits")


def _with(old: Problem, cluster: Cluster, dp: int) -> Problem:
    return Problem.model_validate(
        {
            "cluster": cluster,
            "job": old.job.model_copy(update={"dp": dp}),
            "objective": old.objective,
            "constraints": old.constraints,
        }
    )


def _fits(old: Problem, cluster: Cluster, dp: int, options: Options) -> bool:
    """Whether a plan with that many copies is found: the first one is enough."""
    from planner.solver.search import search  # noqa: PLC0415 - OR-tools only when solving

    try:
        problem = _with(old, cluster, dp).resolved
        grid = Grid.of(problem)
        refuse_by_counting(problem, grid)
        search(problem, grid, replace(options, time_limit=_SECONDS, gap=1.0, progress=None))
    except (InputError, Infeasible, NoPlan):
        return False
    return True
