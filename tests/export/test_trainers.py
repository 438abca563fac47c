"""What each trainer's files say; tests/interop builds the groups in the trainers."""

import json
import subprocess

import numpy as np
import pytest

from planner.errors import InputError
from planner.export import export
from tests.export.plans import encoder_decoder, interleaved, make_plan


def arguments(plan):
    """The words of MEGATRON_ARGS as bash reads them."""
    script = export(plan, "megatron")["megatron.sh"] + 'printf "%s\\n" "${MEGATRON_ARGS[@]}"\n'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    return done.stdout.split() if done.returncode == 0 else done.stderr


def keywords(plan):
    return json.loads(export(plan, "megatron")["megatron.json"])


def plan_of(job, world):
    nodes = {"nodes": 1, "gpus_per_node": world}
    return make_plan({"cluster": nodes, "job": job}, list(range(world)))


def test_megatron_arguments():
    job = {
        "decoder": {"tp": 2, "cp": 4, "pp": 2, "vpp": 2, "ep": 2, "etp": 1},
        "dp": 1,
        "hierarchical_cp": [2, 2],
    }
    assert " ".join(arguments(plan_of(job, 16))) == (
        "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 "
        "--context-parallel-size 4 --expert-model-parallel-size 2 "
        "--expert-tensor-parallel-size 1 --num-virtual-stages-per-pipeline-rank 2 "
        "--hierarchical-context-parallel-sizes 2 2"
    )
    python = keywords(plan_of(job, 16))["initialize_model_parallel"]
    assert python == {
        "tensor_model_parallel_size": 2,
        "pipeline_model_parallel_size": 2,
        "context_parallel_size": 4,
        "expert_model_parallel_size": 2,
        "expert_tensor_parallel_size": 1,
        "order": "tp-cp-ep-dp-pp",
        "virtual_pipeline_model_parallel_size": 2,
        "hierarchical_context_parallel_sizes": [2, 2],
    }


def test_megatron_pipeline_before_data():
    job = {"decoder": {"tp": 2, "pp": 2}, "dp": 2, "order": "tp-pp-dp"}
    assert "--use-tp-pp-dp-mapping" in arguments(plan_of(job, 8))


def test_megatron_orders_that_number_alike_are_one():
    # With one data copy it does not matter where dp stands: no flag, nothing refused.
    job = {"decoder": {"tp": 2, "cp": 2, "pp": 2}, "dp": 1, "order": "tp-cp-pp-dp"}
    assert "--use-tp-pp-dp-mapping" not in arguments(plan_of(job, 8))


def test_megatron_refuses_an_order_megatron_refuses():
    job = {"decoder": {"tp": 2, "cp": 2, "pp": 2}, "dp": 2, "order": "tp-cp-pp-dp"}
    with pytest.raises(InputError) as error:
        export(plan_of(job, 16), "megatron")
    assert str(error.value) == (
        "$.problem.job.order: Megatron refuses 'tp-cp-ep-pp-dp' for the decoder: pp is not last "
        "and etp x ep = 2 differs from tp x cp = 4; "
        "leave the order out for 'tp-cp-ep-dp-pp', or use --to torch"
    )


def test_megatron_order_only_python_reaches():
    job = {"decoder": {"tp": 2, "cp": 2, "pp": 1}, "dp": 2, "order": "cp-tp-dp-pp"}
    plan = plan_of(job, 8)
    assert "has no order cp-tp-dp-pp: pass the keywords of megatron.json" in arguments(plan)
    assert keywords(plan)["initialize_model_parallel"]["order"] == "cp-tp-dp-pp"
    assert keywords(plan)["grids"]["decoder"] == {
        "shape": [2, 2, 2, 1],
        "dim_names": ["cp", "tp", "dp", "pp"],
        "rank_offset": 0,
    }


