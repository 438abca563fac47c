"""What differs between two plans: ranks moved, links and cost, lines of the problem changed."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from planner.feasibility import seat
from planner.lineage import move_entries, same_device
from planner.machines import Machines
from planner.plan import Plan
from planner.spec.names import LINK_KINDS

Change = dict[str, Any]


def difference(old: Plan, new: Plan) -> dict[str, Any]:
    """The differences as plain data.

    Returns:
        ``cost`` and ``bound`` as [old, new]; ``links``: level, kind, old, new where either has any;
        ``machines``: hosts added and removed, GPUs gone offline and come online;
        ``moves``: rank, from, to, or None if the two jobs number different slots; ``problem``:
        path, old, new of every value of the problem that differs (None where one has none).

    Example:
        >>> import planner
        >>> problem = planner.Problem.model_validate({"cluster": {"nodes": 2, "gpus_per_node": 1},
        ...     "job": {"decoder": {"tp": 2}}})
        >>> plan = planner.solve(problem)
        >>> difference(plan, plan)["moves"]
        []
    """
    return {
        "cost": [old.cost, new.cost],
        "bound": [old.solver.get("bound"), new.solver.get("bound")],
        "links": list(_links(old, new)),
        "machines": _machines(old.machines, new.machines),
        "moves": _moves(old, new),
        "problem": list(_changes(_lines(old), _lines(new), "$")),
    }


def _lines(plan: Plan) -> dict[str, Any]:
    """The problem without the list of nodes, which `machines` compares."""
    document = plan.problem.document()
    return {**document, "cluster": {k: v for k, v in document["cluster"].items() if k != "nodes"}}


def _machines(old: Machines, new: Machines) -> dict[str, list[str]]:
    devices = np.arange(len(old.online))
    there = same_device(old, devices, new)
    both = there >= 0
    before, after = old.online[both], new.online[there[both]]
    names = [seat(old, d) for d in devices[both]]
    return {
        "hosts_added": [h for h in new.hosts if h not in old.node_index],
        "hosts_removed": [h for h in old.hosts if h not in new.node_index],
        "gone_offline": [names[i] for i in np.flatnonzero(before & ~after).tolist()],
        "come_online": [names[i] for i in np.flatnonzero(~before & after).tolist()],
    }


def _links(old: Plan, new: Plan) -> Iterator[Change]:
    for level in dict.fromkeys([*old.links, *new.links]):
        for kind in LINK_KINDS:
            before = old.links.get(level, {}).get(kind)
            after = new.links.get(level, {}).get(kind)
            if before or after:
                yield {"level": level, "kind": kind, "old": before, "new": after}


def _moves(old: Plan, new: Plan) -> list[Change] | None:
    job, other = (plan.problem.resolved.job for plan in (old, new))
    same = (job.modules, job.dp, job.order) == (other.modules, other.dp, other.order)
    if not same:
        return None
    return move_entries(old.machines, old.placement, new.machines, new.placement)


def _changes(old: Any, new: Any, path: str) -> Iterator[Change]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from _changes(old.get(key), new.get(key), f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from _changes(a, b, f"{path}[{i}]")
    elif old != new:
        yield {"path": path, "old": old, "new": new}
