"""The annealer: costs from counts, moves one by one, rules that hold, and the search around them."""

import random
import subprocess
import sys
from time import monotonic

import numpy as np
import pytest

from planner_models.annealing import (
    Family,
    Level,
    Pairs,
    Schedule,
    Stop,
    Task,
    anneal,
    broken,
    coarse,
    cost,
    kernel,
    structure,
)
from planner_models.annealing import compiled as compiling
from planner_models.annealing.chain import Chain
from planner_models.annealing.state import penalised_cost, penalty, seated, tables
from planner_models.job import Job, ModuleShape, Weights
from tests.oracle import slots_cost

WEIGHTS = Weights(tp=1000, cp=100, dp=1, pp=10, ep=70, expt_tp=900, expt_dp=2, embd=3)

JOBS = {
    "dense": Job((ModuleShape(3, 2, 2),), dp=2),
    "wrap and tied": Job((ModuleShape(2, 2, 3, vpp=2),), dp=2, tied=True),
    "encoder, lanes in runs": Job((ModuleShape(2, 2, 2), ModuleShape(3, 2, 2)), dp=2),
    "encoder, slices unequal": Job((ModuleShape(2, 3, 1), ModuleShape(1, 2, 2, vpp=2)), dp=2),
    "experts": Job((ModuleShape(2, 1, 2, ep=3, etp=1),), dp=3),
    "experts beside encoder": Job((ModuleShape(3, 1, 1), ModuleShape(4, 1, 2, ep=3, etp=2)), dp=3),
    "one lane": Job((ModuleShape(1, 1, 4),), dp=3),
}


class Checked(list):
    """A list without negative indices: the compiled kernel would read elsewhere."""

    def __getitem__(self, i):
        assert isinstance(i, slice) or i >= 0
        return super().__getitem__(i)

    def __setitem__(self, i, value):
        assert i >= 0
        super().__setitem__(i, value)


def checked(parts):
    return parts._replace(
        **{
            name: Checked(np.asarray(part).tolist())
            for name, part in parts._asdict().items()
            if not isinstance(part, int)
        }
    )


