"""Names that no plan may hold: each file quotes them by its own rule, or is refused."""

import json
import os
import subprocess

import pytest
import yaml

from planner.errors import InputError
from planner.export import CONSUMERS, export
from planner.export.numbering import View
from planner.export.wrapper import script
from tests.export.plans import contiguous, make_plan, with_machines

HOSTILE = [
    "a b",
    "x;touch pwned",
    "$(touch pwned)",
    "`touch pwned`",
    "a'b\"c",
    "two\nlines",
    "# no comment",
    "-rf",
    "../up",
    "n[1-3]",
    "n*2",
    "&anchor: [x",
    "*) touch pwned;;",
    "",
    "\u202e",
]
QUOTED = ["ranks", "torch", "jax", "megatron", "deepspeed-topology", "env", "torchrun"]
REFUSED = ["slurm", "openmpi", "hydra", "deepspeed", "kubernetes", "ray"]


def hostile(name):
    hosts = [name, "n1", "n4", "n2"]
    return with_machines(contiguous(), hosts, {name: ("GPU-0", "$(MASTER_ADDR)\n- x: 'y'")})


def test_every_consumer_is_judged_here():
    assert sorted(QUOTED + REFUSED) == sorted(CONSUMERS)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("to", REFUSED)
def test_files_without_quoting_refuse_it(to, name):
    with pytest.raises(InputError, match=r"^\$\.hosts\[0\]: "):
        export(hostile(name), to)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("to", QUOTED)
def test_json_holds_it_and_shell_does_not_run_it(to, name, tmp_path):
    for file, text in export(hostile(name), to).items():
        if file.endswith(".json"):
            data = json.loads(text)
            if to == "env":
                assert data["ranks"][0]["host"] == name
            continue
        path = tmp_path / file
        path.write_text(text)
        # Sourced, every assignment and every pattern of the file is read.
        source = f"RANK=0 PLANNER_HOST=elsewhere; . {path}"
        subprocess.run(["bash", "-c", source], cwd=tmp_path, capture_output=True, check=False)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("name", HOSTILE)
def test_the_wrapper_gives_it_back_letter_by_letter(name, tmp_path):
    path = tmp_path / "wrap.sh"
    path.write_text(script(View.of(hostile(name))))
    done = subprocess.run(
        ["/bin/sh", str(path), "printf", "%s"],
        env={"PATH": os.environ["PATH"], "RANK": "0"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    seen = subprocess.run(
        ["/bin/sh", str(path), "python3", "-c", "import os; print(os.environ['MASTER_ADDR'])"],
        env={"PATH": os.environ["PATH"], "RANK": "3"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert seen.stdout == name + "\n"
    assert [path.name for path in tmp_path.iterdir()] == ["wrap.sh"]


@pytest.mark.parametrize("name", [n for n in HOSTILE if n])
def test_torchrun_matches_it_and_nothing_else(name, tmp_path):
    fake = tmp_path / "torchrun"
    fake.write_text('#!/bin/sh\necho "$@"\n')
    fake.chmod(0o755)
    path = tmp_path / "torchrun.sh"
    path.write_text(export(hostile(name), "torchrun")["torchrun.sh"])

    def run(host):
        env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PLANNER_HOST": host}
        return subprocess.run(
            ["/bin/sh", str(path)],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    assert "--node-rank 0" in run(name).stdout
    assert run(name + "x").returncode == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["torchrun", "torchrun.sh"]


def test_uuids_are_free_text_and_stay_text():
    nodes = [{"name": "a", "uuids": ["$(MASTER_ADDR)", 'x\'\n- y: "z"']}]
    problem = {"cluster": {"nodes": nodes, "gpus_per_node": 2}, "job": {"decoder": {"pp": 2}}}
    plan = make_plan(problem, [0, 1])
    jobset = yaml.safe_load(export(plan, "kubernetes")["jobset.yaml"])
    pod = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    devices = {e["name"]: e.get("value") for e in pod["containers"][0]["env"]}
    # Kubernetes reads $$ as $, and so finds no variable to put in.
    assert devices["CUDA_VISIBLE_DEVICES"] == '$$(MASTER_ADDR),x\'\n- y: "z"'
    ranks = json.loads(export(plan, "env")["env.json"])["ranks"]
    assert [r["uuid"] for r in ranks] == ["$(MASTER_ADDR)", 'x\'\n- y: "z"']
