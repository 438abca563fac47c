"""torch_ranks.py PLAN OUT: every rank of a plan as a process of gloo, forked after one import.

Each rank writes OUT/RANK.json: sums of an all-reduce in each of its groups, its DeviceMesh's
coordinates, and one training step of `step.py`.
"""

import json
import os
import sys
import traceback
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

sys.path.insert(0, str(Path(__file__).parent))

import step

import planner.runtime.torch as groups_of


def marks(group):
    """Bit r is set where rank r is a member: the sum of one bit a rank."""
    value = torch.tensor([1 << dist.get_rank()], dtype=torch.int64)
    dist.all_reduce(value, group=group)
    return int(value)


def gathered(group):
    """Ranks in the order an all-gather visits them."""
    size = dist.get_world_size(group)
    out = [torch.zeros(1, dtype=torch.int64) for _ in range(size)]
    dist.all_gather(out, torch.tensor([dist.get_rank()]), group=group)
    return [int(value) for value in out]


def run(rank, plan):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=os.environ["STORE"], rank=rank, world_size=int(os.environ["WORLD"])
    )
    groups = groups_of.init_groups(plan, device_type="cpu")
    mesh: DeviceMesh = groups.mesh
    report = {
        "sums": {name: [marks(g) for g in of] for name, of in groups.families.items()},
        "bridge": {f"{a},{b}": marks(g) for (a, b), g in groups.bridge.items()},
        "communicators": len(dist.distributed_c10d._world.pg_map),
        "module": groups.module,
        "coordinates": groups.coordinates,
        "mesh": dict(zip(mesh.mesh_dim_names, mesh.get_coordinate(), strict=True)),
        "place": {axis: mesh.get_local_rank(axis) for axis in mesh.mesh_dim_names},
        "along": {axis: gathered(mesh.get_group(axis)) for axis in mesh.mesh_dim_names},
        "step": step.train(groups),
    }
    dist.barrier()
    dist.destroy_process_group()
    return report


def main():
    plan, out = sys.argv[1], Path(sys.argv[2])
    world = json.loads(Path(plan).read_text())["world_size"]
    os.environ.update(WORLD=str(world), STORE=f"file://{out}/store")
    children = []
    for rank in range(world):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                (out / f"{rank}.json").write_text(json.dumps(run(rank, plan)))
                code = 0
            except BaseException:  # noqa: BLE001 - a forked child must not go on as its parent
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    sys.exit(max(map(abs, codes)))


if __name__ == "__main__":
    main()
