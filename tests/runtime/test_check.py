"""`planner check`: every way a process can be misplaced, and what is not compared."""

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from planner.cli.checking import command
from planner.errors import InputError, VerificationError
from planner.runtime import Misplacement, check
from planner.runtime.checking import same_host
from tests.export.plans import interleaved, make_plan, uneven

UUIDS = {
    "cluster": {
        "nodes": [
            {"name": "a", "uuids": ["GPU-aa00", "GPU-aa11"]},
            {"name": "b", "uuids": ["GPU-bb00", "GPU-bb11"]},
        ],
        "gpus_per_node": 2,
    },
    "job": {"decoder": {"tp": 2}, "dp": 2},
}
"""Rank 0 on a's GPU 1, rank 1 on its GPU 0; ranks 2 and 3 in order on b."""


@pytest.fixture
def driver(tmp_path):
    """Variables under which `nvidia-smi` shows the given UUIDs."""

    def install(*uuids):
        fake = tmp_path / "nvidia-smi"
        lines = "\n".join(uuids)
        fake.write_text(f"#!/bin/sh\ncat <<'END'\n{lines}\nEND\n")
        fake.chmod(0o755)
        return {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    return install


def found(plan, environ=None, **options):
    return [str(m) for m in check(plan, environ=environ or {"PATH": ""}, **options)]


def test_every_process_in_its_place():
    plan = interleaved()
    for rank, host in enumerate(["n3", "n1", "n4", "n2", "n2", "n4", "n1", "n3"]):
        env = {"RANK": str(rank), "WORLD_SIZE": "8", "LOCAL_RANK": str(rank // 4)}
        assert found(plan, {**env, "PLANNER_HOST": host}) == []


def test_a_wrong_host_is_named_with_the_rank():
    assert found(interleaved(), rank=2, host="n1") == ["rank 2: host is n1, the plan says n4"]


def test_each_thing_compared_is_told_apart():
    plan = interleaved()
    assert check(plan, rank=4, host="n2", local_rank=0, environ={}) == [
        Misplacement("rank 4", "local_rank", "0", "1")
    ]
    env = {"RANK": "8", "WORLD_SIZE": "9"}
    assert found(plan, env, host="n3") == [
        "rank 8: world_size is 9, the plan says 8",
        "rank 8: rank is 8, the plan says 0 to 7",
    ]


@pytest.mark.parametrize(
    "env",
    [
        {"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "SLURM_PROCID": "0"},
        {"PMI_RANK": "5", "MPI_LOCALRANKID": "1"},
        {"SLURM_PROCID": "5", "SLURM_LOCALID": "1", "SLURM_NTASKS": "8"},
        {"RANK": "5", "LOCAL_RANK": "1", "SLURM_PROCID": "3"},
    ],
)
def test_launchers_are_asked_where_no_wrapper_set_rank(env):
    assert found(interleaved(), env, host="n4") == []
    assert found(interleaved(), env, host="n2") == ["rank 5: host is n2, the plan says n4"]


def test_given_values_win_over_the_environment():
    env = {"RANK": "0", "LOCAL_RANK": "0", "PLANNER_HOST": "n3"}
    assert found(interleaved(), env, rank=7, host="n3", local_rank=1) == []


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("n1", "n1", True),
        ("n1", "n1.rack2.example", True),
        ("n1.rack2", "n1", True),
        ("n1.rack2", "n1.rack3", False),
        ("n1", "n10.rack2", False),
    ],
)
def test_short_names_are_compared_when_either_has_no_dot(a, b, same):
    assert same_host(a, b) is same


def test_host_numbering():
    job = {"decoder": {"tp": 2, "pp": 2}, "dp": 1}
    plan = make_plan({"cluster": {"nodes": 2, "gpus_per_node": 2}, "job": job}, [0, 2, 1, 3])
    assert found(plan, rank=1, host="node0", local_rank=1, numbering="host") == []
    assert found(plan, rank=1, host="node1", local_rank=0, numbering="trainer") == []


def test_gpus_are_compared_by_uuid_through_visible_indices(driver):
    plan = make_plan(UUIDS, [1, 0, 2, 3])
    env = driver("GPU-aa00", "GPU-aa11")
    placed = {"rank": 0, "host": "a", "local_rank": 0}
    assert found(plan, {**env, "CUDA_VISIBLE_DEVICES": "1,0"}, **placed) == []
    assert found(plan, {**env, "CUDA_VISIBLE_DEVICES": "0,1"}, **placed) == [
        "rank 0: gpu is GPU-aa00, the plan says GPU-aa11 (GPU 1)"
    ]
    # Nothing limits what is seen: local rank 0 takes the first device, which is the wrong one.
    assert found(plan, env, **placed) == ["rank 0: gpu is GPU-aa00, the plan says GPU-aa11 (GPU 1)"]


def test_renumbered_devices_are_not_compared_by_index(driver):
    plan = make_plan(UUIDS, [1, 0, 2, 3])
    # The container holds one GPU, which it calls 0 although the plan calls it 1.
    env = driver("GPU-aa11")
    assert found(plan, {**env, "CUDA_VISIBLE_DEVICES": "0"}, rank=0, host="a", local_rank=0) == []


def test_visible_devices_may_hold_uuids_or_their_beginnings():
    plan = make_plan(UUIDS, [1, 0, 2, 3])
    placed = {"rank": 3, "host": "b", "local_rank": 1}
    assert found(plan, {"CUDA_VISIBLE_DEVICES": "GPU-bb00,GPU-bb11"}, **placed) == []
    assert found(plan, {"CUDA_VISIBLE_DEVICES": "GPU-bb0,GPU-bb1"}, **placed) == []
    assert found(plan, {"CUDA_VISIBLE_DEVICES": "GPU-bb11,GPU-bb00"}, **placed) == [
        "rank 3: gpu is GPU-bb00, the plan says GPU-bb11 (GPU 1)"
    ]


def test_without_a_driver_or_uuids_no_gpu_is_compared(driver):
    placed = {"rank": 0, "host": "a", "local_rank": 0}
    assert (
        found(make_plan(UUIDS, [1, 0, 2, 3]), {"PATH": "", "CUDA_VISIBLE_DEVICES": "0"}, **placed)
        == []
    )
    env = {**driver("GPU-x", "GPU-y"), "CUDA_VISIBLE_DEVICES": "1,0"}
    assert found(interleaved(), env, rank=0, host="n3", local_rank=0) == []


def test_a_node_is_checked_as_a_whole_where_no_rank_is_known(driver):
    assert found(uneven(), host="b") == []
    assert found(uneven(), host="d") == ["host d: host is d, the plan says no rank there"]
    plan = make_plan(UUIDS, [1, 0, 2, 3])
    assert found(plan, driver("GPU-bb00", "GPU-bb11"), host="b") == []
    assert found(plan, driver("GPU-bb00", "GPU-zz11"), host="b") == [
        "rank 3: gpu is none of GPU-bb00, GPU-zz11, the plan says GPU-bb11 (GPU 1 of b)"
    ]


def test_the_node_can_be_asked_for_although_a_rank_is_known():
    env = {"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}
    assert found(interleaved(), env, host="n1", whole_node=True) == []
    assert found(interleaved(), env, host="n1")[1:] == ["rank 0: host is n1, the plan says n3"]


def test_the_command_ends_with_one_and_names_the_misplacement(tmp_path, monkeypatch):
    path = tmp_path / "plan.json"
    interleaved().save(path)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("PLANNER_HOST", "n2")
    result = CliRunner().invoke(command, [str(path)])
    assert isinstance(result.exception, VerificationError)
    assert result.exception.exit_code == 1
    assert str(result.exception) == f"{path}: rank 1: host is n2, the plan says n1"
    assert CliRunner().invoke(command, [str(path), "--host", "n1"]).exit_code == 0


def test_what_is_no_plan_is_bad_input(tmp_path):
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(InputError, match=r"\$\.format: not a plan"):
        check(tmp_path / "x.json")


def test_it_imports_neither_the_solver_nor_a_trainer(tmp_path):
    path = tmp_path / "plan.json"
    interleaved().save(path)
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from planner.cli.checking import command\n"
        f"assert CliRunner().invoke(command, [{str(path)!r}, '--host', 'n3']).exit_code == 0\n"
        "heavy = {'ortools', 'planner_models', 'pandas', 'scipy', 'torch', 'jax', 'megatron'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
