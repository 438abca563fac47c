"""Nodes and leaves together, as a search uses them."""

import threading

import pytest

from planner.grid import Grid
from planner.solver.counting import bound_by_counting
from planner.solver.nesting import BY, solve_nested
from planner.solver.outcome import Options
from planner.solver.regular import offer_regular
from planner.solver.state import Search
from tests.problems import problem

LEAVES = {"name": "leaf", "domains": {"a": "n[0-1]", "b": "n[2-3]", "c": "n[4-5]"}}
PODS = {"name": "pod", "weight": 2, "domains": {"x": "n[0-3]", "y": "n[4-5]"}}
JOB = {"decoder": {"tp": 5}, "dp": 8}


def searched(*levels, **more) -> Search:
    nodes = [{"name": f"n{i}", "gpus": 4 if i in {1, 5} else 8} for i in range(6)]
    made = problem({"nodes": nodes, "levels": list(levels)} | more, JOB)
    options = Options(60, 0, 1, 0, deterministic=False, progress=None, stop=threading.Event())
    search = Search(made, Grid.of(made), options)
    for step in (offer_regular, bound_by_counting, solve_nested):
        step(search)
    return search


def summed(search: Search) -> int:
    return sum(w * b for w, b in zip(search.weighing.levels, search.level_bounds, strict=True))


@pytest.mark.parametrize("levels", [(LEAVES,), (LEAVES, PODS)])
def test_it_proves_more_than_the_levels_alone_and_says_so(levels) -> None:
    search = searched(*levels)
    assert summed(search) < search.whole_bound <= search.cost
    assert search.outcome().proofs[-1].level == "all"
    assert search.outcome().proofs[-1].by == BY


def test_a_level_above_adds_its_own_bound() -> None:
    two, three = searched(LEAVES), searched(LEAVES, PODS)
    assert three.whole_bound == two.whole_bound + 2 * three.level_bounds[2] > two.whole_bound


def test_levels_without_cost_are_skipped() -> None:
    search = searched(LEAVES, PODS, node_weight=0)
    assert search.whole_bound == 0  # leaves of 12 and more are beyond what is listed


def test_one_costly_level_is_left_to_the_others() -> None:
    assert searched().whole_bound == 0
