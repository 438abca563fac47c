"""JobSet against the models of its public schema, Ray against a local Ray of named nodes."""

import json
import os
import re
import subprocess
import sys

import pytest
import yaml

from planner.export import export
from tests.export.plans import contiguous, interleaved, make_plan, uneven
from tests.interop.conftest import HARNESS
from tests.interop.tools import need

DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def jobset_of(plan):
    return yaml.safe_load(export(plan, "kubernetes")["jobset.yaml"])


def read_by_models(jobset):
    """What is left of a JobSet when the models have read it: unknown fields are dropped."""
    done = subprocess.run(
        [sys.executable, HARNESS / "jobset_models.py"],
        input=json.dumps(jobset),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


@pytest.mark.parametrize("make", [contiguous, uneven])
def test_a_jobset_is_what_its_schema_says(make):
    need("kubeflow-trainer-api")
    jobset = jobset_of(make())
    assert read_by_models(jobset) == jobset


def test_the_schema_notices_a_wrong_field_and_a_wrong_type():
    need("kubeflow-trainer-api")
    jobset = jobset_of(contiguous())
    pod = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["nodeSelectors"] = pod.pop("nodeSelector")
    assert read_by_models(jobset) != jobset
    jobset = jobset_of(contiguous())
    jobset["spec"]["replicatedJobs"][0]["replicas"] = "one"
    assert "replicas" in read_by_models(jobset)


def test_the_masters_address_is_the_first_pods():
    jobset = jobset_of(contiguous())
    name, spec = jobset["metadata"]["name"], jobset["spec"]
    first = spec["replicatedJobs"][0]
    # JobSet names a pod <jobset>-<replicated job>-<job index>-<pod index>, in its subdomain.
    pod = f"{name}-{first['name']}-0-0"
    env = first["template"]["spec"]["template"]["spec"]["containers"][0]["env"]
    (master,) = [e["value"] for e in env if e["name"] == "MASTER_ADDR"]
    assert master == f"{pod}.{spec['network']['subdomain']}"
    names = [job["name"] for job in spec["replicatedJobs"]]
    assert len(set(names)) == len(names)
    assert all(DNS_LABEL.fullmatch(f"{name}-{n}-0-0") for n in names)


def test_ray_puts_bundle_r_on_the_host_of_rank_r(tmp_path):
    need("ray")
    pairs = {
        "cluster": {"nodes": "b,c,a", "gpus_per_node": 2},
        "job": {"decoder": {"tp": 2}, "dp": 3},
    }
    plan = make_plan(pairs, [0, 2, 4, 5, 3, 1])
    (tmp_path / "ray.json").write_text(export(plan, "ray")["ray.json"])
    done = subprocess.run(
        [sys.executable, HARNESS / "ray_bundles.py", tmp_path / "ray.json"],
        env=os.environ | {"RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == ["b", "c", "a", "a", "c", "b"]


def test_ray_lists_a_gpu_and_a_local_rank_for_every_bundle():
    group = json.loads(export(interleaved(), "ray")["ray.json"])
    assert [s["planner.host"] for s in group["bundle_label_selector"]][:3] == ["n3", "n1", "n4"]
    assert len(group["bundles"]) == len(group["gpu"]) == len(group["local_rank"]) == 8
