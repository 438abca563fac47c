"""A CP-SAT model whose every variable knows its value in a start placement.

A *bit* is a Boolean variable or a constant, together with the value it takes in the start. Derived
bits are made from other bits, so their values follow, and a start placement becomes a complete hint
without a second description of the model.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from ortools.sat.python import cp_model

from planner_models.assignment.data import Assignment, BoolArray, Bridge, IntArray

Expr = cp_model.LinearExpr | int


class Bit(NamedTuple):
    """A 0-1 variable, or one of the constants `ZERO` and `ONE`, with its value in the start."""

    expr: cp_model.IntVar | int
    hint: int

    @property
    def fixed(self) -> bool:
        """Whether this is a constant."""
        return isinstance(self.expr, int)


ZERO = Bit(0, 0)
ONE = Bit(1, 1)


def total(bits: Iterable[Bit]) -> Expr:
    """Sum of bits; a plain integer if all are constants."""
    exprs = [bit.expr for bit in bits]
    free = [e for e in exprs if not isinstance(e, int)]
    constant = sum(e for e in exprs if isinstance(e, int))
    return cp_model.LinearExpr.sum(free) + constant if free else constant


@dataclass(frozen=True, eq=False, slots=True)
class Neighbourhood:
    """What may change: the other slots stay where the start placement has them.

    Attributes:
        slots: indices of the free slots.
        cells: indices of the cells they may use, those they are in included.
    """

    slots: IntArray
    cells: IntArray


class Formulation:
    """The model under construction: named variables, named constraints, hints.

    Attributes:
        cp: the CP-SAT model.
        problem: its data.
        start: [slots] cells of the start placement, or None.
        moving: [slots] whether a slot may move.
        at: `at[l][s]` maps the domains of level l that may hold slot s to the bit that says so.
        families: names of the constraint families present.
    """

    def __init__(
        self,
        problem: Assignment,
        *,
        start: IntArray | None = None,
        neighbourhood: Neighbourhood | None = None,
        without: Collection[str] = (),
        guards: Collection[str] = (),
    ) -> None:
        if neighbourhood is not None and start is None:
            raise ValueError("a neighbourhood needs a start placement")
        self.cp = cp_model.CpModel()
        self.problem = problem
        self.start = start
        self.neighbourhood = neighbourhood
        self.without = frozenset(without)
        self.families: set[str] = set()
        self.guards = {label: self.cp.new_bool_var(f"line[{label}]") for label in guards}
        self.moving = self._moving()
        self.at = [self._cells()]
        for level in range(1, len(problem.levels)):
            self.at.append(self._aggregate(level))
        self._touch: dict[tuple[int, tuple[int, ...]], dict[int, Bit]] = {}
        self._feeds: dict[tuple[str, int, int], dict[int, Bit]] = {}

    # Building blocks

    def bit(self, name: str, hint: int) -> Bit:
        """A new Boolean variable, hinted if there is a start placement."""
        variable = self.cp.new_bool_var(name)
        return Bit(self._hinted(variable, hint), hint)

    def number(self, name: str, low: int, high: int, hint: int) -> cp_model.IntVar:
        """A new integer variable in low … high."""
        return self._hinted(self.cp.new_int_var(low, high, name), hint)

    def _hinted(self, variable: cp_model.IntVar, hint: int) -> cp_model.IntVar:
        if self.start is not None:
            self.cp.add_hint(variable, hint)
        return variable

    def has(self, family: str) -> bool:
        """Whether a family belongs to this model."""
        return family not in self.without

    def require(
        self,
        name: str,
        constraint: cp_model.BoundedLinearExpression | bool,
        *,
        when: Iterable[Bit] = (),
        label: str | None = None,
    ) -> None:
        """Add the linear constraint `family[…]`, enforced when bits hold and its line is kept."""
        literals = [b.expr for b in when if not isinstance(b.expr, int)]
        if label in self.guards:
            literals.append(self.guards[label])
        self._record(name, self.cp.add(constraint), literals)

    def require_any(self, name: str, *, given: Iterable[Bit], some: Iterable[Bit]) -> None:
        """Add the clause `family[…]`: if all of `given` are 1, so is one of `some`."""
        yes, no = list(some), list(given)
        if any(b is ONE for b in yes) or any(b is ZERO for b in no):
            return
        literals: list[cp_model.LiteralT] = [b.expr for b in yes if not b.fixed]
        literals += [~b.expr for b in no if not isinstance(b.expr, int)]
        self._record(name, self.cp.add_bool_or(literals), [])

    def at_most_one(self, name: str, bits: Iterable[Bit]) -> None:
        """Add `family[…]`: at most one of the bits is 1."""
        self._record(name, self.cp.add_at_most_one([b.expr for b in bits]), [])

    def _record(
        self, name: str, constraint: cp_model.Constraint, literals: Sequence[cp_model.IntVar]
    ) -> None:
        constraint.with_name(name)
        if literals:
            constraint.only_enforce_if(list(literals))
        self.families.add(name.partition("[")[0])

    # Where slots are

    def _moving(self) -> BoolArray:
        if self.neighbourhood is None:
            return np.ones(self.problem.slots, dtype=np.bool_)
        moving = np.zeros(self.problem.slots, dtype=np.bool_)
        moving[self.neighbourhood.slots] = True
        return moving

    def _cells(self) -> list[dict[int, Bit]]:
        every = range(self.problem.levels[0].domains)
        near = every if self.neighbourhood is None else sorted(self.neighbourhood.cells.tolist())
        start = [-1] * self.problem.slots if self.start is None else self.start.tolist()
        return [
            {n: self.bit(f"on[s{s},{place(0, n)}]", int(n == start[s])) for n in near}
            if moving
            else {start[s]: ONE}
            for s, moving in enumerate(self.moving.tolist())
        ]

    def _aggregate(self, level: int) -> list[dict[int, Bit]]:
        """`on` at a coarser level: the sum over the domains inside."""
        fine, coarse = self.problem.up[level - 1], self.problem.up[level]
        parent = dict(zip(fine.tolist(), coarse.tolist(), strict=True))
        return [self._gather(level, s, held, parent) for s, held in enumerate(self.at[level - 1])]

    def _gather(
        self, level: int, s: int, held: dict[int, Bit], parent: dict[int, int]
    ) -> dict[int, Bit]:
        inside: dict[int, list[Bit]] = {}
        for domain, bit in held.items():
            inside.setdefault(parent[domain], []).append(bit)
        return {d: self._either(f"s{s},{place(level, d)}", bits) for d, bits in inside.items()}

    def _either(self, tag: str, bits: list[Bit]) -> Bit:
        if len(bits) == 1:
            return bits[0]
        bit = self.bit(f"on[{tag}]", max(b.hint for b in bits))
        if self.has("aggregate"):
            self.require(f"aggregate[{tag}]", total(bits) == bit.expr)
        return bit

    # What groups do

    def holders(self, level: int, members: Sequence[int]) -> dict[int, list[Bit]]:
        """The domains of a level that may hold members, each with the bits of those it may hold."""
        found: dict[int, list[Bit]] = {}
        for s in members:
            for domain, bit in self.at[level][s].items():
                found.setdefault(domain, []).append(bit)
        return dict(sorted(found.items()))

    def touch(self, tag: str, level: int, members: Sequence[int]) -> dict[int, Bit]:
        """For each domain that may hold a member, whether it holds one: exactly, both ways."""
        key = (level, tuple(members))
        if key not in self._touch:
            self._touch[key] = {
                d: self._touched(f"{tag},{place(level, d)}", bits)
                for d, bits in self.holders(level, members).items()
            }
        return self._touch[key]

    def _touched(self, tag: str, bits: list[Bit]) -> Bit:
        if any(b.fixed for b in bits):
            return ONE
        if len(bits) == 1:
            return bits[0]
        touched = self.bit(f"touch[{tag}]", max(b.hint for b in bits))
        if self.has("touch"):
            for b in bits:
                self.require_any(f"touch[{tag}]", given=[b], some=[touched])
            self.require_any(f"touch[{tag}]", given=[touched], some=bits)
        return touched

    def all_of(self, family: str, tag: str, bits: Sequence[Bit]) -> Bit:
        """A bit that may be 1 only if all of `bits` are: the cost pulls it up."""
        free = [b for b in bits if not b.fixed]
        if not free:
            return ONE
        if len(free) == 1:
            return free[0]
        held = self.bit(f"{family}[{tag}]", min(b.hint for b in free))
        if self.has(family):
            for b in free:
                self.require_any(f"{family}[{tag}]", given=[held], some=[b])
        return held

    def moved(self, groups: IntArray) -> list[tuple[int, list[int]]]:
        """The rows of `groups` (with their index) that hold a slot that may move."""
        rows = np.flatnonzero(self.moving[groups].any(axis=1))
        return list(zip(rows.tolist(), groups[rows].tolist(), strict=True))

    def bridged(self, bridge: Bridge) -> list[tuple[int, int, int]]:
        """Slice, lane of the larger side and its partner by the map, where a slot may move."""
        sides = np.concatenate([bridge.few, bridge.many], axis=1)
        slices = np.flatnonzero(self.moving[sides].any(axis=1))
        return [
            (k, s, u)
            for k in slices.tolist()
            for s, u in zip(bridge.many[k].tolist(), bridge.partner[k].tolist(), strict=True)
        ]

    def feeds(self, bridge: Bridge, k: int, s: int) -> dict[int, Bit]:
        """For lane s of the larger side of slice k: which lane of the smaller side is its own."""
        key = (bridge.name, k, s)
        if key not in self._feeds:
            mapped = bridge.partner[k, bridge.many[k].tolist().index(s)]
            self._feeds[key] = {
                u: self.bit(f"feeds[{bridge.name},k{k},s{u},s{s}]", int(u == mapped))
                for u in bridge.few[k].tolist()
            }
        return self._feeds[key]


def place(level: int, domain: int) -> str:
    """Name of a domain in variables and constraints: n3 is a cell, l1n3 a domain of level 1."""
    return f"n{domain}" if level == 0 else f"l{level}n{domain}"
