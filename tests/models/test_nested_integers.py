"""The integer master over nodes and leaves: it closes gaps, and each of its terms is needed."""

import pytest
from ortools.sat.python import cp_model

from benchmarks.nested_bruteforce import optimum
from planner_models import nested
from planner_models.job import Job, ModuleShape, Weights
from planner_models.nested import integer_master
from planner_models.nested.bounding import relax_best, targets
from planner_models.nested.integer_master import IntegerMaster
from planner_models.shapes.column_generation import rounded

JOB = Job((ModuleShape(3, 1, 2),), dp=2)
WEIGHTS = Weights(10, 5, 0, 1)
CLOSED = [  # weights of the levels, leaves, and what prices alone prove: one or two too little
    ((1, 1), ((3, 4), (5,)), 44),
    ((1, 2), ((4,), (4, 4)), 77),
    ((1, 2), ((3, 4), (4, 1)), 76),
    ((1, 1), ((5, 4), (3,)), 26),
    ((1, 1), ((3,), (4, 4, 1)), 37),
]


@pytest.fixture(params=CLOSED, ids=str)
def closed(request):
    levels, leaves, by_prices = request.param
    relaxation, seen = relax_best(JOB, WEIGHTS, levels, leaves)
    assert rounded(seen.total, 1) == by_prices
    return levels, leaves, relaxation, seen


def test_it_closes_the_gap_that_prices_leave(closed) -> None:
    levels, leaves, _, seen = closed
    best = optimum(JOB, WEIGHTS, levels, leaves)
    assert nested.bound(JOB, WEIGHTS, levels, leaves).value == best > rounded(seen.total, 1)


def test_any_target_from_the_optimum_on_is_met_at_the_optimum(closed) -> None:
    levels, leaves, relaxation, seen = closed
    best = optimum(JOB, WEIGHTS, levels, leaves)
    for target in (best, best + 7):
        answer = IntegerMaster.build(relaxation, seen, target).solve()
        assert answer.met
        assert answer.decided
        assert rounded(answer.lower, 1) == best


def test_a_target_below_the_optimum_is_refused(closed) -> None:
    levels, leaves, relaxation, seen = closed
    best = optimum(JOB, WEIGHTS, levels, leaves)
    answer = IntegerMaster.build(relaxation, seen, best - 1).solve()
    assert (answer.met, answer.decided) == (False, True)
    assert rounded(answer.lower, 1) == best


def test_a_target_that_allows_too_much_is_not_looked_at(monkeypatch) -> None:
    levels, leaves, by_prices = CLOSED[0]
    for limit in ("MOST_PATTERNS", "MOST_ARCS"):
        with monkeypatch.context() as patch:
            patch.setattr(integer_master, limit, 0)
            assert nested.bound(JOB, WEIGHTS, levels, leaves).value == by_prices


ALIKE = ((4,), (4,), (4,))
ROOMY = ((4, 4), (4, 2))  # two slots stay empty


def test_leaves_that_are_alike_all_count() -> None:
    assert nested.bound(JOB, WEIGHTS, (1, 1), ALIKE).value == 68
    relaxation, seen = relax_best(JOB, WEIGHTS, (1, 1), ALIKE)
    assert rounded(seen.total, 1) == 66
    assert rounded(IntegerMaster.build(relaxation, seen, 75).solve().lower, 1) == 68


@pytest.mark.parametrize("family", ["nodes", "path", "split", "shapes"])
def test_every_family_is_needed(family, monkeypatch) -> None:
    """Without it some optimum falls; the deal, which implies some of them, is left out."""
    monkeypatch.setattr(integer_master, "MOST_DEALS", 0)
    fell = 0
    for levels, leaves in [*(c[:2] for c in CLOSED), ((1, 1), ALIKE), ((1, 1), ROOMY)]:
        relaxation, seen = relax_best(JOB, WEIGHTS, levels, leaves)
        model = IntegerMaster.build(relaxation, seen, 100).model
        solver = cp_model.CpSolver()
        assert solver.solve(model) == cp_model.OPTIMAL
        full = solver.objective_value
        for constraint in model.proto.constraints:
            if constraint.name.startswith(f"{family}["):
                constraint.linear.domain.clear()
                constraint.linear.domain.extend([-1_000, 1_000])
        assert solver.solve(model) == cp_model.OPTIMAL
        fell += solver.objective_value < full
    assert fell


def test_targets_double_their_steps() -> None:
    assert list(targets(8, 2, 30)) == [8, 10, 14, 22, 28]
    assert list(targets(8, 2, 8)) == []


def test_what_is_not_decided_is_not_claimed(monkeypatch) -> None:
    levels, leaves, by_prices = CLOSED[1]
    monkeypatch.setattr(integer_master, "MOST_WORK", 0.0)
    assert by_prices <= nested.bound(JOB, WEIGHTS, levels, leaves).value <= 79
    relaxation, seen = relax_best(JOB, WEIGHTS, levels, leaves)
    assert not IntegerMaster.build(relaxation, seen, 90).solve().decided
