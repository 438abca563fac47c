"""Integer weights for the models, whatever numbers the user wrote.

Weights that share a modest denominator are scaled exactly. Others are rounded *down* to a common
grid: cost is monotone in the weights, so a bound under them still holds for the true ones.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from planner.grid import Grid
from planner.machines import Machines
from planner.spec.names import LINK_KINDS
from planner.spec.problem import Problem
from planner.traffic.weights import exact, kind_weights

_MOST = 2**50  # largest cost the models may meet, with room for their own scaling
_DIGITS = 2**20  # resolution of weights that cannot be scaled exactly


@dataclass(frozen=True)
class Weighing:
    """Integer weights and what one unit of integer cost is worth.

    Attributes:
        kinds: weight of a link by kind.
        levels: weight of each level, finest first.
        unit: true cost of one unit.
        is_exact: whether the integers stand for the user's numbers exactly.
    """

    kinds: dict[str, int]
    levels: tuple[int, ...]
    unit: Fraction
    is_exact: bool


def weigh(problem: Problem, grid: Grid, machines: Machines) -> Weighing:
    """Integer weights of a problem.

    Example:
        >>> problem = Problem.model_validate({"cluster": {"nodes": 1, "node_weight": 0.5},
        ...     "job": {"decoder": {"tp": 2}}})
        >>> w = weigh(problem, Grid.of(problem), problem.cluster.machines)
        >>> w.kinds["tp"] * w.levels[0] * w.unit
        Fraction(500, 1)
    """
    counted = _occurring(grid)
    kinds = {
        kind: weight if counted[kind] else Fraction(0)
        for kind, weight in kind_weights(problem).items()
    }
    levels = [exact(level.weight) for level in machines.levels]
    kind_ints, kind_unit, kinds_exact = _scaled(list(kinds.values()))
    level_ints, level_unit, levels_exact = _scaled(levels)
    most = sum(w * counted[k] for k, w in zip(kinds, kind_ints, strict=True)) * sum(level_ints)
    if most > _MOST:
        kind_ints, kind_unit = _rounded([Fraction(w) * kind_unit for w in kind_ints])
        level_ints, level_unit = _rounded([Fraction(w) * level_unit for w in level_ints])
        kinds_exact = levels_exact = False
    return Weighing(
        dict(zip(kinds, kind_ints, strict=True)),
        tuple(level_ints),
        kind_unit * level_unit,
        kinds_exact and levels_exact,
    )


def _scaled(numbers: list[Fraction]) -> tuple[list[int], Fraction, bool]:
    denominator = lcm(*(n.denominator for n in numbers))
    integers = [int(n * denominator) for n in numbers]
    common = gcd(*integers) or 1
    integers = [i // common for i in integers]
    if max(integers) > _MOST // _DIGITS:
        return *_rounded(numbers), False
    return integers, Fraction(common, denominator), True


def _rounded(numbers: list[Fraction]) -> tuple[list[int], Fraction]:
    unit = max(numbers) / _DIGITS
    return ([int(n / unit) for n in numbers], unit) if unit else ([0] * len(numbers), Fraction(1))


def _occurring(grid: Grid) -> dict[str, int]:
    """Most links of each kind that one level can count."""
    out = dict.fromkeys(LINK_KINDS, 0)
    for kind, family in grid.rings.items():
        out[kind] += sum(g.size for g in family if g.shape[1] > 1)
    for kind, family in grid.exchanges.items():
        out[kind] += sum(g.size * (g.shape[1] - 1) // 2 for g in family)
    for kind, pairs in grid.pairs.items():
        out[kind] = len(pairs)
    return out
