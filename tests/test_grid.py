"""Groups and ranks against lists that Megatron-core built, and against their own definitions."""

import json
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pytest

from planner.grid import Grid, rows
from planner.lanes import lane_pairs, slice_pairs
from tests.problems import problem, random_problem

CASES = Path(__file__).parent / "cases"
MEGATRON = json.loads((CASES / "megatron_groups.json").read_text())["cases"]
LANES = json.loads((CASES / "lanes.json").read_text())


def grid_of(job: dict, ranks: int = 128) -> Grid:
    return Grid.of(problem({"nodes": ranks, "gpus_per_node": 1}, job))


@pytest.mark.parametrize("case", MEGATRON, ids=lambda c: f"{c['megatron_core']}-{c['world_size']}")
def test_groups_are_those_megatron_creates(case: dict) -> None:
    grid = grid_of(case["job"], case["world_size"])
    assert grid.world == case["world_size"]
    for kind, groups in case["groups"].items():
        assert rows(grid.groups[kind]) == sorted(groups), kind


@pytest.mark.parametrize("case", LANES["cases"], ids=lambda c: str(c["pp"][:3]))
def test_pipelines_stay_inside_their_slice(case: dict) -> None:
    grid = grid_of(case["job"])
    assert rows(grid.groups["pp"]) == case["pp"]
    if "wrong" in case:
        assert rows(grid.groups["pp"]) != sorted(case["wrong"])


@pytest.mark.parametrize("case", LANES["datasets"], ids=lambda c: str(c["ranks"]))
def test_dataset_slots(case: dict) -> None:
    grid = grid_of({**case["job"], "datasets": case["datasets"], "dp": 1})
    assert np.flatnonzero(grid.dataset).tolist() == case["ranks"]


def test_fan_in_is_dealt_the_other_way_round() -> None:
    grid = grid_of({"encoder": {"tp": 3, "cp": 2}, "decoder": {"tp": 2, "cp": 2}, "dp": 1})
    assert rows(grid.groups["pp"]) == [[0, 6], [1, 6], [2, 7], [3, 8], [4, 8], [5, 9]]
    assert grid.bridge.tolist() == rows(grid.groups["pp"])
    assert rows(grid.groups["embd"]) == rows(grid.groups["pp"])
    assert rows(grid.groups["pos_embd"]) == [[r] for r in range(6)]


def test_unequal_context_parallelism_meets_where_zigzag_chunks_meet() -> None:
    """Slice c of C holds chunks c and 2C-1-c of 2C: compare the token sets themselves."""
    for sources, targets in product(range(1, 7), repeat=2):
        tokens = 2 * sources * targets
        wanted = [
            [i, j]
            for i in range(sources)
            for j in range(targets)
            if zigzag(i, sources, tokens) & zigzag(j, targets, tokens)
        ]
        assert slice_pairs(sources, targets).tolist() == wanted


def zigzag(slice_: int, slices: int, tokens: int) -> set[int]:
    chunk = tokens // (2 * slices)
    return {
        token
        for c in (slice_, 2 * slices - 1 - slice_)
        for token in range(c * chunk, (c + 1) * chunk)
    }


def test_unequal_context_parallelism_keeps_pipelines_inside_a_module() -> None:
    grid = grid_of({"encoder": {"cp": 1}, "decoder": {"cp": 2, "pp": 2}, "dp": 1})
    assert rows(grid.groups["pp"]) == [[0], [1, 3], [2, 4]]
    assert rows(grid.groups["mp"]) == [[0], [1, 3], [2, 4]]
    assert rows(grid.groups["embd"]) == [[0], [1, 3], [2, 4]]
    assert grid.bridge.tolist() == [[0, 1], [0, 2]]


def test_lanes_are_dealt_in_balanced_contiguous_runs() -> None:
    for a, b in product(range(1, 9), repeat=2):
        pairs = lane_pairs(a, b)
        runs = np.bincount(pairs[:, 0 if a <= b else 1])
        assert len(pairs) == max(a, b)
        assert runs.max() - runs.min() <= 1
        assert (np.diff(runs) <= 0).all()  # the first runs are the longer ones
        assert (np.diff(pairs, axis=0) >= 0).all()


ORDERS = ["tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", "pp-dp-cp-tp", "cp-tp-dp-pp", "dp-pp-tp-cp"]


