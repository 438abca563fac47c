"""The nodes of a plan as a terminal grid: a row a host, a cell a GPU, equal hosts folded."""

from functools import cached_property
from itertools import groupby

import numpy as np
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from planner.machines import Level
from planner.plan import Plan

_LETTERS = (("pp", "p"), ("dp", "d"), ("cp", "c"), ("tp", "t"))
_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")
_IDLE, _OFFLINE = "--", "xx"


def print_nodes(plan: Plan, console: Console, *, fold: bool = True) -> None:
    """Print the grid; `fold` shows runs of hosts that hold the same pattern once."""
    view = _View(plan)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for level in reversed(view.coarser):
        table.add_column(level.name)
    table.add_column("node")
    for g in range(int(plan.machines.gpus.max())):
        table.add_column(f"GPU {g}", no_wrap=True)
    for run in view.runs(fold=fold):
        table.add_row(*view.places(run[0]), *view.cells(run[0]))
        if len(run) > 1:
            table.add_row(*[""] * len(view.coarser), f"... {len(run) - 1} more alike")
    console.print(view.legend(), highlight=False)
    # A table wider than the terminal keeps its names: the terminal wraps or scrolls.
    whole = Measurement.get(console, console.options.update(max_width=10_000), table).maximum
    console.print(table, highlight=False, width=max(whole, console.width), crop=False)


class _View:
    """What each node of a plan holds, looked up once."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.machines = plan.machines
        self.coarser: tuple[Level, ...] = plan.machines.levels[plan.machines.node_level + 1 :]
        rank_of = np.full(len(plan.machines.online), -1, np.int64)
        rank_of[plan.placement] = np.arange(len(plan.placement))
        self._rank_of: list[int] = rank_of.tolist()
        at = plan.grid.coordinates
        self._at: list[list[int]] = np.stack(
            [at["module"], *(at[axis] for axis, _ in _LETTERS)], axis=1
        ).tolist()

    @cached_property
    def axes(self) -> list[tuple[int, str]]:
        """(column of a coordinate, letter) of the axes longer than 1 somewhere."""
        shapes = np.array([m.mesh.shape for m in self.plan.grid.modules])
        return [(i + 1, letter) for i, (_, letter) in enumerate(_LETTERS) if shapes[:, i].max() > 1]

    def legend(self) -> str:
        axes = ", ".join(f"{letter} {axis}" for axis, letter in _LETTERS)
        modules = "E encoder, D decoder, " if len(self.plan.grid.modules) > 1 else ""
        return f"{modules}{axes}; coloured by stage; {_IDLE} idle, {_OFFLINE} offline"

    def runs(self, *, fold: bool) -> list[list[int]]:
        """Consecutive nodes that look alike but for which copies and stages they hold."""
        nodes = range(len(self.machines.hosts))
        return (
            [list(run) for _, run in groupby(nodes, key=self._look)]
            if fold
            else [[n] for n in nodes]
        )

    def _held(self, node: int) -> range:
        first = int(self.machines.first_device[node])
        return range(first, first + int(self.machines.gpus[node]))

    def _look(self, node: int) -> tuple[object, ...]:
        """What a node holds, coordinates counted from its first rank's, and its next domain."""
        devices = self._held(node)
        look: list[object] = [int(level.domain[devices[0]]) for level in self.coarser[:1]]
        base: list[int] | None = None
        for device in devices:
            rank = self._rank_of[device]
            if rank < 0:
                look.append(bool(self.machines.online[device]))
                continue
            module, *at = self._at[rank]
            base = base or at
            look.append((module, *(a - b for a, b in zip(at, base, strict=True))))
        return tuple(look)

    def places(self, node: int) -> list[str]:
        """Names of the domains above a node, coarsest first, and its own."""
        first = int(self.machines.first_device[node])
        above = [level.names[int(level.domain[first])] for level in reversed(self.coarser)]
        return [*above, self.machines.hosts[node]]

    def cells(self, node: int) -> list[str]:
        """A tag for each GPU."""
        return [self._tag(device) for device in self._held(node)]

    def _tag(self, device: int) -> str:
        rank = self._rank_of[device]
        if rank < 0:
            return _IDLE if self.machines.online[device] else _OFFLINE
        at = self._at[rank]
        module = "ED"[at[0]] if len(self.plan.grid.modules) > 1 else ""
        text = module + "".join(f"{letter}{at[i]}" for i, letter in self.axes)
        return f"[{_COLOURS[(at[0] + at[1]) % len(_COLOURS)]}]{text or rank}[/]"
