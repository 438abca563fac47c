"""The facts of a plan that fit on one screen, as plain data."""

from typing import Any

import numpy as np

from planner.cost import Links
from planner.grid import Grid, Ints
from planner.machines import Level
from planner.plan import Plan
from planner.rails import rail_counts
from planner.spec.names import LINK_KINDS


def summary(plan: Plan) -> dict[str, Any]:
    """Status, costs, links before and after, hosts, idle GPUs and dataset slots of a plan."""
    problem = plan.problem.resolved
    return {
        "status": plan.solver["status"],
        "cost": plan.solver["cost"],
        "bound": plan.solver["bound"],
        "gap": plan.solver["gap"],
        "baseline_cost": plan.baseline["cost"],
        "world_size": plan.grid.world,
        "job": {
            **{name: m.model_dump() for name, m in problem.job.modules.items()},
            "dp": plan.grid.dp,
            "order": problem.job.order,
        },
        "links": plan.links,
        "baseline_links": plan.baseline["links"],
        "traffic": plan.traffic,
        "baseline_traffic": plan.baseline.get("traffic"),
        "cp_ring": ring_crossings(plan),
        "on_rail": on_rail(plan),
        "proof": plan.solver.get("levels", []),
        "hosts": len(plan.hosts),
        "master": plan.hosts[0],
        "idle": [f"{host} GPU {gpu}" for host, gpu in _idle(plan)],
        "dataset_slots": datasets_per_host(plan),
        "warnings": problem.job.warnings(),
        "seconds": plan.solver.get("seconds"),
    }


def _idle(plan: Plan) -> list[tuple[str, int]]:
    machines = plan.machines
    nodes = machines.device_node[plan.idle].tolist()
    return [
        (machines.hosts[n], g)
        for n, g in zip(nodes, machines.device_gpu[plan.idle].tolist(), strict=True)
    ]


def datasets_per_host(plan: Plan) -> dict[str, int]:
    """How many hosts hold how many dataset slots, as "slots a host": hosts; file-system load."""
    per_host = np.bincount(plan.seats.host[plan.grid.dataset], minlength=len(plan.hosts))
    slots, hosts = np.unique(per_host, return_counts=True)
    return {str(s): h for s, h in zip(slots.tolist(), hosts.tolist(), strict=True)}


def on_rail(plan: Plan) -> dict[str, int]:
    """Links that leave a node, and how many of them stay on their rail."""
    counts = rail_counts(plan.grid, plan.machines, plan.placement).values()
    return {"aligned": sum(good for good, _ in counts), "links": sum(n for _, n in counts)}


def ring_crossings(plan: Plan) -> dict[str, int]:
    """Borders the CP ring crosses in cp order, by level; beside the links counted for `cp`."""
    return {
        level.name: _crossings(plan.grid, level, plan.placement) for level in plan.machines.levels
    }


def _crossings(grid: Grid, level: Level, placement: Ints) -> int:
    total = 0
    for module in grid.modules:
        domain = level.domain[placement[module.mesh]]
        if module.shape.cp == 2:  # both directions of a ring of two are one border each
            total += 2 * int(np.count_nonzero(domain[:, :, 0] != domain[:, :, 1]))
        elif module.shape.cp > 2:
            total += int(np.count_nonzero(domain != np.roll(domain, -1, axis=2)))
    return total


def occurring_kinds(plan: Plan) -> list[str]:
    """Link kinds that the job has at all, in report order."""
    grid = plan.grid
    has = {kind: any(g.shape[1] > 1 for g in family) for kind, family in grid.rings.items()}
    for kind, family in grid.exchanges.items():
        has[kind] = has.get(kind, False) or any(g.shape[1] > 1 for g in family)
    has |= {kind: len(pairs) > 0 for kind, pairs in grid.pairs.items()}
    return [kind for kind in LINK_KINDS if has[kind]]


def before_after(plan: Plan) -> list[tuple[str, str, int, int]]:
    """(level, kind, Megatron's links, the plan's links) for every kind the job has."""
    before: Links = plan.baseline["links"]
    return [
        (level, kind, before[level][kind], plan.links[level][kind])
        for level in plan.links
        for kind in occurring_kinds(plan)
    ]
