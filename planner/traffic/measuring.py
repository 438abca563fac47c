"""What leaves the domains of every level in one training step, and how long that takes.

The cost has one weight a kind; here every link counts the bytes of its own module and stage.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.grid import Grid, Ints, ModuleGrid
from planner.machines import Level, Machines
from planner.spec.names import LINK_KINDS
from planner.spec.problem import Problem
from planner.spec.traffic import Bandwidth
from planner.traffic.layers import Shard
from planner.traffic.tables import ModuleBytes, Stages, StepBytes

Floats = npt.NDArray[np.float64]
GB = 1e9


@dataclass(frozen=True, eq=False)
class LevelTraffic:
    """What leaves the domains of one level in one step.

    Attributes:
        level: its name.
        out: [kinds, domains] bytes that leave each domain (as many enter it), kinds in the order of
            `LINK_KINDS`.
        seconds: for the domain that takes longest at the level's bandwidth; None without bandwidth.
        names: of the domains.
    """

    level: str
    out: Floats
    seconds: float | None
    names: tuple[str, ...]

    @property
    def total(self) -> float:
        """Bytes that leave the domains together."""
        return float(self.out.sum())

    @property
    def busiest(self) -> tuple[str, float]:
        """The domain that most leaves, and its bytes."""
        by_domain = self.out.sum(axis=0)
        most = int(by_domain.argmax())
        return self.names[most], float(by_domain[most])

    def document(self) -> dict[str, Any]:
        """The level's entry in a plan file; GB to the kilobyte."""
        name, most = self.busiest
        by_kind = dict(zip(LINK_KINDS, self.out.sum(axis=1).tolist(), strict=True))
        entry: dict[str, Any] = {
            "gb": {kind: _gb(size) for kind, size in by_kind.items()},
            "total_gb": _gb(self.total),
            "busiest": {"domain": name, "gb": _gb(most)},
        }
        if self.seconds is not None:
            entry["seconds"] = round(self.seconds, 6)
        return entry


@dataclass(frozen=True, eq=False)
class TrafficReport:
    """Traffic of one training step under a placement.

    Attributes:
        levels: from the finest to the coarsest.
        state_bytes: weights, gradients and optimizer state of the fullest GPU.
        bubble: share of a step a pipeline stage waits, (p - 1) / (v m), for the slowest module.
    """

    levels: tuple[LevelTraffic, ...]
    state_bytes: float
    bubble: float

    def level(self, name: str) -> LevelTraffic:
        """The level of that name; KeyError if there is none."""
        for level in self.levels:
            if level.level == name:
                return level
        raise KeyError(name)

    def document(self) -> dict[str, Any]:
        """The `traffic` block of a plan file: per level GB a step by kind, busiest domain, time."""
        return {level.level: level.document() for level in self.levels}


def measure(problem: Problem, grid: Grid, machines: Machines, placement: Ints) -> TrafficReport:
    """Traffic of a placement ([world] device of each trainer rank); needs `objective.traffic`.

    Example:
        >>> problem = Problem.model_validate({
        ...     "cluster": {"nodes": 2}, "job": {"decoder": {"tp": 8}},
        ...     "objective": {"traffic": {"model": "llama3-8b", "sequence": 8192,
        ...                               "global_batch": 2}}})
        >>> report = measure(problem, Grid.of(problem), problem.cluster.machines, np.arange(16))
        >>> report.level("node").document()["gb"]["dp"]
        48.19275
    """
    traffic = problem.objective.traffic
    if traffic is None:
        raise ValueError("traffic is measured for problems with objective.traffic")
    step = StepBytes.of(problem, traffic)
    bandwidths = {level.name: level.bandwidth for level in problem.cluster.levels}
    bandwidths["node"] = problem.cluster.bandwidth
    levels = tuple(
        _level(grid, step, machines, level, placement, bandwidths[level.name])
        for level in machines.levels
    )
    job = problem.job
    bubble = max((m.pp - 1) / (m.vpp * step.micro_batches) for m in job.modules.values())
    return TrafficReport(levels, _state(problem, step), bubble)


def _level(
    grid: Grid,
    step: StepBytes,
    machines: Machines,
    level: Level,
    placement: Ints,
    bandwidth: Bandwidth | None,
) -> LevelTraffic:
    domain = level.domain[placement]
    out = np.zeros((len(LINK_KINDS), len(level.names)))
    for kind, domains, sent in _flows(grid, step, domain):
        row = out[LINK_KINDS.index(kind)]
        row += np.bincount(domains, sent, minlength=len(row))
    seconds = None
    if bandwidth is not None:
        seconds = float((out.sum(axis=0) / _capacity(machines, level, placement, bandwidth)).max())
    return LevelTraffic(level.name, out, seconds, level.names)


def _capacity(machines: Machines, level: Level, placement: Ints, bandwidth: Bandwidth) -> Floats:
    """[domains] bytes a second out of each domain; infinite where no rank sits.

    `per_gpu` counts the ranks a domain holds, `per_node` the share of each node's GPUs in it.
    """
    if bandwidth.per_gpu is not None:
        each, devices = np.full(len(placement), float(bandwidth.per_gpu)), placement
    else:
        assert bandwidth.per_node is not None
        used = np.isin(machines.device_node, machines.device_node[placement])
        devices = np.flatnonzero(used)
        each = bandwidth.per_node / machines.gpus[machines.device_node[devices]]
    total = np.bincount(level.domain[devices], each, minlength=len(level.names)) * GB
    return np.where(total > 0, total, np.inf)


