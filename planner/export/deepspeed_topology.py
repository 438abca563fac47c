"""DeepSpeed's ProcessTopology: axes, slowest first, and the rank at every coordinate."""

import json

from planner.errors import Complaint, InputError
from planner.export.numbering import View
from planner.grid import MESH_AXES

AXES = {"pp": "pipe", "dp": "data", "tp": "model"}


def files(view: View) -> dict[str, str]:
    """``topology.json``: ``axes`` and ``dims`` for ProcessTopology, ``ranks`` row by row.

    With the trainer's numbering the ranks count up and the topology needs no more; otherwise set
    its mapping: ``topology.mapping = dict(zip(topology.mapping, ranks))``.

    Raises:
        InputError: DeepSpeed's pipeline grid has no such axis.
    """
    _refuse_other_axes(view)
    mesh = view.mesh("decoder")
    named = [t for t in view.plan.problem.job.tokens() if t in AXES]
    slow_first = [*(t for t in AXES if t not in named), *reversed(named)]
    # The context axis has size 1 here; it goes last and drops out.
    array = mesh.transpose([MESH_AXES.index(axis) for axis in (*slow_first, "cp")])
    topology = {
        "world_size": view.world,
        "numbering": view.numbering,
        "axes": [AXES[axis] for axis in slow_first],
        "dims": list(array.shape[:3]),
        "ranks": array.ravel().tolist(),
    }
    return {"topology.json": json.dumps(topology) + "\n"}


def _refuse_other_axes(view: View) -> None:
    job = view.plan.problem.job
    if job.encoder is not None:
        got = "an encoder and a decoder"
    elif job.decoder.cp > 1:
        got = f"cp {job.decoder.cp}"
    elif job.decoder.has_experts:
        got = f"ep {job.decoder.ep}, etp {job.decoder.expert_tp}"
    else:
        return
    raise InputError(
        Complaint(
            "$.problem.job",
            "DeepSpeed's pipeline grid has the axes pipe, data and model of one module",
            got=got,
            remedy="build the groups with --to torch",
        )
    )
