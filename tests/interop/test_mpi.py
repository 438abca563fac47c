"""Open MPI 4 and 5 and MPICH over named hosts: every rank lands where the plan says."""

import os
import re
import shutil
import socket
import subprocess

import pytest

from tests.export.plans import interleaved, uneven
from tests.interop.tools import BIN, HOME, need

ROOT = {
    f"{program}_ALLOW_RUN_AS_ROOT{confirm}": "1"
    for program in ("OMPI", "PRTE")
    for confirm in ("", "_CONFIRM")
}

CHECK = (
    "planner check {plan} && "
    "echo seat $RANK $(hostname) $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR $CUDA_VISIBLE_DEVICES"
)


@pytest.fixture
def openmpi(request, environ, remote_shell):
    """Variables under which `mpirun` is Open MPI of the wanted major version, over our hosts."""
    need(f"openmpi-{request.param}")
    first = "/usr/bin" if request.param == 4 else str(HOME / "openmpi-5" / "bin")
    mine = {
        "OMPI_MCA_plm_rsh_agent": str(remote_shell),
        "OMPI_MCA_oob_tcp_if_include": "lo",
        "PRTE_MCA_plm_ssh_agent": str(remote_shell),
    }
    return environ | ROOT | mine | {"PATH": f"{first}:{environ['PATH']}"}


@pytest.fixture
def hydra(environ, remote_shell):
    """Variables under which MPICH's `mpiexec` reaches our hosts."""
    need("mpich")
    mine = {
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXEC": str(remote_shell),
        "HYDRA_IFACE": "lo",
        "HYDRA_LOCALHOST": socket.gethostname(),
    }
    return environ | mine | {"PATH": f"{BIN}:{environ['PATH']}"}


def run(command, environ):
    return subprocess.run(
        [str(word) for word in command],
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def check(folder):
    return ["sh", "-c", CHECK.format(plan=folder.parent / "plan.json")]


def seats(done):
    lines = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("seat ")]
    return sorted(lines, key=lambda words: int(words[0]))


def planned(plan):
    """What every process must print."""
    ranks = plan.document()["ranks"]
    devices = {
        host: ",".join(str(r["gpu"]) for r in ranks if r["host"] == host) for host in plan.hosts
    }
    world, master = str(len(ranks)), plan.hosts[0]
    return [
        [str(r["rank"]), r["host"], str(r["local_rank"]), world, master, devices[r["host"]]]
        for r in ranks
    ]


@pytest.mark.parametrize("openmpi", [4, 5], indirect=True)
@pytest.mark.parametrize("make", [interleaved, uneven])
def test_openmpi_seq(openmpi, exported, make):
    plan = make()
    folder = exported(plan, "openmpi")
    done = run([folder / "mpirun.sh", *check(folder)], openmpi)
    assert done.returncode == 0, done.stderr
    assert seats(done) == planned(plan)


def by_rankfile(folder, openmpi):
    """The command of the rankfile's own comment."""
    # slot=i pins a rank to core i, so local ranks 0 and 1 need a machine of two cores.
    assert os.cpu_count() >= 2
    major_4 = shutil.which("mpirun", path=openmpi["PATH"]) == "/usr/bin/mpirun"
    option = (
        ["-rf", folder / "rankfile"]
        if major_4
        else ["--map-by", f"rankfile:file={folder / 'rankfile'}"]
    )
    command = ["mpirun", "-np", 8, "--hostfile", folder / "hostfile", *option]
    return run([*command, folder / "wrap.sh", *check(folder)], openmpi)


@pytest.mark.parametrize("openmpi", [4, 5], indirect=True)
def test_openmpi_rankfile(openmpi, exported):
    plan = interleaved()
    done = by_rankfile(exported(plan, "openmpi"), openmpi)
    assert done.returncode == 0, done.stderr
    assert seats(done) == planned(plan)


@pytest.mark.parametrize("openmpi", [4, 5], indirect=True)
def test_openmpi_wrong_rankfile_names_the_rank(openmpi, exported):
    folder = exported(interleaved(), "openmpi")
    text = (folder / "rankfile").read_text()
    seat_1, seat_2 = (re.search(rf"(?m)^rank {rank}=(.*)$", text)[1] for rank in (1, 2))
    swapped = text.replace(f"rank 1={seat_1}", f"rank 1={seat_2}")
    (folder / "rankfile").write_text(swapped.replace(f"rank 2={seat_2}", f"rank 2={seat_1}"))
    done = by_rankfile(folder, openmpi)
    assert done.returncode != 0
    assert "rank 1: host is n4, the plan says n1" in done.stderr + done.stdout


@pytest.mark.parametrize("openmpi", [4, 5], indirect=True)
def test_openmpi_wrong_file_names_the_rank(openmpi, exported):
    folder = exported(interleaved(), "openmpi")
    hosts = (folder / "seqfile").read_text().split()
    hosts[1], hosts[2] = hosts[2], hosts[1]
    (folder / "seqfile").write_text("".join(f"{host}\n" for host in hosts))
    done = run([folder / "mpirun.sh", *check(folder)], openmpi)
    assert done.returncode != 0
    assert "rank 1: host is n4, the plan says n1" in done.stderr + done.stdout


@pytest.mark.parametrize("make", [interleaved, uneven])
def test_hydra_rankmap(hydra, exported, make):
    plan = make()
    folder = exported(plan, "hydra")
    done = run([folder / "mpiexec.sh", *check(folder)], hydra)
    assert done.returncode == 0, done.stderr
    assert seats(done) == planned(plan)


def test_hydra_counts_local_ranks_as_the_plan_does(hydra, exported):
    plan = interleaved()
    folder = exported(plan, "hydra")
    rankmap = (folder / "rankmap").read_text().strip()
    command = ["mpiexec", "-f", folder / "hosts", "-n", 8, "-rankmap", rankmap]
    done = run([*command, "sh", "-c", "echo $PMI_RANK $MPI_LOCALRANKID"], hydra)
    assert done.returncode == 0, done.stderr
    seen = dict(line.split() for line in done.stdout.splitlines())
    assert seen == {str(r["rank"]): str(r["local_rank"]) for r in plan.document()["ranks"]}


def test_hydra_wrong_map_names_the_rank(hydra, exported):
    folder = exported(interleaved(), "hydra")
    ids = (folder / "rankmap").read_text().strip().split(",")
    ids[1], ids[2] = ids[2], ids[1]
    (folder / "rankmap").write_text(",".join(ids) + "\n")
    done = run([folder / "mpiexec.sh", *check(folder)], hydra)
    assert done.returncode != 0
    assert "rank 1: host is n4, the plan says n1" in done.stderr + done.stdout
