"""The exact model against every placement of tiny jobs."""

import random
from itertools import pairwise

import numpy as np
import pytest

from planner_models.assignment import (
    FAMILIES,
    Contiguous,
    Floor,
    Footprint,
    Limits,
    Pin,
    Within,
    build,
    cost,
    devices,
    solve,
)
from planner_models.assignment.search import run, solver_for
from planner_models.job import Job, ModuleShape
from tests.models.assignment_cases import (
    JOBS,
    WEIGHTS,
    assignment,
    costs,
    grid,
    groups,
    machines,
    obeys,
    placements,
    shares,
    some_rules,
)
from tests.oracle import slots_cost

LIMITS = Limits(seconds=60)
PLAIN = ("redundant", "symmetry")


def tiny(seed):
    """A random job on random machines, with every placement and its cost."""
    rng = random.Random(seed)
    job = JOBS[seed % len(JOBS)]
    where = machines(rng, job.world)
    problem = assignment(job, **where)
    every = placements(problem)
    return rng, job, where, problem, every, costs(problem, job, every)


@pytest.mark.parametrize("seed", range(48))
def test_optimum_is_that_of_all_placements_with_and_without_strengthening(seed):
    _, _, _, problem, every, paid = tiny(seed)
    for without in ((), ("redundant",), ("symmetry",), PLAIN):
        answer = solve(problem, LIMITS, without=without)
        assert (answer.status, answer.cost, answer.bound) == ("optimal", paid.min(), paid.min())
        assert answer.cost == cost(problem, answer.cells)
        assert (every == answer.cells).all(axis=1).any()


@pytest.mark.parametrize("seed", range(64))
def test_optimum_under_rules_is_that_of_the_placements_that_obey(seed):
    rng, job, where, _, every, paid = tiny(seed)
    problem = assignment(job, **where, **some_rules(rng, job, **where))
    paid = paid[obeys(problem, every)]
    for without in ((), PLAIN):
        answer = solve(problem, LIMITS, without=without)
        if len(paid):
            assert (answer.status, answer.cost) == ("optimal", paid.min())
            assert obeys(problem, answer.cells[None]).all()
        else:
            assert (answer.status, answer.cells) == ("infeasible", None)


@pytest.mark.parametrize("seed", range(48))
def test_cost_is_the_oracles(seed):
    rng, job, _, problem, every, paid = tiny(seed)
    pick = rng.randrange(len(every))
    cells = every[pick]
    levels = zip(problem.levels, problem.up, strict=True)
    expected = sum(x.weight * slots_cost.cost(job, WEIGHTS, up[cells].tolist()) for x, up in levels)
    assert cost(problem, cells) == paid[pick] == expected


@pytest.mark.parametrize("seed", range(32))
def test_floors_of_what_domains_hold_do_not_move_the_optimum(seed):
    _, job, where, plain, _, paid = tiny(seed)
    floors = tuple(_floor(job, level) for level in range(len(plain.levels)))
    problem = assignment(job, **where, floors=floors, least=int(paid.min()))
    answer = solve(problem, LIMITS)
    assert (answer.status, answer.cost) == ("optimal", paid.min())


def test_floors_and_the_least_cost_bind():
    job = Job((ModuleShape(2, 2, 2),), dp=1)
    floor, best = _floor(job, 0), solve(assignment(job, [4, 4]), LIMITS).cost
    too_high = Floor(0, floor.classes, floor.table + 1)
    assert best == 40
    for data, status in [
        ({"floors": (floor,)}, "optimal"),
        ({"floors": (too_high,)}, "infeasible"),
        ({"least": best}, "optimal"),
        ({"least": best + 1}, "infeasible"),
    ]:
        problem = assignment(job, [4, 4], **data)
        # Every placement of least cost has domains at their floors, so one more excludes it;
        # dearer placements are cut off to see that.
        model = build(problem)
        model.formulation.cp.add(model.costs.objective <= best)
        assert run(solver_for(LIMITS), model.formulation.cp) == status


def test_families_are_all_there_and_named():
    problem = everything()
    f = build(problem).formulation
    names = [c.name for c in f.cp.proto.constraints]
    assert {name.partition("[")[0] for name in names} == f.families == set(FAMILIES)
    variables = {v.name for v in f.cp.proto.variables}
    assert {"on[s3,n1]", "on[s3,l1n1]", "touch[tp.1,g0,n1]", "feeds[bridge,k0,s1,s4]"} <= variables
    assert {"capacity[n2]", "one_device[s0]", "offline[n1]", "pins[0]"} <= set(names)
    assert len(variables) == len(f.cp.proto.variables)


def test_twice_built_is_the_same_model():
    one, two = (str(build(everything()).formulation.cp.proto) for _ in range(2))
    assert one == two


def test_an_unknown_family_is_refused():
    with pytest.raises(ValueError, match=r"unknown families: \['capacities'\]"):
        build(everything(), without=["capacities"])


def test_devices_fill_cells_in_order_around_pins_and_dead_ones():
    problem = everything()
    pin = problem.pins[0]
    answer = solve(problem, LIMITS)
    given = devices(problem, answer.cells)
    assert given.tolist() == answer.devices.tolist()
    assert len(set(given.tolist())) == problem.slots
    assert problem.usable[given].all()
    assert (problem.levels[0].domain[given] == answer.cells).all()
    assert given[pin.slot] == pin.device
    for n in range(problem.levels[0].domains):
        unpinned = [s for s in np.flatnonzero(answer.cells == n) if s != pin.slot]
        assert sorted(given[unpinned].tolist()) == given[unpinned].tolist()


def test_devices_refuse_a_crowded_cell():
    problem = assignment(JOBS[1], [4, 4])
    with pytest.raises(ValueError, match="more slots than it has usable devices"):
        devices(problem, np.array([0, 0, 0, 0, 0, 1]))


def everything():
    """A job with every kind of link and rule."""
    job = Job((ModuleShape(2, 1, 1), ModuleShape(2, 1, 2, ep=2, etp=1, vpp=2)), dp=2, tied=True)
    return assignment(
        job,
        [4, 5, 2, 2],
        leaf=[0, 0, 1, 1],
        offline=[4],
        within=(Within("tp", 0, groups(job, 1, "tp")),),
        hierarchical_cp=(Within("hcp", 0, groups(job, 0, "tp")),),
        footprint=Footprint("footprint", (grid(job, 0).reshape(-1, 1, 2),)),
        contiguous=Contiguous("launch", 0),
        pins=(Pin("pins[0]", 0, 1),),
        floors=(_floor(job, 0, free=True),),
    )


def _floor(job, level, free=False):
    """Least price of any content, by trying all contents; or a floor that says nothing."""
    sizes = [m.tp * m.cp * m.pp * job.dp for m in job.modules]
    ends = np.cumsum([0, *sizes])
    classes = tuple(np.arange(a, b) for a, b in pairwise(ends))
    table = np.full([size + 1 for size in sizes], -(10**6) if free else 10**9)
    if not free:
        held = (np.arange(2**job.world)[:, None] >> np.arange(job.world)) & 1
        degree = np.zeros(job.world, dtype=np.int64)
        for kind, pair in slots_cost.pairs(job):
            degree[list(pair)] += getattr(WEIGHTS, kind)
        prices = shares(job) - held @ degree
        np.minimum.at(table, tuple(held[:, c].sum(axis=1) for c in classes), prices)
    return Floor(level, classes, table)
