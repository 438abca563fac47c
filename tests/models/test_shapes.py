"""Parts of the shapes bound, each against a plainer way to compute the same thing."""

import random
from collections import Counter
from itertools import combinations_with_replacement

import numpy as np
import pytest

from benchmarks.shapes_bruteforce import optimum, random_problem
from planner_models import shapes
from planner_models.job import Job, ModuleShape, Weights
from planner_models.shapes.atoms import SplitBlock
from planner_models.shapes.blocks import Block, copies_in_block
from planner_models.shapes.bounding import granularity, relax
from planner_models.shapes.column_generation import rounded
from planner_models.shapes.integer_master import IntegerMaster
from planner_models.shapes.planes import SCALE, RowPlanes
from planner_models.shapes.pricing import FAR
from planner_models.shapes.targets import ALL_AT_ONCE, FEW, Targets
from tests.models.shapes_cases import shape_of
from tests.oracle.slots_cost import content_cost, pairs

DEFAULT = Weights(1000, 100, 1, 10, ep=100, expt_tp=1000, expt_dp=1, embd=1)
NO_LINKS = Weights(0, 0, 0, 0)


def block(tp, cp, *, weights=DEFAULT, largest=8, dp=1, ep=1, etp=1, copies=1):
    shape = ModuleShape(tp, cp, 1, ep=ep, etp=etp)
    return Block(shape, dp=dp, copies=copies, weights=weights, largest=largest)


class TestBlock:
    def test_shapes_of_a_line_are_its_sizes(self):
        line = block(5, 1, largest=4)
        assert line.size.tolist() == [1, 2, 3, 4]
        assert line.own.tolist() == [2000] * 4

    def test_two_cells_of_a_square_share_a_column_a_row_or_nothing(self):
        square = block(2, 2, largest=2)
        own = dict(zip(map(int, square.leader), square.own.tolist(), strict=True))
        assert own == {0b1: 2200, 0b11: 400, 0b101: 4000, 0b110: 4400}

    def test_shapes_are_the_orbits_under_row_and_column_permutations(self):
        grid = block(3, 2, largest=6)
        assert len(grid) == 12  # bipartite graphs on 3 + 2 vertices, the empty one left out
        assert sum(len(m) for m in grid.members) == 2**6 - 1

    @pytest.mark.parametrize(("tp", "cp", "dp", "ep", "etp"), [(2, 1, 4, 4, 1), (3, 2, 2, 2, 3)])
    def test_own_cost_is_the_same_for_all_members(self, tp, cp, dp, ep, etp):
        job = Job((ModuleShape(tp, cp, 1, ep=ep, etp=etp),), dp=dp)
        weights = Weights(7, 5, 0, 0, ep=3, expt_tp=2)
        copies = copies_in_block(job)
        pieces = Block(job.modules[0], dp=dp, copies=copies, weights=weights, largest=5)
        for shape, members in enumerate(pieces.members):
            costs = {
                content_cost(job, weights, np.flatnonzero(m >> np.arange(12) & 1).tolist())
                for m in members.tolist()
            }
            assert costs == {int(pieces.own[shape])}

    def test_overlap_of_a_row_and_a_column_is_one_cell(self):
        grid = block(2, 2, largest=2)
        column, row = grid.shape_of[0b11], grid.shape_of[0b101]
        assert grid.overlap[column, row] == 1
        assert grid.overlap[column, column] == 2

    def test_block_of_experts_spans_whole_expert_groups(self):
        assert copies_in_block(Job((ModuleShape(4, 1, 1, ep=8, etp=1),), dp=4)) == 2
        assert copies_in_block(Job((ModuleShape(4, 1, 1),), dp=4)) == 1

    def test_too_many_cells_are_refused(self):
        with pytest.raises(ValueError, match="a block of 18 cells exceeds 16"):
            block(6, 3)


