"""Layouts in use, from what launchers are given."""

import json

import pytest

from planner.comparison.layouts import parse_layout, read_layout
from planner.errors import InputError
from planner.plan import Plan
from planner.planfile import PlanFile
from tests.problems import problem

PAIRS = {"nodes": "a,b,c", "gpus_per_node": 2}
JOB = {"decoder": {"tp": 4}, "dp": 1}


def devices(text, cluster=None, job=None):
    return parse_layout(text, problem(cluster or PAIRS, job or JOB)).tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b slots=2\na slots=2\n", [2, 3, 0, 1]),
        ("# mine\nb slots=2 max_slots=2  # fast\n\na slots=2\n", [2, 3, 0, 1]),
        ("c:2\nb:2\n", [4, 5, 2, 3]),
        ("c*2\na*2\n", [4, 5, 0, 1]),
        ("c\na\n", [4, 5, 0, 1]),
        ("c,a\n", [4, 5, 0, 1]),
        ("a\nb\nb\na\n", [0, 2, 3, 1]),
        ("a slots=1\nb slots=1\na slots=1\nb slots=1\n", [0, 2, 1, 3]),
        ("a slots=2\nb slots=2\nc slots=2\n", [0, 1, 2, 3]),
        ("rank 1=a slot=0\nrank 0=c slot=3\nrank 2=a slot=1\nrank 3=b slot=0\n", [4, 0, 1, 2]),
        ("rank 0=c\nrank 1=c\nrank 2=a\nrank 3=a\n", [4, 5, 0, 1]),
        ('[{"host": "c", "gpu": 1}, {"host": "c", "gpu": 0}, {"host": "a"}, {"host": "a"}]', [5, 4, 0, 1]),
        (
            json.dumps({"ranks": [{"rank": r, "host": h, "gpu": g} for r, h, g in
                                  ((1, "a", 0), (0, "b", 1), (3, "c", 1), (2, "c", 0))]}),
            [3, 0, 4, 5],
        ),
    ],
)  # fmt: skip
def test_each_kind_of_file(text, expected):
    assert devices(text) == expected


def test_offline_gpus_are_passed_over():
    cluster = {"nodes": [{"name": "a", "gpus": 3, "offline": [1]}, {"name": "b", "gpus": 2}]}
    assert devices("a slots=2\nb slots=2\n", cluster) == [0, 2, 3, 4]
    assert devices("a\nb\n", cluster) == [0, 2, 3, 4]


def test_hostlists_keep_their_order():
    assert devices("n[2,1]\n", {"nodes": "n[1-2]", "gpus_per_node": 2}) == [2, 3, 0, 1]


def test_a_plan_is_a_layout_of_itself():
    p = problem(PAIRS, JOB)
    plan = Plan(p.resolved, p.cluster.machines.usable[[3, 2, 5, 0]], {})
    plan.solver.update(status="feasible", cost=plan.cost, bound=0, gap=1.0, seed=0)
    assert PlanFile.of(plan.document())
    assert devices(plan.text()) == [3, 2, 5, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a slots=2\n", r"too few ranks; got 2 ranks; expected 4 of the problem's job"),
        ("", r"too few ranks; got 0 ranks"),
        ("a slots=2\nbb slots=2\n", r"line 2: unknown node; got 'bb'; did you mean 'b'\?"),
        (
            "a slots=3\nb slots=2\n",
            r"line 1: more ranks than GPUs; got rank 2 .* number 3 on a; exp",
        ),
        ("a slots = 2\nb\n", r"line 1: not a line of a hostfile; got 'a slots = 2'"),
        ("rank 0=a\nrnk 1=b\n", r"line 2: not a line of a rankfile; got 'rnk 1=b'"),
        ("rank 0=+n0 slot=0\n", r"line 1: not a line of a rankfile"),
        ("rank 0=a\nrank 0=b\n", r"line 2: rank 0 stands twice"),
        ("rank 0=a\nrank 2=b\n", r"rank 1 is missing"),
        ('{"ranks": 3}', r"\$\.ranks: no list of ranks"),
        ('[{"gpu": 1}]', r"\$\[0\]: not a rank"),
        ('[{"host": "a", "gpu": "x"}]', r"\$\[0\]: rank and gpu are whole numbers"),
        (
            '{"ranks": [{"rank": 0, "host": "a"}, {"rank": 0, "host": "a"}]}',
            r"\$\.ranks\[1\]: rank 0",
        ),
        (
            json.dumps([{"host": "a", "gpu": g} for g in (0, 1, 2, 0)]),
            r"\$\[2\]: no such usable GPU",
        ),
        (
            json.dumps([{"host": "a", "gpu": g} for g in (0, 0)] + [{"host": "b"}] * 2),
            r"\$\[1\]: one GPU holds one rank; got ranks 0 and 1 on a GPU 0",
        ),
        ("{", r"line 1, column 2: not JSON"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_place(text, message):
    with pytest.raises(InputError, match=message):
        devices(text)


def test_the_file_is_named_in_the_error(tmp_path):
    (tmp_path / "hosts").write_text("z\n")
    with pytest.raises(InputError, match=r"hosts: line 1: unknown node; got 'z'"):
        read_layout(tmp_path / "hosts", problem(PAIRS, JOB))
