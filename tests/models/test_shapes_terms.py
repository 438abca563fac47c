"""Shapes: every term of the costs, credits and limits, by its right value."""

import random
from collections import Counter
from itertools import combinations, combinations_with_replacement
from math import gcd, prod
from types import SimpleNamespace

import numpy as np
import pytest
from ortools.sat.python import cp_model

from benchmarks.shapes_bruteforce import optimum, random_problem
from planner_models import shapes
from planner_models.contraction import contract
from planner_models.job import Job, ModuleShape, Weights
from planner_models.shapes import atoms, integer_master, packing, stages
from planner_models.shapes.atoms import SplitBlock
from planner_models.shapes.blocks import Block, copies_in_block
from planner_models.shapes.bounding import granularity, relax
from planner_models.shapes.column_generation import Master, Relaxation, best_prices, rounded
from planner_models.shapes.coupling import Coupling
from planner_models.shapes.dealing import Dealing
from planner_models.shapes.integer_master import IntegerMaster
from planner_models.shapes.packing import Packing
from planner_models.shapes.planes import SCALE, RowPlanes
from tests.models.shapes_cases import shape_of
from tests.oracle.slots_cost import cost, links

WEIGHTS = Weights(5, 3, 2, 1)
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)


def several(seed):
    """Jobs whose slices share plane groups first, then random ones."""
    slices = [(1, 2, 2), (2, 2, 2), (1, 3, 2), (1, 2, 3)]
    if seed < len(slices):
        tp, cp, dp = slices[seed]
        return Job((ModuleShape(tp, cp, 1),), dp), [cp * dp - 1] * (2 * tp)
    job, _, capacities = random_problem(random.Random(seed), experts=seed % 2 == 1, most=10)
    return job, list(capacities)


@pytest.mark.parametrize("seed", range(12))
def test_shares_of_the_planes_are_never_above_what_pieces_pay_together(seed):
    """Otherwise the search for the cheapest pattern cuts it off."""
    job, capacities = several(seed)
    weights = Weights(5, 2, 7, 1, ep=1, expt_dp=3)
    graph = relax(job, weights, capacities).graph
    planes = RowPlanes(graph)
    for stage, start in enumerate(graph.offset[:-1]):
        block = graph.block(stage)
        rows = range(start, start + len(block))
        for capacity in range(1, max(capacities) + 1):
            share = planes.share(capacity)
            for count in range(1, min(block.blocks, 3) + 1):
                for held in combinations_with_replacement(rows, count):
                    if sum(int(block.size[row - start]) for row in held) <= capacity:
                        assert share[list(held)].sum() <= SCALE * planes.cost(held)


@pytest.mark.parametrize(
    ("tp", "cp", "dp", "ep", "etp"),
    [(2, 2, 2, 1, 1), (2, 1, 4, 2, 1), (2, 1, 4, 4, 1), (1, 2, 4, 2, 2), (3, 1, 2, 2, 3), (2, 1, 3, 3, 1)],
)  # fmt: skip
def test_a_shape_speaks_for_the_best_of_its_members(tp, cp, dp, ep, etp):
    """Plane rows at least touched and at most filled, and cells in common at most, by counting."""
    shape = ModuleShape(tp, cp, 1, ep=ep, etp=etp)
    copies = copies_in_block(Job((shape,), dp))
    weights = Weights(5, 3, 2, 0, ep=1, expt_tp=4, expt_dp=1)
    block = Block(shape, dp=dp, copies=copies, weights=weights, largest=6)
    for f, plane in enumerate(block.planes):
        for s, members in enumerate(block.members):
            touched = [sum(m & row > 0 for row in plane.masks) for m in members.tolist()]
            filled = [sum(m & row == row for row in plane.masks) for m in members.tolist()]
            assert (block.rows[f, s], block.full[f, s]) == (min(touched), max(filled))
    for a, left in enumerate(block.members):
        for b, right in enumerate(block.members):
            assert block.overlap[a, b] == np.bitwise_count(left[:, None] & right).max()


def test_blocks_hold_whole_expert_groups_of_either_module():
    def spanned(*modules, dp):
        return copies_in_block(Job(tuple(modules), dp))

    assert spanned(ModuleShape(2, 1, 1, ep=3, etp=1), dp=3) == 3
    assert spanned(ModuleShape(2, 2, 1, ep=3, etp=2), dp=3) == 3
    assert spanned(ModuleShape(4, 1, 1, ep=2, etp=1), dp=3) == 1
    assert spanned(ModuleShape(1, 1, 1, ep=2), ModuleShape(1, 1, 1, ep=3), dp=6) == 6


