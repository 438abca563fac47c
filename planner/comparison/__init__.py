"""Our plan beside the layouts a job would run in otherwise, counted alike."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.baseline import best_axis_order
from planner.cost import Links, as_number, links, total
from planner.errors import Infeasible, NoPlan
from planner.feasibility import broken_constraints
from planner.grid import Grid, Ints
from planner.pipeline import solve
from planner.plan import Plan, megatron_order
from planner.solver.weighing import weigh
from planner.spec.problem import Problem
from planner.traffic.measuring import measure

MEGATRON = {
    "Megatron's order": "tp-cp-ep-dp-pp",
    "Megatron, tp-pp-dp": "tp-cp-ep-pp-dp",
}
"""Megatron-core's two numberings (the other by --use-tp-pp-dp-mapping) on the nodes as given."""


@dataclass(frozen=True)
class Layout:
    """One way to place the job.

    Attributes:
        name: what the comparison calls it.
        placement: [world] device of each trainer rank; None if there is no such layout.
        note: why there is none, or which hard constraint it breaks; None if all is well.
        cost: by the problem's weights.
        links: by level and kind.
        traffic: the traffic block, with objective.traffic.
    """

    name: str
    placement: Ints | None
    note: str | None
    cost: int | float | None
    links: Links | None
    traffic: dict[str, Any] | None

    def document(self) -> dict[str, Any]:
        """What `planner compare --json` states of it."""
        facts = {"cost": self.cost, "links": self.links, "traffic": self.traffic, "note": self.note}
        return {"name": self.name, **{k: v for k, v in facts.items() if v is not None}}


def compare(
    problem: Problem,
    *,
    plan: Plan | None = None,
    layouts: Mapping[str, Ints] | None = None,
    time_limit: float = 60.0,
    workers: int | None = None,
    seed: int = 0,
) -> list[Layout]:
    """Our plan, the best node-contiguous one, Megatron's two orders, the best axis order, others.

    Args:
        problem: machines, job, objective.
        plan: our plan; solved for if not given.
        layouts: further placements by name, e.g. the one in use today.
        time_limit: of each of the two searches, in seconds.
        workers: threads of each.
        seed: of each.

    Returns:
        Layouts, ours first. Those that nobody optimised ignore hard constraints; their note says
        which they break.

    Raises:
        Infeasible: no plan satisfies the hard constraints.
        NoPlan: none was found.
    """
    own = problem.resolved
    limits = {"time_limit": time_limit, "workers": workers, "seed": seed}
    ours = plan if plan is not None else solve(own, **limits)  # type: ignore[arg-type]
    grid = Grid.of(own)
    found = [_layout(own, grid, "planner", ours.placement), _contiguous(own, grid, limits)]
    found += [_layout(own, grid, name, placed) for name, placed in _plain(own, grid)]
    for name, placement in (layouts or {}).items():
        found.append(_layout(own, grid, name, placement))
    return found


def _plain(problem: Problem, grid: Grid) -> Iterator[tuple[str, Ints]]:
    """Layouts nobody optimised, in the problem's own numbering."""
    machines = problem.cluster.machines
    for name, order in MEGATRON.items():
        other = Grid.of(_varied(problem, job=problem.job.model_copy(update={"order": order})))
        placement = np.empty(grid.world, np.int64)
        placement[grid.canonical] = megatron_order(machines, grid.world)[other.canonical]
        yield name, placement
    weighing = weigh(problem, grid, machines)
    _, placement = best_axis_order(grid, machines, weighing.kinds, weighing.levels)
    yield "best axis order", placement


def _varied(problem: Problem, **parts: object) -> Problem:
    """The problem with parts replaced; not a copy, which would keep what was derived from them."""
    same = {key: getattr(problem, key) for key in ("cluster", "job", "objective", "constraints")}
    return Problem.model_validate({**same, **parts})


def _contiguous(problem: Problem, grid: Grid, limits: dict[str, Any]) -> Layout:
    """The best plan in which every host holds consecutive ranks, all that torchrun can express."""
    name = "best node-contiguous"
    constraints = problem.constraints.model_copy(update={"launch": "node-contiguous"})
    try:
        plan = solve(_varied(problem, constraints=constraints), **limits)
    except (Infeasible, NoPlan) as error:
        return Layout(name, None, str(error), None, None, None)
    return _layout(problem, grid, name, plan.placement)


def _layout(problem: Problem, grid: Grid, name: str, placement: Ints) -> Layout:
    machines = problem.cluster.machines
    counted = links(grid, machines, placement)
    traffic = None
    if problem.objective.traffic is not None:
        traffic = measure(problem, grid, machines, placement).document()
    broken = broken_constraints(problem, grid, placement)
    note = f"breaks {broken[0]}" if broken else None
    cost = as_number(total(problem, machines, counted))
    return Layout(name, placement, note, cost, counted, traffic)
