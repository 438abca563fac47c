"""One sweep by every kind of executor: the same table, byte for byte."""

import json
import subprocess
import sys

import pytest
from distributed import Client, LocalCluster
from loky import get_reusable_executor

from planner.sweeping import sweep
from tests.interop.tools import BIN, need

BASE = {
    "cluster": {"nodes": 8, "levels": [{"name": "leaf", "nodes_per_domain": 4}]},
    "objective": {"traffic": {"model": "llama3-8b", "sequence": 4096, "global_batch": 64}},
}
AXES = {"tp": [1, 2, 4, 8], "cp": [1, 2], "pp": [2, 4]}

PROGRAM = f"""
import sys
from mpi4py.futures import MPIPoolExecutor
from planner import sweep
if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        sweep({BASE!r}, decoder={AXES!r}, executor=executor, output=sys.argv[1])
"""


@pytest.fixture(scope="module")
def expected():
    return sweep(BASE, decoder=AXES).to_csv(index=False)


def test_processes_of_our_own(expected):
    assert sweep(BASE, decoder=AXES, workers=2).to_csv(index=False) == expected


def test_loky(expected):
    need("loky")
    executor = get_reusable_executor(max_workers=2)
    try:
        assert sweep(BASE, decoder=AXES, executor=executor).to_csv(index=False) == expected
    finally:
        executor.shutdown(wait=True)


def test_dask(expected):
    need("distributed")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        executor = client.get_executor()
        assert sweep(BASE, decoder=AXES, executor=executor).to_csv(index=False) == expected


def test_dask_by_the_command(expected, environ, tmp_path):
    need("distributed")
    (tmp_path / "c.json").write_text(json.dumps(BASE))
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        command = ["planner", "sweep", "c.json", "--dask", cluster.scheduler_address, "-o", "r.csv"]
        for size, values in AXES.items():
            command += ["--decoder", f"{size}={','.join(map(str, values))}"]
        subprocess.run(command, cwd=tmp_path, env=environ, check=True, timeout=300)
    assert (tmp_path / "r.csv").read_text() == expected


def test_mpi(expected, environ, tmp_path):
    need("mpich", "mpi4py")
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [BIN / "mpiexec", "-n", "3", sys.executable]
    command += ["-m", "mpi4py.futures", "program.py", "r.csv"]
    subprocess.run(command, cwd=tmp_path, env=environ, check=True, timeout=300)
    assert (tmp_path / "r.csv").read_text() == expected
