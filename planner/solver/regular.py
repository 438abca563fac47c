"""First step: regular layouts, scored; on even machines one of them is optimal."""

from itertools import chain

from planner.baseline import device_orders, lay, nested_boxes, slot_orders
from planner.plan import megatron_order
from planner.solver.state import Search


def offer_regular(search: Search) -> None:
    """Offer Megatron's order, nested boxes, and every axis order and interleaving."""
    grid, machines, weighing = search.grid, search.machines, search.weighing
    search.offer(megatron_order(machines, grid.world), "Megatron's order")
    devices = device_orders(machines, grid.world)
    if search.problem.constraints.launch == "node-contiguous":
        for order in devices:
            search.offer(order[: grid.world], "trainer ranks in order")
        return
    orders = chain(nested_boxes(grid, machines, weighing.kinds, weighing.levels), slot_orders(grid))
    for slots in orders:
        for order in devices:
            if search.interrupted:
                return
            search.offer(lay(slots, order), "a regular order")
