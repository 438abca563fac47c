"""Several levels of machines together: where the coarsest cut of a tensor group is.

Domains nest, so a tensor group that is cut at a level is cut at every finer one. If j is the
coarsest level at which any is cut (0: none anywhere), the levels up to j pay at least their bound
with a cut, the coarser ones at least their bound without. The least over j bounds every placement;
it is more than the sum of the levels' own minima where cutting pays at one level but not at two.
"""

from collections.abc import Sequence
from typing import Protocol


class Cases(Protocol):
    """The two cases of one level; None where a case is impossible."""

    @property
    def whole(self) -> int | None:
        """Least cost with every tensor group whole at the level."""

    @property
    def cut(self) -> int | None:
        """Least cost with a tensor group cut at the level."""


def across_levels(weights: Sequence[int], levels: Sequence[Cases]) -> int:
    """Lower bound on the cost of all levels, their weights included.

    Args:
        weights: of the levels, fine to coarse.
        levels: what is known about each.

    Raises:
        ValueError: no case is possible, so some bound is wrong.

    Example:
        Cutting would save 1 at the second level, but costs 4 at the first:

        >>> fine, coarse = (
        ...     UnitsBound(min(whole, cut), whole, cut, None, (), "linear")
        ...     for whole, cut in ((5, 9), (4, 3))
        ... )
        >>> across_levels([1, 2], [fine, coarse])
        13
    """
    totals = []
    for j in range(len(levels) + 1):
        cases = [level.cut if i < j else level.whole for i, level in enumerate(levels)]
        known = [case for case in cases if case is not None]
        if len(known) == len(levels):
            totals.append(sum(w * case for w, case in zip(weights, known, strict=True)))
    if not totals:
        raise ValueError("tensor groups can be neither whole nor cut at these levels")
    return min(totals)
