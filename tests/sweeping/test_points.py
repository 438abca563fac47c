"""Which combinations a sweep has, and why some make no problem."""

import numpy as np
import pytest

from planner.errors import InputError
from planner.spec.problem import Problem
from planner.sweeping import plan_name
from planner.sweeping.points import Axes, expand
from tests.problems import problem

TRAFFIC = {"model": "llama3-8b", "sequence": 4096, "global_batch": 64}


def sizes(points):
    return [tuple(p.columns[k] for k in ("tp", "cp", "pp", "dp")) for p in points]


def reason(point):
    return str(point.reason)


def test_every_combination_with_dp_derived_last_axis_fastest():
    axes = Axes({}, {"tp": [8, 4], "pp": [1, 2]})
    assert sizes(expand(problem(4), axes)) == [
        (8, 1, 1, 4),
        (8, 1, 2, 2),
        (4, 1, 1, 8),
        (4, 1, 2, 4),
    ]


def test_one_value_and_repeated_values():
    assert sizes(expand(problem(2), Axes({}, {"tp": np.int64(8)}))) == [(8, 1, 1, 2)]
    assert sizes(expand(problem(2), Axes({}, {"tp": 8}, dp=[1, 2, 1]))) == [
        (8, 1, 1, 1),
        (8, 1, 1, 2),
    ]


def test_sizes_that_are_not_swept_are_the_problems_own():
    base = problem(4, {"decoder": {"tp": 8, "pp": 2}, "encoder": {"tp": 4}, "order": "tp-pp-dp"})
    (point,) = expand(base, Axes({"tp": [2]}, {}))
    assert point.problem.job.encoder.tp == 2
    assert point.problem.job.decoder.tp == 8
    assert point.columns["order"] == "tp-pp-dp"
    assert point.columns["enc_tp"] == 2


def test_an_encoder_appears_where_its_sizes_are_swept():
    points = expand(problem(2), Axes({"tp": [1, 2]}, {"tp": [6]}))
    assert [p.columns["enc_tp"] for p in points] == [1, 2]
    assert [p.problem.job.copy_size for p in points] == [7, 8]


def test_orders_are_combined_too():
    orders = ["tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"]
    points = expand(problem(2), Axes({}, {"tp": [4]}, order=orders))
    assert [p.problem.job.order for p in points] == orders


def test_points_that_do_not_fit_say_why():
    fits, too_large = expand(problem(2), Axes({}, {"tp": [16, 17]}))
    assert fits.reason is None
    assert "the job is larger than the machines; got 17 ranks" in reason(too_large)
    assert too_large.columns["dp"] is None


def test_points_that_a_trainer_refuses_say_why():
    base = problem(2, objective={"traffic": TRAFFIC})
    _, heads = expand(base, Axes({}, {"tp": [8, 3]}))
    assert "tp must divide the heads; got tp 3, heads 32" in reason(heads)


def test_points_that_leave_room_for_another_copy_are_refused():
    """Five copies of 3 fit 16 GPUs, but 64 samples go to 4: 4 GPUs would wait for a copy of 3."""
    traffic = TRAFFIC | {
        "model": {"decoder": {"layers": 6, "hidden": 96, "heads": 3}},
        "sequence": 4095,
    }
    base = problem(2, objective={"traffic": traffic})
    (point, _) = expand(base, Axes({}, {"tp": [3, 1]}))
    assert "does not fill the machines; got dp 4, 4 of 16 GPUs idle; expected dp 5" in reason(point)


def test_few_idle_gpus_are_no_reason_to_refuse():
    """64 of 66 GPUs: a 65th copy would fit, but 64 samples do not go to 65."""
    base = problem({"nodes": 33, "gpus_per_node": 2}, objective={"traffic": TRAFFIC})
    (point,) = expand(base, Axes({}, {"tp": [1]}))
    assert point.problem.dp == 64
    with pytest.raises(
        InputError, match="does not fill the machines; got dp 64, 2 of 66 GPUs idle"
    ):
        expand(base, Axes({}, {"tp": [1]}, max_idle=0.02))


def test_copies_that_within_leaves_no_room_for_are_not_missed():
    """Each of 4 nodes holds one group of 6; 8 of 32 GPUs idle, but no fifth group lies in a node."""
    base = problem(4, constraints={"within": {"tp": "node"}})
    (point,) = expand(base, Axes({}, {"tp": [6]}))
    assert point.problem.dp == 4


def test_a_given_dp_need_not_fill_the_machines():
    (point,) = expand(problem(4), Axes({}, {"tp": [8]}, dp=[2]))
    assert point.problem.world_size == 16


def test_the_base_files_own_job_need_not_fit():
    """Its sizes are swept: only what the axes leave alone must be right."""
    data = {"cluster": {"nodes": 2}, "job": {"decoder": {"tp": 64, "pp": 2}}}
    (point,) = expand(data, Axes({}, {"tp": [8]}))
    assert sizes([point]) == [(8, 1, 2, 1)]
    with pytest.raises(InputError, match="larger than the machines"):
        Problem.model_validate(data)


@pytest.mark.parametrize(
    ("data", "axes", "message"),
    [
        (
            {"cluster": {"nodes": 0}},
            {},
            r"\$\.cluster\.nodes: too small; got 0; expected 1 or more",
        ),
        ({}, {}, r"\$\.cluster: required"),
        ({"cluster": {"nodes": 1}, "job": 3}, {}, r"\$\.job: "),
        ({"cluster": {"nodes": 1}}, {"tq": [1]}, r"decoder: no such size 'tq'; known: tp, cp, pp"),
        ({"cluster": {"nodes": 1}}, {"tp": [2.0]}, r"decoder\.tp: not whole numbers; got \[2\.0\]"),
        ({"cluster": {"nodes": 1}}, {"tp": []}, r"decoder\.tp: has no value"),
        ({"cluster": {"nodes": 1}}, {"tp": [9, 10]}, r"larger than the machines; got 9 ranks"),
        ({"cluster": {"nodes": 1}, "objectiv": {}}, {"tp": [1]}, r"unknown key 'objectiv'"),
    ],
)
def test_what_is_wrong_with_every_point_is_an_error(data, axes, message):
    with pytest.raises(InputError, match=message):
        expand(data, Axes({}, axes))


def test_plans_are_named_by_their_sizes():
    points = expand(
        problem(4), Axes({"tp": [2]}, {"tp": [6], "vpp": [1]}, order=["pp-tp-cp-ep-dp"])
    )
    assert plan_name(points[0]) == "enc_tp2-enc_etp2-tp6-etp6-dp4-pp-tp-cp-ep-dp.json"
    (one,) = expand(problem({"nodes": 1, "gpus_per_node": 1}), Axes({}, {"tp": [1]}))
    assert plan_name(one) == "one.json"
