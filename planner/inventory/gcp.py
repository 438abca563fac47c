"""What ``gcloud compute instances list --format=json`` prints: where in the building a VM runs.

``resourceStatus.physicalHostTopology`` tells cluster, block, sub-block and host; older answers have
``resourceStatus.physicalHost``, which is ``/block/sub-block/host``. One VM fills a host.
"""

from __future__ import annotations

import re

from planner.inventory.documents import Value, read_json
from planner.inventory.lines import host_name
from planner.inventory.model import Inventory, Node, distinct, refuse
from planner.inventory.switches import levels_of_paths

_GPUS = re.compile(r".*-([0-9]{1,3})g(?:-[a-z]+)?")
_UP = ("RUNNING", "PROVISIONING", "STAGING", "REPAIRING")


def parse(text: str, source: str) -> Inventory:
    """Read a list of instances.

    Instances without a place are set aside; GPUs come from ``guestAccelerators`` or the name of the
    machine type (``a3-megagpu-8g``).

    Raises:
        InputError: Not such a list, an instance that stands twice, or one with two places.
    """
    document = read_json(text, source)
    if isinstance(document.raw, dict):
        document = document.get("items") or Value([document.raw], source)
    nodes: list[Node] = []
    paths: dict[str, list[str]] = {}
    for instance in document.each():
        name = instance.require("name")
        path = _path(instance)
        aside = None if path else "no physical host: not placed by topology"
        status = instance.get("status")
        down = status.text() if status and status.text() not in _UP else None
        host = host_name(name.text(), name.where)
        nodes.append(Node(host, instance.where, _gpus(instance), down=down, aside=aside))
        if path:
            paths[host] = path
    levels, notes = levels_of_paths(source, paths)
    return Inventory(distinct(nodes), levels, notes=notes)


def _path(instance: Value) -> list[str]:
    """Return sub-block, block and cluster, as far as they are told."""
    topology = instance.find("resourceStatus", "physicalHostTopology")
    old = instance.find("resourceStatus", "physicalHost")
    short = [part for part in old.text().split("/") if part][:-1][::-1] if old else []
    if topology is None:
        return short
    names = (("subblock", "subBlock"), ("block",), ("cluster",))
    found = [next((v for key in keys if (v := topology.get(key))), None) for keys in names]
    path = [value.text() for value in found if value is not None]
    if len(short) == 2 and len(path) > 1 and path[:2] != short:
        got = f"'{path[1]}/{path[0]}', and '{'/'.join(reversed(short))}' in physicalHost"
        raise refuse(topology.where, "two places of one instance", got=got)
    return path


def _gpus(instance: Value) -> int | None:
    accelerators = instance.get("guestAccelerators")
    if accelerators is not None:
        counts = [a.require("acceleratorCount").count() for a in accelerators.each()]
        if counts:
            return sum(counts)
    kind = instance.get("machineType")
    match = _GPUS.fullmatch(kind.text()) if kind else None
    return int(match[1]) if match else None
