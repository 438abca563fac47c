"""DeepSpeed: its own parsers read the hostfile, its launcher on every node starts the right ranks."""

import json
import subprocess
import sys

import pytest

from planner.export import export
from tests.export.plans import interleaved, make_plan, uneven
from tests.interop.conftest import HARNESS
from tests.interop.test_torchrun import free_port
from tests.interop.tools import need

INCLUDE = "a:0,1,2@b:3@c:0,1"


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """What DeepSpeed reads in the files of `uneven`, and in an interleaved plan's topology."""
    need("deepspeed", "torch")
    files = export(uneven(), "deepspeed")
    assert f"--include {INCLUDE} " in files["deepspeed.sh"]
    hostfile = tmp_path_factory.mktemp("deepspeed") / "hostfile"
    hostfile.write_text(files["hostfile"])
    topology = export(interleaved(), "deepspeed-topology")["topology.json"]
    done = subprocess.run(
        [sys.executable, HARNESS / "deepspeed_reads.py", hostfile, INCLUDE],
        input=topology,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_the_hostfile_and_include_name_the_planned_gpus_in_order(read):
    assert list(read["pool"].items()) == [("a", 4), ("b", 4), ("c", 4)]
    # c's ranks sit on GPU 1 then GPU 0: DeepSpeed sorts, and wrap.sh puts that right.
    assert list(read["active"].items()) == [("a", [0, 1, 2]), ("b", [3]), ("c", [0, 1])]


def test_the_topology_has_the_plans_groups(read):
    plan = interleaved()
    assert read["counted"] == list(range(8))
    for axis, family in (("pipe", "pp"), ("data", "dp"), ("model", "tp")):
        assert sorted(read["lists"][axis]) == plan.groups[family]


def test_host_numbering_reaches_the_topology():
    job = {"decoder": {"tp": 2, "pp": 2}, "dp": 1}
    plan = make_plan({"cluster": {"nodes": 2, "gpus_per_node": 2}, "job": job}, [0, 2, 1, 3])
    topology = json.loads(export(plan, "deepspeed-topology", "host")["topology.json"])
    assert topology["ranks"] == [0, 2, 1, 3]


def test_the_launcher_of_every_node_starts_the_planned_ranks(read, exported, environ, remote_shell):
    plan = uneven()
    folder = exported(plan, "deepspeed")
    check = (
        f"planner check {folder.parent}/plan.json && "
        "echo seat $RANK $(hostname) $LOCAL_RANK $CUDA_VISIBLE_DEVICES"
    )
    launch = (
        f"{sys.executable} -m deepspeed.launcher.launch --world_info={read['world_info']} "
        f"--master_addr=127.0.0.1 --master_port={free_port()} --no_python --no_local_rank"
    )
    nodes = [
        subprocess.Popen(
            [remote_shell, host, f"{launch} --node_rank={i} {folder}/wrap.sh sh -c '{check}'"],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for i, host in enumerate(plan.hosts)
    ]
    printed = "".join([node.communicate(timeout=180)[0] for node in nodes])
    assert [node.returncode for node in nodes] == [0, 0, 0], printed[-4000:]
    seats = [line.split()[1:] for line in printed.splitlines() if line.startswith("seat ")]
    devices = {"a": "0,1,2", "b": "3", "c": "1,0"}
    assert sorted(seats) == [
        [str(r["rank"]), r["host"], str(r["local_rank"]), devices[r["host"]]]
        for r in plan.document()["ranks"]
    ]
