"""The whole model: variables, hard families, cost, and what may be switched off."""

from collections.abc import Collection
from dataclasses import dataclass

from planner_models.assignment.constraints import HARD
from planner_models.assignment.data import Assignment, IntArray
from planner_models.assignment.formulation import Formulation, Neighbourhood
from planner_models.assignment.links import Costs
from planner_models.assignment.strengthen import redundant, symmetry
from planner_models.assignment.symmetry import canonical, symmetries

COST_FAMILIES = ("touch", "whole", "count", "both")
DEFINITIONS = ("aggregate",)
STRENGTHENING = ("redundant", "symmetry")
FAMILIES = (*HARD, *DEFINITIONS, *COST_FAMILIES, *STRENGTHENING)


@dataclass(frozen=True, eq=False, slots=True)
class Model:
    """A built model: the formulation and its costs (None for feasibility alone)."""

    formulation: Formulation
    costs: Costs | None


def build(
    problem: Assignment,
    *,
    start: IntArray | None = None,
    neighbourhood: Neighbourhood | None = None,
    without: Collection[str] = (),
    guards: Collection[str] = (),
    priced: bool = True,
) -> Model:
    """Build the CP-SAT model of a problem.

    Args:
        problem: the data.
        start: [slots] cells of a placement; every variable is hinted with its value there. With
            the symmetry family the hint is the placement's mirror image that the family keeps.
        neighbourhood: what may change against `start`; symmetry is then left out.
        without: families (of `FAMILIES`) to leave out.
        guards: labels whose constraints hold only under a literal of the model.
        priced: whether the cost is part of the model.

    Raises:
        ValueError: an unknown family, or a neighbourhood without a start.
    """
    if unknown := set(without) - set(FAMILIES):
        raise ValueError(f"unknown families: {sorted(unknown)}")
    mirrored = "symmetry" not in without and neighbourhood is None
    found = symmetries(problem) if mirrored else None
    if found is not None and start is not None:
        start = canonical(problem, found, start)
    f = Formulation(
        problem, start=start, neighbourhood=neighbourhood, without=without, guards=guards
    )
    for family, add in HARD.items():
        if f.has(family):
            add(f)
    costs = Costs(f) if priced else None
    if costs is not None:
        f.cp.minimize(costs.objective)
    if f.has("redundant"):
        redundant(f, costs)
    if found is not None:
        symmetry(f, found)
    return Model(f, costs)
