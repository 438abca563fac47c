"""How many data copies: counted in closed form, equal to what ties between groups give."""

import random

import pytest

from planner.explain.ties import ties
from planner.grid import Grid
from planner.spec.copies import _AXES, allowed_copies, most_copies, tied_blocks
from planner.spec.job import Job, expert_complaint
from planner.spec.problem import Problem
from planner.spec.traffic import Traffic
from tests.problems import problem, random_problem


@pytest.mark.parametrize("block", range(4))
def test_blocks_are_those_that_groups_tie_together(block: int) -> None:
    for seed in range(60 * block, 60 * (block + 1)):
        rng, data = random.Random(seed), random_problem(seed, 40)
        levels = [level.name for level in Problem.model_validate(data).cluster.machines.levels]
        within = {
            name: rng.choice(levels) for name in rng.sample(list(_AXES), rng.choice([1, 2, 3]))
        }
        data["constraints"] = {"within": within}
        context = {m.cp for m in Job.model_validate(data["job"]).modules.values()}
        if len(context) == 1 and max(context) > 1 and rng.random() < 0.5:
            data["job"]["hierarchical_cp"] = [max(context)]
        made = Problem.model_validate(data)
        counted = tied_blocks(made.job, made.cluster.machines, within)
        tied = ties(made, Grid.of(made), made.cluster.machines)
        sizes = [
            sorted(
                size * (made.dp if blocks.grow else 1)
                for size, number in blocks.kinds
                for _ in range(number * (1 if blocks.grow else made.dp))
            )
            for blocks in counted
        ]
        assert sizes == [sorted(t.sizes.tolist()) for t in tied], seed


@pytest.mark.parametrize(
    ("cluster", "job", "within", "dp"),
    [
        (3, {"decoder": {"tp": 6}}, {}, 4),
        (3, {"decoder": {"tp": 6}}, {"tp": "node"}, 3),
        (3, {"encoder": {"tp": 2}, "decoder": {"tp": 5}}, {"tp": "node"}, 3),
        (3, {"encoder": {"tp": 2}, "decoder": {"tp": 5}}, {}, 3),
        (4, {"decoder": {"tp": 3}}, {"tp": "node"}, 8),
        (4, {"decoder": {"tp": 1}}, {"dp": "node"}, 8),
        (4, {"decoder": {"tp": 4}}, {"dp": "node"}, 8),
        (4, {"decoder": {"tp": 4, "pp": 2}}, {"mp": "node"}, 4),
        (4, {"decoder": {"tp": 4, "pp": 3}}, {"tp": "node", "pp": "node"}, 1),
        ({"nodes": [{"name": "a[1-3]", "offline": [0]}]}, {"decoder": {"tp": 4}}, {"tp": "node"}, 3),
        (2, {"decoder": {"tp": 2, "cp": 4, "ep": 2, "etp": 1}}, {"tp_cp": "node"}, 2),
        (2, {"decoder": {"tp": 3, "ep": 2}}, {"tp": "node"}, 4),
    ],
)  # fmt: skip
def test_auto_takes_the_largest_dp_that_can_hold(cluster, job, within, dp) -> None:
    assert problem(cluster, job, constraints={"within": within}).dp == dp


def test_numbers_that_batch_and_experts_divide_by() -> None:
    rng = random.Random(5)
    for _ in range(200):
        sizes = {axis: rng.randint(1, 6) for axis in ("tp", "cp", "ep", "etp")}
        job = Job.model_validate({"decoder": sizes, "encoder": {"ep": rng.choice([1, 2])}})
        batch, micro = rng.choice([(24, 2), (60, 1), (48, 4)])
        model = {"decoder": {"layers": 2, "hidden": 64, "heads": 2}}
        traffic = Traffic.model_validate(
            {"model": model, "sequence": 64, "global_batch": batch, "micro_batch": micro}
        )
        expected = [
            dp
            for dp in range(1, 40)
            if traffic.batch_divides(dp)
            and all(expert_complaint(n, m, dp) is None for n, m in job.modules.items())
        ]
        assert allowed_copies(job, traffic, 39).tolist() == expected


def test_no_copy_may_hold() -> None:
    made = problem(2, {"decoder": {"tp": 16}}, constraints={"within": {"tp": "node"}})
    assert most_copies(made.job, made.cluster.machines, {"tp": "node"}, [1]) == 0
    assert made.dp == 1  # the refusal comes from the search, with lines and words
