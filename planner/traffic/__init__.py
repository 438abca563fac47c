"""Bytes of a training step: a formula a kind, the weights they give links, what leaves a domain.

Units cross here and nowhere else: inside, bytes of a step; in reports, GB (10^9 bytes) and seconds.
"""

from planner.traffic.measuring import TrafficReport, measure
from planner.traffic.tables import StepBytes
from planner.traffic.weights import exact, kind_weights

__all__ = ["StepBytes", "TrafficReport", "exact", "kind_weights", "measure"]
