"""JAX on CPU host devices: meshes from the exported permutation and from the runtime helper."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.export.plans import make_plan
from tests.interop.conftest import HARNESS
from tests.interop.tools import need

JOB = {"encoder": {"tp": 2, "cp": 2}, "decoder": {"tp": 3, "cp": 2, "pp": 2}, "dp": 1}
WORLD = 16


@pytest.fixture(scope="module")
def plan():
    placement = [(11 * i) % WORLD for i in range(WORLD)]
    return make_plan({"cluster": {"nodes": 2}, "job": JOB}, placement)


@pytest.fixture(scope="module")
def seen(plan, tmp_path_factory):
    """For each module and way of starting: device ids of the mesh, and of an all-gather on tp."""
    need("planner", "jax")
    folder = tmp_path_factory.mktemp("jax")
    plan.save(folder / "plan.json")
    root = str(Path(__file__).parents[2])
    environ = os.environ | {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={WORLD}",
        "PYTHONPATH": root,
    }
    export = "from planner.cli import main; main()"
    arguments = ["export", folder / "plan.json", "--to", "jax", "-o", folder / "jax.json"]
    subprocess.run([sys.executable, "-c", export, *arguments], env=environ, check=True)
    done = subprocess.run(
        [sys.executable, HARNESS / "jax_mesh.py", folder / "jax.json", folder / "plan.json"],
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("module", ["encoder", "decoder"])
def test_a_mesh_has_the_plans_coordinates(plan, seen, module):
    # Process r is rank r: device r stands where the plan puts rank r.
    assert seen["process_per_gpu"][module]["mesh"] == plan.mesh(module).tolist()
    assert seen["helper"][module]["mesh"] == plan.mesh(module).tolist()
    # One process a host: devices count host by host, and the mesh holds each rank's.
    of_rank = plan.seats.host_rank
    assert seen["process_per_host"][module]["mesh"] == of_rank[plan.mesh(module)].tolist()


@pytest.mark.parametrize("module", ["encoder", "decoder"])
@pytest.mark.parametrize("way", ["process_per_gpu", "process_per_host", "helper"])
def test_an_all_gather_over_tp_visits_ranks_in_order(seen, module, way):
    mesh = seen[way][module]["mesh"]
    rows = [row for stage in mesh for copy in stage for row in copy]
    assert seen[way][module]["gathered"] == rows
    if way == "process_per_host":
        assert any(row != sorted(row) for row in rows)
