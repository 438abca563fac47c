"""Slurm on loopback: the exported hostfile and job script put every rank where the plan says."""

import getpass
import os
import signal
import socket
import subprocess
import time

import pytest

from tests.export.plans import contiguous, interleaved, make_plan
from tests.interop.conftest import HARNESS
from tests.interop.tools import need

NODES = ("n1", "n2", "n3", "n4")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def configure(folder):
    text = (HARNESS / "slurm.conf").read_text().replace("@DIR@", str(folder))
    text = text.replace("@HOST@", socket.gethostname().split(".")[0])
    text = text.replace("@USER@", getpass.getuser())
    for i, port in enumerate(free_ports(1 + len(NODES))):
        text = text.replace(f"@PORT{i}@", str(port))
    (folder / "state").mkdir()
    for node in NODES:
        (folder / "spool" / node).mkdir(parents=True)
    path = folder / "slurm.conf"
    path.write_text(text)
    return path


def wait_until_idle(environ):
    for _ in range(100):
        shown = subprocess.run(
            ["sinfo", "-h", "-t", "idle", "-o", "%D"],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        if shown.stdout.strip() == str(len(NODES)):
            return
        time.sleep(0.2)
    pytest.fail(f"Slurm's nodes did not come up: {shown.stdout} {shown.stderr}")


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """SLURM_CONF of a cluster of four nodes on loopback."""
    need("slurmctld", "slurmd", "srun")
    folder = tmp_path_factory.mktemp("slurm")
    conf = configure(folder)
    environ = os.environ | {"SLURM_CONF": str(conf), "PATH": f"{os.environ['PATH']}:/usr/sbin"}
    try:
        subprocess.run(["slurmctld", "-c", "-f", str(conf)], env=environ, check=True)
        for node in NODES:
            subprocess.run(["slurmd", "-N", node, "-f", str(conf)], env=environ, check=True)
        wait_until_idle(environ)
        yield str(conf)
    finally:
        for pid in folder.glob("*.pid"):
            os.kill(int(pid.read_text()), signal.SIGTERM)


def submit(folder, environ, script, *command):
    """Run a batch script to its end and return its exit code and what it printed."""
    done = subprocess.run(
        ["sbatch", "--wait", "--output=job.out", script, *command],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    out = folder / "job.out"
    return done.returncode, out.read_text() if out.exists() else done.stderr


CHECK = (
    "planner check ../plan.json && "
    "echo seat $RANK $SLURMD_NODENAME $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR $CUDA_VISIBLE_DEVICES"
)


def seats(printed):
    lines = [line.split()[1:] for line in printed.splitlines() if line.startswith("seat ")]
    return sorted(lines, key=lambda words: int(words[0]))


@pytest.mark.parametrize("make", [interleaved, contiguous])
def test_every_rank_lands_where_planned_and_passes_the_check(slurm, exported, environ, make):
    plan = make()
    folder = exported(plan, "slurm")
    code, printed = submit(folder, environ | {"SLURM_CONF": slurm}, "job.sh", "sh", "-c", CHECK)
    assert (code, len(seats(printed))) == (0, 8), printed
    planned = [
        [str(r["rank"]), r["host"], str(r["local_rank"]), "8", "n3"]
        for r in plan.document()["ranks"]
    ]
    assert [seat[:5] for seat in seats(printed)] == planned
    # n1 and n2 hold their ranks on GPU 1 first in the contiguous plan.
    devices = {seat[1]: seat[5] for seat in seats(printed)}
    assert devices["n1"] == ("0,1" if make is interleaved else "1,0")


def test_a_wrong_hostfile_fails_and_names_the_ranks(slurm, exported, environ):
    folder = exported(interleaved(), "slurm")
    hosts = (folder / "hosts").read_text().split()
    hosts[1], hosts[2] = hosts[2], hosts[1]
    (folder / "hosts").write_text("".join(f"{host}\n" for host in hosts))
    code, printed = submit(folder, environ | {"SLURM_CONF": slurm}, "job.sh", "sh", "-c", CHECK)
    assert code == 1
    assert "rank 1: host is n4, the plan says n1" in printed
    assert "rank 2: host is n1, the plan says n4" in printed
    assert [seat[0] for seat in seats(printed)] == ["0", "3", "4", "5", "6", "7"]


def test_the_check_runs_once_a_node_too(slurm, exported, environ):
    folder = exported(interleaved(), "slurm")
    once = ["srun", "-N4", "--ntasks-per-node=1", "sh", "-c"]
    check = 'PLANNER_HOST=$SLURMD_NODENAME planner check "$0" --node'
    for plan, code in ((folder.parent / "plan.json", 0), (folder / "other.json", 1)):
        if code:
            smaller = {"cluster": {"nodes": "n1,n2,n3"}, "job": {"decoder": {"tp": 8}}}
            make_plan(smaller, list(range(24))).save(plan)
        done = subprocess.run(
            [*once, check, str(plan)],
            env=environ | {"SLURM_CONF": slurm},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == code, done.stderr
    assert "host n4: host is n4, the plan says no rank there" in done.stderr


def test_torchrun_under_srun_numbers_by_the_plan_and_not_by_the_node_list(slurm, exported, environ):
    need("torch")
    plan = contiguous()
    script = exported(plan, "torchrun")
    master = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_ports(1)[0])}
    check = CHECK.replace("../plan.json", str(script.parent / "plan.json"))
    command = ["srun", "-N4", "--ntasks-per-node=1", str(script), "--no-python", "sh", "-c"]
    done = subprocess.run(
        [*command, f"export PLANNER_HOST=$SLURMD_NODENAME; {check}"],
        env=environ | master | {"SLURM_CONF": slurm},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [seat[:3] for seat in seats(done.stdout)] == [
        [str(r["rank"]), r["host"], str(r["local_rank"])] for r in plan.document()["ranks"]
    ]