@pytest.mark.parametrize(
    ("encoder", "decoder", "order", "releases"),
    [
        ({"tp": 2, "cp": 2}, {"tp": 2, "cp": 2}, "tp-cp-dp-pp", "0.11 to 0.13"),
        ({"tp": 1, "cp": 2}, {"tp": 2, "cp": 2}, "tp-cp-dp-pp", "0.12 to 0.13"),
        ({"tp": 1, "cp": 2}, {"tp": 2, "cp": 2}, "cp-tp-dp-pp", None),
        ({"tp": 2, "cp": 2}, {"tp": 3, "cp": 2}, "tp-cp-dp-pp", None),
        ({"tp": 2}, {"tp": 3}, "tp-cp-dp-pp", "0.12 to 0.13"),
        ({"tp": 3}, {"tp": 2}, "tp-cp-dp-pp", None),
        ({"tp": 1, "cp": 2}, {"tp": 2, "cp": 1}, "tp-cp-dp-pp", None),
    ],
)
def test_megatron_says_which_releases_get_the_encoder_right(encoder, decoder, order, releases):
    job = {"encoder": encoder, "decoder": decoder, "dp": 1, "order": order}
    world = sum(m["tp"] * m.get("cp", 1) for m in (encoder, decoder))
    plan = plan_of(job, world)
    assert keywords(plan)["releases"] == releases
    said = arguments(plan)
    if releases is None:
        assert "use planner.runtime.megatron" in said
        assert keywords(plan)["initialize_model_parallel"] is None
    else:
        assert said[-4:-3] == ["--encoder-tensor-model-parallel-size"]


def test_megatron_grids_lie_one_after_the_other():
    grids = keywords(encoder_decoder())["grids"]
    assert grids["encoder"] == {
        "shape": [2, 2, 1, 1],
        "dim_names": ["tp", "cp", "dp", "pp"],
        "rank_offset": 0,
    }
    assert grids["decoder"]["rank_offset"] == 4


def test_megatron_numbers_ranks_itself():
    job = {"decoder": {"tp": 2, "pp": 2}, "dp": 1}
    plan = make_plan({"cluster": {"nodes": 2, "gpus_per_node": 2}, "job": job}, [0, 2, 1, 3])
    with pytest.raises(InputError, match=r"--numbering: Megatron numbers its ranks itself"):
        export(plan, "megatron", "host")


def test_torch_meshes():
    layout = json.loads(export(encoder_decoder(), "torch")["torch.json"])
    assert layout["axes"] == ["pp", "dp", "cp", "tp"]
    assert layout["meshes"]["encoder"] == [[[[0, 1], [2, 3]]]]
    assert layout["meshes"]["decoder"] == [[[[4, 5, 6], [7, 8, 9]]]]
    assert layout["bridge"] == [[0, 4], [0, 5], [1, 6], [2, 7], [2, 8], [3, 9]]


def test_deepspeed_topology_counts_as_the_order_does():
    topology = json.loads(export(interleaved(), "deepspeed-topology")["topology.json"])
    assert topology["axes"] == ["pipe", "data", "model"]
    assert topology["dims"] == [2, 2, 2]
    assert topology["ranks"] == list(range(8))
    job = {"decoder": {"tp": 2, "pp": 3}, "dp": 2, "order": "pp-tp-dp"}
    topology = json.loads(export(plan_of(job, 12), "deepspeed-topology")["topology.json"])
    assert (topology["axes"], topology["dims"]) == (["data", "model", "pipe"], [2, 2, 3])
    assert topology["ranks"] == list(range(12))


@pytest.mark.parametrize(
    ("job", "got"),
    [
        ({"encoder": {}, "decoder": {}, "dp": 1}, "an encoder and a decoder"),
        ({"decoder": {"cp": 2}, "dp": 1}, "cp 2"),
        ({"decoder": {"ep": 2}, "dp": 2}, "ep 2, etp 1"),
    ],
)
def test_deepspeed_topology_refuses_axes_it_does_not_know(job, got):
    with pytest.raises(InputError, match=f"pipe, data and model of one module; got {got}"):
        export(plan_of(job, 2), "deepspeed-topology")


def test_jax_permutations_name_the_same_devices():
    plan = interleaved()
    layout = json.loads(export(plan, "jax")["jax.json"])
    per_gpu = np.array(layout["process_per_gpu"]["decoder"])
    per_host = np.array(layout["process_per_host"]["decoder"])
    assert layout["hosts"] == plan.hosts
    # Device k of `jax.devices()` with a process a host is the k-th of all hosts' GPUs.
    of_host = [
        (h, g) for h, gpus in zip(layout["hosts"], layout["gpus"], strict=True) for g in gpus
    ]
    seats = [(plan.hosts[h], g) for h, g in zip(plan.seats.host, plan.seats.gpu, strict=True)]
    for rank, device in zip(per_gpu.ravel(), per_host.ravel(), strict=True):
        assert of_host[device] == seats[rank]