class TestSplitBlock:
    """tp 2, ep 3, etp 1: three copies, atoms where tensor and expert groups cross."""

    JOB = Job((ModuleShape(2, 1, 1, ep=3, etp=1),), dp=3)
    WEIGHTS = Weights(tp=7, cp=0, dp=2, pp=0, ep=3, expt_dp=1)

    def block(self):
        shape, weights = self.JOB.modules[0], self.WEIGHTS
        return SplitBlock(shape, dp=3, copies=3, weights=weights, largest=6)

    def test_every_content_costs_what_its_shape_does(self):
        split, whole = self.block(), set()
        prices = dict(zip(split.uses, split.own.tolist(), strict=True))
        inner = Weights(tp=7, cp=0, dp=0, pp=0, ep=3)
        for mask in range(1, 64):
            held = [r for r in range(6) if mask >> r & 1]
            shape = shape_of(split, held)
            assert prices[split.uses[shape]] == content_cost(self.JOB, inner, held)
            whole.add(shape)
        assert whole == set(range(len(split)))

    def test_planes_are_never_overcharged(self):
        split = self.block()
        for mask in range(1, 64):
            held = [r for r in range(6) if mask >> r & 1]
            shape = shape_of(split, held)
            for f, plane in enumerate(split.planes):
                touched = sum(mask & row > 0 for row in plane.masks)
                filled = sum(mask & row == row for row in plane.masks)
                assert split.rows[f, shape] <= touched
                assert split.full[f, shape] >= filled

    def test_overlaps_are_upper_estimates(self):
        split = self.block()
        of = [shape_of(split, [r for r in range(6) if m >> r & 1]) for m in range(1, 64)]
        for a in range(1, 64):
            for b in range(1, 64):
                if a.bit_count() + b.bit_count() <= 6:
                    assert split.overlap[of[a - 1], of[b - 1]] >= (a & b).bit_count()


class TestTilings:
    @pytest.mark.parametrize(("tp", "cp"), [(4, 1), (2, 2), (3, 2)])
    def test_multisets_are_those_of_all_partitions(self, tp, cp):
        pieces = block(tp, cp, largest=4)
        graph = pieces.tilers[0].graph
        available = Counter(dict.fromkeys(range(len(pieces)), tp * cp))
        found = {tuple(sorted(t.elements())) for t in graph.multisets(available, 10**6)}
        assert found == set(partitions(pieces, (1 << tp * cp) - 1))

    def test_cheapest_path_is_the_cheapest_partition(self):
        rng = np.random.default_rng(1)
        pieces = block(3, 2, largest=4)
        graph = pieces.tilers[0].graph
        price = rng.integers(-20, 20, (3, len(pieces)))
        below = graph.to_empty(price)
        for stage, path in enumerate(graph.cheapest_paths(price, below)):
            cheapest = min(sum(price[stage, list(p)]) for p in partitions(pieces, 0b111111))
            assert below[stage, -1] == cheapest == sum(price[stage, list(path)])

    def test_excess_is_zero_on_a_cheapest_path_and_nowhere_negative(self):
        graph = block(3, 2, largest=4).tilers[0].graph
        price = np.random.default_rng(2).integers(-20, 20, (2, graph.shape.max() + 1))
        excess = graph.excess(price)
        assert (excess.min(axis=1) == 0).all()


def partitions(pieces, left):
    """Shapes of every partition of the cells left, with repeats."""
    if not left:
        return [()]
    first, found, sub = left & -left, [], left
    while sub:
        if sub & first and pieces.shape_of[sub] >= 0:
            rest = partitions(pieces, left ^ sub)
            found += [tuple(sorted((int(pieces.shape_of[sub]), *p))) for p in rest]
        sub = (sub - 1) & left
    return list(set(found))