@pytest.mark.parametrize("order", ORDERS)
def test_a_rank_is_its_coordinates_as_a_mixed_radix_number(order: str) -> None:
    grid = grid_of(
        {
            "encoder": {"tp": 2, "cp": 3},
            "decoder": {"tp": 4, "cp": 3, "pp": 2},
            "dp": 2,
            "order": order,
        }
    )
    for rank in range(grid.world):
        at = {axis: int(values[rank]) for axis, values in grid.coordinates.items()}
        module = grid.modules[at["module"]]
        sizes = {"tp": module.shape.tp, "cp": 3, "pp": module.shape.pp, "dp": 2}
        number, radix = (0 if at["module"] == 0 else 12), 1
        for token in order.split("-"):
            if token != "ep":
                number += radix * at[token]
                radix *= sizes[token]
        assert number == rank
        assert grid.mesh(module.name)[at["pp"], at["dp"], at["cp"], at["tp"]] == rank


def test_experts_factor_the_ranks_of_a_stage_anew() -> None:
    grid = grid_of({"decoder": {"tp": 2, "cp": 2, "pp": 2, "ep": 4, "etp": 1}, "dp": 2})
    assert rows(grid.groups["ep"]) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]
    assert rows(grid.groups["expt_tp"]) == [[r] for r in range(16)]
    assert rows(grid.groups["expt_dp"])[:2] == [[0, 4], [1, 5]]
    assert rows(grid.groups["tp_ep_pp"])[0] == [0, 1, 2, 3, 8, 9, 10, 11]


def test_hierarchical_context_parallelism() -> None:
    """megatron-core 0.12.0: W=16, tp2 cp4 ep2, sizes [2, 2]."""
    job = {"decoder": {"tp": 2, "cp": 4, "ep": 2}, "dp": 2, "hierarchical_cp": [2, 2]}
    grid = grid_of(job)
    assert rows(grid.groups["hcp_0"]) == sorted(
        [[0, 2], [4, 6], [1, 3], [5, 7], [8, 10], [12, 14], [9, 11], [13, 15]]
    )
    assert rows(grid.groups["hcp_1"]) == sorted(
        [[0, 4], [2, 6], [1, 5], [3, 7], [8, 12], [10, 14], [9, 13], [11, 15]]
    )


@pytest.mark.parametrize("seed", range(40))
def test_families_partition_the_ranks_and_their_lists_ascend(seed: int) -> None:
    data = random_problem(seed, most_slots=48)
    grid = grid_of(data["job"])
    overlapping = {"pp", "embd", "pos_embd"} if len(grid.modules) > 1 else {"embd", "pos_embd"}
    for name, family in grid.groups.items():
        lists = rows(family)
        assert all(group == sorted(set(group)) for group in lists), name
        assert lists == sorted(lists)
        members = [rank for group in lists for rank in group]
        if name not in overlapping:
            assert sorted(members) == list(range(grid.world)), name
    modules = [m.shape for m in grid.modules]
    if len({m.cp for m in modules}) == 1:
        by_rank = {r: i for i, g in enumerate(rows(grid.groups["mp"])) for r in g}
        assert all(len({by_rank[r] for r in g}) == 1 for g in rows(grid.groups["pp"]))


@pytest.mark.parametrize("seed", range(40))
def test_each_decoder_rank_is_in_one_pipeline_of_its_own_slice(seed: int) -> None:
    data = random_problem(seed, most_slots=60)
    grid = grid_of(data["job"])
    if len({m.shape.cp for m in grid.modules}) > 1:
        return
    c = grid.coordinates
    for group in rows(grid.groups["pp"]):
        assert len({(int(c["dp"][r]), int(c["cp"][r])) for r in group}) == 1
        assert len(group) == sum(m.shape.pp for m in grid.modules)


def test_the_rooms_of_a_group_are_its_sizes() -> None:
    grid = grid_of({"decoder": {"tp": 4, "cp": 2, "pp": 2}, "dp": 4})
    sizes = {"tp": 4, "cp": 2, "dp": 4, "dp_cp": 8, "tp_cp": 8, "tp_dp": 16, "mp": 8, "pp": 2}
    for name, size in sizes.items():
        (family,) = grid.groups[name]
        assert family.shape == (64 // size, size)
    assert prod(grid.mesh("decoder").shape) == grid.world
