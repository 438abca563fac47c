"""What each launcher's files say; tests/interop starts the launchers."""

import os
import subprocess

import pytest
import yaml

from planner.errors import InputError
from planner.export import export, hydra, kubernetes
from tests.export.plans import contiguous, interleaved, make_plan, uneven


def run(script, command, folder, **env):
    """Run a script of ours with only these variables and print what a command sees."""
    path = folder / "script.sh"
    path.write_text(script)
    return subprocess.run(
        ["/bin/sh", str(path), "/bin/sh", "-c", command],
        env={"PATH": os.environ["PATH"], **env},
        capture_output=True,
        text=True,
        check=False,
    )


SEEN = (
    "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $GROUP_RANK $NODE_RANK $MASTER_ADDR "
    "$MASTER_PORT $CUDA_DEVICE_ORDER $CUDA_VISIBLE_DEVICES $PLANNED_HOST"
)


@pytest.mark.parametrize(
    "env",
    [
        {"SLURM_PROCID": "5", "SLURM_NTASKS": "6"},
        {"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "6", "SLURM_PROCID": "0"},
        {"PMI_RANK": "5", "PMI_SIZE": "6", "SLURM_PROCID": "0", "SLURM_NTASKS": "1"},
        {"TORCHELASTIC_RUN_ID": "x", "RANK": "5", "WORLD_SIZE": "6", "SLURM_PROCID": "1"},
        {"RANK": "5"},
    ],
)
def test_the_wrapper_knows_each_launcher(tmp_path, env):
    done = run(export(uneven(), "env")["wrap.sh"], SEEN, tmp_path, **env)
    assert done.stderr == ""
    assert done.stdout == "5 6 1 2 2 2 a 29500 PCI_BUS_ID 1,0 c\n"


def test_the_wrapper_keeps_a_master_that_is_set(tmp_path):
    env = {"RANK": "0", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "1234"}
    done = run(
        export(uneven(), "env")["wrap.sh"], "echo $MASTER_ADDR $MASTER_PORT", tmp_path, **env
    )
    assert done.stdout == "10.0.0.1 1234\n"


@pytest.mark.parametrize(
    ("env", "text"),
    [
        ({}, "no launcher says which rank this is (looked for RANK, OMPI_COMM_WORLD_RANK, "),
        ({"RANK": "6"}, "the plan has ranks 0 to 5, not 6"),
        ({"SLURM_PROCID": "1", "SLURM_NTASKS": "4"}, "started 4 processes, the plan has 6"),
    ],
)
def test_the_wrapper_starts_nothing_it_cannot_place(tmp_path, env, text):
    done = run(export(uneven(), "env")["wrap.sh"], "echo started", tmp_path, **env)
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr


def test_the_wrapper_names_the_node_as_slurm_does_but_never_as_the_plan_does(tmp_path):
    script = export(uneven(), "slurm")["wrap.sh"]
    slurm = {"SLURM_PROCID": "0", "SLURM_NTASKS": "6"}
    seen = run(script, "echo $PLANNER_HOST", tmp_path, SLURMD_NODENAME="real", **slurm)
    assert seen.stdout == "real\n"
    assert run(script, "echo $PLANNER_HOST", tmp_path, **slurm).stdout == "\n"
    wrapper = export(uneven(), "env")["wrap.sh"]
    assert run(wrapper, "echo $PLANNER_HOST", tmp_path, RANK="0").stdout == "\n"


def test_the_table_can_be_sourced(tmp_path):
    (tmp_path / "env.sh").write_text(export(uneven(), "env")["env.sh"])
    done = run(f'RANK=3; . {tmp_path}/env.sh; exec "$@"', SEEN.replace("$RANK", "3"), tmp_path)
    assert done.stdout == "3 6 0 1 1 1 a 29500 PCI_BUS_ID 3 b\n"


def test_a_node_can_source_its_devices(tmp_path):
    (tmp_path / "nodes.sh").write_text(export(uneven(), "env")["nodes.sh"])
    script = f'. {tmp_path}/nodes.sh; exec "$@"'
    seen = run(script, "echo $CUDA_VISIBLE_DEVICES", tmp_path, PLANNER_HOST="c.cluster")
    assert seen.stdout == "1,0\n"
    seen = run(script, "echo $CUDA_VISIBLE_DEVICES", tmp_path, PLANNER_HOST="d")
    assert "holds no rank of the plan" in seen.stderr


def test_slurm_hostfile_has_a_line_a_rank_and_the_job_says_no_node_count():
    files = export(interleaved(), "slurm")
    assert files["hosts"].split() == ["n3", "n1", "n4", "n2", "n2", "n4", "n1", "n3"]
    srun = [line for line in files["job.sh"].splitlines() if "srun -n" in line]
    assert srun == ['exec srun -n 8 -m arbitrary "$dir/wrap.sh" "$@"']
    assert "#SBATCH --nodelist=n[3,1,4,2]\n#SBATCH --ntasks=8\n" in files["job.sh"]


def test_openmpi_files():
    files = export(interleaved(), "openmpi")
    assert next(iter(files)) == "seqfile"
    ranks = [line for line in files["rankfile"].splitlines() if line[0] != "#"]
    assert ranks[:2] == ["rank 0=n3 slot=0", "rank 1=n1 slot=0"]
    assert ranks[-1] == "rank 7=n3 slot=1"
    assert "pins the rank to core i" in files["rankfile"]
    assert files["hostfile"] == "n3 slots=2\nn1 slots=2\nn4 slots=2\nn2 slots=2\n"
    assert "--bind-to none" in files["mpirun.sh"]


def test_hydra_map_has_exactly_one_known_host_a_rank():
    files = export(uneven(), "hydra")
    assert files["hosts"] == "a:3\nb:1\nc:2\n"
    assert files["rankmap"] == "0,0,0,1,2,2\n"


def test_hydra_refuses_a_map_longer_than_an_argument_may_be(monkeypatch):
    monkeypatch.setattr(hydra, "MAX_ARGUMENT", 10)
    with pytest.raises(InputError, match="got 11 bytes for 6 ranks; expected at most 10 bytes"):
        export(uneven(), "hydra")


@pytest.mark.parametrize("host", ["n1", "n1.cluster.local"])
def test_torchrun_finds_its_node_by_short_or_long_name(tmp_path, host):
    fake = tmp_path / "torchrun"
    fake.write_text('#!/bin/sh\necho $CUDA_VISIBLE_DEVICES "$@"\n')
    fake.chmod(0o755)
    script = tmp_path / "torchrun.sh"
    script.write_text(export(contiguous(), "torchrun")["torchrun.sh"])
    done = subprocess.run(
        ["/bin/sh", str(script), "train.py", "--x"],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURMD_NODENAME": host},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == (
        "1,0 --nnodes 4 --nproc-per-node 2 --node-rank 2 --master-addr n3 --master-port 29500 "
        "train.py --x\n"
    )


def test_torchrun_starts_nothing_on_a_node_outside_the_plan(tmp_path):
    script = export(contiguous(), "torchrun")["torchrun.sh"]
    done = run(script, "", tmp_path, PLANNER_HOST="n9")
    assert done.returncode == 2
    assert "n9 holds no rank of the plan" in done.stderr


def test_deepspeed_slots_are_the_gpus_a_node_has_and_include_those_used():
    files = export(uneven(), "deepspeed")
    assert files["hostfile"] == "a slots=4\nb slots=4\nc slots=4\n"
    assert "--include a:0,1,2@b:3@c:0,1 " in files["deepspeed.sh"]
    assert "--include" not in export(contiguous(), "deepspeed")["deepspeed.sh"]


def test_jobset_pins_each_node_and_counts_devices_as_the_plugin_offers_them():
    jobset = yaml.safe_load(export(uneven(), "kubernetes")["jobset.yaml"])
    jobs = jobset["spec"]["replicatedJobs"]
    pods = [job["template"]["spec"]["template"]["spec"] for job in jobs]
    assert [pod["nodeSelector"]["kubernetes.io/hostname"] for pod in pods] == ["a", "b", "c"]
    containers = [pod["containers"][0] for pod in pods]
    env = [{e["name"]: e.get("value") for e in c["env"]} for c in containers]
    # b's GPU 0 is offline: its plugin offers three, of which GPU 3 is the last.
    assert [e["CUDA_VISIBLE_DEVICES"] for e in env] == ["0,1,2", "2", "1,0"]
    assert [c["resources"]["limits"]["nvidia.com/gpu"] for c in containers] == [4, 3, 4]
    assert {e["MASTER_ADDR"] for e in env} == {"train-n0-0-0.train"}
    assert [e["NODE_RANK"] for e in env] == ["0", "1", "2"]


def test_jobset_names_devices_by_uuid_where_the_plan_knows_them():
    nodes = [{"name": "a", "uuids": ["GPU-a0", "GPU-a1"]}]
    problem = {"cluster": {"nodes": nodes, "gpus_per_node": 2}, "job": {"decoder": {"pp": 2}}}
    text = export(make_plan(problem, [0, 1]), "kubernetes")["jobset.yaml"]
    assert "value: GPU-a0,GPU-a1" in text


def test_jobset_refuses_more_nodes_than_a_cluster_takes_in_one_object(monkeypatch):
    monkeypatch.setattr(kubernetes, "MAX_BYTES", 100)
    with pytest.raises(InputError, match=r"got \d+ bytes for 3 nodes; expected at most 100 bytes"):
        export(uneven(), "kubernetes")
