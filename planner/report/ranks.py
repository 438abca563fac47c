"""Where one rank sits, whom it talks to, and which of its links cross what."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from planner.grid import Ints
from planner.lineage import place
from planner.plan import Plan

_SHOWN = 8


def rank_facts(plan: Plan, rank: int) -> dict[str, Any]:
    """A rank's seat, its groups, and its links with the levels they cross, as plain data.

    Args:
        plan: the plan.
        rank: a trainer rank of it.

    Example:
        >>> import planner
        >>> problem = planner.Problem.model_validate({"cluster": {"nodes": 2, "gpus_per_node": 1},
        ...     "job": {"decoder": {"pp": 2}}})
        >>> rank_facts(planner.solve(problem), 1)["links"]
        [{'kind': 'pp', 'shape': 'pair', 'with': [0], 'crosses': {'node': 2}}]
    """
    grid, seats, machines = plan.grid, plan.seats, plan.machines
    at = {axis: int(values[rank]) for axis, values in grid.coordinates.items()}
    device = plan.placement[rank]
    return {
        "rank": rank,
        **place(machines, device),
        "local_rank": int(seats.local_rank[rank]),
        "host_rank": int(seats.host_rank[rank]),
        "dataset": bool(grid.dataset[rank]),
        **at,
        "module": grid.modules[at["module"]].name,
        "domains": {
            level.name: level.names[int(level.domain[device])] for level in machines.levels
        },
        "groups": {
            name: [int(r) for r in row] for name, row in _rows(grid.groups, rank) if len(row) > 1
        },
        "links": list(_links(plan, rank)),
    }


def _rows(families: dict[str, list[Ints]], rank: int) -> Iterator[tuple[str, Ints]]:
    """(name, members) of the groups that hold a rank."""
    for name, family in families.items():
        for groups in family:
            for row in groups[(groups == rank).any(axis=1)]:
                yield name, row


def _links(plan: Plan, rank: int) -> Iterator[dict[str, Any]]:
    grid = plan.grid
    for shape, families in (("ring", grid.rings), ("all-to-all", grid.exchanges)):
        for kind, row in _rows(families, rank):
            if len(row) > 1:
                others = [int(r) for r in row if r != rank]
                yield _link(plan, kind, shape, row, others)
    for kind, pairs in grid.pairs.items():
        for pair in pairs[(pairs == rank).any(axis=1)]:
            yield _link(plan, kind, "pair", pair, [int(r) for r in pair if r != rank])


def _link(plan: Plan, kind: str, shape: str, row: Ints, others: list[int]) -> dict[str, Any]:
    touched = {
        level.name: len(np.unique(level.domain[plan.placement[row]]))
        for level in plan.machines.levels
    }
    crossed = {name: count for name, count in touched.items() if count > 1}
    return {"kind": kind, "shape": shape, "with": others, "crosses": crossed}


def rank_text(plan: Plan, rank: int) -> str:
    """The same in lines for people."""
    facts = rank_facts(plan, rank)
    module = f"{facts['module']} " if len(plan.grid.modules) > 1 else ""
    at = " ".join(f"{axis} {facts[axis]}" for axis in ("pp", "dp", "cp", "tp"))
    where = " in ".join(f"{level} {name}" for level, name in facts["domains"].items())
    seat = f"{facts['host']} GPU {facts['gpu']}"
    lines = [
        f"rank {rank}: {seat}, local rank {facts['local_rank']}, host rank {facts['host_rank']}",
        f"{module}{at}" + ("; builds datasets" if facts["dataset"] else ""),
        f"in {where}",
        "links",
        *(f"  {_link_text(plan, link)}" for link in facts["links"]),
        "groups",
        *(f"  {name}: {_members(row)}" for name, row in facts["groups"].items()),
    ]
    return "\n".join(lines)


def _link_text(plan: Plan, link: dict[str, Any]) -> str:
    others = link["with"]
    if link["shape"] == "pair":
        seat = place(plan.machines, plan.placement[others[0]])
        whom = f"rank {others[0]} ({seat['host']} GPU {seat['gpu']})"
    else:
        whom = f"{link['shape']} with {_members(others)}"
    finest = plan.machines.levels[0].name
    if not link["crosses"]:
        return f"{link['kind']}: {whom}: stays inside the {finest}"
    if link["shape"] == "pair":
        return f"{link['kind']}: {whom}: leaves the {', the '.join(link['crosses'])}"
    touched = ", ".join(f"{n} {level} domains" for level, n in link["crosses"].items())
    return f"{link['kind']}: {whom}: spread over {touched}"


def _members(ranks: list[int]) -> str:
    shown = ", ".join(map(str, ranks[:_SHOWN]))
    return shown if len(ranks) <= _SHOWN else f"{shown}, ... ({len(ranks)} in all)"
