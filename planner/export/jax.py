"""JAX: a permutation of `jax.devices()` for a Mesh, which keeps whatever order it is given."""

import json

from planner.export.numbering import View
from planner.grid import MESH_AXES


def files(view: View) -> dict[str, str]:
    """``jax.json``: for each module, positions in `jax.devices()` as an array over ``axes``.

    JAX sorts devices by process. ``process_per_gpu`` holds if process r is rank r with one GPU,
    ``process_per_host`` if process i runs on ``hosts[i]`` and sees its GPUs by ascending index
    (``gpus[i]``). The array is all a Mesh needs::

        devices = np.array(jax.devices())[np.array(layout["process_per_gpu"]["decoder"])]
        mesh = jax.sharding.Mesh(devices, layout["axes"])
    """
    host_rank = view.plan.seats.host_rank
    head = {
        "world_size": view.world,
        "numbering": view.numbering,
        "axes": MESH_AXES,
        "coordinator": view.hosts[0],
        "hosts": view.hosts,
        "gpus": [sorted(gpus) for gpus in view.gpus_of],
    }
    per_gpu = {name: view.mesh(name).tolist() for name in view.modules}
    per_host = {name: host_rank[view.plan.mesh(name)].tolist() for name in view.modules}
    return {
        "jax.json": f"{json.dumps(head)[:-1]},\n"
        f' "process_per_gpu": {json.dumps(per_gpu)},\n'
        f' "process_per_host": {json.dumps(per_host)}}}\n'
    }
