"""Staircases against all subsets, and sheets against staircases."""

import random
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest

from planner_models import bridge, sheets
from planner_models.job import Job, ModuleShape, Weights
from planner_models.lattice import inner_weights, module_lattices
from planner_models.staircases import best_content, best_contents
from tests.oracle.random_problems import random_job, random_weights
from tests.oracle.slots_cost import bridge as bridge_links
from tests.oracle.slots_cost import cheapest_prices

DEFAULT = Weights(tp=1000, cp=100, dp=1, pp=10, ep=100, expt_tp=1000, expt_dp=1, embd=1)


def priced(job, weights, room=None):
    """Least prices over all subsets, beside those of a room of bounds, for every (a, b)."""
    truth = cheapest_prices(job, weights)
    a, b = (np.array(sizes) for sizes in zip(*truth, strict=True))
    return np.array(list(truth.values())), (room or best_contents)(job, weights, a, b)


def exact(job, weights):
    """Whether listing is exact: an even bridge, and digits that all families share."""
    even = len(job.modules) == 1 or bridge.is_even(job)
    return even and all(len(lattices) == 1 for lattices in module_lattices(job, weights))


@pytest.mark.parametrize("modules", [1, 2])
def test_the_best_staircase_is_the_best_subset(modules):
    rng = random.Random(10 + modules)
    compared = 0
    while compared < 40:
        job = random_job(rng, largest=9, modules=modules)
        weights = random_weights(rng)
        if exact(job, weights):
            truth, prices = priced(job, weights)
            assert prices.tolist() == truth.tolist(), (job, weights)
            compared += 1


def test_prices_that_are_not_exact_are_below_every_subset():
    rng = random.Random(12)
    compared = loose = 0
    while compared < 40:
        job, weights = random_job(rng, largest=9), random_weights(rng)
        if not exact(job, weights):
            truth, prices = priced(job, weights)
            assert (prices <= truth).all(), (job, weights)
            compared += 1
            loose += int((prices < truth).any())
    assert loose > 0


@pytest.mark.parametrize(
    ("encoder", "decoder"),
    [
        ((2, 1, 1), (3, 1, 1)),  # runs of lanes 2, 1
        ((3, 1, 1), (2, 1, 2)),
        ((1, 2, 1), (1, 3, 1)),  # slices 0-0, 0-1, 1-1, 1-2
        ((2, 1, 1), (2, 3, 1)),  # even lanes, every slice in one
        ((2, 2, 1), (3, 1, 1)),  # uneven lanes, even slices
        ((2, 2, 1), (3, 1, 2)),
    ],
)
@pytest.mark.parametrize("cp", [0, 3])
def test_bridges_of_all_kinds_are_never_under_saved(encoder, decoder, cp):
    job = Job((ModuleShape(*encoder), ModuleShape(*decoder)), dp=1)
    truth, prices = priced(job, Weights(tp=2, cp=cp, dp=0, pp=9))
    assert (prices <= truth).all()
    assert prices[-1] == truth[-1]  # everything: all links are inside


@pytest.mark.parametrize(
    ("encoder", "decoder", "dp"),
    [
        ((2, 1), (3, 1), 2),
        ((2, 2), (3, 1), 1),
        ((3, 1), (2, 2), 1),
        ((2, 2), (3, 2), 1),
    ],
)
@pytest.mark.parametrize("cp", [0, 3])
def test_uneven_lanes_in_even_slices_are_priced_exactly(encoder, decoder, dp, cp):
    job = Job((ModuleShape(*encoder, pp=1), ModuleShape(*decoder, pp=1)), dp=dp)
    truth, prices = priced(job, Weights(tp=2, cp=cp, dp=0, pp=9))
    assert prices.tolist() == truth.tolist()


def test_uneven_on_both_axes_is_never_under_saved():
    job = Job((ModuleShape(2, 2, 1), ModuleShape(3, 3, 1)), dp=1)
    truth, prices = priced(job, Weights(tp=2, cp=1, dp=0, pp=9))
    assert (prices <= truth).all()


