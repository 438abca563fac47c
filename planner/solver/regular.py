"""First step: regular layouts, scored; on even machines one of them is optimal."""

from collections.abc import Iterator
from itertools import chain

from planner.baseline import device_orders, lay, nested_boxes, slot_orders
from planner.feasibility import pinned
from planner.grid import Grid, Ints
from planner.plan import megatron_order
from planner.solver.memory import fingerprint
from planner.solver.state import Search
from planner.solver.translation import from_canonical, to_canonical
from planner.spec.problem import Problem


def offer_regular(search: Search) -> None:
    """Offer Megatron's order, nested boxes, and every axis order and interleaving."""
    grid, machines, weighing = search.grid, search.machines, search.weighing

    def offer(placement: Ints, by: str) -> None:
        search.offer(with_pins(search.problem, grid, placement), by)

    offer(megatron_order(machines, grid.world), "Megatron's order")
    devices = device_orders(machines, grid.world)
    if search.problem.constraints.launch == "node-contiguous":
        for order in devices:
            offer(order[: grid.world], "trainer ranks in order")
        return
    if search.constrained:
        for placement in _regular(search, devices):
            offer(placement, "a regular order")
        return
    # Without constraints nothing but these numbers tells one problem's candidates from another's.
    key = (search.job, search.weights, weighing.levels, fingerprint(machines))
    best = search.options.memory.recall("candidates", key, lambda: _cheapest(search, devices))
    if best is not None:
        search.offer(from_canonical(grid, best), "a regular order")


def _regular(search: Search, devices: list[Ints]) -> Iterator[Ints]:
    """[world] placements in every regular order, until the user interrupts."""
    grid, weighing = search.grid, search.weighing
    boxes = nested_boxes(grid, search.machines, weighing.kinds, weighing.levels)
    for slots in chain(boxes, slot_orders(grid)):
        for order in devices:
            if search.interrupted:
                return
            yield lay(slots, order)


def _cheapest(search: Search, devices: list[Ints]) -> Ints | None:
    """[world] the cheapest of the regular placements, by canonical slot."""
    best = min(_regular(search, devices), key=search.score, default=None)
    return None if best is None else to_canonical(search.grid, best)


def with_pins(problem: Problem, grid: Grid, placement: Ints) -> Ints:
    """The placement with pinned ranks on their devices, by exchanges; the same without pins."""
    out = placement.copy()
    for rank, device in pinned(problem, grid):
        out[out == device] = out[rank]
        out[rank] = device
    return out
