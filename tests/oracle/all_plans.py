"""Whether a plan exists, by trying every placement; the hard constraints from their definitions.

Devices of one finest domain are interchangeable but for pins, so finest domains are all that is
dealt; pinned slots stay where they are pinned. Meant for at most eight slots.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.errors import InputError
from planner.grid import Grid
from planner.spec.problem import Problem

Ints = npt.NDArray[np.integer]
Bools = npt.NDArray[np.bool_]


def some_plan(data: Mapping[str, Any]) -> bool | None:
    """Whether the problem has a plan, for any number of copies if it states none; None if invalid."""
    job = data.get("job", {})
    if job.get("dp", "auto") != "auto":
        return _has_plan(data)
    verdicts = [_has_plan({**data, "job": {**job, "dp": dp}}) for dp in range(1, 8)]
    known = [verdict for verdict in verdicts if verdict is not None]
    return any(known) if known else None


def _has_plan(data: Mapping[str, Any]) -> bool | None:
    try:
        problem = Problem.model_validate(dict(data))
    except InputError:
        return None
    grid, machines = Grid.of(problem), problem.cluster.machines
    places = _deals(problem, grid)
    good = np.ones(len(places), bool)
    domains = {}
    for level in machines.levels:
        of_place = np.zeros(machines.levels[0].domain.max() + 1, np.int64)
        of_place[machines.levels[0].domain] = level.domain
        domains[level.name] = of_place[places]
    confined = dict(problem.constraints.within) | ({"hcp_0": "node"} if grid.hierarchy else {})
    for name, at in confined.items():
        for groups in grid.groups[name]:
            for group in groups:
                held = domains[at][:, group]
                good &= (held == held[:, :1]).all(axis=1)
    if problem.constraints.cp_symmetry == "footprint":
        for domain in domains.values():
            good &= _alike(grid, domain)
    if problem.constraints.launch == "node-contiguous":
        good &= _runs(domains["node"])
    return bool(good.any())


def _deals(problem: Problem, grid: Grid) -> Ints:
    """[placements, slots] finest domain of each slot, every way that respects capacities and pins."""
    machines = problem.cluster.machines
    finest = machines.levels[0].domain
    room = np.bincount(finest[machines.online], minlength=int(finest.max()) + 1)
    fixed = {}
    for pin in problem.constraints.pins:
        s = pin.slot
        rank = int(grid.mesh(s.module or "decoder")[s.pp, s.dp, s.cp, s.tp])
        fixed[rank] = int(finest[machines.device(pin.host, pin.gpu)])
    found = np.zeros((1, 0), np.int16)
    for slot in range(grid.world):
        later = np.bincount([d for r, d in fixed.items() if r > slot], minlength=len(room))
        grown = []
        for domain in [fixed[slot]] if slot in fixed else range(len(room)):
            reserved = int(later[domain])
            kept = found[np.count_nonzero(found == domain, axis=1) < room[domain] - reserved]
            grown.append(np.hstack([kept, np.full((len(kept), 1), domain, np.int16)]))
        found = np.vstack(grown)
    return found


def _alike(grid: Grid, domain: Ints) -> Bools:
    """[placements] whether context peers lie alike: spans of tensor groups, shares of a ring."""
    good = np.ones(len(domain), bool)
    for module in grid.modules:
        for stage in module.mesh.reshape(-1, module.shape.cp, module.shape.tp):
            spans = np.stack([_touched(domain[:, row]) for row in stage])
            good &= (spans == spans[0]).all(axis=0)
            for ring in stage.T:
                held = domain[:, ring]
                counts = (held[:, :, None] == held[:, None, :]).sum(axis=2)
                good &= counts.max(axis=1) - counts.min(axis=1) <= 1
    return good


def _touched(held: Ints) -> Ints:
    return 1 + (np.diff(np.sort(held, axis=1), axis=1) != 0).sum(axis=1)


def _runs(node: Ints) -> Bools:
    """[placements] whether every node holds consecutive ranks: as many changes as nodes but one."""
    return (np.diff(node, axis=1) != 0).sum(axis=1) == _touched(node) - 1
