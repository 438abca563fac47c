"""Each hard constraint alone: what it allows, what it forbids, and that nothing else forbids it."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from planner_models.assignment import (
    FAMILIES,
    Assignment,
    Contiguous,
    Footprint,
    Level,
    Limits,
    Pin,
    Within,
    build,
    solve,
)
from planner_models.assignment.search import run, solver_for
from planner_models.job import Job, ModuleShape, Weights
from tests.models.assignment_cases import assignment, grid, groups

LIMITS = Limits(seconds=60)
PLAIN = ("redundant", "symmetry")
PAIRS = Job((ModuleShape(2, 1, 2),), dp=1)  # two tp pairs, stage after stage: 0 1 | 2 3
COPIES = Job((ModuleShape(2, 1, 1),), dp=2)  # two tp pairs, copy after copy: 0 1 | 2 3
CONTEXT = Job((ModuleShape(2, 2, 1),), dp=1)  # two tp pairs that are context peers: 0 1 | 2 3
EXPERTS = Job((ModuleShape(1, 1, 1, ep=2, etp=1),), dp=4)
BRIDGE = Job((ModuleShape(2, 1, 1), ModuleShape(2, 1, 1)), dp=1)  # encoder 0 1, decoder 2 3


@dataclass(frozen=True)
class Case:
    """A problem with values some variables may take together, and values they may not."""

    problem: Assignment
    allowed: dict[str, int]
    forbidden: dict[str, int] = field(default_factory=dict)


def at(*cells):
    """The placement of slot s in cell `cells[s]`, as values of `on`."""
    return {f"on[s{s},n{n}]": 1 for s, n in enumerate(cells)}


def context_pairs(label="footprint"):
    return Footprint(label, (grid(CONTEXT, 0).reshape(-1, 2, 2),))


CASES = {
    "one_device": Case(assignment(PAIRS, [4, 4]), at(0, 0, 1, 1), {"on[s0,n0]": 1, "on[s0,n1]": 1}),
    "group_shape": Case(
        assignment(PAIRS, [4, 4]), at(0, 0, 1, 1), {"on[s0,n0]": 0, "on[s0,n1]": 0}
    ),
    "capacity": Case(assignment(PAIRS, [3, 2]), at(0, 0, 0, 1), at(1, 1, 1, 0)),
    "offline": Case(assignment(PAIRS, [3, 3], offline=[4]), at(0, 0, 0, 1), at(0, 1, 1, 1)),
    "aggregate": Case(
        assignment(PAIRS, [2, 2, 2], leaf=[0, 0, 1]),
        at(0, 0, 2, 2) | {"on[s0,l1n0]": 1, "on[s1,l1n0]": 1},
        at(0, 0, 2, 2) | {"on[s0,l1n0]": 0},
    ),
    "lane": Case(
        assignment(BRIDGE, [4, 4]), {"feeds[bridge,k0,s1,s3]": 1}, {"feeds[bridge,k0,s0,s3]": 1}
    ),
    "within": Case(
        assignment(COPIES, [2, 2, 2], within=(Within("tp", 0, groups(COPIES, 0, "tp")),)),
        at(0, 0, 2, 2),
        at(0, 1, 2, 2),
    ),
    "hierarchical_cp": Case(
        assignment(CONTEXT, [2, 2, 2], hierarchical_cp=(Within("hcp", 0, np.array([[0, 2]])),)),
        at(1, 0, 1, 2),
        at(1, 0, 2, 1),
    ),
    "footprint": Case(
        assignment(CONTEXT, [2, 2, 2], footprint=context_pairs()), at(0, 1, 0, 1), at(0, 0, 1, 2)
    ),
    "contiguous": Case(
        assignment(PAIRS, [3, 3], contiguous=Contiguous("launch", 0)),
        at(1, 0, 0, 0),
        at(1, 0, 1, 1),
    ),
    "pins": Case(
        assignment(PAIRS, [3, 3], pins=(Pin("pins[0]", 2, 4),)), at(0, 0, 1, 1), at(1, 1, 0, 1)
    ),
    "touch": Case(
        assignment(PAIRS, [4, 4]),
        at(0, 1, 1, 1) | {"touch[tp.0,g0,n0]": 1, "touch[tp.0,g0,n1]": 1},
        at(0, 1, 1, 1) | {"touch[tp.0,g0,n1]": 0},
    ),
    "whole": Case(
        assignment(PAIRS, [4, 4]),
        at(0, 0, 1, 1) | {"whole[tp.0,g0,n0]": 1, "whole[tp.0,g1,n1]": 1},
        at(0, 1, 1, 1) | {"whole[tp.0,g0,n1]": 1},
    ),
    "count": Case(
        assignment(EXPERTS, [4, 4]),
        at(0, 0, 1, 1) | {"count[ep.0,g0,n0,2]": 1},
        at(0, 1, 1, 1) | {"count[ep.0,g0,n0,2]": 1},
    ),
    "both": Case(
        assignment(PAIRS, [4, 4]),
        at(0, 1, 0, 0) | {"both[s0,s2,n0]": 1},
        at(0, 1, 0, 0) | {"both[s1,s3,n0]": 1},
    ),
}


def status(problem, values, without=PLAIN):
    """Whether the model without its cost has a solution with these values."""
    f = build(problem, without=without).formulation
    index = {v.name: i for i, v in enumerate(f.cp.proto.variables)}
    for name, value in values.items():
        f.cp.add(f.cp.get_int_var_from_proto_index(index[name]) == value)
    f.cp.clear_objective()
    return run(solver_for(LIMITS), f.cp)


def test_every_family_but_the_strengthening_has_its_case():
    assert set(CASES) == set(FAMILIES) - set(PLAIN)


@pytest.mark.parametrize("family", CASES)
def test_a_family_allows_and_forbids(family):
    case = CASES[family]
    assert status(case.problem, case.allowed) == "optimal"
    assert status(case.problem, case.forbidden) == "infeasible"


@pytest.mark.parametrize("family", CASES)
def test_only_that_family_forbids_it(family):
    case = CASES[family]
    assert status(case.problem, case.forbidden, without=(family, *PLAIN)) == "optimal"


@pytest.mark.parametrize("family", CASES)
def test_strengthening_forbids_nothing_that_is_allowed(family):
    # Up to mirror images: so without symmetry.
    case = CASES[family]
    assert status(case.problem, case.allowed, without=("symmetry",)) == "optimal"


NEEDED = {
    # Three context peers of two lanes, two slots a node: with a slot on two nodes each node could
    # hold two slots of one lane; with slots on one node, one node holds both lanes of a peer.
    "one_device": assignment(
        Job((ModuleShape(2, 3, 1),), dp=1), [2, 2, 2], weights=Weights(tp=0, cp=1, dp=0, pp=0)
    ),
    "group_shape": assignment(PAIRS, [3, 1]),
    "capacity": assignment(PAIRS, [3, 1]),
    "offline": assignment(PAIRS, [4, 1], offline=[0]),
    "aggregate": assignment(PAIRS, [1, 1, 1, 1], leaf=[0, 0, 1, 1]),
    "lane": assignment(BRIDGE, [2, 2]),
    "within": assignment(CONTEXT, [2, 2], within=(Within("cp", 0, groups(CONTEXT, 0, "cp")),)),
    "hierarchical_cp": assignment(
        CONTEXT, [2, 2], hierarchical_cp=(Within("hcp", 0, groups(CONTEXT, 0, "cp")),)
    ),
    "footprint": assignment(CONTEXT, [3, 1, 1], footprint=context_pairs()),
    "contiguous": assignment(
        Job((ModuleShape(1, 1, 2),), dp=2), [2, 2], contiguous=Contiguous("launch", 0)
    ),
    "pins": assignment(PAIRS, [4, 4], pins=(Pin("pins[0]", 2, 4), Pin("pins[1]", 3, 0))),
    "touch": assignment(PAIRS, [3, 1]),
    "whole": assignment(PAIRS, [3, 1]),
    "count": assignment(EXPERTS, [3, 1]),
    "both": assignment(PAIRS, [2, 2]),
}


@pytest.mark.parametrize("family", CASES)
def test_no_family_can_be_left_out(family):
    problem = NEEDED[family]
    whole = solve(problem, LIMITS, without=PLAIN)
    model = build(problem, without=(family, *PLAIN))
    solver = solver_for(LIMITS)
    assert whole.status == run(solver, model.formulation.cp) == "optimal"
    assert solver.objective_value < whole.cost


def test_footprint_wants_equal_spans_and_even_counts_at_the_coarse_level_too():
    """Both peers span two nodes, but one both leaves; then the same by counts alone."""
    rules = {"footprint": context_pairs()}
    nodes = assignment(CONTEXT, [1, 1, 1, 1], **rules)
    leaves = assignment(CONTEXT, [1, 1, 1, 1], leaf=[0, 0, 0, 1], **rules)
    assert status(nodes, at(0, 1, 2, 3)) == "optimal"
    assert status(leaves, at(0, 1, 2, 3)) == "infeasible"
    wide = Job((ModuleShape(1, 4, 1),), dp=1)
    even = assignment(wide, [3, 3], footprint=Footprint("f", (np.arange(4).reshape(1, 4, 1),)))
    assert status(even, at(0, 0, 1, 1)) == "optimal"
    assert status(even, at(0, 0, 0, 1)) == "infeasible"


def test_a_level_inside_the_node_makes_its_domains_the_cells():
    """Two nodes of two GPU pairs, one GPU dead; each tp pair must have a GPU pair of its own."""
    pair, node = np.repeat(np.arange(4), 2), np.repeat(np.arange(2), 4)
    shapes = groups(Job((ModuleShape(2, 1, 1),), dp=3), 0, "tp")
    problem = Assignment(
        slots=6,
        levels=(Level(3, pair), Level(1, node)),
        usable=np.array([True] * 7 + [False]),
        shapes=(shapes,),
        within=(Within("tp", 0, shapes),),
        pins=(Pin("pins[0]", 2, 5),),
    )
    answer = solve(problem, LIMITS)
    assert answer.status == "optimal"
    assert sorted(answer.cells.tolist()) == [0, 0, 1, 1, 2, 2]
    assert answer.devices[2:4].tolist() == [5, 4]
    # Slots 2, 3 have node 1 for themselves, so node 0 holds 0, 1 and 4, 5: not one run of ranks.
    launched = replace(problem, contiguous=Contiguous("launch", 1))
    assert solve(launched, LIMITS).status == "infeasible"


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"levels": ()}, "no level"),
        ({"usable": np.ones(3, dtype=bool)}, "level 0 and usable differ"),
        ({"levels": (Level(1, np.array([0, 0, 2, 2])),)}, "level 0 has a domain without devices"),
        (
            {"levels": (Level(1, np.array([0, 0, 1, 1])), Level(1, np.array([0, 1, 1, 1])))},
            "level 0 does not nest in level 1",
        ),
        ({"shapes": (np.array([[0, 1]]),)}, "shapes do not partition the slots"),
        ({"within": (Within("w", 0, np.array([[0, 4]])),)}, r"slots outside 0 … 3"),
        ({"pins": (Pin("a", 0, 0), Pin("b", 0, 1))}, "a slot is pinned twice"),
        ({"pins": (Pin("a", 0, 0), Pin("b", 1, 0))}, "a device is pinned twice"),
        (
            {"pins": (Pin("a", 0, 3),), "usable": np.array([True, True, True, False])},
            "a pin names an unusable device",
        ),
    ],
)
def test_contradictory_data_are_refused(changes, fault):
    data = {
        "slots": 4,
        "levels": (Level(1, np.array([0, 0, 1, 1])),),
        "usable": np.ones(4, dtype=bool),
        "shapes": (np.array([[0, 1], [2, 3]]),),
    }
    Assignment(**data)
    with pytest.raises(ValueError, match=fault):
        Assignment(**(data | changes))


def test_links_that_share_a_name_are_refused():
    plain = assignment(PAIRS, [4])
    with pytest.raises(ValueError, match="links share a name"):
        Assignment(
            slots=4,
            levels=plain.levels,
            usable=plain.usable,
            shapes=plain.shapes,
            rings=plain.rings[:1] * 2,
        )