def segments_of(job, relaxation, slots):
    """Coupling rows of the connected pieces a set of slots falls into, block copy by block copy."""
    graph = relaxation.graph
    first, masks = 0, {}
    for stage, m in enumerate(graph.module):
        cells = graph.block(stage).cells
        for s in slots:
            if first <= s < first + cells * graph.block(stage).blocks:
                b, r = divmod(s - first, cells)
                masks[b, stage] = masks.get((b, stage), 0) | 1 << r
        first += job.modules[m].tp * job.modules[m].cp * job.dp
    near = {frozenset(arc.ends) for arc in graph.arcs}
    waiting, found = set(masks), []
    while waiting:
        piece, grow = set(), [waiting.pop()]
        while grow:
            b, stage = grow.pop()
            piece.add((b, stage))
            more = {x for x in waiting if x[0] == b and frozenset((stage, x[1])) in near}
            waiting -= more
            grow += more
        rows = (graph.offset[s] + graph.block(s).shape_of[masks[b, s]] for b, s in piece)
        found.append(tuple(sorted(map(int, rows))))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_pattern_of_a_content_never_costs_more_than_the_content(seed):
    """Only so can the master's optimum be a bound; a credit forgotten anywhere breaks it."""
    rng = random.Random(seed)
    job, weights, _ = random_problem(rng, experts=seed % 2 == 1, most=10)
    largest = min(job.world, 6)
    relaxation = relax(job, weights, [largest] * -(-job.world // largest))
    pricing = relaxation.pricing[0]
    number = {tuple(sorted(pricing.rows_of(j))): j for j in range(len(pricing.segments))}
    degree = np.zeros(job.world, dtype=np.int64)
    for kind, members in pairs(job):
        degree[list(members)] += getattr(weights, kind)
    for mask in range(1, 1 << job.world):
        slots = [s for s in range(job.world) if mask >> s & 1]
        if len(slots) <= largest:
            pattern = tuple(number[rows] for rows in segments_of(job, relaxation, slots))
            paper = pricing.cost(pattern) + int(degree[slots].sum())
            assert paper <= content_cost(job, weights, slots), (job, slots)


def test_pair_links_are_all_in_the_constant():
    job = Job((ModuleShape(2, 1, 2, vpp=2), ModuleShape(3, 2, 3, vpp=2)), dp=2, tied=True)
    weights = Weights(0, 0, 0, pp=5, embd=3)
    total = sum(getattr(weights, kind) for kind, _ in pairs(job))
    assert relax(job, weights, [6] * 8).graph.constant == 2 * total


class TestPricing:
    @pytest.mark.parametrize("seed", range(6))
    def test_search_finds_the_cheapest_of_all_multisets(self, seed):
        rng = random.Random(seed)
        relaxation = self.tiny(rng.choice([0, 1, 4]))
        pricing = relaxation.pricing[-1]
        price = (
            np.array([rng.randint(-9, 9) for _ in range(relaxation.coupling.lines)]) * SCALE // 2
        )
        values = sorted(self.everything(pricing, price))
        found = pricing.search(price, FAR, keep=3)
        assert [p.value for p in found] == values[:3]
        below = values[len(values) // 2] + 1
        listed = pricing.within(price, below, most=10**6)
        assert sorted(p.value for p in listed) == [v for v in values if v < below]

    def test_more_patterns_than_wanted_are_not_listed(self):
        pricing = self.tiny(1).pricing[-1]
        price = np.zeros(pricing.graph.rows, dtype=np.int64)
        assert pricing.within(price, FAR, most=3) is None

    def test_two_pieces_of_one_copy_on_a_stage_are_no_pattern(self):
        relaxation = relax(Job((ModuleShape(4, 1, 1),), dp=1), DEFAULT, [2, 2])
        patterns = [
            p.pattern for p in relaxation.pricing[0].within(np.zeros(2, np.int64), FAR, most=10)
        ]
        assert [len(p) for p in patterns] == [1]

    @staticmethod
    def tiny(dp_weight):
        weights = Weights(tp=3, cp=1, dp=dp_weight, pp=2)
        return relax(Job((ModuleShape(2, 1, 2),), dp=2), weights, [4, 5])

    @staticmethod
    def everything(pricing, price):
        planes = RowPlanes(pricing.graph)
        for count in range(pricing.capacity + 1):
            for pattern in combinations_with_replacement(range(len(pricing.segments)), count):
                size = sum(int(pricing.segments.size[j]) for j in pattern)
                rows = tuple(row for j in pattern for row in pricing.rows_of(j))
                if pricing.least <= size <= pricing.capacity and not planes.crowded(rows):
                    yield SCALE * pricing.cost(pattern) - int(price[list(rows)].sum())


@pytest.mark.parametrize("seed", range(10))
def test_any_prices_give_a_bound(seed):
    rng = random.Random(100 + seed)
    job, weights, capacities = random_problem(rng, experts=seed % 2 == 1, most=9)
    relaxation = relax(job, weights, capacities)
    best = optimum(job, weights, capacities)
    heaviest = max(1, weights.tp, weights.pp, weights.ep)
    for _ in range(3):
        drawn = [rng.randint(-heaviest, heaviest) * SCALE for _ in range(relaxation.coupling.lines)]
        total = relaxation.evaluate(np.array(drawn, dtype=np.int64)).total
        assert rounded(total, granularity(job, weights)) <= best


def test_bounds_are_rounded_up_to_what_costs_are_made_of():
    assert granularity(Job((ModuleShape(2, 1, 2),), dp=1), Weights(6, 5, 7, 4)) == 2
    assert (
        granularity(Job((ModuleShape(2, 1, 2),), dp=1, tied=True), Weights(6, 5, 7, 4, embd=9)) == 1
    )
    assert granularity(Job((ModuleShape(2, 1, 2),), dp=2), NO_LINKS) == 1
    assert rounded(2 * SCALE * 10 + 1, 5) == 15
    assert rounded(-7, 5) == 0


def climbed(targets):
    while targets.at is not None:
        yield targets.at
        targets.rise(patterns=1)


def test_targets_start_at_the_bound_and_stop_below_the_incumbent():
    assert list(climbed(Targets(8, 2, 10))) == [8]
    assert list(climbed(Targets(8, 2, 8))) == []
    assert list(climbed(Targets(8, 2, 16))) == [8, 10, 14]


def test_a_known_plan_is_asked_about_at_once_if_that_takes_few_patterns():
    targets = Targets(100, 1, 1000, known=True)
    assert (targets.at, targets.most) == (999, ALL_AT_ONCE)
    assert targets.shorten()
    assert (targets.at, targets.most) == (100, FEW)
    assert list(climbed(targets)) == list(climbed(Targets(100, 1, 1000)))
    at_once = Targets(100, 1, 1000, known=True)
    assert list(climbed(at_once)) == [999]


def test_a_target_of_far_more_patterns_is_lowered_before_they_are_listed():
    targets = Targets(100, 1, 1000)
    for _ in range(5):
        targets.rise(patterns=2 * FEW)
    assert (targets.at, targets.most) == (131, 4 * FEW)  # 115 is decided
    lowered = []
    while targets.shorten() and targets.most is not None:
        lowered.append(targets.at)
    assert lowered == [123, 119, 117, 116]
    assert targets.at == 116  # now whatever it takes
    assert not targets.shorten()


def test_model_has_the_families_it_documents():
    job = Job((ModuleShape(3, 2, 2),), dp=2)
    bound = shapes.bound(job, Weights(tp=10, cp=4, dp=1, pp=2), [4] * 6)
    master = IntegerMaster.build(bound.relaxation, bound.prices, bound.value)
    master.solve(bound.packing)
    proto = master.model.proto
    rules = {c.name.split("[")[0] for c in proto.constraints if c.name}
    assert rules == {
        *("domains", "path", "coupling", "target"),
        *("dealt", "parts", "tiled", "order", "core"),
    }
    names = {v.name.split("[")[0] for v in proto.variables}
    assert names == {"node", "cut", "deal", "part", "tiling", "lost", "present"}
