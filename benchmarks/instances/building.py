"""Clusters, jobs and whole documents from a few numbers."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.spec.problem import Problem

Json = dict[str, Any]


@dataclass(frozen=True)
class Instance:
    """A problem under a name.

    Attributes:
        name: unique over all families.
        document: the problem file.
    """

    name: str
    document: Json

    def problem(self) -> Problem:
        """The problem, checked."""
        return Problem.model_validate(self.document)


def module(tp: int, cp: int = 1, pp: int = 1, **more: int) -> Json:
    """Sizes of a module; `more` is ep, etp or vpp.

    Example:
        >>> module(6, pp=2)
        {'tp': 6, 'cp': 1, 'pp': 2}
    """
    return {"tp": tp, "cp": cp, "pp": pp, **more}


def instance(
    name: str,
    cluster: Json,
    decoder: Json,
    dp: int,
    *,
    encoder: Json | None = None,
    weights: Mapping[str, int] | None = None,
    constraints: Json | None = None,
    **job: Any,
) -> Instance:
    """An instance from its parts; `job` holds whatever else belongs into the job block."""
    document: Json = {"cluster": cluster, "job": {"decoder": decoder, "dp": dp, **job}}
    if encoder is not None:
        document["job"]["encoder"] = encoder
    if weights is not None:
        document["objective"] = {"weights": dict(weights)}
    if constraints is not None:
        document["constraints"] = constraints
    return Instance(name, document)


def even(nodes: int, gpus: int = 8, *levels: Json, **more: Any) -> Json:
    """Nodes that are all alike."""
    cluster: Json = {"nodes": nodes, "gpus_per_node": gpus, **more}
    return cluster | ({"levels": list(levels)} if levels else {})


def mixed(gpus: Sequence[int], offline: Mapping[int, Sequence[int]] | None = None) -> Json:
    """Nodes with the given numbers of GPUs, and the dead GPUs of some of them by node number.

    Example:
        >>> mixed([8, 4], {1: [0]})["nodes"][1]
        {'name': 'n1', 'gpus': 4, 'offline': [0]}
    """
    nodes: list[Json] = [{"name": f"n{i}", "gpus": g} for i, g in enumerate(gpus)]
    for node, dead in (offline or {}).items():
        nodes[node]["offline"] = list(dead)
    return {"nodes": nodes}


def dead(nodes: int, step: int, *, first: int = 0, stride: int = 0) -> Json:
    """Nodes of 8 of which every `step`-th has one dead GPU.

    Args:
        nodes: how many.
        step: distance between two nodes with a dead GPU.
        first: the first such node.
        stride: how far the dead GPU's index moves from one such node to the next.
    """
    hit = range(first, nodes, step)
    return mixed([8] * nodes, {node: [i * stride % 8] for i, node in enumerate(hit)})


def leaves(sizes: Sequence[int], *, weight: int = 1) -> Json:
    """Even nodes of 8 under leaves with the given numbers of nodes.

    Example:
        >>> leaves([2, 1])["levels"][0]["domains"]
        {'leaf0': 'node[0-1]', 'leaf1': 'node[2-2]'}
    """
    return even(sum(sizes), 8, {"name": "leaf", "weight": weight, "domains": runs("node", sizes)})


def runs(node: str, sizes: Sequence[int]) -> dict[str, str]:
    """Domains of consecutive nodes with the given sizes."""
    domains, start = {}, 0
    for i, size in enumerate(sizes):
        domains[f"leaf{i}"] = f"{node}[{start}-{start + size - 1}]"
        start += size
    return domains


def uneven(nodes: int, low: int, high: int, seed: int) -> list[int]:
    """Seeded leaf sizes between `low` and `high` that add up to `nodes`; the last may be smaller.

    Example:
        >>> sum(uneven(100, 10, 20, 1))
        100
    """
    rng = random.Random(seed)
    sizes: list[int] = []
    while sum(sizes) < nodes:
        sizes.append(min(rng.randint(low, high), nodes - sum(sizes)))
    return sizes


def consecutive(name: str, nodes: int, weight: float = 1) -> Json:
    """A level of equal domains of consecutive nodes."""
    return {"name": name, "nodes_per_domain": nodes, "weight": weight}
