"""Seats, files and the numbers a plan derives from its placement."""

import numpy as np
import pytest

from planner.files import write_whole
from planner.plan import Plan, seats
from tests.problems import problem
from tests.test_verification import plan_of

THREE = {"nodes": ["x", "a", "m"], "gpus_per_node": 2}


def test_hosts_come_by_their_lowest_rank() -> None:
    made = problem(THREE, {"decoder": {"tp": 4}, "dp": 1})
    plan = plan_of(made, [4, 2, 5, 3])
    assert plan.hosts == ["m", "a"]
    assert plan.seats.local_rank.tolist() == [0, 0, 1, 1]
    assert plan.seats.host_rank.tolist() == [0, 2, 1, 3]
    assert [d["host"] for d in plan.document()["idle"]] == ["x", "x"]


def test_local_ranks_count_smaller_ranks_not_gpus() -> None:
    machines = problem(THREE).cluster.machines
    seat = seats(machines, np.array([1, 3, 0, 2]))
    assert seat.local_rank.tolist() == [0, 0, 1, 1]
    assert seat.host_rank.tolist() == [1, 3, 0, 2]
    assert seat.gpu.tolist() == [1, 1, 0, 0]


def test_seats_by_plain_loops() -> None:
    machines = problem({"nodes": 5, "gpus_per_node": 3}).cluster.machines
    rng = np.random.default_rng(0)
    for _ in range(50):
        placement = rng.permutation(15)[: rng.integers(1, 16)]
        seat = seats(machines, placement)
        where = [(int(machines.device_node[d]), int(machines.device_gpu[d])) for d in placement]
        hosts = list(dict.fromkeys(node for node, _ in where))
        assert seat.hosts.tolist() == hosts
        order = sorted(range(len(where)), key=lambda r: (hosts.index(where[r][0]), where[r][1]))
        for rank, (node, gpu) in enumerate(where):
            assert seat.gpu[rank] == gpu
            assert seat.local_rank[rank] == sum(n == node for n, _ in where[:rank])
            assert seat.host_rank[rank] == order.index(rank)


def test_the_file_is_valid_json_with_the_contracts_keys_in_order() -> None:
    plan = plan_of(problem(2, {"decoder": {"tp": 4, "pp": 2}}))
    assert list(plan.document()) == [
        "format", "version", "problem_sha256", "problem", "solver", "baseline", "links",
        "world_size", "hosts", "idle", "ranks", "groups", "bridge",
    ]  # fmt: skip
    assert plan.text().count("\n") < 16 + 16 + 20


def test_a_written_file_is_whole_or_absent(tmp_path, monkeypatch) -> None:
    path = tmp_path / "p.json"
    write_whole(path, "one")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, "two")
    assert path.read_text() == "one"
    assert [p.name for p in tmp_path.iterdir()] == ["p.json"]


def test_an_existing_files_mode_is_kept(tmp_path) -> None:
    path = tmp_path / "p.json"
    path.write_text("")
    path.chmod(0o640)
    write_whole(path, "x")
    assert path.stat().st_mode & 0o777 == 0o640


def test_the_baseline_is_megatrons_order_on_the_usable_gpus() -> None:
    made = problem({"nodes": [{"name": "a", "offline": [0]}, "b"], "gpus_per_node": 4},
                   {"decoder": {"tp": 2}, "dp": 3})  # fmt: skip
    plan = plan_of(made)
    assert isinstance(plan, Plan)
    assert plan.baseline["cost"] == plan.cost
    assert plan.placement.tolist() == [1, 2, 3, 4, 5, 6]
