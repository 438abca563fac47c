"""What the planner is compared with; each peer makes a placement, nothing else.

A peer is a function (task, limits) -> [world] device of each trainer rank. It may use the integer
weights of the task, stops at the time limit by itself, and raises `NotApplicable` with a reason
where it cannot take the problem. Costs are counted by `planner.cost`, never by a peer.
"""

from benchmarks.peers.task import Limits, NotApplicable, Peer, Task

__all__ = ["Limits", "NotApplicable", "Peer", "Task"]