def bridge_arc(*modules, dp, largest=6):
    weights = Weights(5, 3, 2, 1, ep=1)
    graph = stages.stage_graph(Job(tuple(modules), dp), weights, largest)
    return graph, next(arc for arc in graph.arcs if arc.modules == (0, 1))


BRIDGES = [
    (ModuleShape(2, 1, 1), ModuleShape(3, 1, 2), 2),
    (ModuleShape(3, 1, 2), ModuleShape(2, 2, 1), 1),
    (ModuleShape(1, 2, 1), ModuleShape(2, 3, 1), 1),
    (ModuleShape(1, 1, 1, ep=2, etp=1), ModuleShape(3, 1, 1), 2),
]


@pytest.mark.parametrize(("encoder", "decoder", "dp"), BRIDGES)
def test_bridge_credits_the_most_links_of_any_members_that_fit_one_domain(encoder, decoder, dp):
    graph, arc = bridge_arc(encoder, decoder, dp=dp)
    ends = [graph.blocks[0], graph.blocks[1]]
    for a, left in enumerate(ends[0].members):
        for b, right in enumerate(ends[1].members):
            if ends[0].size[a] + ends[1].size[b] <= 6:
                assert arc.overlap[a, b] == arc.links(left, right).max()
                assert arc.credit[a, b] == 2 * arc.overlap[a, b]


@pytest.mark.parametrize(("encoder", "decoder", "dp"), BRIDGES)
def test_bridge_of_split_blocks_has_the_busiest_cells_of_the_smaller_side(
    encoder, decoder, dp, monkeypatch
):
    _, listed = bridge_arc(encoder, decoder, dp=dp)
    monkeypatch.setattr(stages, "MAX_CELLS", 0)
    graph, arc = bridge_arc(encoder, decoder, dp=dp)
    assert graph.split
    busiest = listed.linked.sum(1).max(), listed.linked.sum(0).max()
    for a, left in enumerate(graph.blocks[0].size):
        for b, right in enumerate(graph.blocks[1].size):
            assert arc.overlap[a, b] == min(busiest[0] * left, busiest[1] * right)


@pytest.mark.parametrize(
    ("tp", "cp", "dp", "ep", "etp", "loose"),
    [(1, 2, 3, 3, 2, 0), (2, 1, 3, 3, 1, 2), (4, 1, 4, 8, 1, 0), (2, 2, 2, 4, 1, 1), (2, 2, 4, 1, 1, 1),
     (3, 2, 2, 3, 2, 24), (4, 2, 1, 2, 2, 24)],
)  # fmt: skip
@pytest.mark.parametrize("alike", [False, True])
def test_planes_of_split_blocks_are_those_of_the_best_members_but_for_a_few(
    tp, cp, dp, ep, etp, loose, alike, monkeypatch
):
    """Also where pieces do not tell atoms apart, so that several contents are one shape."""
    if alike:
        monkeypatch.setattr(atoms, "MOST_CLASSES", 0)
    shape = ModuleShape(tp, cp, 1, ep=ep, etp=etp)
    copies = copies_in_block(Job((shape,), dp))
    tensor = 7 if copies > 1 or tp * cp < 6 else 0  # then contents that differ are one shape
    weights = Weights(tensor, 3, 2, 0, ep=3, expt_tp=2 if tensor else 0, expt_dp=1)
    split = SplitBlock(shape, dp=dp, copies=copies, weights=weights, largest=6)
    rows, full = np.full_like(split.rows, 99), np.zeros_like(split.full)
    members: list[list[int]] = [[] for _ in split.size]
    for mask in range(1, 1 << split.cells):
        held = [r for r in range(split.cells) if mask >> r & 1]
        if len(held) <= 6:
            s = shape_of(split, held)
            members[s].append(mask)
            for f, plane in enumerate(split.planes):
                rows[f, s] = min(rows[f, s], sum(mask & row > 0 for row in plane.masks))
                full[f, s] = max(full[f, s], sum(mask & row == row for row in plane.masks))
    assert (split.rows <= rows).all()
    assert (split.full >= full).all()
    assert (split.rows < rows).sum() <= loose
    assert (split.full > full).sum() <= loose
    for a, left in enumerate(members):
        for b, right in enumerate(members):
            if split.size[a] + split.size[b] <= 6:
                common = np.bitwise_count(np.array(left)[:, None] & np.array(right)).max()
                assert split.overlap[a, b] == common


PACKED = Job((ModuleShape(3, 2, 2),), dp=2), Weights(1000, 100, 1, 10), [4] * 6