@pytest.mark.parametrize(
    ("encoder", "decoder"), [((2, 2), (6, 2)), ((3, 1), (2, 4)), ((2, 3), (3, 2)), ((4, 2), (2, 2))]
)
def test_bridge_links_are_those_of_the_definition(encoder, decoder):
    job = Job((ModuleShape(*encoder, pp=2), ModuleShape(*decoder, pp=3)), dp=2)
    links = bridge_links(job)
    assert bridge.count(job) == len(links)
    joined = np.kron(bridge.slices_joined(job), bridge.lanes_joined(job))
    first = 4 * encoder[0] * encoder[1]  # slots of the encoder
    last_stage, lanes = first // 2, (encoder[0] * encoder[1], decoder[0] * decoder[1])
    one_copy = {
        (left - last_stage, right - first) for left, right in links if left < last_stage + lanes[0]
    }
    assert set(zip(*(ends.tolist() for ends in np.nonzero(joined)), strict=True)) == one_copy
    ends = [[left for left, _ in links], [right for _, right in links]]
    assert bridge.degrees(job) == tuple(max(map(end.count, end)) for end in ends)


def test_a_lane_saves_its_closing_link_once_it_is_worth_it():
    job = Job((ModuleShape(1, 1, 4, vpp=2),), dp=1, tied=True)
    weights = Weights(tp=0, cp=0, dp=0, pp=10, embd=1)
    assert inner_weights(job, weights, 0) == (0, 0, 22, 42, 82)
    assert [best_content(job, weights, 0, h) for h in range(5)] == [0, 0, -22, -42, -82]


def test_a_lane_of_two_stages_saves_both_links_between_them():
    job = Job((ModuleShape(1, 1, 2, vpp=2),), dp=3)
    assert best_content(job, Weights(tp=0, cp=0, dp=0, pp=10), 0, 2) == -40


def test_digits_that_experts_share_with_tensor_groups():
    [[lattice]] = module_lattices(Job((ModuleShape(4, 2, 3, ep=8, etp=1),), dp=6), DEFAULT)
    assert lattice.cuts == (1, 4, 8, 48)
    assert lattice.radices == (4, 2, 6)


def test_experts_without_common_digits_stand_apart():
    [[own, apart]] = module_lattices(Job((ModuleShape(6, 1, 4, ep=4, etp=1),), dp=2), DEFAULT)
    assert (own.cuts, apart.cuts) == ((1, 6, 12), (1, 4, 12))
    assert set(apart.inner) == {0}


def test_digits_of_experts_are_cut_in_both_modules():
    job = Job((ModuleShape(2, 1, 1), ModuleShape(4, 1, 2, ep=8, etp=1)), dp=6)
    encoder, decoder = (lattices[0] for lattices in module_lattices(job, DEFAULT))
    assert decoder.cuts == (1, 2, 4, 8, 24)
    assert encoder.cuts == (1, 2, 4, 12)


EXPERTS = Weights(tp=0, cp=0, dp=0, pp=0, ep=1, expt_tp=5, expt_dp=6)
DENSE = Weights(tp=4, cp=0, dp=3, pp=2)


def in_all(weights):
    """The weights of experts beside others."""
    return replace(weights, ep=EXPERTS.ep, expt_tp=EXPERTS.expt_tp, expt_dp=EXPERTS.expt_dp)


@pytest.mark.parametrize(
    "job",
    [
        Job((ModuleShape(3, 1, 1, ep=2, etp=2),), dp=4),
        Job((ModuleShape(3, 1, 1, ep=3, etp=2), ModuleShape(1, 1, 2)), dp=2),
        Job((ModuleShape(1, 1, 2), ModuleShape(3, 1, 1, ep=3, etp=2)), dp=2),
    ],
)
def test_experts_that_stand_apart_add_their_own_least_price(job):
    dense, experts = cheapest_prices(job, DENSE), cheapest_prices(job, EXPERTS)
    _, prices = priced(job, in_all(DENSE))
    assert prices.tolist() == [dense[size] + experts[size] for size in dense]
    encoder = job.world - max(b for _, b in dense)
    with pytest.raises(ValueError, match="no content"):
        best_content(job, in_all(DENSE), encoder + 1, 0)


@pytest.mark.parametrize(
    "job",
    [
        Job((ModuleShape(2, 1, 1, ep=2, etp=2),), dp=4),
        Job((ModuleShape(2, 1, 2, ep=2, etp=1),), dp=2),
        Job((ModuleShape(1, 1, 1), ModuleShape(2, 1, 1, ep=2, etp=2)), dp=4),
    ],
)
def test_experts_with_common_digits_are_priced_exactly(job):
    truth, prices = priced(job, in_all(DENSE))
    assert prices.tolist() == truth.tolist()


