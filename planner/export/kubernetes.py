"""Kubernetes: a JobSet with one replicated job a node, since nothing pins index i to node j."""

import json
from typing import Any

import numpy as np
import yaml

from planner.errors import Complaint, InputError
from planner.export.names import labels
from planner.export.numbering import View
from planner.wording import counted

NAME = "train"
PORT = "29500"
MAX_BYTES = 1_572_864
"""Largest object etcd takes with its default settings; it keeps custom resources as JSON."""

_HEAD = """\
# kubectl apply -f jobset.yaml, with the image and the command of your trainer put in.
# Each pod asks for every GPU its node offers, so that CUDA_VISIBLE_DEVICES chooses among all.
"""

_ACTUAL_NODE = {
    "name": "PLANNER_HOST",
    "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}},
}
"""For `planner check`: where the pod really runs, not where the plan wants it."""


def files(view: View) -> dict[str, str]:
    """``jobset.yaml`` (jobset.x-k8s.io/v1alpha2): node i of the plan is replicated job n<i>.

    Raises:
        InputError: some host's ranks are not one run, a host name is no label value, or the
            object would be larger than a cluster takes.
    """
    view.require_runs("kubernetes")
    jobs = [_replicated_job(view, i, host) for i, host in enumerate(labels(view.hosts, "nodes"))]
    spec = {
        "network": {"enableDNSHostnames": True, "subdomain": NAME},
        "replicatedJobs": jobs,
    }
    jobset = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": NAME},
        "spec": spec,
    }
    size = len(json.dumps(jobset, separators=(",", ":")))
    if size > MAX_BYTES:
        raise InputError(
            Complaint(
                "$.hosts",
                "one JobSet cannot hold so many nodes",
                got=f"{size} bytes for {counted(len(jobs), 'node')}",
                expected=f"at most {MAX_BYTES} bytes",
                remedy="start the pods by other means and use --to torchrun inside them",
            )
        )
    return {"jobset.yaml": _HEAD + yaml.safe_dump(jobset, sort_keys=False)}


def _replicated_job(view: View, i: int, host: str) -> dict[str, Any]:
    env = {
        "NODE_RANK": str(i),
        "MASTER_ADDR": f"{NAME}-n0-0-0.{NAME}",
        "MASTER_PORT": PORT,
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": ",".join(_devices(view, i, host)),
    }
    torchrun = {
        "--nnodes": str(len(view.hosts)),
        "--nproc-per-node": str(view.local_sizes[i]),
        "--node-rank": str(i),
        "--master-addr": "$(MASTER_ADDR)",
        "--master-port": "$(MASTER_PORT)",
    }
    container = {
        "name": "trainer",
        "image": "example.invalid/trainer:1",
        "env": [
            *({"name": name, "value": _literal(value)} for name, value in env.items()),
            _ACTUAL_NODE,
        ],
        "command": ["torchrun", *(word for pair in torchrun.items() for word in pair), "train.py"],
        "resources": {"limits": {"nvidia.com/gpu": len(_offered(view, i))}},
    }
    pod = {
        "restartPolicy": "Never",
        "nodeSelector": {"kubernetes.io/hostname": host},
        "containers": [container],
    }
    job = {"parallelism": 1, "completions": 1, "backoffLimit": 0, "template": {"spec": pod}}
    return {"name": f"n{i}", "replicas": 1, "template": {"spec": job}}


def _literal(value: str) -> str:
    """A value in which Kubernetes finds no $(VARIABLE) to replace."""
    return value.replace("$", "$$")


def _offered(view: View, i: int) -> list[int]:
    """GPU indices the node's device plugin hands out: those not offline."""
    machines = view.plan.machines
    node = int(view.plan.seats.hosts[i])
    first = int(machines.first_device[node])
    online = machines.online[first : first + int(machines.gpus[node])]
    offered: list[int] = np.flatnonzero(online).tolist()
    return offered


def _devices(view: View, i: int, host: str) -> list[str]:
    """The node's devices in local-rank order: UUIDs, else positions among those offered."""
    uuids = view.plan.machines.uuids.get(host)
    if uuids:
        return [uuids[gpu] for gpu in view.gpus_of[i]]
    position = {gpu: str(place) for place, gpu in enumerate(_offered(view, i))}
    return [position[gpu] for gpu in view.gpus_of[i]]
