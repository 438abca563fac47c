"""What the cells of a picture are and say: a GPU each, or on large machines a node or more each."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from planner.grid import Ints
from planner.machines import Machines
from planner.plan import Plan
from planner.wording import counted

AXES = ("pp", "dp", "cp", "tp", "module", "dataset")
MOST_NODES = 2048  # nodes up to which every GPU is a cell
_MOST_CELLS = 16_384

IDLE, OFFLINE = -1, -2


@dataclass(frozen=True)
class Category:
    """What colours stand for.

    Attributes:
        names: of each category.
        ordered: whether the categories have an order worth showing.
        of_rank: [world] category of each trainer rank.
    """

    names: list[str]
    ordered: bool
    of_rank: Ints


def category(plan: Plan, axis: str) -> Category:
    """Categories of the trainer ranks along an axis; ``tp`` colours whole tensor groups."""
    grid, at = plan.grid, plan.grid.coordinates
    if axis == "module":
        return Category([m.name for m in grid.modules], False, at["module"])
    if axis == "dataset":
        return Category(["no dataset", "builds datasets"], False, grid.dataset.astype(np.int64))
    if axis == "tp":
        groups = np.empty(grid.world, np.int64)
        first = 0
        for family in grid.groups["tp"]:
            groups[family] = first + np.arange(len(family))[:, None]
            first += len(family)
        return Category([f"tp group {i}" for i in range(first)], False, groups)
    if axis == "pp":
        stages = np.cumsum([0, *(m.shape.pp for m in grid.modules)])
        names = [f"{_short(m.name, plan)}pp {p}" for m in grid.modules for p in range(m.shape.pp)]
        return Category(names, True, at["pp"] + stages[at["module"]])
    size = int(at[axis].max()) + 1
    return Category([f"{axis} {i}" for i in range(size)], axis == "dp", at[axis])


def _short(module: str, plan: Plan) -> str:
    return "" if len(plan.grid.modules) == 1 else f"{module} "


class Cells:
    """The cells of a plan's picture.

    Attributes:
        plan: the plan.
        of_device: [devices] cell of each device.
        holder: [cells] number of the innermost box around each cell.
        holders: (level, name) of each innermost box.
        whole: whether each cell is one GPU.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.machines: Machines = plan.machines
        self.whole = len(self.machines.hosts) <= MOST_NODES
        devices = len(self.machines.online)
        self.of_device = np.arange(devices) if self.whole else _gathered(self.machines)
        self.first = np.unique(self.of_device, return_index=True)[1]
        node = self.machines.levels[self.machines.node_level]
        coarser = self.machines.levels[self.machines.node_level + 1 :]
        if self.whole:
            self.holders = [("node", name) for name in node.names]
            self.holder = node.domain[self.first]
        elif coarser:
            self.holders = [(coarser[0].name, name) for name in coarser[0].names]
            self.holder = coarser[0].domain[self.first]
        else:
            self.holders = [("nodes", "")]
            self.holder = np.zeros(len(self.first), np.int64)

    @cached_property
    def rank_of(self) -> Ints:
        """[devices] trainer rank of each device, IDLE or OFFLINE."""
        out = np.where(self.machines.online, IDLE, OFFLINE)
        out[self.plan.placement] = np.arange(self.plan.grid.world)
        return out

    def shown(self, chosen: Category) -> Ints:
        """[cells] category of each cell; of several ranks the commonest; IDLE or OFFLINE."""
        device = np.where(self.rank_of >= 0, chosen.of_rank[self.rank_of], self.rank_of)
        if self.whole:
            return device
        width = len(chosen.names) + 2
        counts = np.unique(self.of_device * width + device + 2, return_counts=True)
        cell, value = counts[0] // width, counts[0] % width - 2
        # Any rank outweighs idle GPUs, those outweigh offline ones.
        order = np.lexsort([-value, counts[1] * (value >= 0), value >= 0, cell])
        last = np.append(np.flatnonzero(np.diff(cell[order])), len(order) - 1)
        found: Ints = value[order][last]
        return found

    def texts(self) -> list[str]:
        """[cells] what hovering shows: rank, host and coordinates, or what is inside."""
        return self._device_texts() if self.whole else self._gathered_texts()

    def _device_texts(self) -> list[str]:
        at = self.plan.grid.coordinates
        modules = [m.name for m in self.plan.grid.modules]
        columns = [at[axis].tolist() for axis in ("module", "pp", "dp", "cp", "tp")]
        several = len(modules) > 1
        out = []
        hosts = self.machines.hosts
        places = zip(
            self.rank_of.tolist(),
            self.machines.device_node.tolist(),
            self.machines.device_gpu.tolist(),
            strict=True,
        )
        for rank, node, gpu in places:
            if rank < 0:
                state = "idle" if rank == IDLE else "offline"
                out.append(f"{hosts[node]} GPU {gpu}: {state}")
                continue
            m, pp, dp, cp, tp = (column[rank] for column in columns)
            module = f"{modules[m]} " if several else ""
            out.append(
                f"rank {rank}: {hosts[node]} GPU {gpu}; {module}pp {pp} dp {dp} cp {cp} tp {tp}"
            )
        return out

    def _gathered_texts(self) -> list[str]:
        held = self.rank_of >= 0
        ranks = np.bincount(self.of_device[held], minlength=len(self.first))
        lowest = np.full(len(self.first), self.plan.grid.world)
        np.minimum.at(lowest, self.of_device[held], self.rank_of[held])
        node = self.machines.device_node
        last = len(self.of_device) - 1 - np.unique(self.of_device[::-1], return_index=True)[1]
        out = []
        for cell, (a, b) in enumerate(
            zip(node[self.first].tolist(), node[last].tolist(), strict=True)
        ):
            name = self.machines.hosts[a]
            name += "" if a == b else f" to {self.machines.hosts[b]}"
            inside = (
                f"{counted(ranks[cell], 'rank')}, the lowest {lowest[cell]}"
                if ranks[cell]
                else "no rank"
            )
            out.append(f"{name}: {inside}")
        return out


def _gathered(machines: Machines) -> Ints:
    """[devices] cell of each device: its node, or where nodes are too many, a run of nodes."""
    nodes = len(machines.hosts)
    per_cell = -(-nodes // _MOST_CELLS)
    if per_cell == 1:
        return machines.device_node
    coarser = machines.levels[machines.node_level + 1 :]
    if not coarser:
        return machines.device_node // per_cell
    # Runs must not leave their box: number them inside each domain of the next level.
    domain = coarser[0].domain[machines.first_device]
    order = np.argsort(domain, kind="stable")
    starts = np.searchsorted(domain[order], np.arange(len(coarser[0].names)))
    inside = np.empty(nodes, np.int64)
    inside[order] = np.arange(nodes) - starts[domain[order]]
    _, cell = np.unique(domain * nodes + inside // per_cell, return_inverse=True)
    out: Ints = cell[machines.device_node]
    return out