def test_pieces_that_were_not_tried_out_are_taken_to_fit(monkeypatch):
    assert shapes.bound(*PACKED).value == 8120
    monkeypatch.setattr(packing, "_PATIENCE", 0)
    assert shapes.bound(*PACKED).value == 8102


@pytest.mark.parametrize(
    "problem",
    [
        PACKED,
        (Job((ModuleShape(3, 2, 2),), dp=1), Weights(2, 1, 1, 4), [2, 3, 3, 3, 4]),
        (Job((ModuleShape(3, 2, 2),), dp=1), Weights(1, 2, 1, 2), [3, 3, 3, 3]),
    ],
)
def test_a_core_fits_as_soon_as_any_of_its_pieces_is_left_out(problem):
    bound = shapes.bound(*problem)
    cores, again = bound.packing.cores, Packing(bound.relaxation.graph)
    assert cores
    arc = bound.relaxation.graph.arcs[0]
    for core in cores:
        pieces = Counter(dict(core.pieces))
        assert again.core(arc, pieces) is not None
        for ends in pieces:
            assert again.core(arc, pieces - Counter([ends])) is None


def test_pieces_that_have_no_part_in_a_conflict_are_no_part_of_its_core():
    """A cell more in the copy is not to blame."""
    bound = shapes.bound(*PACKED)
    graph, arc = bound.relaxation.graph, bound.relaxation.graph.arcs[0]
    core = bound.packing.cores[0]
    cell = int(np.flatnonzero(graph.blocks[0].size == 1)[0])
    for spare in ((cell, -1), (-1, cell), (cell, cell)):
        pieces = Counter(dict(core.pieces)) + Counter({spare: 1})
        found = Packing(graph).core(arc, pieces)
        assert found is not None
        assert sum(n for _, n in found.pieces) <= sum(n for _, n in core.pieces)


def test_a_link_that_must_be_lost_costs_its_weight():
    job, weights, capacities = Job((ModuleShape(3, 2, 2),), dp=1), Weights(1, 2, 1, 2), [3] * 4
    bound = shapes.bound(job, weights, capacities)
    assert bound.value == optimum(job, weights, capacities) == 30
    assert (bound.solution.loss, bound.solution.cost) == (2 * 2, 2 * 30)


@pytest.mark.parametrize(
    ("weights", "capacities"),
    [(Weights(1, 1, 2, 2), [3, 5, 3, 3]), (Weights(2, 1, 1, 4), [2, 3, 3, 3, 4])],
)
def test_what_a_core_leaves_as_cheap_is_not_dearer(weights, capacities):
    """The first answer holds a core, the next costs the same and holds none."""
    job = Job((ModuleShape(3, 2, 2),), dp=1)
    bound = shapes.bound(job, weights, capacities)
    assert bound.packing.cores
    assert bound.solution.loss == 0
    assert bound.value == optimum(job, weights, capacities)


@pytest.mark.parametrize(
    ("weights", "capacities", "linear"),
    [
        (Weights(4, 1, 1, 1), [3, 2, 4, 5], 20),
        (Weights(4, 3, 2, 3), [5, 2, 2, 2, 4], 44),
        (Weights(1000, 100, 1, 10), [2, 2, 3, 3, 5], 2047),
        (Weights(2, 4, 1, 4), [2, 5, 4, 5], 22),
    ],
)
def test_whole_numbers_alone_close_the_gap_of_prices(weights, capacities, linear, monkeypatch):
    """Patterns and tilings have to hold the same pieces even where no copies are dealt."""
    job = Job((ModuleShape(3, 1, 2),), dp=2)
    monkeypatch.setattr(integer_master, "MOST_DEALS", 0)
    bound = shapes.bound(job, weights, capacities)
    assert rounded(bound.prices.total, 1) == linear
    assert bound.value == optimum(job, weights, capacities) > linear


def test_a_master_without_an_answer_proves_nothing(monkeypatch):
    bound = shapes.bound(*PACKED)
    master = IntegerMaster.build(bound.relaxation, bound.prices, bound.value)
    solve = integer_master.interruption.solve

    def unfinished(solver, model):
        solver.parameters.max_time_in_seconds = 0.0
        solve(solver, model)
        return cp_model.UNKNOWN

    monkeypatch.setattr(integer_master.interruption, "solve", unfinished)
    answer = master.solve(Packing(bound.relaxation.graph))
    assert answer.solution is None
    assert not answer.decided
    assert answer.lower <= 2 * bound.value


