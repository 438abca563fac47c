"""Ray: a placement group whose bundle r lands on the host of rank r."""

import json

from planner.export.names import labels
from planner.export.numbering import View

LABEL = "planner.host"
"""Node label that carries the plan's host name: `ray start --labels planner.host=NAME`."""


def files(view: View) -> dict[str, str]:
    """``ray.json``: arguments of `ray.util.placement_group`, and GPU and local rank by bundle.

    Ray hands out GPU indices by start order: start workers with
    RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES=1 and set CUDA_VISIBLE_DEVICES from ``gpu``.

    Raises:
        InputError: a host name is no label value.
    """
    labels(view.hosts, "Ray nodes")
    selectors = ",\n  ".join(json.dumps({LABEL: host}) for host in view.host_of)
    bundles = ", ".join(['{"GPU": 1}'] * view.world)
    return {
        "ray.json": f'{{"world_size": {view.world}, "master": {json.dumps(view.hosts[0])},\n'
        f' "bundles": [{bundles}],\n "bundle_label_selector": [\n  {selectors}\n ],\n'
        f' "gpu": {json.dumps(view.gpu.tolist())},\n'
        f' "local_rank": {json.dumps(view.local_rank.tolist())}}}\n'
    }
