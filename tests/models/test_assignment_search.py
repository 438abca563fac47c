"""Hints, neighbourhoods, limits, interruption and conflicts of the exact model."""

import random
import signal
import threading
from functools import cache

import numpy as np
import pytest

from planner_models.assignment import (
    Contiguous,
    Limits,
    Neighbourhood,
    Pin,
    Within,
    build,
    conflict,
    cost,
    solve,
)
from planner_models.assignment.conflict import keeping
from planner_models.assignment.search import run, solver_for
from planner_models.assignment.symmetry import canonical, symmetries
from planner_models.job import Job, ModuleShape
from tests.models.assignment_cases import (
    JOBS,
    assignment,
    costs,
    groups,
    machines,
    obeys,
    placements,
    some_rules,
)

LIMITS = Limits(seconds=60)
# Too big to be solved in the work these tests allow it.
BIG = assignment(Job((ModuleShape(3, 2, 2),), dp=2), [7, 6, 6, 5])
IN_ORDER = np.repeat(np.arange(4), [7, 6, 6, 5])


@cache
def drawn(seed):
    """A random problem under random rules, the placements it allows, and their costs."""
    rng = random.Random(seed)
    job = JOBS[seed % len(JOBS)]
    where = machines(rng, job.world)
    problem = assignment(job, **where, **some_rules(rng, job, **where))
    every = placements(problem)
    every = every[obeys(problem, every)]
    return problem, every, costs(problem, job, every)


@pytest.mark.parametrize("seed", range(48))
def test_a_hint_is_complete_feasible_and_does_not_move_the_optimum(seed):
    rng, (problem, every, paid) = random.Random(seed), drawn(seed)
    if not len(every):
        assert solve(problem, LIMITS).status == "infeasible"
        return
    start = every[rng.randrange(len(every))]
    model = build(problem, start=start)
    proto = model.formulation.cp.proto
    assert sorted(proto.solution_hint.vars) == list(range(len(proto.variables)))
    assert model.costs.at_start == cost(problem, start)
    solver = solver_for(LIMITS)
    solver.parameters.fix_variables_to_their_hinted_value = True
    assert run(solver, model.formulation.cp) == "optimal"
    assert solver.objective_value == cost(problem, start)
    assert solve(problem, LIMITS, start=start).cost == paid.min()


@pytest.mark.parametrize("seed", range(32))
def test_mirror_images_cost_the_same_and_are_allowed(seed):
    rng, (problem, every, paid) = random.Random(seed), drawn(seed)
    found = symmetries(problem)
    for pick in rng.sample(range(len(every)), min(len(every), 20)):
        image = canonical(problem, found, every[pick])
        where = np.flatnonzero((every == image).all(axis=1))
        assert paid[where].tolist() == [paid[pick]]
        assert np.array_equal(canonical(problem, found, image), image)


def test_exchanges_that_change_the_problem_are_not_used():
    """Lanes of one tp group are alike until the bridge deals them runs of unequal length."""
    alike = assignment(Job((ModuleShape(2, 1, 1),), dp=2), [4])
    lanes = [2, 3, 0, 1], [1, 0, 3, 2]
    assert [x.tolist() for x in symmetries(alike).exchanges] == list(map(list, lanes))
    uneven = assignment(Job((ModuleShape(2, 1, 1), ModuleShape(3, 1, 1)), dp=1), [5])
    assert [x.tolist() for x in symmetries(uneven).exchanges] == []
    pinned = assignment(Job((ModuleShape(2, 1, 1),), dp=2), [4], pins=(Pin("p", 0, 0),))
    assert symmetries(pinned).exchanges == ()


def test_twins_are_equal_all_the_way_down():
    """Leaves of nodes (2, 3) and (3, 2) are twins, a leaf of (3, 3) is not; nodes in it are."""
    problem = assignment(JOBS[0], [2, 3, 3, 2, 3, 3], leaf=[0, 0, 1, 1, 2, 2])
    found = symmetries(problem)
    assert set(found.twins) == {(1, 0, 1), (0, 4, 5)}
    assert found.order.tolist() == [0, 1, 3, 2, 4, 5]
    dead = assignment(JOBS[0], [2, 3, 3, 2, 3, 3], leaf=[0, 0, 1, 1, 2, 2], offline=[0, 13])
    assert symmetries(dead).twins == ()


@pytest.mark.parametrize("seed", range(32))
def test_a_neighbourhood_is_searched_whole_and_nothing_else_moves(seed):
    rng, (problem, every, paid) = random.Random(seed), drawn(seed)
    if not len(every):
        return
    pick = rng.randrange(len(every))
    start = every[pick]
    free = np.array(rng.sample(range(problem.slots), 4))
    cells = np.union1d(start[free], [rng.randrange(problem.levels[0].domains)])
    fixed = np.setdiff1d(np.arange(problem.slots), free)
    near = (every[:, fixed] == start[fixed]).all(axis=1) & np.isin(every[:, free], cells).all(1)
    model = build(problem, start=start, neighbourhood=Neighbourhood(free, cells))
    assert model.costs.at_start == paid[pick]
    answer = solve(problem, LIMITS, start=start, neighbourhood=Neighbourhood(free, cells))
    assert (answer.status, answer.cost, answer.bound) == ("optimal", paid[near].min(), answer.cost)
    assert (every[near] == answer.cells).all(axis=1).any()


