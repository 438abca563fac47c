"""The cost of links, and the price of what each domain holds.

At one level a ring costs Σ_n (touch[g,n] − whole[g,n]): nothing if one domain holds it whole, one a
domain it touches otherwise. Links between pairs are the pairs there are less the pairs inside.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from ortools.sat.python import cp_model

from planner_models.assignment.data import Bridge, Groups, IntArray
from planner_models.assignment.evaluate import cost
from planner_models.assignment.formulation import ONE, ZERO, Bit, Expr, Formulation, place, total

Terms = list[tuple[int, Bit]]


class Costs:
    """Sums of weighted bits: the objective, and the price of each domain.

    Attributes:
        prices: by (level, domain), the price of what a domain holds, see `Floor`. Complete only in
            a model without a neighbourhood.
        rings: (level, touch bits, whole bits) of each ring, for what they obey together.
    """

    def __init__(self, f: Formulation) -> None:
        self.f = f
        self.constant = 0
        self.terms: Terms = []
        self.prices: dict[tuple[int, int], Terms] = defaultdict(list)
        self.rings: list[tuple[str, list[Bit], list[Bit]]] = []
        for level in range(len(f.problem.levels)):
            if self.counts(level):
                self._level(level)
        if f.neighbourhood is not None and f.start is not None:
            # What cannot change was left out: make up for it at the start placement.
            self.constant += cost(f.problem, f.start) - self.at_start

    def counts(self, level: int) -> bool:
        """Whether links at a level cost anything."""
        return self.f.problem.levels[level].weight > 0 and self.f.problem.levels[level].domains > 1

    @property
    def objective(self) -> Expr:
        """Cost of the whole placement."""
        return weighted(self.terms) + self.constant

    @property
    def at_start(self) -> int:
        """Value of the objective at the start placement."""
        return self.constant + sum(w * bit.hint for w, bit in self.terms)

    def _level(self, level: int) -> None:
        problem = self.f.problem
        for ring in problem.rings:
            for g, members in self.f.moved(ring.members) if ring.weight else ():
                self._ring(level, f"{ring.name},g{g}", ring.weight, members)
        for group in problem.all_to_alls:
            for g, members in self.f.moved(group.members) if group.weight else ():
                self._all_to_all(level, f"{group.name},g{g}", group, members)
        ends, weights = _merged(self.f)
        for (u, v), weight in zip(ends, weights, strict=True):
            self._pair(level, u, v, weight)
        for bridge in problem.bridges:
            for k, s, u in self.f.bridged(bridge) if bridge.weight else ():
                self._fed(level, bridge, k, s, u)

    def _ring(self, level: int, tag: str, weight: int, members: Sequence[int]) -> None:
        touch = self.f.touch(tag, level, members)
        sizes = self.f.problem.sizes(level)
        whole = {
            n: self.f.all_of("whole", f"{tag},{place(level, n)}", bits)
            for n, bits in self.f.holders(level, members).items()
            if len(bits) == len(members) <= sizes[n]
        }
        self._pay(level, weight, touch)
        self._pay(level, -weight, whole)
        self.rings.append((f"{tag},l{level}", list(touch.values()), list(whole.values())))

    def _all_to_all(self, level: int, tag: str, group: Groups, members: Sequence[int]) -> None:
        # With k members in n, Σ_{j≤k} (j − 1) pairs are inside, and the price is
        # w·k·(size − k) = w·Σ_{j≤k} (size − 2j + 1).
        size, W = len(members), self.f.problem.levels[level].weight
        self.constant += W * group.weight * size * (size - 1) // 2
        for n, bits in self.f.holders(level, members).items():
            ladder = self._ladder(f"{tag},{place(level, n)}", bits)
            for j, rung in enumerate(ladder, start=1):
                self.terms.append((-W * group.weight * (j - 1), rung))
                self.prices[level, n].append((group.weight * (size - 2 * j + 1), rung))

    def _ladder(self, tag: str, bits: list[Bit]) -> list[Bit]:
        """Bits [k ≥ 1], [k ≥ 2], … for the number k of members held."""
        held = sum(b.hint for b in bits)
        sure = sum(b.fixed for b in bits)
        free = [
            self.f.bit(f"count[{tag},{j}]", int(held >= j)) for j in range(sure + 1, len(bits) + 1)
        ]
        ladder = [ONE] * sure + free
        if self.f.has("count") and free:
            self.f.require(f"count[{tag}]", total(bits) == total(ladder))
            for more, less in pairwise(free):
                self.f.require_any(f"count[{tag}]", given=[less], some=[more])
        return ladder

    def _pair(self, level: int, u: int, v: int, weight: int) -> None:
        at_u, at_v = self.f.at[level][u], self.f.at[level][v]
        both = {
            n: self.f.all_of("both", f"s{u},s{v},{place(level, n)}", [at_u[n], at_v[n]])
            for n in sorted(at_u.keys() & at_v.keys())
        }
        self._pay_pair(level, weight, both)

    def _fed(self, level: int, bridge: Bridge, k: int, s: int, mapped: int) -> None:
        """A bridge link: the partner is a decision, so `both` obeys whichever is chosen."""
        here, feeds = self.f.at[level][s], self.f.feeds(bridge, k, s)
        both: dict[int, Bit] = {}
        for n, bit in here.items():
            there = {u: self.f.at[level][u].get(n, ZERO) for u in feeds}
            name = f"both[{bridge.name},k{k},s{s},{place(level, n)}]"
            both[n] = self.f.bit(name, min(bit.hint, there[mapped].hint))
            if self.f.has("both"):
                self.f.require_any(name, given=[both[n]], some=[bit])
                for u, chosen in feeds.items():
                    self.f.require_any(name, given=[both[n], chosen], some=[there[u]])
        self._pay_pair(level, bridge.weight, both)

    def _pay_pair(self, level: int, weight: int, both: dict[int, Bit]) -> None:
        self.constant += self.f.problem.levels[level].weight * weight
        self._pay(level, -weight, both)

    def _pay(self, level: int, weight: int, bits: dict[int, Bit]) -> None:
        W = self.f.problem.levels[level].weight
        for n, bit in bits.items():
            self.terms.append((W * weight, bit))
            self.prices[level, n].append((2 * weight, bit))


def weighted(terms: Terms) -> Expr:
    """Σ weight · bit."""
    constant = sum(w * b.expr for w, b in terms if isinstance(b.expr, int))
    free = [(w, b.expr) for w, b in terms if not isinstance(b.expr, int)]
    if not free:
        return constant
    return cp_model.LinearExpr.weighted_sum([e for _, e in free], [w for w, _ in free]) + constant


def _merged(f: Formulation) -> tuple[list[list[int]], list[int]]:
    """Pairs with a moving end, equal ones merged into one of their summed weight."""
    kinds = [p for p in f.problem.pairs if p.weight and len(p.ends)]
    if not kinds:
        return [], []
    ends: IntArray = np.sort(np.concatenate([p.ends for p in kinds]), axis=1)
    each = np.concatenate([np.full(len(p.ends), p.weight, dtype=np.int64) for p in kinds])
    keep = f.moving[ends].any(axis=1)
    unique, index = np.unique(ends[keep], axis=0, return_inverse=True)
    sums = np.zeros(len(unique), dtype=np.int64)
    np.add.at(sums, index.ravel(), each[keep])
    return unique.tolist(), sums.tolist()