@pytest.mark.parametrize(
    "job",
    [
        Job((ModuleShape(1, 1, 1, ep=2, etp=1), ModuleShape(1, 1, 1, ep=3, etp=1)), dp=6),
        Job((ModuleShape(2, 1, 1), ModuleShape(6, 1, 1, ep=3, etp=2)), dp=1),  # runs of 3 lanes
    ],
)
def test_digits_of_experts_that_differ_between_modules_stand_apart(job):
    assert [len(lattices) for lattices in module_lattices(job, in_all(DENSE))] == [1, 2]
    truth, prices = priced(job, in_all(DENSE))
    assert (prices <= truth).all()
    assert prices[-1] == truth[-1]


def test_experts_beside_sheets_hold_whole_groups_and_one_remainder():
    job, sizes = Job((ModuleShape(1, 1, 1, ep=4, etp=2),), dp=16), np.arange(10)
    for weights, links in (
        (Weights(0, 0, 0, 0, ep=3), [0, 3, 4, 3] * 2 + [0, 3]),  # groups of 4
        (Weights(0, 0, 0, 0, expt_tp=3), [0, 2] * 5),  # groups of 2, paid on either side
        (Weights(0, 0, 0, 0, expt_dp=3), [0, 2] * 5),
        (Weights(0, 0, 0, 0, ep=3, expt_tp=3, expt_dp=3), [0, 7, 4, 7] * 2 + [0, 7]),
    ):
        prices = sheets.best_contents(job, weights, np.zeros_like(sizes), sizes)
        assert prices.tolist() == [3 * n for n in links]


def test_sheets_share_the_bridge_out_as_it_is_dearest():
    """Links at either end of the bridge alone, and between the two, would be saved too often."""
    thin, wide = ModuleShape(1, 1, 1), ModuleShape(3, 1, 1)
    for modules, a, b in (((thin, wide), 0, 2), ((wide, thin), 2, 0)):
        job, weights = Job(modules, dp=1), Weights(tp=2, cp=0, dp=0, pp=9)
        assert sheets.best_contents(job, weights, np.array([a]), np.array([b])).tolist() == [4]
    job = Job((ModuleShape(2, 1, 2), ModuleShape(2, 1, 2)), dp=1)
    weights = Weights(tp=2, cp=0, dp=1, pp=10)
    assert sheets.best_contents(job, weights, np.array([2]), np.array([2])).tolist() == [-44]
    assert best_content(job, weights, 2, 2) == -44


@pytest.mark.parametrize(
    ("lanes", "tp", "cp", "price"),
    [
        (3, 15, 9, 2 * 2 * 15),  # lanes of 0, 2 and 2 slices instead of 1, 1 and 2
        (4, 17, 10, 2 * 2 * 17),  # of 0, 0, 2 and 2 instead of 1, 1, 1 and 1
    ],
)
def test_sheets_that_differ_are_tried_while_they_can_gain(lanes, tp, cp, price):
    job = Job((ModuleShape(lanes, 2, 1),), dp=1)
    weights = Weights(tp=tp, cp=cp, dp=0, pp=0)
    for room in (sheets.best_contents, best_contents):
        assert room(job, weights, np.array([0]), np.array([4])).tolist() == [price]