def machine(job, seed, capacity=5):
    """Nodes of two sizes under uneven leaves, a few devices dead and a few to spare."""
    rng = random.Random(seed)
    sizes = []
    while sum(sizes) < job.world + 4:
        sizes.append(rng.choice([capacity - 1, capacity]))
    node = np.repeat(np.arange(len(sizes)), sizes)
    leaf = np.sort([rng.randrange(3) for _ in sizes])[node]
    spare = node.size - job.world
    dead = rng.sample(range(node.size), spare // 2)
    levels = (Level(rng.choice([1, 2]), node), Level(rng.choice([0, 3]), leaf))
    return levels, np.setdiff1d(np.arange(node.size), dead)


def task_of(job, seed=0, weights=WEIGHTS, **more):
    levels, devices = machine(job, seed)
    families, pairs, pieces, blocks = structure(job, weights)
    return Task(job.world, families, pairs, levels, devices, pieces, blocks, **more)


def shuffled(task, seed):
    return np.random.default_rng(seed).permutation(task.devices)[: task.slots]


def tables_and_state(task, place):
    fixed = tables(task)
    return checked(fixed), checked(seated(task, fixed, place))


def placement(task, held):
    slot = np.asarray(held)
    place = np.full(task.slots, -1)
    place[slot[slot >= 0]] = task.devices[slot >= 0]
    return place


def assert_valid(task, place):
    assert np.unique(place).size == task.slots
    assert np.isin(place, task.devices).all()


@pytest.fixture(params=JOBS.values(), ids=JOBS.keys())
def job(request):
    return request.param


# -- cost ----------------------------------------------------------------------------------------


def test_cost_is_what_the_definition_says_on_every_level(job):
    for seed in range(5):
        task = task_of(job, seed)
        place = shuffled(task, seed)
        expected = sum(
            level.weight * slots_cost.cost(job, WEIGHTS, level.domain[place].tolist())
            for level in task.levels
        )
        assert cost(task, place) == expected


def test_counts_of_a_new_state_add_up_to_the_cost(job):
    task = task_of(job)
    fixed = tables(task)
    place = shuffled(task, 1)
    assert penalised_cost(fixed, seated(task, fixed, place)) == cost(task, place)


def test_cost_kept_by_a_chain_is_recounted_after_every_proposal(job):
    for seed in range(3):
        task = task_of(job, seed)
        chain = Chain(task, tables(task), kernel, np.random.default_rng(seed))
        chain.begin(shuffled(task, seed), hot=3000.0, cold=0.5, proposals=400)
        least = []
        for _ in range(400):
            chain.advance(1)
            assert_valid(task, chain.now())
            assert chain.cost == cost(task, chain.now())
            least.append(chain.cost)
            assert chain.least <= min(least)
        assert cost(task, chain.best()) == chain.least
        assert chain.accepted > 20


# -- moves ---------------------------------------------------------------------------------------

MOVES = {
    "any two": lambda t, s, kind, clock, u: kernel.any_two(t, s, u, 0),
    "to partner": lambda t, s, kind, clock, u: kernel.to_partner(t, s, u, 0),
    "lanes": lambda t, s, kind, clock, u: kernel.lanes(t, s, kind, u, 0),
    "piece": lambda t, s, kind, clock, u: kernel.piece(t, s, kind, clock, u, 0),
    "trade": lambda t, s, kind, clock, u: kernel.trade(t, s, kind, u, 0),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES.keys())
def test_a_move_is_priced_right_and_taken_back_whole(job, move):
    task = task_of(job)
    t, s = tables_and_state(task, shuffled(task, 2))
    rng, made = np.random.default_rng(3), 0
    for clock in range(1, 150):
        before = [list(part) for part in (s.held, s.sits, s.count, s.touched)]
        paid = cost(task, placement(task, s.held))
        n = move(t, s, int(rng.integers(t.kinds)), clock, rng.random(8).tolist())
        made += n > 0
        delta = kernel.carry_out(t, s, n)
        assert_valid(task, placement(task, s.held))
        assert cost(task, placement(task, s.held)) == paid + delta
        if clock % 2:
            assert kernel.carry_out(t, s, n) == -delta
            assert [list(part) for part in (s.held, s.sits, s.count, s.touched)] == before
    assert made > 20


def proposals(task, place, move, kind, tries=300):
    """The (left, right) seats of many proposals of one move from one placement."""
    t, s = tables_and_state(task, place)
    rng = np.random.default_rng(0)
    for clock in range(1, tries):
        n = move(t, s, kind, clock, rng.random(8).tolist())
        if n:
            left, right = s.left[:n], s.right[:n]
            assert len({*left, *right}) == 2 * n or left == right
            yield t, s, left, right


def test_a_partner_is_joined_in_its_domain():
    """Slots 0 and 3 are linked; whoever of them moves, moves to the other's node."""
    node = Level(1, np.repeat([0, 1, 2], 2))
    pairs = Pairs(np.array([0]), np.array([3]), np.array([5]))
    task = Task(4, (), pairs, (node,), np.arange(6), (np.zeros(4, dtype=int),))
    seen = set()
    for t, s, (x,), (y,) in proposals(task, np.arange(4), MOVES["to partner"], 0):
        seen.add((s.held[x], t.domain[y]))
    assert seen == {(0, 1), (3, 0)}


def test_lanes_trade_inside_their_bundle(job):
    task = task_of(job)
    for t, s, (x,), (y,) in proposals(task, shuffled(task, 0), MOVES["lanes"], 0):
        assert t.bundle[s.held[x]] == t.bundle[s.held[y]]


def test_bundles_trade_whole_and_sometimes_rotated(job):
    task = task_of(job)
    turns = set()
    for t, s, left, right in proposals(task, shuffled(task, 0), MOVES["trade"], 0):
        ours, theirs = [s.held[x] for x in left], [s.held[y] for y in right]
        (a,), (b,) = {t.bundle[i] for i in ours}, {t.bundle[i] for i in theirs}
        assert ours == t.bundled[t.bundled_at[a] : t.bundled_at[a + 1]]
        lanes = t.bundled[t.bundled_at[b] : t.bundled_at[b + 1]]
        turn = lanes.index(theirs[0])
        assert theirs == lanes[turn:] + lanes[:turn]
        turns.add((len(lanes), turn))
    assert turns == {(n, turn) for n, _ in turns for turn in range(n)}


def test_a_piece_is_all_its_bundle_has_in_a_domain(job):
    task = task_of(job)
    for t, s, left, right in proposals(task, shuffled(task, 0), MOVES["piece"], 0):
        bundle = t.bundle[s.held[left[0]]]

        def is_piece(level, bundle=bundle, t=t, s=s, left=left, right=right):
            domain = t.domain[level * t.seats : (level + 1) * t.seats]
            mates = t.bundled[t.bundled_at[bundle] : t.bundled_at[bundle + 1]]
            whole = {s.sits[i] for i in mates if domain[s.sits[i]] == domain[left[0]]}
            there = {domain[y] for y in right}
            return set(left) == whole and len(there) == 1 and there != {domain[left[0]]}

        assert any(is_piece(level) for level in range(t.levels))


def test_a_piece_of_three_is_exchanged_for_whole_pieces():
    """Against a pair, two singles and an idle seat, in this order, from any of them on."""
    bundle = np.array([0, 0, 0, 1, 1, 2, 3])
    node = Level(1, np.array([0, 0, 0, 1, 1, 1, 1, 1]))
    ring = Family(1, bundle)
    task = Task(7, (ring,), Pairs(), (node,), np.arange(8), (bundle,))
    contents = set()
    for _, s, left, right in proposals(task, np.arange(7), MOVES["piece"], 0):
        if len(left) == 3:
            contents.add(tuple(sorted(s.held[y] for y in right)))
    assert contents == {(3, 4, 5), (-1, 5, 6), (-1, 3, 4)}


def test_a_piece_of_equal_size_is_found():
    bundle = np.array([0, 0, 1, 2, 3, 3])
    node = Level(1, np.array([0, 0, 1, 1, 1, 1]))
    task = Task(6, (Family(1, bundle),), Pairs(), (node,), np.arange(6), (bundle,))
    t, s = tables_and_state(task, np.arange(6))
    row = t.first_domain[0] + 1
    for turn in range(4):
        assert kernel.equal_piece(t, s, 0, 0, row, turn, need=2)
        assert sorted(s.held[y] for y in s.right[:2]) == [4, 5]
    assert not kernel.equal_piece(t, s, 0, 0, row, 0, need=3)


def test_without_bundles_only_single_slots_move():
    task = Task(3, (Family(1, np.array([0, 0, 1])),), Pairs(), (Level(1, np.array([0, 1, 1, 0])),),
                np.arange(4))  # fmt: skip
    t, s = tables_and_state(task, np.arange(3))
    u = np.random.default_rng(1).random(9 * 200).tolist()
    sizes = {kernel.propose(t, s, i + 1, u, 9 * i) for i in range(200)}
    assert sizes == {1}


# -- rules ---------------------------------------------------------------------------------------


def test_frozen_slots_stay(job):
    task = task_of(job, frozen=np.array([0, 3, job.world - 1]))
    start = shuffled(task, 4)
    chain = Chain(task, tables(task), kernel, np.random.default_rng(0))
    chain.begin(start, hot=2000.0, cold=1.0, proposals=2000)
    chain.advance(2000)
    assert chain.accepted > 50
    assert (chain.now()[task.frozen] == start[task.frozen]).all()
    assert (chain.best()[task.frozen] == start[task.frozen]).all()


def within_node():
    """TP groups of two on nodes of four and five, to stay inside a node whatever that costs."""
    job = Job((ModuleShape(2, 2, 2),), dp=2)
    task = task_of(job, weights=Weights(tp=0, cp=100, dp=1, pp=10))
    group = structure(job, WEIGHTS).pieces[0]
    hard = Family(0, group, within=0)
    return Task(task.slots, (*task.families, hard), task.pairs, task.levels, task.devices,
                task.pieces, task.blocks)  # fmt: skip


def test_groups_stay_within_their_domain_at_any_temperature():
    task = within_node()
    first = anneal(task, start=shuffled(task, 0), schedule=Schedule(4000), compiled=False)
    assert first.broken == 0  # repaired from a start that breaks it
    chain = Chain(task, tables(task), kernel, np.random.default_rng(0))
    chain.begin(first.place, hot=5000.0, cold=100.0, proposals=1500)
    for _ in range(300):
        chain.advance(5)
        assert broken(task, chain.now()) == 0
    assert chain.accepted > 300


def test_levels_that_cost_nothing_are_left_out_unless_a_rule_names_them():
    node, leaf, pod = (
        Level(0, np.arange(4)),
        Level(0, np.arange(4) // 2),
        Level(5, np.zeros(4, int)),
    )
    pair = np.array([0, 1, 0, 1])
    for families, felt in [((Family(1, pair),), (2,)), ((Family(1, pair, within=1),), (1, 2))]:
        task = Task(4, families, Pairs(), (node, leaf, pod), np.arange(4))
        assert task.felt == felt
        assert tables(task).domains.tolist() == [[2, 1], [1]][len(felt) == 1]


def test_rules_alone_are_searched_for_too():
    pair = np.array([0, 1, 0, 1])
    node = Level(0, np.array([0, 0, 1, 1]))
    task = Task(4, (Family(0, pair, within=0),), Pairs(), (node,), np.arange(4), (pair,))
    assert broken(task, task.first_fit()) == 2
    assert anneal(task, schedule=Schedule(500), compiled=False).broken == 0


def test_broken_groups_are_counted_and_never_reported_as_cost():
    task = within_node()
    place = shuffled(task, 0)
    free = Task(task.slots, task.families[:-1], task.pairs, task.levels, task.devices)
    assert broken(task, place) > 0
    assert cost(task, place) == cost(free, place)
    told = []
    anneal(task, place, Schedule(500), on_incumbent=lambda p, c: told.append(p), compiled=False)
    assert all(broken(task, p) == 0 for p in told)


# -- search --------------------------------------------------------------------------------------


def test_tiny_problems_are_solved_to_the_optimum():
    rng = random.Random(7)
    shapes = [
        Job((ModuleShape(2, 1, 2),), dp=2),
        Job((ModuleShape(3, 1, 2, vpp=2),), dp=1, tied=True),
        Job((ModuleShape(1, 1, 1), ModuleShape(2, 1, 1)), dp=3),
        Job((ModuleShape(2, 2, 1, ep=2, etp=1),), dp=2),
    ]
    for seed in range(12):
        job = shapes[seed % len(shapes)]
        weights = Weights(*(rng.choice([0, 1, 3, 10]) for _ in range(8)))
        sizes = [rng.randint(1, 4) for _ in range(3)]
        sizes.append(max(1, job.world + rng.randint(0, 1) - sum(sizes)))
        node = Level(1, np.repeat(np.arange(4), sizes))
        families, pairs, pieces, blocks = structure(job, weights)
        devices = np.arange(sum(sizes))
        task = Task(job.world, families, pairs, (node,), devices, pieces, blocks)
        best = slots_cost.optimum(job, weights, sizes)
        found = anneal(task, schedule=Schedule(2500, runs=3), stop=Stop(best), compiled=False)
        assert found.cost == best == cost(task, found.place)


def test_one_seed_gives_one_result_and_another_another():
    task = task_of(JOBS["encoder, lanes in runs"])
    run = lambda seed, workers: anneal(  # noqa: E731
        task, schedule=Schedule(1000, runs=2), seed=seed, workers=workers, compiled=False
    )
    first = run(5, 2)
    assert (first.place == run(5, 2).place).all()
    assert first.proposals == 2 * (1000 + 2000)
    assert (first.place != run(6, 2).place).any()


def test_compiled_and_interpreted_chains_are_one_chain():
    for job in (JOBS["experts beside encoder"], JOBS["wrap and tied"]):
        task = task_of(job)
        fast, slow = (
            anneal(task, schedule=Schedule(6000), seed=1, compiled=compiled)
            for compiled in (True, False)
        )
        assert (fast.place == slow.place).all()
        assert (fast.cost, fast.accepted) == (slow.cost, slow.accepted)


def test_a_misfit_job_reaches_its_proven_optimum():
    """Encoder tp2 beside decoder tp6 on seven nodes of eight: Megatron's order costs 11,716."""
    job = Job((ModuleShape(2, 2, 1), ModuleShape(6, 2, 2)), dp=2)
    families, pairs, pieces, blocks = structure(job, Weights(tp=1000, cp=100, dp=1, pp=10))
    node = Level(1, np.arange(56) // 8)
    task = Task(56, families, pairs, (node,), np.arange(56), pieces, blocks)
    assert cost(task, task.first_fit()) == 11_716
    found = anneal(task, schedule=Schedule(100_000, runs=3), stop=Stop(target=8_490))
    assert (found.cost, found.why) == (8_490, "target")


def test_incumbents_are_told_as_they_come():
    task = task_of(JOBS["dense"])
    told = []
    start = shuffled(task, 0)
    found = anneal(
        task, start, Schedule(12_000), on_incumbent=lambda p, c: told.append((p, c)), compiled=False
    )
    costs = [c for _, c in told]
    assert costs == [cost(task, p) for p, _ in told]
    assert costs == sorted(set(costs), reverse=True)
    assert costs[-1] == found.cost < cost(task, start)


def test_reasons_to_stop():
    task = task_of(JOBS["dense"])
    start = shuffled(task, 0)
    paid = cost(task, start)
    met = anneal(task, start, stop=Stop(target=paid))
    late = anneal(task, start, stop=Stop(deadline=monotonic() - 1))
    asked = anneal(task, start, stop=Stop(asked=lambda: True))
    assert [r.why for r in (met, late, asked)] == ["target", "deadline", "asked"]
    assert [r.proposals for r in (met, late, asked)] == [0, 0, 0]
    assert (late.place == start).all()
    assert late.cost == paid


def test_runs_without_end_stop_at_the_deadline():
    task = task_of(JOBS["one lane"])
    stop = Stop(deadline=monotonic() + 0.3)
    found = anneal(task, schedule=Schedule(1000, runs=None), stop=stop, compiled=False)
    assert found.why == "deadline"
    assert found.runs > 1


def test_runs_are_short_and_long_and_cool_from_the_dearest_to_the_cheapest_link():
    task = task_of(JOBS["dense"])
    assert list(Schedule(10, runs=9).lengths(task)) == [10, 20, 10, 10, 40, 10, 10, 10, 10]
    dearest = max(level.weight for level in task.levels) * 1000
    cheapest = min(level.weight for level in task.levels if level.weight)
    assert Schedule(hot=2.0, cold=0.5).range(task) == (2.0 * dearest, 0.5 * cheapest)


def test_a_job_without_links_keeps_its_start():
    node = Level(1, np.array([0, 0, 1, 1]))
    task = Task(3, (), Pairs(), (node,), np.arange(4))
    found = anneal(task, np.array([3, 0, 2]))
    assert (found.place.tolist(), found.cost, found.why) == ([3, 0, 2], 0, "proposals")


# -- refusals ------------------------------------------------------------------------------------


def test_tasks_that_make_no_sense_are_refused():
    node, leaf = Level(1, np.array([0, 0, 1, 1])), Level(1, np.array([0, 1, 1, 1]))
    with pytest.raises(ValueError, match="5 slots, but only 4 usable devices"):
        Task(5, (), Pairs(), (node,), np.arange(4))
    with pytest.raises(ValueError, match="levels do not nest"):
        Task(4, (), Pairs(), (node, leaf), np.arange(4))
    everyone = Family(1, np.zeros(4, dtype=int), all_to_all=True, within=0)
    with pytest.raises(ValueError, match="belongs to rings"):
        Task(4, (everyone,), Pairs(), (node,), np.arange(4))


def test_a_start_that_is_no_placement_is_refused():
    task = Task(2, (), Pairs(), (Level(1, np.zeros(4, dtype=int)),), np.array([0, 1, 3]))
    for start in ([0, 0], [0, 2]):
        with pytest.raises(ValueError, match="a usable device of its own"):
            anneal(task, np.array(start))


def test_a_group_too_large_for_its_counts_is_refused():
    n = 32_768
    node = Level(1, np.zeros(n, dtype=int))
    task = Task(n, (Family(1, np.zeros(n, dtype=int)),), Pairs(), (node,), np.arange(n))
    with pytest.raises(ValueError, match="more than 32767 members"):
        tables(task)


def test_a_broken_rule_costs_fifty_times_everything_else():
    task = within_node()
    alone = np.arange(task.devices.max() + 1)  # a domain for every device: all links are paid
    levels = tuple(Level(level.weight, alone) for level in task.levels)
    torn = Task(task.slots, task.families, task.pairs, levels, task.devices)
    dearest = cost(torn, task.first_fit())
    assert penalty(task) >= 50 * dearest > 0


# -- numba ---------------------------------------------------------------------------------------


def test_numba_is_imported_by_a_search_alone():
    code = "import sys, planner_models.annealing; print('numba' in sys.modules)"
    path = ":".join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, check=True
    )
    assert done.stdout.strip() == b"False"


def test_without_numba_the_kernel_is_interpreted(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert compiling.best_kernel.__wrapped__() is kernel


def test_where_nothing_can_be_cached_the_kernel_is_compiled_all_the_same():
    class Numba:
        @staticmethod
        def njit(*, cache=False, **_):
            if cache:
                raise RuntimeError("cannot cache function: no locator available")
            return lambda function: ("compiled", function)

    assert compiling._jitted(Numba, len, outermost=True) == ("compiled", len)


# -- units ---------------------------------------------------------------------------------------

WHOLE = {
    "dense": Job((ModuleShape(2, 2, 3, vpp=2),), dp=2, tied=True),
    "experts": Job((ModuleShape(2, 1, 2, ep=4, etp=1),), dp=4),
    "two modules": Job((ModuleShape(2, 2, 1), ModuleShape(2, 1, 2)), dp=3),
}


@pytest.mark.parametrize("job", WHOLE.values(), ids=WHOLE.keys())
def test_a_placement_of_units_costs_what_its_slots_do(job):
    for seed in range(4):
        levels, devices = machine(job, seed, capacity=8)
        families, pairs, pieces, blocks = structure(job, WEIGHTS)
        task = Task(job.world, families, pairs, levels, devices, pieces, blocks)
        units = coarse(task, pieces[0])
        place = shuffled(units.task, seed)
        assert_valid(task, units.expand(place))
        assert cost(units.task, place) == cost(task, units.expand(place))
        assert (np.ptp(levels[0].domain[units.seats], axis=1) == 0).all()
        anneal(units.task, schedule=Schedule(200), compiled=False)


def test_units_of_a_dense_job_move_in_blocks_and_copies():
    job = WHOLE["dense"]
    units = coarse(task_of(job), structure(job, WEIGHTS).pieces[0]).task
    assert [p.tolist() for p in units.pieces] == [
        [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
        [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1],
    ]
    assert [b.tolist() for b in units.blocks] == [units.pieces[0].tolist()]


def test_units_that_do_not_exist_are_refused():
    uneven = task_of(JOBS["encoder, lanes in runs"])
    with pytest.raises(ValueError, match="of one size"):
        coarse(uneven, uneven.pieces[0])
    pinned = task_of(WHOLE["dense"], frozen=np.array([0]))
    with pytest.raises(ValueError, match="frozen"):
        coarse(pinned, pinned.pieces[0])
    unlike = Task(4, (Family(1, np.array([0, 1, 0, 2])), Family(1, np.array([0, -1, -1, 0]))),
                  Pairs(), (Level(1, np.zeros(4, dtype=int)),), np.arange(4))  # fmt: skip
    lopsided = Family(1, np.array([0, 0, 0, -1]), all_to_all=True)
    with pytest.raises(ValueError, match="alike"):
        coarse(Task(4, (lopsided,), Pairs(), unlike.levels, unlike.devices), np.array([0, 0, 1, 1]))
