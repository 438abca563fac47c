"""The bound by column generation over patterns of domains and paths of copies.

Sets
    k classes of domains (equal capacity), patterns of each class, arcs of each place (`copies`),
    rows r: pairs (a, b) of neighbouring heights at a place; a pair and its mirror image share a row
    when the pipeline reads the same backwards.
Data
    q[k] domains of class k; sizes of its patterns lie in [capacity - idle, capacity]; costs.
Variables
    z[k, pattern] >= 0, y[place, arc] >= 0, and a slack on either side of each row.
Subject to
    convexity[k]   sum of z over the patterns of k  =  q[k]
    flow[p, part]  arcs into a partition of stage p  =  arcs out of it; D copies start
    coupling[r]    uses of r by the patterns  =  uses of r by the arcs
Minimise
    cost of the patterns, plus the cost of slack, which keeps prices in a box (`programme`).

For *any* prices mu of the rows

    L(mu) = constant + sum_k q[k] min over patterns (cost - mu)  +  D (cheapest copy under mu)

is a lower bound. Prices are multiples of 1 / SCALE, so L is an exact integer in those units and a
solver's rounding never touches the proof.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from planner_models.interruption import over
from planner_models.units.copies import cheapest_copy, copy_arcs
from planner_models.units.flattening import Cheapest, Flattened
from planner_models.units.heights import Ints, Pattern
from planner_models.units.orders import first_patterns
from planner_models.units.pricing import NEVER
from planner_models.units.programme import SCALE, Domains, Programme, Rows

WIDER, NARROWER = 4.0, 1 / 1.5
"""What becomes of the box when nothing is left in it, and when its prices were no better."""

TOLERANCE = 1e-6
"""Of the programme's optimum against whole numbers."""


@dataclass(frozen=True, eq=False)
class Columns:
    """What column generation leaves behind.

    Attributes:
        bound: greatest L, in units of 1 / SCALE.
        prices: prices that give it, [P + 1, H + 1, H + 1].
        patterns: for each class the patterns of the programme.
        rounds: number of prices evaluated.
        possible: whether the bound allows any placement at all.
        converged: whether it ended by itself and not because of the clock or the solver.
    """

    bound: int
    prices: Ints
    patterns: list[list[Pattern]]
    rounds: int
    possible: bool
    converged: bool

    @property
    def rounded(self) -> int:
        """The bound as a whole number of cost units."""
        return -(-self.bound // SCALE)


class Generation:
    """The programme, the columns it has, and the best prices so far."""

    def __init__(self, flat: Flattened, domains: Domains) -> None:
        self.flat, self.pipeline, self.domains = flat, flat.base, domains
        pipeline = flat.base
        self.rows, self.arcs = Rows(pipeline), copy_arcs(pipeline)
        self.programme = Programme(pipeline, domains, self.rows, self.arcs)
        self.patterns: list[dict[Pattern, None]] = [{} for _ in domains.count]
        self.prices = np.zeros(self.rows.count, np.int64)
        self.rounds = 0
        for patterns in first_patterns(pipeline, domains):
            for k, found in enumerate(patterns):
                self._add(k, found)
        self.bound = self._priced(self.prices)
        self.impossible = SCALE * pipeline.worst

    def _priced(self, prices: Ints) -> int:
        """L at some prices; the cheapest patterns of every class join the programme.

        Those inside fewer stages come along: they cost nothing to find and save rounds.
        """
        spread = self.rows.spread(prices)
        cheapest = Cheapest(self.flat, spread, SCALE)
        total = SCALE * self.pipeline.constant
        copy = cheapest_copy(self.arcs, spread)
        total += self.pipeline.copies * copy.price
        for here, arc in zip(self.arcs, copy.arcs, strict=True):
            self.programme.add_arc(here, arc)
        for k, count in enumerate(self.domains.count):
            least, most = int(self.domains.least[k]), int(self.domains.capacity[k])
            size = least + int(cheapest.value[least : most + 1].argmin())
            total += int(count) * int(cheapest.value[size])
            if cheapest.value[size] == NEVER:
                continue
            self._add(k, cheapest.shorter(size))
        self.rounds += 1
        return total

    def _add(self, k: int, patterns: Iterable[Pattern]) -> None:
        """Patterns of class k join the programme, each once."""
        for found in patterns:
            for pattern in self._shifted(found):
                if pattern not in self.patterns[k]:
                    self.patterns[k][pattern] = None
                    self.programme.add(k, pattern, self.flat.cost(pattern))

    def _shifted(self, pattern: Pattern) -> Iterable[Pattern]:
        """A pattern, and the same on other stages where all blocks and units are of one size.

        Only where planes depend on heights: with flat planes the rounds are few and cheap, and
        thousands of columns more make the whole numbers slow.
        """
        uniform = np.ptp(self.pipeline.slices) == np.ptp(self.pipeline.size) == 0
        if not pattern or not uniform or len(self.flat.parts) == 1:
            return [pattern]
        first = min(p for p, _ in pattern)
        behind = max(p + len(heights) for p, heights in pattern)
        steps = range(-first, self.pipeline.stages - behind + 1)
        return [tuple((p + step, heights) for p, heights in pattern) for step in steps]

    def improve(self, prices: Ints) -> bool:
        """Evaluate L at some prices; whether that brought a column."""
        before = self.programme.columns
        bound = self._priced(prices)
        if bound > self.bound:
            self.bound, self.prices = bound, prices
        return self.programme.columns > before

    def finished(self, *, converged: bool) -> Columns:
        """The best bound and all columns."""
        patterns = [list(found) for found in self.patterns]
        prices, possible = self.rows.spread(self.prices), self.bound <= self.impossible
        return Columns(self.bound, prices, patterns, self.rounds, possible, converged)

    def run(self, target: int | None, deadline: float | None) -> Columns:
        """Repeat until no column is left, the target is reached or time is up.

        The programme's prices stay in a box around the best so far. It doubles where they were
        right, shrinks where they were no better, and grows once nothing is left in it.
        """
        enough = self.impossible if target is None else min(self.impossible, SCALE * (target - 1))
        while self.bound <= enough:
            solution = self.programme.solve()
            if solution is None or over(deadline):
                return self.finished(converged=False)
            before, brought = self.bound, False
            hoped = SCALE * solution.value - before
            if -(-before // SCALE) < solution.value - TOLERANCE:
                brought = self.improve(solution.prices)
            gained = self.bound - before
            if not brought and not gained:
                if not solution.slack:
                    break
                factor = WIDER
            elif gained:
                factor = 2.0 if 2 * gained > hoped else 1.0
            else:
                factor = NARROWER
            self.programme.confine(self.prices, factor)
        return self.finished(converged=True)


def generate(
    flat: Flattened,
    domains: Domains,
    *,
    target: int | None = None,
    deadline: float | None = None,
) -> Columns:
    """The bound and its columns.

    Args:
        flat: units and what cutting them costs, in the terms that patterns are priced in.
        domains: where they go.
        target: a cost, in the pipeline's terms, above which nothing needs to be proven.
        deadline: `time.monotonic()` at which to stop.
    """
    return Generation(flat, domains).run(target, deadline)
