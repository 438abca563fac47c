"""Plans nobody optimised: slots in some regular order, filled onto the devices domain after domain.

Every candidate is a permutation of the trainer ranks laid on a permutation of the usable devices.
On regular machines one of them is optimal; elsewhere they are where the search starts from.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations, product
from math import prod
from operator import itemgetter

import numpy as np

from planner.cost import links_at
from planner.grid import Grid, Ints, ModuleGrid
from planner.machines import Machines

AXES = ("tp", "cp", "dp", "pp")
_MESH = ("pp", "dp", "cp", "tp")
_CHAINS = 12  # nested boxes worth scoring exactly


def device_orders(machines: Machines, world: int) -> list[Ints]:
    """[usable devices] orders that finish a domain of every level before they start the next.

    The second order, present when some GPUs will idle or domains differ, takes large domains first
    so that whole groups meet whole domains and the leftovers stay together.
    """
    usable = machines.usable
    keys = [level.domain[usable] for level in machines.levels]
    plain = usable[np.lexsort([usable, *keys])]
    sized: list[Ints] = [usable]
    uneven = len(usable) > world
    for level, key in zip(machines.levels, keys, strict=True):
        capacity = machines.capacities(level)
        sized += [key, -capacity[key]]
        uneven |= len(np.unique(capacity[capacity > 0])) > 1
    return [plain, usable[np.lexsort(sized)]] if uneven else [plain]


def slot_orders(grid: Grid) -> Iterator[Ints]:
    """[world] orders of the trainer ranks: every axis order, every interleaving of two modules.

    Each comes plain and back-and-forth (the inner block reversed at every second step, so that
    consecutive slots are neighbours also where a domain ends inside a row).
    """
    seen: set[bytes] = set()
    for order in permutations(AXES):
        for shared in range(len(order) + 1):
            for snake in (False, True):
                slots = _interleaved(grid, order, shared, snake=snake)
                if slots is None:
                    continue
                key = slots.tobytes()
                if key not in seen:
                    seen.add(key)
                    yield slots
            if len(grid.modules) == 1:
                break  # nothing to interleave


def _interleaved(grid: Grid, order: Sequence[str], shared: int, *, snake: bool) -> Ints | None:
    """Modules side by side for each index of the `shared` slowest axes of an order (fast first)."""
    outer = order[len(order) - shared :]
    if any(len({_size(m, axis) for m in grid.modules}) > 1 or axis == "pp" for axis in outer):
        return None
    blocks = []
    for module in grid.modules:
        slow_first = [_MESH.index(axis) for axis in reversed(order)]
        mesh = module.mesh.transpose(slow_first)
        blocks.append(mesh.reshape(*mesh.shape[:shared], -1) if not snake else _snake(mesh, shared))
    return np.concatenate(blocks, axis=-1).ravel()


def _size(module: ModuleGrid, axis: str) -> int:
    return int(module.mesh.shape[_MESH.index(axis)])


def _snake(mesh: Ints, shared: int) -> Ints:
    """The inner axes of a mesh flattened back and forth."""
    flat = mesh.reshape(*mesh.shape, 1)
    for axis in range(mesh.ndim - 1, shared - 1, -1):
        turned = flat.copy()
        odd = (slice(None),) * axis + (slice(1, None, 2),)
        turned[odd] = flat[odd][..., ::-1]
        flat = turned.reshape(*turned.shape[:axis], -1)
    return flat.reshape(*mesh.shape[:shared], -1)


def nested_boxes(
    grid: Grid, machines: Machines, weights: dict[str, int], level_weights: Sequence[int]
) -> Iterator[Ints]:
    """[world] orders that fill each level's domains with boxes of slots, boxes inside boxes.

    The box of each level has as many slots as most domains of that level have devices; the
    cheapest chains of boxes by a closed formula come first. For one module only.

    Args:
        grid: the job.
        machines: the devices.
        weights: cost of a link by kind.
        level_weights: cost factor of each level, finest first.
    """
    if len(grid.modules) > 1:
        return
    sizes = tuple(_size(grid.modules[0], axis) for axis in AXES)
    chains: list[tuple[int, tuple[tuple[int, ...], ...]]] = [(0, ((1, 1, 1, 1),))]
    for level, weight in zip(machines.levels, level_weights, strict=True):
        held = machines.capacities(level)
        common = int(np.bincount(held[held > 0]).argmax())
        if common >= grid.world:
            continue
        boxes = [(box, weight * _box_cost(box, sizes, weights)) for box in _boxes(common, sizes)]
        grown = [
            (cost + extra, (*chain, box))
            for cost, chain in chains
            for box, extra in boxes
            if all(b % a == 0 for a, b in zip(chain[-1], box, strict=True))
        ]
        chains = _cheapest_by_last(grown)
        if not chains:
            return
    for _, chain in sorted(chains)[:_CHAINS]:
        yield _box_order(grid.modules[0], chain)


def _cheapest_by_last(
    chains: list[tuple[int, tuple[tuple[int, ...], ...]]],
) -> list[tuple[int, tuple[tuple[int, ...], ...]]]:
    """For each outermost box the cheapest chain that ends with it: what lies inside is settled."""
    best: dict[tuple[int, ...], tuple[int, tuple[tuple[int, ...], ...]]] = {}
    for cost, chain in sorted(chains):
        best.setdefault(chain[-1], (cost, chain))
    return list(best.values())


def _boxes(volume: int, sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Boxes of a volume no longer than the grid along any axis."""
    sides = [[s for s in range(1, size + 1) if volume % s == 0] for size in sizes[:-1]]
    for head in product(*sides):
        last, rest = divmod(volume, prod(head))
        if rest == 0 and 1 <= last <= sizes[-1]:
            yield (*head, last)