def _flows(grid: Grid, step: StepBytes, domain: Ints) -> Iterator[tuple[str, Ints, Floats]]:
    """(kind, domains, bytes that leave each through some links); a domain may stand many times."""
    for module in grid.modules:
        held = step.modules[module.name]
        for kind, groups, sent in _rings(grid, module, held):
            yield kind, *_ring_flow(domain[groups], _by_group(grid, groups, sent))
        for kind, groups, sent in _exchanges(grid, module, held):
            yield kind, *_exchange_flow(domain[groups], _by_group(grid, groups, sent))
        chain = module.mesh.reshape(module.shape.pp, -1)
        stages = np.stack([chain[:-1].ravel(), chain[1:].ravel()], axis=1)
        yield "pp", *_pair_flow(domain[stages], float(held.pp))
        if module.shape.vpp > 1:
            wrap = np.stack([chain[-1], chain[0]], axis=1)
            yield "pp", *_pair_flow(domain[wrap], float(held.wrap))
    yield "pp", *_pair_flow(domain[grid.bridge], float(step.bridge))
    yield "embd", *_pair_flow(domain[grid.pairs["embd"]], float(step.embd))


def _rings(grid: Grid, module: ModuleGrid, held: ModuleBytes) -> Iterator[tuple[str, Ints, Stages]]:
    yield "tp", module.vary("tp"), held.tp
    yield "dp", module.vary("dp", "cp"), held.dp
    if any(held.cp_ring):
        groups = _hierarchical(grid, module, 1) if any(held.cp_peer) else module.vary("cp")
        yield "cp", groups, held.cp_ring
    if module.shape.ep > 1:
        yield "expt_tp", module.vary_experts("tp"), held.expt_tp
        yield "expt_dp", module.vary_experts("dp"), held.expt_dp


def _exchanges(
    grid: Grid, module: ModuleGrid, held: ModuleBytes
) -> Iterator[tuple[str, Ints, Stages]]:
    if any(held.cp_peer):
        groups = _hierarchical(grid, module, 0) if any(held.cp_ring) else module.vary("cp")
        yield "cp", groups, held.cp_peer
    if module.shape.ep > 1:
        yield "ep", module.vary_experts("ep"), held.ep_peer


def _hierarchical(grid: Grid, module: ModuleGrid, level: int) -> Ints:
    """Groups of one step of a two-step context exchange: 0 inner all-to-all, 1 outer ring."""
    return grid.groups[f"hcp_{level}"][grid.modules.index(module)]


def _by_group(grid: Grid, groups: Ints, sent: Stages) -> Floats:
    """[groups] bytes of each group, which lies in one stage."""
    return np.array([float(x) for x in sent])[grid.coordinates["pp"][groups[:, 0]]]


def _ring_flow(domain: Ints, sent: Floats) -> tuple[Ints, Floats]:
    """A ring laid out domain by domain leaves each domain it touches once."""
    ordered = np.sort(domain, axis=1)
    first = np.ones(ordered.shape, bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first[first.sum(axis=1) == 1] = False
    return ordered[first], np.repeat(sent, first.sum(axis=1))


def _exchange_flow(domain: Ints, sent: Floats) -> tuple[Ints, Floats]:
    """Every member sends to each peer in another domain; bytes to one peer are given."""
    groups, size = domain.shape
    ordered = np.sort(domain, axis=1)
    first = np.ones(ordered.shape, bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    starts = np.flatnonzero(first.ravel())
    together = np.diff(np.concatenate([starts, [groups * size]]))
    return ordered.ravel()[starts], together * (size - together) * sent[starts // size]


def _pair_flow(domain: Ints, both: float) -> tuple[Ints, Floats]:
    """Half of a pair's bytes leaves at each end."""
    apart = domain[domain[:, 0] != domain[:, 1]].ravel()
    return apart, np.full(len(apart), both / 2)


def _state(problem: Problem, step: StepBytes) -> float:
    """Bytes of the fullest GPU's weights, gradients and Adam states.

    Ψ (e_p + e_g) and 12 bytes an element of master weights and two moments, which the distributed
    optimizer spreads over the ranks that share the parameters (Rajbhandari et al. 2019, arXiv
    1910.02054, section 3.1).
    """
    traffic = problem.objective.traffic
    assert traffic is not None
    kept = traffic.precision.parameters + traffic.precision.gradients
    most = 0.0
    for name, module in problem.resolved.job.modules.items():
        stage = module.tp * module.cp * problem.dp
        ways = {"dense": stage // module.tp, "expert": stage // (module.expert_tp * module.ep)}
        for shard in step.modules[name].shards:
            most = max(most, _shard_state(shard, kept, ways, traffic.distributed_optimizer))
    return most


def _shard_state(shard: Shard, kept: int, ways: dict[str, int], distributed: bool) -> float:
    parts = ((shard.dense, ways["dense"]), (shard.expert, ways["expert"]))
    return sum(float(n) * (kept + 12 / (q if distributed else 1)) for n, q in parts)


def _gb(size: float) -> float:
    return round(size / GB, 6)