def test_a_neighbourhood_needs_a_start():
    with pytest.raises(ValueError, match="a neighbourhood needs a start placement"):
        build(BIG, neighbourhood=Neighbourhood(np.array([0]), np.array([0])))


def test_a_start_survives_the_presolve():
    """CP-SAT may break the symmetries of this one against the hint, and lose it."""
    problem = assignment(Job((ModuleShape(2, 2, 2),), dp=4), [8, 8, 8, 8])
    start = np.repeat(np.arange(4), 8)
    for without in ((), ("symmetry",)):
        answer = solve(problem, Limits(work=0.05), start=start, without=without)
        assert answer.cost <= cost(problem, start)


@pytest.mark.parametrize("workers", [1, 2])
def test_limited_work_gives_the_same_answer_twice(workers):
    limits = Limits(work=0.15, workers=workers, seed=3)
    one, two = (solve(BIG, limits, start=IN_ORDER) for _ in range(2))
    assert one.status == two.status == "feasible"
    assert (one.cost, one.bound) == (two.cost, two.bound)
    assert one.cells.tolist() == two.cells.tolist()


def test_progress_reports_costs_that_fall_and_the_last_is_the_answers():
    heard = []
    limits = Limits(work=0.15)
    answer = solve(BIG, limits, start=IN_ORDER, progress=lambda *news: heard.append(news))
    paid = [c for c, _ in heard if c is not None]
    assert paid == sorted(paid, reverse=True)
    assert paid[-1] == answer.cost
    assert all(isinstance(bound, int) and bound <= answer.cost for _, bound in heard)


def test_a_stop_event_ends_the_search_with_the_best_so_far():
    stop = threading.Event()
    answer = solve(BIG, Limits(), stop=stop, progress=lambda paid, _: paid and stop.set())
    assert answer.status == "feasible"
    assert answer.cost == cost(BIG, answer.cells)


def test_an_interrupt_reaches_the_caller_during_the_search():
    def interrupt(paid, _):
        if paid is not None:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            solve(BIG, Limits(), progress=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_gap_is_enough_and_is_not_called_optimal():
    problem = assignment(Job((ModuleShape(3, 2, 2),), dp=1), [5, 4, 4])
    best = solve(problem, LIMITS)
    loose = solve(problem, Limits(seconds=60, gap=0.9))
    assert (best.status, best.bound) == ("optimal", best.cost)
    assert (loose.status, loose.cost) == ("feasible", cost(problem, loose.cells))
    assert 0.1 * loose.cost <= loose.bound <= best.cost <= loose.cost


TP4 = Job((ModuleShape(4, 1, 1),), dp=2)


def within(level=0):
    return (Within("within.tp", level, groups(TP4, 0, "tp")),)


@pytest.mark.parametrize(
    ("problem", "labels"),
    [
        pytest.param(assignment(TP4, [3, 3, 2], within=within()), ("within.tp",), id="too wide"),
        pytest.param(
            assignment(TP4, [4, 5], offline=[0], within=within()),
            ("within.tp", "cluster offline"),
            id="a dead GPU",
        ),
        pytest.param(assignment(TP4, [4, 4], offline=[0]), ("cluster offline",), id="too few"),
        pytest.param(assignment(TP4, [4, 3]), (), id="too few without any rule"),
        pytest.param(
            assignment(
                TP4,
                [8, 8],
                within=within(),
                contiguous=Contiguous("launch", 0),
                pins=(Pin("pins[0]", 0, 0), Pin("pins[1]", 6, 1), Pin("pins[2]", 7, 8)),
            ),
            ("within.tp", "pins[1]", "pins[2]"),
            id="pins that split a group",
        ),
        pytest.param(
            assignment(
                TP4,
                [8, 8],
                contiguous=Contiguous("launch", 0),
                pins=(Pin("pins[0]", 0, 0), Pin("pins[1]", 4, 8), Pin("pins[2]", 7, 1)),
            ),
            ("pins[0]", "pins[1]", "pins[2]", "launch"),
            id="pins that break a run",
        ),
    ],
)
def test_a_conflict_names_the_lines_that_exclude_each_other(problem, labels):
    assert solve(problem, LIMITS).status == "infeasible"
    found = conflict(problem, LIMITS)
    assert set(found.labels) == set(labels)
    assert found.minimal


def test_no_conflict_where_a_placement_exists():
    assert conflict(assignment(TP4, [4, 4], within=within()), LIMITS) is None


@pytest.mark.parametrize("seed", range(48))
def test_conflicts_are_minimal(seed):
    problem, every, _ = drawn(seed)
    found = conflict(problem, LIMITS)
    assert (found is None) == (len(every) > 0)
    if found is None:
        return
    assert found.minimal
    assert found.labels
    assert not possible(problem, found.labels)
    for label in found.labels:
        assert possible(problem, tuple(x for x in found.labels if x != label))


def possible(problem, labels):
    loose = keeping(problem, labels)
    every = placements(loose)
    return bool(obeys(loose, every).any())