@pytest.mark.parametrize("longest", [6, 24])
def test_sheets_are_put_together_however_unequal_it_is_best(longest):
    """Against every choice of sizes; spreads that are not tried count as one beyond those."""
    rng = random.Random(longest)
    unequal = 0
    for _ in range(60):
        lanes, dp = rng.choice([2, 3] if longest == 6 else [2]), rng.choice([1, 2])
        lane = ModuleShape(
            1, rng.choice([1, 2]), rng.randint(2, longest // dp), vpp=rng.choice([1, 2])
        )
        weights = Weights(
            tp=rng.choice([0, 1, 3, 10, 40]), cp=rng.choice([0, 9]), dp=rng.choice([0, 3, 20]), pp=rng.choice([1, 10, 60])
        )  # fmt: skip
        sizes = np.arange(lane.cp * lane.pp * dp + 1)
        sheet = sheets.best_contents(Job((lane,), dp), weights, 0 * sizes, sizes).tolist()
        exact: dict[int, tuple[int, int]] = {}
        level: dict[int, int] = {}
        for held in combinations_with_replacement(sizes.tolist(), lanes):
            price, spread = sum(sheet[n] for n in held), held[-1] - held[0]
            tried = price + 2 * weights.tp * min(spread, sheets.SPREAD + 1)
            paid = price + 2 * weights.tp * spread
            low, high = exact.get(sum(held), (tried, paid))
            exact[sum(held)] = min(low, tried), min(high, paid)
            level[sum(held)] = paid  # the last of each sum differs least
        totals = np.array(sorted(exact))
        job = Job((replace(lane, tp=lanes),), dp)
        prices = sheets.best_contents(job, weights, 0 * totals, totals).tolist()
        for n, price in zip(totals.tolist(), prices, strict=True):
            assert exact[n][0] <= price <= exact[n][1], (job, weights, n)
            unequal += exact[n][1] < level[n]
    assert unequal > 60


def test_one_copy_of_several_slices_has_data_rings():
    job, sizes = Job((ModuleShape(2, 3, 2),), dp=1), np.arange(13)
    weights = Weights(tp=20, cp=1, dp=9, pp=1)
    listed = best_contents(job, weights, 0 * sizes, sizes)
    assert sheets.best_contents(job, weights, 0 * sizes, sizes).tolist() == listed.tolist()


def test_sheets_are_never_above_subsets():
    rng = random.Random(14)
    for _ in range(60):
        job, weights = random_job(rng, largest=8), random_weights(rng)
        truth, prices = priced(job, weights, sheets.best_contents)
        assert (prices <= truth).all(), (job, weights)


@pytest.mark.parametrize("tp", [0, 3, 30, 1000])
@pytest.mark.parametrize(
    "shape", [ModuleShape(8, 2, 4), ModuleShape(3, 3, 5, vpp=2), ModuleShape(5, 1, 9)]
)
def test_sheets_of_one_module_are_staircases_up_to_nesting(shape, tp):
    """Whatever spread of sheets the tensor weight invites, and wherever growth is cut off."""
    job, weights = Job((shape,), dp=3), Weights(tp=tp, cp=20, dp=4, pp=11)
    sizes = np.arange(13)
    listed = best_contents(job, weights, np.zeros_like(sizes), sizes)
    pieced = sheets.best_contents(job, weights, np.zeros_like(sizes), sizes)
    assert (pieced <= listed).all()
    assert (pieced == listed).sum() >= 11


def test_a_cheap_tensor_link_spreads_sheets_further_than_is_tried():
    job = Job((ModuleShape(4, 1, 30),), dp=1)
    weights = Weights(tp=1, cp=0, dp=0, pp=100)
    price = best_content(job, weights, 0, 40)
    assert price > -2 * 100 * 40  # never more saved than there is
    assert price <= 2 * 30 - 2 * 100 * 38  # a whole lane and ten stages of another: 30 groups cut


def test_a_pod_of_whole_pipelines_cuts_nothing_but_data():
    job = Job((ModuleShape(8, 4, 16),), dp=256)
    planes, inner = 8 * 16, 8192 // 16 * 15
    assert best_content(job, DEFAULT, 0, 8192) == 2 * planes * 1 - 2 * 10 * inner


def test_whole_jobs_and_nothing_have_their_plain_price():
    job = Job((ModuleShape(2, 1, 2), ModuleShape(4, 1, 3)), dp=2)
    assert best_content(job, DEFAULT, 0, 0) == 0
    assert best_content(job, DEFAULT, 8, 24) == -2 * 10 * (4 + 16 + 8)


def test_contents_larger_than_a_module_do_not_exist():
    job = Job((ModuleShape(2, 1, 2), ModuleShape(4, 1, 3)), dp=2)
    for a, b in ((9, 0), (9, 20)):
        with pytest.raises(ValueError, match=f"no content of {a} encoder and {b} decoder slots"):
            best_content(job, DEFAULT, a, b)


def test_prices_scale_with_the_weights():
    job = Job((ModuleShape(2, 2, 2), ModuleShape(4, 2, 2)), dp=2)
    sizes = np.arange(9)
    once = best_contents(job, Weights(tp=9, cp=4, dp=1, pp=2), sizes, sizes[::-1])
    twice = best_contents(job, Weights(tp=18, cp=8, dp=2, pp=4), sizes, sizes[::-1])
    assert twice.tolist() == (2 * once).tolist()
