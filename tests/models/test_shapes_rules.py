"""Shapes under hard rules: tied context slices, and context peers that look alike."""

import random
from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from benchmarks.shapes_bruteforce import (
    check,
    obeying,
    optimum,
    random_problem,
    ruled_optimum,
    ruled_problem,
)
from planner_models import shapes
from planner_models.contraction import contract
from planner_models.job import Job, ModuleShape, Weights
from planner_models.shapes import Rules, bounding, footprint
from planner_models.shapes.assembly import deal_copies, pieces_of
from planner_models.shapes.blocks import Block
from planner_models.shapes.cells import Cells
from planner_models.shapes.integer_master import quiet_solver
from planner_models.shapes.parting import Parting, crowd
from planner_models.shapes.placements import Placements
from tests.oracle.slots_cost import cost

DEFAULT = Weights(1000, 100, 1, 10, ep=100, expt_tp=1000, expt_dp=1, embd=1)
KINDS = {
    "hierarchical": {"tied": True, "footprint": False},
    "footprint": {"tied": False, "footprint": True},
    "both": {"tied": True, "footprint": True},
}


class TestContraction:
    JOBS = (
        Job((ModuleShape(2, 4, 2, vpp=2),), dp=2, tied=True),
        Job((ModuleShape(1, 6, 1), ModuleShape(3, 6, 2)), dp=2),
        Job((ModuleShape(4, 2, 2), ModuleShape(2, 2, 1)), dp=3),
    )

    @pytest.mark.parametrize(
        ("job", "tied"), [(JOBS[0], 2), (JOBS[0], 4), (JOBS[1], 3), (JOBS[2], 2)]
    )
    def test_a_placement_costs_what_its_expansion_does(self, job, tied):
        weights = Weights(7, 5, 3, 2, embd=11)
        small = contract(job, weights, [8] * 20, tied)
        assert small.job.world * tied == job.world
        rng = np.random.default_rng(tied)
        for _ in range(20):
            placed = rng.integers(0, 4, small.job.world)
            expanded = small.expanded(placed)
            assert (np.bincount(expanded) == tied * np.bincount(placed)).all()
            assert cost(small.job, small.weights, placed.tolist()) == cost(
                job, weights, expanded.tolist()
            )
            assert obeying(job, Rules(tied), expanded[None]).all()

    def test_places_that_hold_no_whole_slot_are_lost(self):
        assert contract(self.JOBS[0], DEFAULT, [7, 8, 3], 4).capacities == (1, 2, 0)

    @pytest.mark.parametrize(
        "job", [Job((ModuleShape(2, 3, 1),), dp=1), Job((ModuleShape(2, 4, 1, ep=2, etp=1),), dp=1)]
    )
    def test_what_cannot_be_one_slot_is_refused(self, job):
        with pytest.raises(ValueError, match="2 context slices cannot be one"):
            shapes.bound(job, DEFAULT, [8] * 4, rules=Rules(tied=2))


def set_partitions(cells):
    """Every way to cut some cells up, pieces as masks."""
    if not cells:
        yield ()
        return
    first, *others = cells
    for chosen in range(1 << len(others)):
        piece = 1 << first | sum(1 << r for i, r in enumerate(others) if chosen >> i & 1)
        for rest in set_partitions([r for r in others if not piece >> r & 1]):
            yield (piece, *rest)


def alike(pieces, tp, cp, copies, spread):
    """Whether a partition of a block keeps the rule, straight from its words."""
    for k in range(copies):
        spans = set()
        for c in range(cp):
            group = sum(1 << t + tp * (c + cp * k) for t in range(tp))
            spans.add(sum(1 for piece in pieces if piece & group))
        if len(spans) > 1:
            return False
        for t in range(tp):
            ring = sum(1 << t + tp * (c + cp * k) for c in range(cp))
            held = [(piece & ring).bit_count() for piece in pieces if piece & ring]
            if max(held) - min(held) > spread:
                return False
    return True


