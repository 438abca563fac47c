"""torch on gloo: every group of a plan in real processes, and a training step split over them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from planner.export import export
from tests.export.plans import make_plan
from tests.interop.conftest import HARNESS
from tests.interop.tools import need

# Encoder lanes 0 and 1 feed decoder lanes 0, 1 and 2 in each of four (dp, cp) slices: the case that
# no release of Megatron maps right. Node order and GPUs are scattered; groups do not depend on them.
JOB = {"encoder": {"tp": 2, "cp": 2}, "decoder": {"tp": 3, "cp": 2, "pp": 2}, "dp": 2}
WORLD = 32


@pytest.fixture(scope="module")
def plan():
    placement = [(7 * i) % WORLD for i in range(WORLD)]
    return make_plan({"cluster": {"nodes": 4}, "job": JOB}, placement)


def run_ranks(plan, folder, world):
    """Start every rank of a plan or exported layout; what each found, by rank."""
    need("torch")
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, HARNESS / "torch_ranks.py", plan, folder],
        env={"PATH": "", "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": str(root), "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(world)]


@pytest.fixture(scope="module")
def reports(plan, tmp_path_factory):
    """What every rank of the plan found."""
    folder = tmp_path_factory.mktemp("torch")
    plan.save(folder / "plan.json")
    return run_ranks(folder / "plan.json", folder, WORLD)


def bits(ranks):
    return sum(1 << rank for rank in ranks)


def test_an_all_reduce_in_every_group_sums_exactly_its_members(plan, reports):
    assert len(plan.groups) == 16
    for name, groups in plan.groups.items():
        for rank, report in enumerate(reports):
            members = [bits(group) for group in groups if rank in group]
            assert report["sums"][name] == members, (name, rank)


def test_the_bridge_joins_the_pairs_of_the_plan(plan, reports):
    for rank, report in enumerate(reports):
        pairs = {f"{a},{b}": bits([a, b]) for a, b in plan.bridge if rank in (a, b)}
        assert report["bridge"] == pairs


def test_only_a_ranks_own_groups_are_communicators(plan, reports):
    own = {m.name: m.vary("pp") for m in plan.grid.modules}
    for rank, report in enumerate(reports):
        larger = [g for groups in plan.groups.values() for g in groups if rank in g and len(g) > 1]
        stages = [g for groups in own.values() for g in groups.tolist() if rank in g and len(g) > 1]
        pairs = [pair for pair in plan.bridge if rank in pair]
        # One more is the default group, one the group of this rank alone.
        assert report["communicators"] == len(larger) + len(stages) + len(pairs) + 2


def test_the_device_mesh_has_the_plans_coordinates(plan, reports):
    for rank, report in zip(plan.document()["ranks"], reports, strict=True):
        coordinates = {axis: rank[axis] for axis in ("pp", "dp", "cp", "tp")}
        assert report["module"] == rank["module"]
        assert report["coordinates"] == coordinates
        assert report["mesh"] == coordinates
        assert report["place"] == coordinates


def test_collectives_along_the_mesh_visit_ranks_by_coordinate(plan, reports):
    for rank, report in enumerate(reports):
        at = report["coordinates"]
        mesh = plan.mesh(report["module"])
        for axis, place in (("pp", 0), ("dp", 1), ("cp", 2), ("tp", 3)):
            index = [at[a] for a in ("pp", "dp", "cp", "tp")]
            index[place] = slice(None)
            assert report["along"][axis] == mesh[tuple(index)].tolist(), (rank, axis)


def test_a_training_step_equals_the_unsplit_model(plan, reports):
    last = plan.mesh("decoder")[-1].ravel().tolist()
    for rank, report in enumerate(reports):
        step = report["step"]
        assert step["gradient_size"] > 1e-3
        assert step["gradient_error"] < 1e-12
        assert ("loss" in step) == (rank in last)
        if rank in last:
            assert step["loss"] > 0.1
            assert step["loss_error"] < 1e-12


def test_the_step_notices_a_lane_that_leaves_its_slice(tmp_path):
    """Ten ranks from an exported layout: as planned, and with the lane megatron-core 0.12 crosses."""
    job = {"encoder": {"tp": 2, "cp": 2}, "decoder": {"tp": 3, "cp": 2}, "dp": 1}
    plan = make_plan({"cluster": {"nodes": 2, "gpus_per_node": 5}, "job": job}, list(range(10)))
    layout = json.loads(export(plan, "torch")["torch.json"])
    errors = {}
    for name, lane in (("planned", [2, 7]), ("crossed", [1, 7])):
        folder = tmp_path / name
        folder.mkdir()
        bridge = sorted(lane if pair == [2, 7] else pair for pair in layout["bridge"])
        (folder / "torch.json").write_text(json.dumps(layout | {"bridge": bridge}))
        found = run_ranks(folder / "torch.json", folder, 10)
        errors[name] = max(report["step"]["gradient_error"] for report in found)
    assert errors["planned"] < 1e-12
    assert errors["crossed"] > 1e-3
