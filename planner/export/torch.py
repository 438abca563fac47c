"""torch: mesh arrays of the modules with axis names, and every group."""

import json

from planner.export.numbering import View
from planner.grid import MESH_AXES

FORMAT = "planner.torch"


def files(view: View) -> dict[str, str]:
    """``torch.json``: what `planner.runtime.torch.init_groups` reads beside a plan."""
    meshes = ",\n  ".join(
        f'"{name}": {json.dumps(view.mesh(name).tolist())}' for name in view.modules
    )
    families = ",\n  ".join(f'"{name}": {json.dumps(g)}' for name, g in view.groups.items())
    head = {
        "format": FORMAT,
        "version": 1,
        "world_size": view.world,
        "numbering": view.numbering,
        "axes": MESH_AXES,
    }
    return {
        "torch.json": f"{json.dumps(head)[:-1]},\n"
        f' "meshes": {{\n  {meshes}\n }},\n'
        f' "groups": {{\n  {families}\n }},\n "bridge": {json.dumps(view.bridge)}}}\n'
    }