class TestTilings:
    @pytest.mark.parametrize("spread", [0, 1])
    @pytest.mark.parametrize(
        ("tp", "cp", "copies", "largest"),
        [
            (2, 2, 1, 4),
            (3, 2, 1, 4),
            (2, 3, 1, 5),
            (2, 4, 1, 8),
            (4, 2, 1, 5),
            (1, 6, 1, 6),
            (1, 8, 1, 5),
            (2, 2, 2, 6),
        ],
    )
    def test_multisets_are_those_of_all_partitions_that_keep_the_rule(
        self, tp, cp, copies, largest, spread
    ):
        shape = ModuleShape(tp, cp, 1, ep=copies, etp=tp * cp)
        block = Block(
            shape, dp=copies, copies=copies, weights=DEFAULT, largest=largest, spread=spread
        )
        free = Block(shape, dp=copies, copies=copies, weights=DEFAULT, largest=largest)
        graph = block.tilers[0].graph
        available = Counter(dict.fromkeys(range(len(block)), block.cells))
        found = {tuple(sorted(t.elements())) for t in graph.multisets(available, 10**6)}
        wanted = set()
        for pieces in set_partitions(list(range(block.cells))):
            if max(p.bit_count() for p in pieces) <= largest and alike(
                pieces, tp, cp, copies, spread
            ):
                assert (block.shape_of[list(pieces)] >= 0).all()
                wanted.add(tuple(sorted(block.shape_of[list(pieces)].tolist())))
        assert found == wanted
        assert set(np.concatenate([list(t) for t in wanted]).tolist()) == set(range(len(block)))
        assert len(block) <= len(free)

    def test_members_of_a_shape_keep_their_groups_whatever_weighs_nothing(self):
        weightless = Block(
            ModuleShape(3, 3, 1), dp=1, copies=1, weights=Weights(0, 0, 0, 1), largest=4, spread=1
        )
        weighed = Block(ModuleShape(3, 3, 1), dp=1, copies=1, weights=DEFAULT, largest=4, spread=1)
        assert (weightless.shape_of == weighed.shape_of).all()

    def test_three_of_four_context_peers_are_no_shape(self):
        line = Block(ModuleShape(1, 4, 1), dp=1, copies=1, weights=DEFAULT, largest=4, spread=1)
        assert line.size.tolist() == [1, 2, 4]

    def test_tied_slots_differ_by_none(self):
        assert Rules(tied=1, footprint=True).spread == 1
        assert Rules(tied=2, footprint=True).spread == 0
        assert Rules(tied=2).spread is None


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_below_the_ruled_optimum_and_nearly_always_equal(kind):
    rng = random.Random(7)
    tight = seen = 0
    for _ in range(60):
        problem, rules = ruled_problem(rng, **KINDS[kind], most=10)
        best = ruled_optimum(problem, rules)
        if best is None:
            continue
        bound = shapes.bound(*problem, rules=rules)
        assert bound.value <= best, (problem, rules)
        plan = shapes.assemble(bound)
        if plan is not None:
            check(*problem, plan)
            assert obeying(problem[0], rules, plan.domain_of[None]).all(), (problem, rules)
            assert plan.cost >= best
        seen += 1
        tight += bound.value == best
    assert seen >= 45
    assert tight >= seen - 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_never_makes_anything_cheaper(kind):
    rng = random.Random(8)
    dearer = 0
    for _ in range(40):
        problem, rules = ruled_problem(rng, **KINDS[kind], most=10)
        best = ruled_optimum(problem, rules)
        if best is None:
            continue
        for loose in (Rules(), Rules(rules.tied), Rules(1, rules.footprint)):
            loosened = ruled_optimum(problem, loose)
            assert loosened <= best
            assert shapes.bound(*problem, rules=loose).value <= loosened
            dearer += loosened < best
    assert dearer >= 1


def test_no_rules_are_no_rules():
    rng = random.Random(9)
    for _ in range(10):
        problem = random_problem(rng, most=8)
        assert ruled_optimum(problem, Rules()) == optimum(*problem)


# job, rules, capacities, optimum
KNOWN = {
    "tp3 cp4, innermost pairs": (Job((ModuleShape(3, 4, 3),), dp=2), Rules(2), [8] * 9, 21431),
    "tp2 cp4, innermost pairs, dead GPUs": (
        Job((ModuleShape(2, 4, 3),), dp=4),
        Rules(2),
        [7, 8, 8, 8] * 3 + [7],
        9428,
    ),
    "tp3 cp4 alike": (Job((ModuleShape(3, 4, 3),), dp=2), Rules(footprint=True), [8] * 10, 12436),
}


@pytest.mark.parametrize("name", KNOWN)
def test_ruled_jobs_are_placed_at_proven_optimum(name):
    job, rules, capacities, best = KNOWN[name]
    bound = shapes.bound(job, DEFAULT, capacities, rules=rules)
    plan = shapes.assemble(bound)
    assert bound.value == plan.cost == best
    assert cost(job, DEFAULT, plan.domain_of.tolist()) == best
    assert (np.bincount(plan.domain_of, minlength=len(capacities)) <= capacities).all()
    assert obeying(job, rules, plan.domain_of[None]).all()
    assert shapes.bound(job, DEFAULT, capacities).value < best


TIGHT = Job((ModuleShape(2, 3, 1),), dp=1), DEFAULT, (3, 3)
"""Free, one tensor group is cut; alike, all three are."""


