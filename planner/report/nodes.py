"""The nodes of a plan as a terminal grid: a row a host, a cell a GPU, equal hosts folded."""

from itertools import groupby

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from planner.plan import Plan

_LETTERS = (("pp", "p"), ("dp", "d"), ("cp", "c"), ("tp", "t"))
_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")


def print_nodes(plan: Plan, console: Console, *, fold: bool = True) -> None:
    """Print the grid; `fold` shows runs of hosts that hold the same pattern once."""
    gpus = int(plan.machines.gpus.max())
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    coarser = [level.name for level in plan.machines.levels[plan.machines.node_level + 1 :]]
    for name in reversed(coarser):
        table.add_column(name)
    table.add_column("node")
    for g in range(gpus):
        table.add_column(f"GPU {g}", no_wrap=True)
    for run in _runs(plan, fold=fold):
        table.add_row(*_places(plan, run[0]), *_cells(plan, run[0], gpus))
        if len(run) > 1:
            table.add_row(*[""] * len(coarser), f"... {len(run) - 1} more alike")
    console.print(_legend(plan), highlight=False)
    console.print(table, highlight=False)


def _legend(plan: Plan) -> str:
    axes = ", ".join(f"{letter} {axis}" for axis, letter in _axes(plan))
    modules = "E encoder, D decoder, " if len(plan.grid.modules) > 1 else ""
    return f"{modules}{axes or 'rank'}; coloured by stage; -- idle, xx offline"


def _axes(plan: Plan) -> list[tuple[str, str]]:
    """Axes longer than 1 somewhere, with their letters."""
    sizes = {
        axis: max(m.mesh.shape[i] for m in plan.grid.modules)
        for i, (axis, _) in enumerate(_LETTERS)
    }
    return [(axis, letter) for axis, letter in _LETTERS if sizes[axis] > 1]


def _rank_of_device(plan: Plan) -> list[int]:
    out = np.full(len(plan.machines.online), -1, np.int64)
    out[plan.placement] = np.arange(len(plan.placement))
    return out.tolist()


def _runs(plan: Plan, *, fold: bool) -> list[list[int]]:
    """Consecutive nodes that look alike but for which copies and stages they hold."""
    nodes = range(len(plan.machines.hosts))
    if not fold:
        return [[n] for n in nodes]
    ranks = _rank_of_device(plan)
    above = plan.machines.levels[plan.machines.node_level + 1 :]

    def look(node: int) -> tuple[object, ...]:
        first = int(plan.machines.first_device[node])
        held = ranks[first : first + int(plan.machines.gpus[node])]
        places = tuple(int(level.domain[first]) for level in above[:1])
        return (*places, *_relative(plan, held, first))

    return [list(run) for _, run in groupby(nodes, key=look)]


def _relative(plan: Plan, held: list[int], first: int) -> list[object]:
    """What a node holds, coordinates counted from its first rank's."""
    out: list[object] = []
    base: list[int] | None = None
    for g, rank in enumerate(held):
        if rank < 0:
            out.append(bool(plan.machines.online[first + g]))
            continue
        at = [int(plan.grid.coordinates[axis][rank]) for axis in ("pp", "dp", "cp", "tp")]
        base = base or at
        module = int(plan.grid.coordinates["module"][rank])
        out.append((module, *(a - b for a, b in zip(at, base, strict=True))))
    return out


def _places(plan: Plan, node: int) -> list[str]:
    first = int(plan.machines.first_device[node])
    above = plan.machines.levels[plan.machines.node_level + 1 :]
    names = [level.names[int(level.domain[first])] for level in reversed(above)]
    return [*names, plan.machines.hosts[node]]


def _cells(plan: Plan, node: int, gpus: int) -> list[str]:
    ranks = _rank_of_device(plan)
    first = int(plan.machines.first_device[node])
    cells = []
    for g in range(gpus):
        if g >= plan.machines.gpus[node]:
            cells.append("")
        elif ranks[first + g] < 0:
            cells.append("--" if plan.machines.online[first + g] else "xx")
        else:
            cells.append(_tag(plan, ranks[first + g]))
    return cells


def _tag(plan: Plan, rank: int) -> str:
    c = plan.grid.coordinates
    module = "ED"[int(c["module"][rank])] if len(plan.grid.modules) > 1 else ""
    text = module + "".join(f"{letter}{int(c[axis][rank])}" for axis, letter in _axes(plan))
    stage = int(c["pp"][rank]) + int(c["module"][rank])
    return f"[{_COLOURS[stage % len(_COLOURS)]}]{text or rank}[/]"
