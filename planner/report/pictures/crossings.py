"""Which links of a kind leave a domain, as lines between cells."""

from collections.abc import Iterator

import numpy as np

from planner.grid import Ints
from planner.machines import Level
from planner.plan import Plan
from planner.report.pictures.cells import Cells

MOST_LINES = 4000


def crossing_lines(cells: Cells, kind: str, level: Level) -> tuple[Ints, Ints]:
    """Lines of a kind between domains of a level, equal ones merged, the thickest first.

    A ring goes from domain to domain by its lowest rank in each, an all-to-all from the lowest rank
    of each domain to that of each other.

    Returns:
        [lines, 2] cells at the ends, and [lines] how many links each line stands for.
    """
    plan = cells.plan
    ends = np.concatenate([np.empty((0, 2), np.int64), *_ends(plan, kind, level)])
    lines = np.sort(cells.of_device[plan.placement[ends]], axis=1)
    merged, counts = np.unique(lines, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return merged[order], counts[order]


def _ends(plan: Plan, kind: str, level: Level) -> Iterator[Ints]:
    """[links, 2] ranks at the ends of the links that cross."""
    domain = level.domain[plan.placement]
    pairs = plan.grid.pairs.get(kind)
    if pairs is not None:
        yield pairs[domain[pairs[:, 0]] != domain[pairs[:, 1]]]
    for groups in plan.grid.rings.get(kind, []):
        yield from (_ring(leads) for leads in _leads(groups, domain))
    for groups in plan.grid.exchanges.get(kind, []):
        yield from (_all_pairs(leads) for leads in _leads(groups, domain))


def _leads(groups: Ints, domain: Ints) -> Iterator[Ints]:
    """The lowest rank of each domain a group touches, for the groups that touch several."""
    held = domain[groups]
    for row in np.flatnonzero((held != held[:, :1]).any(axis=1)).tolist():
        first = np.unique(held[row], return_index=True)[1]
        yield groups[row, np.sort(first)]


def _ring(leads: Ints) -> Ints:
    ring = np.stack([leads, np.roll(leads, -1)], axis=1)
    return ring if len(leads) > 2 else ring[:1]


def _all_pairs(leads: Ints) -> Ints:
    a, b = np.triu_indices(len(leads), 1)
    return np.stack([leads[a], leads[b]], axis=1)