def test_tilings_that_forget_the_rule_bound_less(monkeypatch):
    rules = Rules(footprint=True)
    assert optimum(*TIGHT) == 2404
    assert ruled_optimum(TIGHT, rules) == shapes.bound(*TIGHT, rules=rules).value == 6000
    monkeypatch.setattr(footprint, "MOST_STATES", 1)
    assert shapes.bound(*TIGHT, rules=rules).value == 2404


def test_cells_keep_the_rule_where_tilings_forget_it(monkeypatch):
    rules = Rules(footprint=True)
    monkeypatch.setattr(footprint, "MOST_STATES", 1)
    bound = shapes.bound(*TIGHT, rules=rules)
    assert shapes.assemble(bound) is None
    monkeypatch.setattr(Cells, "_look_alike", lambda *_: None)
    plan = shapes.assemble(bound)
    assert plan.cost == 2404
    assert not obeying(TIGHT[0], rules, plan.domain_of[None]).all()


class TestParting:
    """One copy cut into three pieces, from two domains: paper the rule would refuse as one piece."""

    PROBLEM = Job((ModuleShape(2, 2, 1),), dp=2), DEFAULT, (1, 3, 4)
    RULES = Rules(footprint=True)

    def test_pieces_of_a_copy_come_from_different_domains(self, monkeypatch):
        bound = shapes.bound(*self.PROBLEM, rules=self.RULES)
        assert (
            ruled_optimum(self.PROBLEM, self.RULES)
            == bound.value
            == shapes.assemble(bound).cost
            == 4605
        )
        monkeypatch.setattr(Parting, "crowds", lambda *_: [])
        assert shapes.bound(*self.PROBLEM, rules=self.RULES).value == 4204

    @pytest.mark.parametrize("seed", range(20))
    def test_a_crowd_is_found_where_no_assignment_exists(self, seed):
        rng = random.Random(seed)
        pieces = {shape: rng.randint(0, 2) for shape in range(3)}
        kinds = [frozenset(rng.sample(range(3), rng.randint(1, 3))) for _ in range(3)]
        domains = {kind: rng.randint(0, 2) for kind in kinds}
        single = [kind for kind, count in domains.items() for _ in range(count)]
        wanted = [shape for shape, count in pieces.items() for _ in range(count)]
        possible = any(
            all(shape in kind for shape, kind in zip(wanted, chosen, strict=True))
            for chosen in permutations(single, len(wanted))
        )
        crowded = crowd(pieces, domains)
        assert (crowded is None) == possible
        if crowded is not None:
            assert sum(pieces[s] for s in crowded) > sum(1 for kind in single if kind & crowded)


def test_slots_that_forget_their_ties_bound_less(monkeypatch):
    job, rules, capacities, best = KNOWN["tp3 cp4, innermost pairs"]
    monkeypatch.setattr(
        bounding, "contract", lambda job, weights, caps, _: contract(job, weights, caps, 1)
    )
    assert shapes.bound(job, DEFAULT, capacities, rules=rules).value < best


def test_rules_that_no_placement_obeys_are_proven_to_be_so():
    line = Job((ModuleShape(1, 4, 1),), dp=1)
    with pytest.raises(shapes.NoPlacementError):
        shapes.bound(line, DEFAULT, (1, 3), rules=Rules(footprint=True))
    assert shapes.bound(line, DEFAULT, (2, 2), rules=Rules(footprint=True)).value == 202
    assert not shapes.applies(line, (1, 3), rules=Rules(tied=4))
    assert shapes.applies(line, (1, 4), rules=Rules(tied=4))


def test_every_placement_costs_at_most_the_ceiling():
    rng = random.Random(11)
    for number in range(40):
        job, weights, _ = random_problem(rng, experts=number % 2 == 1)
        alone = list(range(job.world))
        assert cost(job, weights, alone) <= bounding.ceiling(job, weights)


def test_tied_slots_let_larger_blocks_and_domains_be_listed():
    job = Job((ModuleShape(4, 8, 2),), dp=2)
    assert not shapes.applies(job, [16] * 8)
    assert shapes.applies(job, [16] * 8, rules=Rules(tied=4))
    bound = shapes.bound(job, DEFAULT, [16] * 8, rules=Rules(tied=4))
    assert shapes.assemble(bound).cost == bound.value


def test_cells_have_the_families_they_document():
    job, rules, capacities, _ = KNOWN["tp3 cp4 alike"]
    bound = shapes.bound(job, DEFAULT, capacities, rules=rules)
    graph = bound.relaxation.graph
    pieces = pieces_of(bound.relaxation, bound.solution, capacities)
    copies = deal_copies(
        bound.relaxation, pieces, bound.packing, bound.solution.loss, quiet_solver(None)
    )
    proto = Cells(graph, pieces, copies, Placements(graph)).model.proto
    names = {c.name.split("[")[0] for c in proto.constraints if c.name}
    assert names == {"one_place", "held", "shared", "span", "even"}
