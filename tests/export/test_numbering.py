"""Trainer and host numbering: what is rewritten, and when it is refused."""

import json

import numpy as np
import pytest

from planner.errors import InputError
from planner.export import CONSUMERS, export
from planner.export.numbering import View
from tests.export.plans import contiguous, encoder_decoder, interleaved, make_plan, uneven

RISING = {
    "cluster": {"nodes": 2, "gpus_per_node": 2},
    "job": {"decoder": {"tp": 2, "pp": 2}, "dp": 1},
}


def test_trainer_numbering_is_the_plan():
    plan = interleaved()
    view = View.of(plan)
    assert view.groups == plan.groups
    assert view.host_of == ["n3", "n1", "n4", "n2", "n2", "n4", "n1", "n3"]
    assert view.gpus_of == [[0, 1]] * 4


def test_gpus_stand_in_the_order_of_local_ranks():
    assert View.of(contiguous()).visible_devices == ["0,1", "0,1", "1,0", "1,0"]
    assert View.of(uneven()).visible_devices == ["0,1,2", "3", "1,0"]


def test_host_numbering_rewrites_every_list():
    # node0 holds ranks 0 and 2, node1 ranks 1 and 3: tp crosses, pp does not, and both rise.
    plan = make_plan(RISING, [0, 2, 1, 3])
    view = View.of(plan, "host")
    assert view.number.tolist() == [0, 2, 1, 3]
    assert view.groups["tp"] == [[0, 2], [1, 3]]
    assert view.groups["pp"] == [[0, 1], [2, 3]]
    assert view.mesh("decoder").tolist() == [[[[0, 2]]], [[[1, 3]]]]
    assert view.host_of == ["node0", "node0", "node1", "node1"]
    assert view.local_rank.tolist() == [0, 1, 0, 1]


def test_host_numbering_makes_any_rising_plan_fit_torchrun():
    plan = make_plan(RISING, [0, 2, 1, 3])
    with pytest.raises(InputError, match="torchrun gives every node one run"):
        export(plan, "torchrun")
    assert "--node-rank 1" in export(plan, "torchrun", "host")["torchrun.sh"]


def test_host_numbering_moves_both_ends_of_the_bridge():
    job = {"encoder": {"tp": 1}, "decoder": {"tp": 1}, "dp": 2}
    plan = make_plan({"cluster": {"nodes": 2, "gpus_per_node": 2}, "job": job}, [0, 2, 1, 3])
    assert plan.bridge == [[0, 2], [1, 3]]
    assert View.of(plan, "host").bridge == [[0, 1], [2, 3]]


@pytest.mark.parametrize("name", CONSUMERS)
def test_host_numbering_is_refused_naming_the_first_group_that_falls(name):
    # Rank 1 sits on GPU 0 and rank 0 on GPU 1: torch would sort their group.
    problem = {"cluster": {"nodes": 1, "gpus_per_node": 4}, "job": {"decoder": {"tp": 2}, "dp": 2}}
    plan = make_plan(problem, [0, 1, 3, 2])
    with pytest.raises(InputError) as error:
        export(plan, name, "host")
    assert str(error.value) == (
        "$.groups.tp: host ranks do not rise along this group, and torch would sort its list; "
        "got trainer ranks [2, 3] with host ranks [3, 2]; "
        "use --numbering trainer and a launcher that places rank by rank"
    )


def test_host_numbering_is_refused_along_an_expert_coordinate_alone():
    # tp and cp rise one by one; the expert group of four walks tp then cp, and there they cross.
    job = {"decoder": {"tp": 2, "cp": 2, "ep": 4, "etp": 1}, "dp": 1}
    plan = make_plan({"cluster": {"nodes": 1, "gpus_per_node": 4}, "job": job}, [0, 2, 1, 3])
    with pytest.raises(InputError, match=r"\$\.groups\.ep: host ranks do not rise"):
        View.of(plan, "host")


def test_a_split_node_is_named_with_its_ranks_and_the_remedy():
    for name in ("torchrun", "deepspeed", "kubernetes"):
        with pytest.raises(InputError) as error:
            export(interleaved(), name)
        assert str(error.value) == (
            f"$.ranks: {name} gives every node one run of consecutive ranks; "
            "got n3 with ranks 0, 7; set constraints.launch to 'node-contiguous' in the problem "
            "and solve it again, or use a launcher that places rank by rank "
            "(slurm, openmpi, hydra)"
        )


def test_the_split_node_with_the_lowest_rank_is_named_and_its_runs_are_shortened():
    placement = [d for pair in zip(range(8, 16), range(8), strict=True) for d in pair]
    problem = {"cluster": {"nodes": 2}, "job": {"decoder": {"tp": 8}, "dp": 2}}
    plan = make_plan(problem, [*placement[:4], *sorted(placement[4:])])
    with pytest.raises(InputError, match=r"got node1 with ranks 0, 2, 10-15;"):
        View.of(plan).require_runs("torchrun")
    plan = make_plan(problem, placement)
    with pytest.raises(InputError, match=r"got node1 with ranks 0, 2, 4, 6, \.\.\.;"):
        View.of(plan).require_runs("torchrun")


@pytest.mark.parametrize("numbering", ["trainer", "host"])
def test_every_list_of_every_exporter_ascends(numbering):
    for plan in (make_plan(RISING, [0, 2, 1, 3]), encoder_decoder()):
        if numbering == "host" and plan.grid.world == 10:
            plan = make_plan(plan.problem.document(), list(range(10)))  # noqa: PLW2901
        for name in ("ranks", "torch"):
            data = json.loads(next(iter(export(plan, name, numbering).values())))
            for groups in [*data["groups"].values(), data["bridge"]]:
                assert groups == sorted(groups)
                assert all((np.diff(g) > 0).all() for g in groups)