def _box_cost(box: Sequence[int], sizes: Sequence[int], weights: dict[str, int]) -> int:
    """Cost of a level whose domains hold such boxes, for the dense kinds."""
    pieces = [-(-size // side) for size, side in zip(sizes, box, strict=True)]
    t, c, d, p = sizes
    nt, nc, nd, np_ = pieces
    ring = {"tp": (c * d * p, nt), "cp": (t * d * p, nc), "dp": (t * p, nc * nd)}
    cost = sum(weights[kind] * groups * n for kind, (groups, n) in ring.items() if n > 1)
    return cost + weights["pp"] * t * c * d * (np_ - 1)


def _box_order(module: ModuleGrid, chain: Sequence[Sequence[int]]) -> Ints:
    """Slots sorted by the box they lie in, coarsest first, and by coordinate inside the finest."""
    at = {
        axis: index.ravel()
        for axis, index in zip(_MESH, np.indices(module.mesh.shape), strict=True)
    }
    keys = [at[axis] for axis in AXES]
    for box in chain[1:]:
        keys += [at[axis] // side for axis, side in zip(AXES, box, strict=True)]
    return module.mesh.ravel()[np.lexsort(keys)]


def lay(slots: Ints, devices: Ints) -> Ints:
    """[world] placement of an order of slots on an order of devices."""
    placement = np.empty_like(slots)
    placement[slots] = devices[: len(slots)]
    return placement


def best_axis_order(
    grid: Grid,
    machines: Machines,
    weights: dict[str, int],
    level_weights: Sequence[int],
    keeps: Callable[[Ints], bool] | None = None,
) -> tuple[int, Ints]:
    """Cost and placement of the best plain axis order on the nodes as given.

    What tuning order strings can reach. Each module has an order of its own; two modules lie one
    behind the other, as a whole or for each index of slowest axes they share (dp, cp). Their costs
    add up but for the bridge, so every order of a module is scored once.

    Args:
        grid: the job.
        machines: the devices.
        weights: cost of a link by kind.
        level_weights: cost factor of each level, finest first.
        keeps: whether a placement keeps what must hold; orders that do go before all others.

    Example:
        >>> from planner.spec.problem import Problem
        >>> problem = Problem.model_validate({"cluster": {"nodes": 2, "gpus_per_node": 2},
        ...     "job": {"decoder": {"tp": 2, "pp": 2}, "order": "pp-tp-cp-ep-dp"}})
        >>> kinds = dict.fromkeys(("tp", "cp", "dp", "pp", "ep", "expt_tp", "expt_dp", "embd"), 10)
        >>> cost, placement = best_axis_order(
        ...     Grid.of(problem), problem.cluster.machines, kinds, [1])
        >>> cost, placement.tolist()
        (20, [0, 2, 1, 3])
    """
    lone = [
        replace(grid, modules=(m,), tied=grid.tied and m is grid.modules[-1]) for m in grid.modules
    ]
    found: list[tuple[int, list[Ints]]] = []
    for outer in _shared_axes(grid):
        own = []
        for one, slots in zip(lone, _laid_apart(grid, machines, outer), strict=True):
            orders = [_seated(one, order, slots) for order in _orders(one.modules[0], outer)]
            own.append([(score(one, machines, weights, level_weights, p), p) for p in orders])
        found += [(sum(c for c, _ in parts), [p for _, p in parts]) for parts in product(*own)]
    best: tuple[int, Ints] | None = None
    any_best: tuple[int, Ints] | None = None
    for cost, placements in sorted(found, key=itemgetter(0)):
        if best is not None and cost >= best[0]:
            break  # the bridge only adds
        whole = _joined(grid, placements)
        whole_cost = cost + _bridge_cost(grid, machines, weights, level_weights, whole)
        if any_best is None or whole_cost < any_best[0]:
            any_best = (whole_cost, whole)
        if (best is None or whole_cost < best[0]) and (keeps is None or keeps(whole)):
            best = (whole_cost, whole)
    assert any_best is not None
    return best or any_best


def _shared_axes(grid: Grid) -> Iterator[tuple[str, ...]]:
    """Slowest axes, slowest first, along which modules may take turns."""
    alike = [a for a in ("dp", "cp") if {_size(m, a) for m in grid.modules} != {1}]
    alike = [a for a in alike if len({_size(m, a) for m in grid.modules}) == 1]
    for number in range(len(alike) + 1 if len(grid.modules) > 1 else 1):
        yield from permutations(alike, number)


def _laid_apart(grid: Grid, machines: Machines, outer: Sequence[str]) -> Iterator[Ints]:
    """Devices of each module, in the order of its slots, if modules take turns."""
    turns = prod(_size(grid.modules[0], axis) for axis in outer)
    devices = machines.usable[: grid.world].reshape(turns, -1)
    start = 0
    for module in grid.modules:
        end = start + module.mesh.size // turns
        yield devices[:, start:end].ravel()
        start = end


def _orders(module: ModuleGrid, outer: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Axis orders of a module, slowest first, behind given axes; axes of one index do not vary."""
    inner = [axis for axis in _MESH if axis not in outer]
    longer = [axis for axis in inner if _size(module, axis) > 1]
    for order in permutations(longer):
        yield (*outer, *(axis for axis in inner if axis not in longer), *order)


def _seated(lone: Grid, order: Sequence[str], devices: Ints) -> Ints:
    """[world] placement of a grid's only module, its slots in an order; 0 for other ranks."""
    placement = np.zeros(lone.world, np.int64)
    mesh = lone.modules[0].mesh.transpose([_MESH.index(axis) for axis in order])
    placement[mesh.ravel()] = devices
    return placement


def _joined(grid: Grid, placements: Sequence[Ints]) -> Ints:
    """[world] placement of all modules from one for each."""
    whole = np.empty(grid.world, np.int64)
    for module, placement in zip(grid.modules, placements, strict=True):
        whole[module.mesh] = placement[module.mesh]
    return whole


def _bridge_cost(
    grid: Grid,
    machines: Machines,
    weights: dict[str, int],
    level_weights: Sequence[int],
    placement: Ints,
) -> int:
    cost = 0
    for level, factor in zip(machines.levels, level_weights, strict=True):
        ends = level.domain[placement[grid.bridge]]
        cost += factor * weights["pp"] * int(np.count_nonzero(ends[:, 0] != ends[:, 1]))
    return cost


def score(
    grid: Grid,
    machines: Machines,
    weights: dict[str, int],
    level_weights: Sequence[int],
    placement: Ints,
) -> int:
    """Cost of a placement under integer weights."""
    return sum(
        level_weight * weights[kind] * n
        for level, level_weight in zip(machines.levels, level_weights, strict=True)
        if level_weight
        for kind, n in links_at(grid, level.domain[placement]).items()
    )
