"""Rails: what stays on its rail is counted by a plain loop and maximised as brute force does."""

import random
from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

import planner
from planner.cost import links
from planner.feasibility import broken_constraints
from planner.grid import Grid
from planner.machines import Machines
from planner.plan import megatron_order
from planner.rails import rail_counts
from planner.solver.numbering import rank_zero_first
from planner.solver.rails import align_rails
from planner.spec.problem import Problem
from tests.problems import problem, random_problem


def plain_borders(grid: Grid, node: list[int]) -> Iterator[tuple[str, list[int], list[int]]]:
    """(kind, members on one side, members on the other) of every link that leaves a node."""
    for kind, family in grid.rings.items():
        for group in (g for groups in family for g in groups.tolist()):
            sides = [
                [r for r in group if node[r] == n] for n in dict.fromkeys(node[r] for r in group)
            ]
            if len(sides) > 1:
                yield from (
                    (kind, side, sides[(i + 1) % len(sides)]) for i, side in enumerate(sides)
                )
    for kind, family in grid.exchanges.items():
        for group in (g for groups in family for g in groups.tolist()):
            pairs = [(a, b) for i, a in enumerate(group) for b in group[i + 1 :]]
            yield from ((kind, [a], [b]) for a, b in pairs if node[a] != node[b])
    for kind, ends in grid.pairs.items():
        yield from ((kind, [a], [b]) for a, b in ends.tolist() if node[a] != node[b])


def plain_counts(grid: Grid, machines: Machines, placement: Any) -> dict[str, tuple[int, int]]:
    """The definition, link by link."""
    node, rail = machines.device_node[placement].tolist(), machines.rails[placement].tolist()
    counts: dict[str, tuple[int, int]] = {}
    for kind, a, b in plain_borders(grid, node):
        good, total = counts.get(kind, (0, 0))
        meets = bool({rail[r] for r in a} & {rail[r] for r in b})
        counts[kind] = (good + meets, total + 1)
    return counts


def share(counts: dict[str, tuple[int, int]]) -> float:
    return sum(g for g, _ in counts.values()) / sum(t for _, t in counts.values())


def a_case(seed: int, most_slots: int) -> tuple[Problem, Any]:
    rng = random.Random(seed)
    data = random_problem(seed, most_slots)
    for node in data["cluster"]["nodes"]:
        if rng.random() < 0.4:
            node["rails"] = [rng.randrange(3) for _ in range(node["gpus"])]
    made = Problem.model_validate(data).resolved
    machines = made.cluster.machines
    placed = np.array(rng.sample(machines.usable.tolist(), made.world_size))
    return made, rank_zero_first(machines, placed)


@pytest.mark.parametrize("seed", range(40))
def test_counts_are_those_of_the_definition(seed: int) -> None:
    made, placed = a_case(seed, 12)
    grid, machines = Grid.of(made), made.cluster.machines
    found = rail_counts(grid, machines, placed)
    assert found == plain_counts(grid, machines, placed)
    of_kind = links(grid, machines, placed)["node"]
    assert {kind: total for kind, (_, total) in found.items()} == {
        kind: n for kind, n in of_kind.items() if n
    }


def every_seating(made: Problem, placed: Any) -> Any:
    """Every way of choosing GPUs inside the nodes, rank 0 on the lowest used one of its."""
    machines = made.cluster.machines
    node = machines.device_node
    nodes = np.unique(node[placed]).tolist()
    ranks = [np.flatnonzero(node[placed] == n) for n in nodes]
    usable = [machines.usable[node[machines.usable] == n].tolist() for n in nodes]
    for chosen in product(*(permutations(u, len(r)) for u, r in zip(usable, ranks, strict=True))):
        out = placed.copy()
        for r, devices in zip(ranks, chosen, strict=True):
            out[r] = devices
        if out[0] == out[node[out] == node[out[0]]].min():
            yield out


@pytest.mark.parametrize("seed", range(40))
def test_tiny_plans_keep_as_many_links_on_their_rail_as_can_be(seed: int) -> None:
    made, placed = a_case(seed, 7)
    grid, machines = Grid.of(made), made.cluster.machines

    def good(placement: Any) -> int:
        return sum(g for g, _ in rail_counts(grid, machines, placement).values())

    aligned = align_rails(made, grid, placed)
    assert good(aligned) == max(map(good, every_seating(made, placed)))


@pytest.mark.parametrize("seed", range(40, 70))
def test_no_link_no_level_and_no_rule_pays_for_a_rail(seed: int) -> None:
    made, placed = a_case(seed, 16)
    if seed % 3 == 0:
        levels = [
            {"name": "pair", "gpus_per_domain": 2},
            *made.document()["cluster"].get("levels", []),
        ]
        data = made.document()
        made = Problem.model_validate({**data, "cluster": {**data["cluster"], "levels": levels}})
    grid, machines = Grid.of(made), made.cluster.machines
    aligned = align_rails(made, grid, placed)
    assert links(grid, machines, aligned) == links(grid, machines, placed)
    assert broken_constraints(made, grid, aligned) == []
    before, after = (
        share(rail_counts(grid, machines, p) or {"": (1, 1)}) for p in (placed, aligned)
    )
    assert after >= before
    node = machines.device_node[aligned]
    assert aligned[0] == aligned[node == node[0]].min()


def test_pinned_ranks_keep_their_gpu() -> None:
    pins = [{"slot": {"pp": 1, "dp": 0, "cp": 0, "tp": 0}, "host": "node1", "gpu": 1}]
    made = problem(
        {"nodes": 2, "gpus_per_node": 2},
        {"decoder": {"tp": 2, "pp": 2}},
        constraints={"pins": pins},
    ).resolved
    placed = np.array([0, 1, 3, 2])
    assert align_rails(made, Grid.of(made), placed).tolist() == [1, 0, 3, 2]


def dead_gpus() -> Problem:
    nodes: list[Any] = ["n[00-11]"]
    nodes += [{"name": f"n{12 + i}", "offline": [2 * i]} for i in range(4)]
    return problem({"nodes": nodes}, {"decoder": {"tp": 4, "cp": 2, "pp": 3}, "dp": 5})


def test_dead_gpus_leave_more_links_on_their_rail_than_slot_order() -> None:
    plan = planner.solve(dead_gpus(), time_limit=5, workers=1)
    machines, grid = plan.machines, plan.grid
    # The same ranks in every node, on its usable GPUs in the order of their slots.
    node = machines.device_node[plan.placement]
    ordered = np.empty_like(plan.placement)
    for n in np.unique(node):
        ranks = np.flatnonzero(node == n)
        ordered[ranks] = machines.usable[machines.device_node[machines.usable] == n][: len(ranks)]
    megatron = megatron_order(machines, grid.world)
    # Several plans cost the least, and the share differs between them.
    ours = share(rail_counts(grid, machines, plan.placement))
    assert ours > share(rail_counts(grid, machines, ordered)) + 0.1
    assert ours > share(rail_counts(grid, machines, megatron)) + 0.1


def test_rails_are_read_and_checked() -> None:
    nodes = [{"name": "a", "gpus": 2, "rails": [1, 0]}, "b"]
    machines = problem({"nodes": nodes, "gpus_per_node": 2}).cluster.machines
    assert machines.rails.tolist() == [1, 0, 0, 1]
    with pytest.raises(
        planner.InputError, match=r"nodes\[0\].rails: one rail a GPU; got 1; expected 2"
    ):
        problem({"nodes": [{"name": "a", "gpus": 2, "rails": [1]}]})
