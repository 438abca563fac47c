"""megatron-core itself: its own groups under the exported numbering, and ours where its are wrong.

0.12.3 and 0.13.0 have an encoder of their own, the current release has HyperCommGrid and
ProcessGroupCollection instead.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from planner.export import export
from tests.export.plans import make_plan
from tests.interop.conftest import HARNESS
from tests.interop.tools import HOME, need

DECODERS = {
    "plain": {"decoder": {"tp": 2, "pp": 2}, "dp": 2},
    "pp before dp": {"decoder": {"tp": 2, "pp": 2}, "dp": 2, "order": "tp-pp-dp"},
    "cp fastest": {"decoder": {"tp": 2, "cp": 3}, "dp": 2, "order": "cp-tp-dp-pp"},
    "experts": {"decoder": {"tp": 2, "cp": 2, "pp": 2, "ep": 2, "etp": 1}, "dp": 2},
    "experts, pp before dp": {
        "decoder": {"tp": 2, "cp": 2, "pp": 2, "ep": 4, "etp": 1},
        "dp": 2,
        "order": "tp-cp-ep-pp-dp",
    },
    "experts with default etp": {"decoder": {"tp": 4, "ep": 4}, "dp": 8},
    "virtual stages": {"decoder": {"tp": 2, "pp": 4, "vpp": 2}, "dp": 2},
    "hierarchical cp": {"decoder": {"tp": 2, "cp": 4}, "dp": 2, "hierarchical_cp": [2, 2]},
    "512 ranks": {"decoder": {"tp": 8, "cp": 2, "pp": 4, "ep": 8, "etp": 2}, "dp": 8},
}

RIGHT = {
    "lanes one to two": {
        "encoder": {"tp": 1, "cp": 2},
        "decoder": {"tp": 2, "cp": 2, "pp": 2},
        "dp": 2,
    },
    "lanes two to four": {
        "encoder": {"tp": 2, "cp": 2},
        "decoder": {"tp": 4, "cp": 2, "pp": 2},
        "dp": 2,
    },
    "two encoder stages": {
        "encoder": {"tp": 2, "cp": 2, "pp": 2},
        "decoder": {"tp": 2, "cp": 2, "pp": 2},
        "dp": 2,
    },
    "one slice, lanes two to three": {"encoder": {"tp": 2}, "decoder": {"tp": 3}, "dp": 1},
}

WRONG = {"encoder": {"tp": 2, "cp": 2}, "decoder": {"tp": 3, "cp": 2}, "dp": 1}

EXPERTS = ("ep", "expt_tp", "expt_dp", "tp_ep", "tp_ep_pp")


def plan_of(job):
    modules = [m for m in (job.get("encoder"), job["decoder"]) if m]
    world = job["dp"] * sum(m.get("tp", 1) * m.get("cp", 1) * m.get("pp", 1) for m in modules)
    return make_plan(
        {"cluster": {"nodes": 1, "gpus_per_node": world}, "job": job}, list(range(world))
    )


def described(plan):
    return json.loads(export(plan, "megatron")["megatron.json"])


def ask(cases, release=None):
    """The groups of every rank, for each (plan, way, what)."""
    need("torch", f"megatron-core-{release}" if release else "megatron-core")
    # The release asked for stands before the one installed.
    path = [str(HOME / f"megatron-core-{release}")] if release else []
    asked = [
        {"world": plan.grid.world, "ranks": list(range(plan.grid.world)), way: what}
        for plan, way, what in cases
    ]
    done = subprocess.run(
        [sys.executable, HARNESS / "megatron_groups.py"],
        input=json.dumps(asked),
        env=os.environ | {"PYTHONPATH": ":".join([*path, str(Path(__file__).parents[2])])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [{int(r): found for r, found in case.items()} for case in json.loads(done.stdout)]


def planned(plan, name, rank):
    return [group for group in plan.groups[name] if rank in group]


@pytest.fixture(scope="module")
def current(tmp_path_factory):
    """What the current release creates for every decoder, and for the grids, and ours."""
    cases = [
        (plan_of(job), "keywords", described(plan_of(job))["initialize_model_parallel"])
        for job in DECODERS.values()
    ]
    wrong = plan_of(WRONG)
    path = str(tmp_path_factory.getbasetemp() / "wrong.json")
    wrong.save(path)
    cases += [(wrong, "plan", path), (wrong, "grids", described(wrong)["grids"])]
    order = plan_of(DECODERS["pp before dp"])
    cases.append((order, "grids", described(order)["grids"]))
    answers = ask(cases)
    return dict(zip([*DECODERS, "ours", "grids", "grid order"], answers, strict=True))


@pytest.mark.parametrize("name", DECODERS)
def test_megatron_creates_the_plans_groups_on_every_rank(current, name):
    plan = plan_of(DECODERS[name])
    assert sorted(current[name]) == list(range(plan.grid.world))
    for rank, found in current[name].items():
        assert found == {family: planned(plan, family, rank) for family in plan.groups}, rank


@pytest.fixture(scope="module", params=["0.12.3", "0.13.0"])
def encoders(request):
    """What a release with an encoder of its own creates for each of RIGHT, and for WRONG."""
    plans = [plan_of(job) for job in RIGHT.values()]
    cases = [(plan, "keywords", described(plan)["initialize_model_parallel"]) for plan in plans]
    # Nothing is exported for this one: no release is right.
    keywords = {
        "tensor_model_parallel_size": 3,
        "context_parallel_size": 2,
        "encoder_tensor_model_parallel_size": 2,
        "encoder_pipeline_model_parallel_size": 1,
    }
    plain = plan_of(DECODERS["experts"])
    cases.append((plain, "keywords", described(plain)["initialize_model_parallel"]))
    answers = ask([*cases, (plan_of(WRONG), "keywords", keywords)], request.param)
    return dict(zip([*RIGHT, "no encoder", "wrong"], answers, strict=True))


def test_earlier_releases_number_a_job_without_encoder_as_the_current_one_does(encoders):
    plan = plan_of(DECODERS["experts"])
    for rank, found in encoders["no encoder"].items():
        assert found == {family: planned(plan, family, rank) for family in plan.groups}, rank


@pytest.mark.parametrize("name", RIGHT)
def test_releases_with_an_encoder_create_the_plans_groups_where_we_say_so(encoders, name):
    plan = plan_of(RIGHT[name])
    assert described(plan)["releases"].endswith("to 0.13")
    encoder = set(plan.mesh("encoder").ravel().tolist())
    for rank, found in encoders[name].items():
        # These releases give encoder ranks no expert groups of their own, and keep only one
        # embedding group of an encoder rank that is in several pipelines.
        skipped = (*EXPERTS, "embd", "pos_embd") if rank in encoder else ("embd", "pos_embd")
        for family in set(plan.groups).difference(skipped):
            assert found[family] == planned(plan, family, rank), (rank, family)


def test_no_release_keeps_lanes_two_to_three_inside_their_context_slice(encoders):
    plan = plan_of(WRONG)
    assert described(plan)["releases"] is None
    slice_of = {r["rank"]: r["cp"] for r in plan.document()["ranks"]}
    theirs = sorted({tuple(g) for found in encoders["wrong"].values() for g in found["pp"]})
    assert [g for g in theirs if slice_of[g[0]] != slice_of[g[1]]] == [(1, 7)]
    assert all(slice_of[a] == slice_of[b] for a, b in plan.groups["pp"])
    assert set(map(tuple, plan.groups["pp"])) - set(theirs) == {(2, 7)}


def test_our_collections_are_right_where_megatrons_groups_are_not(current):
    plan = plan_of(WRONG)
    for rank, found in current["ours"].items():
        module = "encoder" if rank < 4 else "decoder"
        own = plan.grid.module(module)
        expected = {
            name: planned(plan, name, rank)
            for name in ("tp", "cp", "dp", "dp_cp", "tp_cp", "tp_dp_cp", *EXPERTS)
        }
        expected |= {
            # A module's own pipeline has one stage here: the bridge is apart.
            **{name: [[rank]] for name in ("pp", "embd", "pos_embd")},
            "mp": [g for g in own.vary("tp", "pp").tolist() if rank in g],
            "intra_dp_cp": expected["dp_cp"],
            "intra_expt_dp": expected["expt_dp"],
            "intra_dist_opt": [own.mesh.ravel().tolist()],
            "inter_dist_opt": [],
            "hcp": [],
            "pairs": [pair for pair in plan.bridge if rank in pair],
            "bridge": [pair for pair in plan.bridge if rank in pair],
        }
        assert found == expected, rank
    assert plan.bridge == [[0, 4], [0, 5], [1, 6], [2, 7], [2, 8], [3, 9]]


def test_exported_grids_number_as_the_plan_does(current):
    for key, plan in (("grids", plan_of(WRONG)), ("grid order", plan_of(DECODERS["pp before dp"]))):
        for rank, found in current[key].items():
            module = next(m for m in plan.grid.modules if rank in m.mesh)
            for family, axes in (("pp", ("pp",)), ("mp", ("tp", "pp"))):
                groups = module.vary(*axes).tolist()
                assert found.pop(family) == [g for g in groups if rank in g]
            assert found == {family: planned(plan, family, rank) for family in found}
            assert sorted(found) == ["cp", "dp", "dp_cp", "tp", "tp_dp_cp"]