def test_cores_are_of_one_kind_of_arc():
    """The same numbers stand for other shapes in the other module."""
    job = Job((ModuleShape(2, 1, 2), ModuleShape(3, 1, 2)), dp=1)
    relaxation = relax(job, WEIGHTS, [4, 4, 4])
    graph = relaxation.graph
    model = cp_model.CpModel()
    pairs = [(0, 1), (2, 3)]
    lots = [
        (tuple(graph.offset[s] + shape for s in pair), model.new_int_var(0, 1, ""))
        for pair in pairs
        for shape in (0, 1)
    ]
    dealing = Dealing(model, relaxation, lots)
    dealing.avoid(packing.Core((1, 1), (((0, 0), 1), ((1, 1), 1))))
    names = [c.name for c in model.proto.constraints if c.name.startswith("core")]
    arcs = [int(name[5:].split(",")[0]) for name in names]
    assert [graph.arcs[a].modules for a in arcs] == [(1, 1)]


SINGLE_STAGES = Job((ModuleShape(1, 1, 1), ModuleShape(2, 1, 1)), dp=1, tied=True)


def test_costs_are_multiples_of_what_the_kinds_that_occur_have_in_common():
    """Every slot alone pays links of every kind that occurs; each kind divides a prime away."""
    weights = Weights(*(prod(PRIMES) // prime for prime in PRIMES))
    rng = random.Random(0)
    jobs = [random_problem(rng, experts=number % 2 == 1)[0] for number in range(300)]
    for job in [SINGLE_STAGES, *jobs]:
        counted = links(job, range(job.world))
        occurring = [getattr(weights, kind) for kind, n in counted.items() if n]
        assert granularity(job, weights) == (gcd(*occurring) or 1), job
    assert rounded(-(10**6), 5) == 0


def test_the_best_prices_are_kept_whenever_the_programme_gives_up(monkeypatch):
    relaxation = relax(*PACKED)
    solve, evaluate = Master.solve, Relaxation.evaluate
    for rounds in range(6):
        seen, left = [], iter(range(rounds))

        def stopping(self, left=left):
            return None if next(left, None) is None else solve(self)

        def recorded(self, price, *, keep=1, seen=seen):
            seen.append(evaluate(self, price, keep=keep))
            return seen[-1]

        monkeypatch.setattr(Master, "solve", stopping)
        monkeypatch.setattr(Relaxation, "evaluate", recorded)
        best, _ = best_prices(relaxation, enough=10**9)
        assert best.total == max(e.total for e in seen)
        assert len(seen) > rounds


def test_stages_have_prices_of_their_own():
    graph = relax(Job((ModuleShape(2, 1, 3), ModuleShape(3, 1, 2)), 1), WEIGHTS, [4] * 3).graph
    coupling = Coupling(graph)
    lines = [coupling.lines_of([row]) for row in range(graph.rows)]
    stage = graph.stage_of_row().tolist()
    for a, b in combinations(range(graph.rows), 2):
        if stage[a] != stage[b]:
            assert not {*lines[a]} & {*lines[b]}


def test_slices_of_an_uneven_bridge_are_not_tied():
    """Of six beside four, two neighbours share three links with some and one with others."""
    job = Job((ModuleShape(1, 6, 1), ModuleShape(1, 4, 1)), dp=1)
    with pytest.raises(ValueError, match="other cp cut them"):
        contract(job, WEIGHTS, [4, 6], 2)
    for encoder, decoder in ((2, 6), (6, 2), (4, 8)):
        job = Job((ModuleShape(2, encoder, 1), ModuleShape(1, decoder, 2)), dp=2)
        small = contract(job, WEIGHTS, [8] * 9, 2)
        rng = np.random.default_rng(encoder)
        for _ in range(10):
            placed = rng.integers(0, 3, small.job.world)
            whole = small.expanded(placed).tolist()
            assert cost(small.job, small.weights, placed.tolist()) == cost(job, WEIGHTS, whole)


def test_a_solution_that_may_not_be_the_cheapest_is_no_bound():
    bound = shapes.bound(*PACKED)
    master = IntegerMaster.build(bound.relaxation, bound.prices, bound.value)
    halfway = SimpleNamespace(
        best_objective_bound=2.0 * bound.value - 9,
        objective_value=2.0 * bound.value,
        value=lambda _: 0,
    )
    answer = master._answer(halfway, cp_model.FEASIBLE, 0)
    assert answer.lower == 2 * bound.value - 9
    assert not answer.decided
    assert master._answer(halfway, cp_model.OPTIMAL, 0).decided
