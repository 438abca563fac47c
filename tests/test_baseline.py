"""The best axis order: a hand-checked value, and the cheapest of all orders tried one by one."""

from itertools import permutations, product
from math import prod

import numpy as np
import pytest

from planner.baseline import best_axis_order, lay, score
from planner.grid import Grid
from planner.solver.weighing import weigh
from planner.spec.problem import Problem
from tests.problems import MISFIT, random_problem

MESH = ("pp", "dp", "cp", "tp")


def best(problem: Problem) -> tuple[int, np.ndarray]:
    grid, machines = Grid.of(problem), problem.cluster.machines
    weighing = weigh(problem, grid, machines)
    cost, placement = best_axis_order(grid, machines, weighing.kinds, weighing.levels)
    assert score(grid, machines, weighing.kinds, weighing.levels, placement) == cost
    return cost, placement


def every_order(problem: Problem) -> int:
    """The cheapest of: axes shared outside, then the modules' blocks, each in its own order."""
    grid, machines = Grid.of(problem), problem.cluster.machines
    weighing = weigh(problem, grid, machines)
    sizes = [dict(zip(MESH, m.mesh.shape, strict=True)) for m in grid.modules]
    shareable = [a for a in ("dp", "cp") if len({s[a] for s in sizes}) == 1 and len(sizes) > 1]
    costs = []
    for number in range(len(shareable) + 1):
        for outer in permutations(shareable, number):
            inner = [axis for axis in MESH if axis not in outer]
            for orders in product(permutations(inner), repeat=len(sizes)):
                blocks = [
                    module.mesh.transpose([MESH.index(a) for a in (*outer, *order)]).reshape(
                        prod(sizes[0][a] for a in outer), -1
                    )
                    for module, order in zip(grid.modules, orders, strict=True)
                ]
                slots = np.concatenate(blocks, axis=1).ravel()
                placement = lay(slots, machines.usable)
                costs.append(score(grid, machines, weighing.kinds, weighing.levels, placement))
    return min(costs)


def test_copies_of_both_modules_side_by_side_beat_one_module_behind_the_other() -> None:
    """Seven nodes of 8: 11,716 with all encoders first, 11,684 copy by copy."""
    cost, placement = best(Problem.model_validate(MISFIT))
    assert cost == 11684
    assert sorted(placement.tolist()) == list(range(56))


def test_orders_that_keep_what_must_hold_go_first() -> None:
    problem = Problem.model_validate(MISFIT)
    grid, machines = Grid.of(problem), problem.cluster.machines
    weighing = weigh(problem, grid, machines)
    given = (grid, machines, weighing.kinds, weighing.levels)
    cost, placement = best_axis_order(*given, lambda placed: bool((np.diff(placed) == 1).all()))
    assert (cost, placement.tolist()) == (11716, list(range(56)))
    assert best_axis_order(*given, lambda _: False)[0] == 11684  # none does: the best of all


@pytest.mark.parametrize("block", range(3))
def test_no_order_is_cheaper(block: int) -> None:
    for seed in range(8 * block, 8 * (block + 1)):
        problem = Problem.model_validate(random_problem(seed, 24))
        assert best(problem)[0] == every_order(problem), seed
