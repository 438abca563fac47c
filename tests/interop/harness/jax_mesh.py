"""jax_mesh.py EXPORTED PLAN: meshes of every module, and what an all-gather over tp collects."""

import json
import sys
from functools import partial
from pathlib import Path

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import planner.runtime.jax


def described(mesh):
    """Device ids by coordinate, and the ids in the order an all-gather over tp visits them."""
    ids = np.vectorize(lambda device: device.id)(mesh.devices)
    spec = PartitionSpec(*mesh.axis_names)
    placed = jax.device_put(ids, NamedSharding(mesh, spec))
    everywhere = PartitionSpec(*mesh.axis_names, None)

    @partial(jax.shard_map, mesh=mesh, in_specs=spec, out_specs=everywhere, check_vma=False)
    def gather(mine):
        return jax.lax.all_gather(mine.ravel(), "tp").reshape(1, 1, 1, 1, -1)

    gathered = np.asarray(gather(placed))
    assert (gathered == gathered[..., :1, :]).all(), "members of one group saw different orders"
    rows = gathered[..., 0, :].reshape(-1, gathered.shape[-1]).tolist()
    return {"mesh": ids.tolist(), "gathered": rows}


def main():
    layout = json.loads(Path(sys.argv[1]).read_text())
    devices = np.array(jax.devices())
    out = {"helper": {}}
    for way in ("process_per_gpu", "process_per_host"):
        out[way] = {
            module: described(Mesh(devices[np.array(order)], layout["axes"]))
            for module, order in layout[way].items()
        }
    for module in layout["process_per_gpu"]:
        out["helper"][module] = described(planner.runtime.jax.mesh(sys.argv[2], module))
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
