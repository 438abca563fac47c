"""Units bounded and placed: column generation, whole numbers of its patterns, the gap between."""

from dataclasses import dataclass
from time import monotonic

from planner_models.units.column_generation import Columns, generate
from planner_models.units.gap import survivors
from planner_models.units.heights import Pattern, Pipeline, mirrored
from planner_models.units.integer_master import Choice, IntegerMaster
from planner_models.units.programme import Domains


@dataclass(frozen=True)
class Whole:
    """What is known about placements of units, in the pipeline's terms.

    Attributes:
        proven: none costs less.
        choice: the cheapest patterns found.
        proof: "linear" if column generation alone proves it, "integer" if patterns inside the gap
            were looked through as well.
    """

    proven: int
    choice: Choice
    proof: str


def whole_bound(
    pipeline: Pipeline, domains: Domains, target: int | None, deadline: float | None
) -> Whole | None:
    """The bound on units and patterns that meet it, None if the units do not fit the domains.

    Args:
        pipeline: units and what cutting them costs.
        domains: where they go.
        target: a cost above which nothing needs to be proven.
        deadline: `time.monotonic()` at which to stop.
    """
    columns = generate(pipeline, domains, target=target, deadline=deadline)
    if not columns.possible:
        return None
    proven = columns.rounded
    if target is not None and proven >= target:
        return Whole(proven, Choice(proven, None, ()), "linear")
    known = [_with_mirrors(pipeline, found) for found in columns.patterns]
    choice = IntegerMaster(pipeline, domains, known, low=proven).solve(deadline)
    if not columns.converged:
        return Whole(proven, choice, "linear")
    return _searched(pipeline, domains, columns, choice, target, deadline)


def _searched(
    pipeline: Pipeline,
    domains: Domains,
    columns: Columns,
    choice: Choice,
    target: int | None,
    deadline: float | None,
) -> Whole:
    """The gap between the linear bound and the choice (or the target), looked through from below.

    Each step asks for plans up to a cost twice as far above the linear bound as the step before,
    and either finds the cheapest of them or proves that there is none.
    """
    proven, proof, width = columns.rounded, "linear", 1
    beaten = min((c for c in (target, choice.cost) if c is not None), default=pipeline.worst)
    while proven < beaten and (deadline is None or monotonic() < deadline):
        high = min(columns.rounded + width - 1, beaten - 1)
        inside = survivors(pipeline, domains, columns, high)
        master = IntegerMaster(pipeline, domains, inside.patterns, low=proven, high=high)
        found = master.solve(deadline)
        if found.cost is not None:
            choice, beaten = found, found.cost
        if not inside.complete or found.proven <= proven:
            break
        proven, proof, width = found.proven, "integer", 2 * width
    return Whole(proven, choice, proof)


def _with_mirrors(pipeline: Pipeline, patterns: list[Pattern]) -> list[Pattern]:
    """Patterns and what they are when the pipeline is read backwards, if that changes nothing."""
    if not pipeline.symmetric:
        return patterns
    return list(dict.fromkeys(p for q in patterns for p in (q, mirrored(pipeline, q))))
