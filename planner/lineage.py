"""What a replanned plan states about the plan it came from: the hash, and who moved where."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from planner.feasibility import Violation, seat
from planner.machines import Ints, Machines
from planner.wording import counted


class Place(BaseModel):
    """A GPU of a host."""

    model_config = ConfigDict(extra="allow", strict=True)

    host: str
    gpu: int


class Move(BaseModel):
    """A rank that sits on another GPU than in the old plan."""

    model_config = ConfigDict(extra="allow", strict=True)

    rank: int
    source: Place = Field(alias="from")
    target: Place = Field(alias="to")


class Lineage(BaseModel):
    """The `replan` block of a plan file.

    Attributes:
        from_sha256: hash of the old plan file.
        best_cost: least cost found for the machines, whatever it moves.
        moves_bound: proven lower bound on the moves of every plan as good as was asked for.
        moves: by rank.
    """

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)

    from_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    best_cost: int | float
    moves_bound: int
    moves: list[Move]


def move_entries(old: Machines, before: Ints, new: Machines, after: Ints) -> list[dict[str, Any]]:
    """The list of moves between two placements ([world] each) on two states of the machines.

    Example:
        >>> from planner.spec.cluster import Cluster
        >>> two = Cluster(nodes=2, gpus_per_node=1).machines
        >>> move_entries(two, np.array([0]), two, np.array([1]))
        [{'rank': 0, 'from': {'host': 'node0', 'gpu': 0}, 'to': {'host': 'node1', 'gpu': 0}}]
    """
    moved = np.flatnonzero(same_device(old, before, new) != after)
    return [
        {"rank": rank, "from": place(old, before[rank]), "to": place(new, after[rank])}
        for rank in moved.tolist()
    ]


def place(machines: Machines, device: np.int64) -> dict[str, Any]:
    """Host and GPU of a device."""
    host = machines.hosts[int(machines.device_node[device])]
    return {"host": host, "gpu": int(machines.device_gpu[device])}


def same_device(old: Machines, devices: Ints, new: Machines) -> Ints:
    """[n] number of each device in another state of the machines, -1 where it is not there."""
    of_node = np.array([new.node_index.get(host, -1) for host in old.hosts], np.int64)
    node, gpu = of_node[old.device_node[devices]], old.device_gpu[devices]
    there = (node >= 0) & (gpu < new.gpus[node])
    return np.where(there, new.first_device[node] + gpu, -1)


def violations(
    lineage: Lineage | None, cost: float, machines: Machines, placement: Ints
) -> Iterator[Violation]:
    """What a `replan` block states wrongly about its own plan.

    Args:
        lineage: the block, if the plan has one.
        cost: the plan's recomputed cost.
        machines: the machines of the plan.
        placement: [world] device of each rank.
    """
    if lineage is None:
        return
    ranks = [move.rank for move in lineage.moves]
    if ranks != sorted(set(ranks)) or (ranks and not 0 <= ranks[0] <= ranks[-1] < len(placement)):
        yield Violation("replan", "$.replan.moves", "must name ranks of the job, ascending")
        return
    for i, move in enumerate(lineage.moves):
        here = place(machines, placement[move.rank])
        if move.target.model_dump() != here:
            text = f"rank {move.rank} sits at {seat(machines, placement[move.rank])}"
            yield Violation("replan", f"$.replan.moves[{i}].to", text)
            return
        if move.source.model_dump() == here:
            text = f"rank {move.rank} did not move"
            yield Violation("replan", f"$.replan.moves[{i}].from", text)
            return
    if not 0 <= lineage.moves_bound <= len(ranks):
        text = f"{lineage.moves_bound} is not between 0 and the {counted(len(ranks), 'move')}"
        yield Violation("replan", "$.replan.moves_bound", text)
    if lineage.best_cost > cost:
        text = f"states {lineage.best_cost}, but this plan costs {cost}"
        yield Violation("replan", "$.replan.best_cost", text)
    lost = _lost(lineage, machines)
    if lineage.moves_bound < lost:
        text = f"{counted(lost, 'rank')} had a GPU that is gone"
        yield Violation("replan", "$.replan.moves_bound", text)


def _lost(lineage: Lineage, machines: Machines) -> int:
    """Moves away from GPUs that the machines no longer offer."""
    gone = 0
    for move in lineage.moves:
        node = machines.node_index.get(move.source.host)
        there = node is not None and 0 <= move.source.gpu < int(machines.gpus[node])
        gone += not (there and machines.online[machines.device(move.source.host, move.source.gpu)])
    return gone
