"""From "which domain" to "which device": slots dealt inside the domains of one level.

A formulation of one level says which domain holds each slot. Finer levels are filled by taking
slots in an order that keeps groups together, device after device.
"""

from collections.abc import Iterator

import numpy as np

from planner.baseline import device_orders
from planner.grid import Ints
from planner.solver.state import Search

_ORDERS = (
    ("tp", "cp", "pp", "dp"),
    ("tp", "cp", "dp", "pp"),
    ("tp", "pp", "cp", "dp"),
    ("tp", "dp", "cp", "pp"),
)
"""Coordinates by which slots are taken inside a domain, fastest first."""


def seatings(search: Search, level: int, domain_of: Ints) -> Iterator[Ints]:
    """[world] placements that put every rank into its domain of a level.

    Args:
        search: the search.
        level: index of the level.
        domain_of: [world] domain of each trainer rank; no domain beyond its capacity.
    """
    at = search.grid.coordinates
    torn = _torn(search, domain_of)
    domains = search.machines.levels[level].domain
    for order in device_orders(search.machines, search.grid.world):
        devices = order[np.argsort(domains[order], kind="stable")]
        starts = np.searchsorted(domains[devices], np.arange(domains.max() + 1))
        for axes in _ORDERS:
            keys = [*(at[axis] for axis in axes), at["module"], torn, domain_of]
            slots = np.lexsort(keys)
            held = domain_of[slots]
            nth = np.arange(len(slots)) - np.searchsorted(held, held)
            placement = np.empty_like(domain_of)
            placement[slots] = devices[starts[held] + nth]
            yield placement


def _torn(search: Search, domain_of: Ints) -> Ints:
    """[world] 0 where the whole (stage, copy) block of a rank lies in its domain, else 1.

    Whole blocks go first: they fill finer domains evenly, and the pieces that do not share what is
    left over.
    """
    torn = np.zeros_like(domain_of)
    for blocks in search.grid.groups["tp_cp"]:
        held = domain_of[blocks]
        torn[blocks] = (held.min(axis=1) != held.max(axis=1))[:, None]
    return torn
