"""Rank to host, local rank and GPU, for people who start the processes themselves."""

import json
from typing import Any

from planner.export.names import host_patterns
from planner.export.numbering import View
from planner.export.wrapper import script, tables

_SOURCED = "# Source with RANK set (RANK=5; . ./env.sh): sets the other variables of that rank.\n"

_NODES = """\
# Source on a node: its GPUs in the order of local ranks.
case ${{PLANNER_HOST:-${{SLURMD_NODENAME:-$(hostname)}}}} in
{nodes}
*) echo "nodes.sh: this node holds no rank of the plan" >&2 ;;
esac
"""


def files(view: View) -> dict[str, str]:
    """The table as JSON and as shell, each node's GPUs in local-rank order, and a wrapper."""
    return {
        "env.json": table(view),
        "env.sh": _SOURCED + tables(view),
        "nodes.sh": _nodes(view),
        "wrap.sh": script(view),
    }


def table(view: View) -> str:
    """The table as JSON, one rank a line; `uuid` stands where the problem states it."""
    head = {"world_size": view.world, "numbering": view.numbering, "master_addr": view.hosts[0]}
    ranks, nodes = _lines(_rank_entries(view)), _lines(_node_entries(view))
    return f'{json.dumps(head)[:-1]},\n "ranks": [{ranks}],\n "nodes": [{nodes}]}}\n'


def _lines(entries: list[dict[str, Any]]) -> str:
    return "\n  " + ",\n  ".join(map(json.dumps, entries)) + "\n "


def _rank_entries(view: View) -> list[dict[str, Any]]:
    uuids = view.plan.machines.uuids
    columns = zip(view.host_of, view.gpu.tolist(), view.local_rank.tolist(), strict=True)
    return [
        {"rank": rank, "host": host, "local_rank": local, "gpu": gpu}
        | ({"uuid": uuids[host][gpu]} if host in uuids else {})
        for rank, (host, gpu, local) in enumerate(columns)
    ]


def _node_entries(view: View) -> list[dict[str, Any]]:
    columns = zip(view.hosts, view.local_sizes, view.visible_devices, strict=True)
    return [
        {
            "host": host,
            "node_rank": i,
            "ranks": size,
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            "CUDA_VISIBLE_DEVICES": devices,
        }
        for i, (host, size, devices) in enumerate(columns)
    ]


def _nodes(view: View) -> str:
    columns = zip(host_patterns(view.hosts), view.visible_devices, strict=True)
    return _NODES.format(
        nodes="\n".join(
            f"{pattern}) export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={devices} ;;"
            for pattern, devices in columns
        )
    )
