"""Units bounded and placed: column generation, whole numbers of its patterns, the gap between."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from planner_models.interruption import over
from planner_models.units.assembly import laid_out
from planner_models.units.column_generation import Columns, generate
from planner_models.units.copies import MOST_SLICES
from planner_models.units.cut_groups import shared_out
from planner_models.units.flattening import Cheapest, Flattened
from planner_models.units.gap import survivors
from planner_models.units.heights import (
    Ints,
    Pattern,
    Pipeline,
    pattern_pairs,
    with_mirrors,
)
from planner_models.units.integer_master import Choice, IntegerMaster
from planner_models.units.programme import SCALE, Domains


@dataclass(frozen=True)
class Whole:
    """What is known about placements of units, in the pipeline's terms.

    Attributes:
        proven: none costs less.
        choice: the cheapest patterns found that can be assembled.
        prices: of pairs, at which column generation proves most, [P + 1, H + 1, H + 1].
        proof: "linear" if column generation alone proves it, "integer" if patterns inside the gap
            were looked through as well, "counted" if stages have too many slices for either.
    """

    proven: int
    choice: Choice
    prices: Ints
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
    if pipeline.most > MOST_SLICES:
        prices = np.zeros_like(pipeline.credit)
        return Whole(_counted(pipeline, domains), Choice(0, None, ()), prices, "counted")
    flat = Flattened(pipeline, int(domains.capacity[-1]))
    columns = generate(flat, domains, target=target, deadline=deadline)
    if not columns.possible:
        return None
    if target is not None and columns.rounded >= target:
        choice = Choice(columns.rounded, None, ())
        return Whole(columns.rounded, choice, columns.prices, "linear")
    return Search(pipeline, flat, domains, columns, deadline).run(target)


def _counted(pipeline: Pipeline, domains: Domains) -> int:
    """The bound that only counts units: every domain the cheapest content of its size."""
    most = min(int(domains.capacity[-1]), pipeline.total)
    cheapest = Cheapest(Flattened(pipeline, most), np.zeros_like(pipeline.credit), 1)
    capacities = np.repeat(domains.capacity, domains.count)
    return pipeline.constant + shared_out(cheapest.value, capacities, pipeline.total)


class Search:
    """Plans of the columns of the linear programme, and of all that a better plan may use.

    Prices belong to the flattened pipelines, costs to the pipeline itself; they are no less.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        flat: Flattened,
        domains: Domains,
        columns: Columns,
        deadline: float | None,
    ) -> None:
        self.pipeline, self.flat = pipeline, flat
        self.domains, self.columns = domains, columns
        self.deadline = deadline

    def run(self, target: int | None) -> Whole:
        """First the columns at hand, the cheap ones and then all; then the gap, from below.

        Each step into the gap asks for plans up to a cost twice as far above the linear bound as
        the step before, and either finds the cheapest of them or proves that there is none.
        """
        low = self.columns.rounded
        choice = self._known(low + 1 + abs(low) // 50)
        if choice.cost is None:
            choice = self._known(None)
        proven, proof, width = low, "linear", 1
        beaten = min(c for c in (target, choice.cost, self.pipeline.worst) if c is not None)
        while self.columns.converged and proven < beaten and not self._late():
            high = min(low + width - 1, beaten - 1)
            inside = survivors(self.flat, self.domains, self.columns, high)
            found = Choice(proven, None, ())
            if inside.complete:
                found = self._best(inside.patterns, proven, high)
                proven, proof, width = found.proven, "integer", 2 * width
            if found.cost is None and choice.cost is None:
                both = zip(inside.patterns, self.columns.patterns, strict=True)
                mixed = [list(dict.fromkeys(listed + known)) for listed, known in both]
                found = self._best(mixed, proven, beaten - 1)
            if found.cost is not None:
                choice, beaten = found, found.cost
            if not inside.complete or proven <= high:
                break
        return Whole(min(proven, beaten), choice, self.columns.prices, proof)

    def _late(self) -> bool:
        return over(self.deadline)

    def _known(self, high: int | None) -> Choice:
        """The cheapest plan of the columns at hand, or of those that one up to `high` may use."""
        patterns = [list(with_mirrors(self.pipeline, found)) for found in self.columns.patterns]
        if high is not None:
            slack = SCALE * high - self.columns.bound
            patterns = [self._within(found, slack) for found in patterns]
        return self._best(patterns, self.columns.rounded, self.pipeline.worst)

    def _within(self, patterns: list[Pattern], slack: int) -> list[Pattern]:
        """Patterns whose price is within some slack of the cheapest one's."""
        prices = [
            SCALE * self.flat.cost(p)
            - int((self.columns.prices * pattern_pairs(self.pipeline, p)).sum())
            for p in patterns
        ]
        most = min(prices, default=0) + slack
        return [p for p, price in zip(patterns, prices, strict=True) if price <= most]

    def _best(self, patterns: list[list[Pattern]], low: int, high: int) -> Choice:
        """The cheapest plan of some columns: in any copies first, copy by copy if that is none."""
        if not all(patterns):
            return Choice(high + 1, None, ())
        for laid in (False, True):
            master = IntegerMaster(
                self.pipeline, self.domains, patterns, low=low, high=high, laid=laid
            )
            choice = master.solve(self.deadline)
            if choice.cost is None or laid or self._can_be_laid(choice.patterns):
                break
            low = max(low, choice.proven)
        return choice

    def _can_be_laid(self, patterns: Iterable[tuple[Pattern, ...]]) -> bool:
        """Whether the segments of all domains fill the copies."""
        count = Counter(s for found in patterns for pattern in found for s in pattern)
        return laid_out(self.pipeline, count, self.deadline) is not None
