"""Plans placed by hand: no solver, any placement."""

from dataclasses import replace
from typing import Any

import numpy as np

from planner.plan import Plan
from planner.spec.problem import Problem


def make_plan(data: dict[str, Any], placement: list[int]) -> Plan:
    """A plan of a problem with the device of every trainer rank given; it passes verification."""
    problem = Problem.model_validate(data).resolved
    array = np.array(placement, np.int64)
    cost = Plan(problem, array, {}).cost
    solver = {
        "status": "feasible" if cost else "optimal",
        "cost": cost,
        "bound": 0,
        "gap": 1.0 if cost else 0,
        "seed": 0,
    }
    return Plan(problem, array, solver)


FOUR_NODES = {"nodes": "n3,n1,n4,n2", "gpus_per_node": 2}
"""Not in alphabetical order, so that whoever sorts is found out."""


def interleaved() -> Plan:
    """Eight ranks; every node holds two that are not neighbours."""
    job = {"decoder": {"tp": 2, "pp": 2}, "dp": 2}
    return make_plan({"cluster": FOUR_NODES, "job": job}, [0, 2, 4, 6, 7, 5, 3, 1])


def contiguous() -> Plan:
    """Eight ranks in runs of two; two nodes hold theirs on GPU 1 before GPU 0."""
    job = {"decoder": {"tp": 2, "pp": 2}, "dp": 2}
    return make_plan({"cluster": FOUR_NODES, "job": job}, [0, 1, 4, 5, 3, 2, 7, 6])


def uneven() -> Plan:
    """Six ranks in runs of three, one and two on nodes of four GPUs; b has one offline."""
    nodes = ["a", {"name": "b", "offline": [0]}, "c"]
    cluster = {"nodes": nodes, "gpus_per_node": 4}
    return make_plan(
        {"cluster": cluster, "job": {"decoder": {"pp": 2}, "dp": 3}}, [0, 1, 2, 7, 9, 8]
    )


def encoder_decoder() -> Plan:
    """Ten ranks, enc tp 2, dec tp 3, cp 2: lanes that no release of Megatron gets right."""
    job = {"encoder": {"tp": 2, "cp": 2}, "decoder": {"tp": 3, "cp": 2}, "dp": 1}
    cluster = {"nodes": 2, "gpus_per_node": 5}
    return make_plan({"cluster": cluster, "job": job}, [0, 1, 5, 6, 2, 3, 4, 7, 8, 9])


def with_machines(plan: Plan, hosts: list[str], uuids: dict[str, tuple[str, ...]]) -> Plan:
    """The plan with hosts and UUIDs put in that no problem file may hold."""
    machines = replace(plan.machines, hosts=tuple(hosts), uuids=uuids)
    cluster = plan.problem.cluster.model_copy()
    cluster.__dict__["machines"] = machines
    return Plan(plan.problem.model_copy(update={"cluster": cluster}), plan.placement, plan.solver)
