"""What every optimal placement, or one of its mirror images, obeys anyway.

Nothing here may move the optimum: `redundant` follows from the hard constraints and the cost,
`symmetry` keeps one placement of each class of placements that differ by names only.
"""

import numpy as np

from planner_models.assignment.formulation import Bit, Formulation, place, total
from planner_models.assignment.links import Costs, weighted
from planner_models.assignment.symmetry import Symmetries


def redundant(f: Formulation, costs: Costs | None) -> None:
    """redundant[…]: placed slots, capacities of coarse domains, cut rings, floors, the total."""
    for s in np.flatnonzero(f.moving).tolist():
        f.require_any(f"redundant[s{s}]", given=[], some=f.at[0][s].values())
    if costs is None:
        return
    for tag, touch, whole in costs.rings:
        # A ring that is nowhere whole touches two domains.
        f.require(f"redundant[{tag}]", total(touch) + total(whole) >= 2)
    f.require("redundant[total]", costs.objective >= f.problem.least)
    if f.neighbourhood is None:
        _floors(f, costs)


def _floors(f: Formulation, costs: Costs) -> None:
    """A domain's price is at least the floor of what it holds: one `holds` bit a content.

    Σ holds = 1, Σ content · holds = what is held, Σ floor · holds ≤ price: in the linear
    relaxation this is the convex hull of the table, and summed over the domains the master problem
    of the counting bound.
    """
    for i, floor in enumerate(f.problem.floors):
        if not costs.counts(floor.level):
            continue
        held = [f.holders(floor.level, members.tolist()) for members in floor.classes]
        for n, room in enumerate(f.problem.capacities(floor.level).tolist()):
            tag = f"f{i},{place(floor.level, n)}"
            contents = [c for c in np.ndindex(floor.table.shape) if sum(c) <= room]
            start = tuple(sum(b.hint for b in bits.get(n, [])) for bits in held)
            holds = [
                f.bit(f"holds[{tag},{','.join(map(str, c))}]", int(c == start)) for c in contents
            ]
            f.require(f"redundant[{tag}]", total(holds) == 1)
            for axis, bits in enumerate(held):
                amount = weighted([(c[axis], b) for c, b in zip(contents, holds, strict=True)])
                f.require(f"redundant[{tag},held{axis}]", amount == total(bits.get(n, [])))
            least = [(int(floor.table[c]), b) for c, b in zip(contents, holds, strict=True)]
            price = weighted(costs.prices[floor.level, n])
            f.require(f"redundant[{tag},price]", weighted(least) <= price)


def symmetry(f: Formulation, symmetries: Symmetries) -> None:
    """symmetry[…]: the lexicographic leader of a class, as far as single swaps say.

    Order the rows (slots) by number, inside a row the cells by `symmetries.order`; of all mirror
    images keep the one whose first row has its 1 earliest, then the second row, and so on. It obeys
    - twin domains n, m (n before m): slot s enters m only if a smaller slot is in n;
    - an exchange of slots: the first slot it moves sits no later than the slot it moves there.
    """
    for level, n, m in symmetries.twins:
        seen: Bit | None = None
        for s in range(f.problem.slots):
            tag = f"{place(level, m)},s{s}"
            earlier = [] if seen is None else [seen]
            f.require_any(f"symmetry[{tag}]", given=[f.at[level][s][m]], some=earlier)
            seen = _seen(f, f"{place(level, n)},{tag}", [*earlier, f.at[level][s][n]])
    rank = np.argsort(symmetries.order).tolist()
    for i, exchange in enumerate(symmetries.exchanges):
        first = int(np.flatnonzero(exchange != np.arange(f.problem.slots))[0])
        here, there = (
            weighted([(rank[n], bit) for n, bit in f.at[0][s].items()])
            for s in (first, int(exchange[first]))
        )
        f.require(f"symmetry[x{i}]", here <= there)


def _seen(f: Formulation, tag: str, bits: list[Bit]) -> Bit:
    if len(bits) == 1:
        return bits[0]
    seen = f.bit(f"seen[{tag}]", max(b.hint for b in bits))
    f.require_any(f"symmetry[seen,{tag}]", given=[seen], some=bits)
    for b in bits:
        f.require_any(f"symmetry[seen,{tag}]", given=[b], some=[seen])
    return seen
