"""Assignment problems made from jobs, and every placement of the small ones."""

import random
from collections.abc import Sequence
from functools import cache

import numpy as np

from planner_models.assignment import (
    Assignment,
    Bridge,
    Contiguous,
    Footprint,
    Groups,
    Level,
    Pairs,
    Pin,
    Within,
)
from planner_models.job import Job, ModuleShape, Weights
from tests.oracle.slots_cost import content_costs

WEIGHTS = Weights(tp=1000, cp=100, dp=1, pp=10, ep=70, expt_tp=900, expt_dp=2, embd=3)


def grid(job, m):
    """Slots of a module, [pp, dp, cp, tp]."""
    shape = job.modules[m]
    before = sum(x.tp * x.cp * x.pp for x in job.modules[:m]) * job.dp
    size = shape.pp * job.dp * shape.cp * shape.tp
    return (before + np.arange(size)).reshape(shape.pp, job.dp, shape.cp, shape.tp)


def groups(job, m, kind):
    """Rows of one kind of group of a module."""
    slots, shape = grid(job, m), job.modules[m]
    if kind == "tp":
        return slots.reshape(-1, shape.tp)
    if kind == "cp":
        return slots.transpose(0, 1, 3, 2).reshape(-1, shape.cp)
    if kind == "dp":
        return slots.transpose(0, 3, 1, 2).reshape(-1, job.dp * shape.cp)
    experts = slots.reshape(shape.pp, -1, shape.ep, shape.etp)
    axis = {"expt_tp": 3, "ep": 2, "expt_dp": 1}[kind]
    return np.moveaxis(experts, axis, 3).reshape(-1, experts.shape[axis])


def assignment(job, nodes: Sequence[int], leaf=None, offline=(), weights=WEIGHTS, **rules):
    """Problem of a job on nodes of these sizes; `leaf[i]` is (weight 2) the leaf of node i."""
    domain = np.repeat(np.arange(len(nodes)), nodes)
    levels = (
        [Level(1, domain)] if leaf is None else [Level(1, domain), Level(2, np.array(leaf)[domain])]
    )
    usable = np.ones(len(domain), dtype=bool)
    usable[list(offline)] = False
    rings, a2a = [], []
    for m, shape in enumerate(job.modules):
        expert = ("expt_tp", "expt_dp") if shape.ep > 1 else ()
        for kind in ("tp", "cp", "dp", *expert):
            rings.append(Groups(f"{kind}.{m}", getattr(weights, kind), groups(job, m, kind)))
        if shape.ep > 1:
            a2a.append(Groups(f"ep.{m}", weights.ep, groups(job, m, "ep")))
    return Assignment(
        slots=job.world,
        levels=tuple(levels),
        usable=usable,
        shapes=tuple(groups(job, m, "tp") for m in range(len(job.modules))),
        rings=tuple(rings),
        all_to_alls=tuple(a2a),
        pairs=tuple(_pairs(job, weights)),
        bridges=tuple(_bridges(job, weights)),
        exchanges=tuple(_exchanges(job)),
        **rules,
    )


def _pairs(job, weights):
    for m, shape in enumerate(job.modules):
        slots = grid(job, m)
        chain = np.stack([slots[:-1].ravel(), slots[1:].ravel()], axis=1)
        ends = np.stack([slots[-1].ravel(), slots[0].ravel()], axis=1)
        yield Pairs(f"pp.{m}", weights.pp, chain)
        if shape.vpp > 1:
            yield Pairs(f"wrap.{m}", weights.pp, ends)
        if job.tied and shape.pp > 1 and m == len(job.modules) - 1:
            yield Pairs(f"embd.{m}", weights.embd, ends)


def _bridges(job, weights):
    if len(job.modules) == 1:
        return
    E, D = (m.cp for m in job.modules)
    last, first = grid(job, 0)[-1], grid(job, 1)[0]
    meet = [
        (i, j) for i in range(E) for j in range(D) if i * D < (j + 1) * E and j * E < (i + 1) * D
    ]
    few, many = sorted(m.tp for m in job.modules)
    runs = [many // few + (u < many % few) for u in range(few)]
    yield Bridge(
        "bridge",
        weights.pp,
        np.array([last[d, i] for d in range(job.dp) for i, _ in meet]),
        np.array([first[d, j] for d in range(job.dp) for _, j in meet]),
        np.repeat(np.arange(few), runs),
    )


def _exchanges(job):
    """Swaps of neighbours along each axis in all modules at once; not all of them symmetries."""
    for axis, size in ((1, job.dp), (2, job.modules[-1].cp), (3, job.modules[-1].tp)):
        for i in range(size - 1):
            images = []
            for m in range(len(job.modules)):
                slots = grid(job, m)
                order = np.arange(slots.shape[axis])
                if i + 1 < len(order):
                    order[[i, i + 1]] = i + 1, i
                images.append(np.take(slots, order, axis=axis).ravel())
            yield np.concatenate(images)


def placements(problem):
    """Every placement that respects capacities, [placements, slots]."""
    cells = problem.levels[0].domains
    every = np.indices((cells,) * problem.slots, dtype=np.int8).reshape(problem.slots, -1).T
    counts = np.stack([(every == n).sum(axis=1) for n in range(cells)], axis=1)
    return every[(counts <= problem.capacities(0)).all(axis=1)].astype(np.int64)


@cache
def shares(job, weights=WEIGHTS):
    """Doubled cost of a domain by the bit mask of the slots it holds."""
    return np.array(content_costs(job, weights))


def costs(problem, job, every, weights=WEIGHTS):
    """Cost of each placement, from the oracle's cost of what a domain holds."""
    share = shares(job, weights)
    total = np.zeros(len(every), dtype=np.int64)
    for level, up in zip(problem.levels, problem.up, strict=True):
        for n in range(level.domains):
            masks = ((up[every] == n) << np.arange(problem.slots)).sum(axis=1)
            total += level.weight * share[masks]
    return total // 2


JOBS = [
    Job((ModuleShape(2, 2, 1),), dp=2),
    Job((ModuleShape(3, 1, 2),), dp=1),
    Job((ModuleShape(2, 1, 2),), dp=2),
    Job((ModuleShape(2, 1, 3, vpp=2),), dp=1, tied=True),
    Job((ModuleShape(1, 2, 2, vpp=2),), dp=2, tied=True),
    Job((ModuleShape(3, 3, 1),), dp=1),
    Job((ModuleShape(1, 3, 1),), dp=3),
    Job((ModuleShape(2, 1, 1, ep=2, etp=1),), dp=4),
    Job((ModuleShape(2, 1, 1, ep=2, etp=2),), dp=4),
    Job((ModuleShape(1, 1, 2, ep=3, etp=1),), dp=3),
    Job((ModuleShape(1, 1, 1), ModuleShape(2, 1, 1)), dp=3),
    Job((ModuleShape(2, 1, 1), ModuleShape(3, 1, 2)), dp=1),
    Job((ModuleShape(3, 1, 1), ModuleShape(2, 1, 1)), dp=1),
    Job((ModuleShape(1, 2, 1), ModuleShape(2, 2, 1)), dp=1),
    Job((ModuleShape(1, 1, 2), ModuleShape(2, 2, 1)), dp=1),
    Job((ModuleShape(1, 3, 1), ModuleShape(2, 2, 1)), dp=1),
]


def machines(rng: random.Random, world):
    """Uneven nodes, at most 30,000 ways to fill them, sometimes leaves and a dead GPU."""
    most = max(n for n in (2, 3, 4) if n**world <= 30_000)
    room = world + rng.randint(0, 2)
    while True:
        nodes = [rng.randint(1, 5) for _ in range(rng.randint(2, most))]
        if room <= sum(nodes) <= room + 1:
            break
    leaf = [rng.randrange(2) for _ in nodes] if rng.random() < 0.6 else None
    if leaf is not None and len(set(leaf)) < 2:
        leaf[0] = 1 - leaf[0]
    spare = sum(nodes) > world and rng.random() < 0.5
    return {"nodes": nodes, "leaf": leaf, "offline": [rng.randrange(sum(nodes))] if spare else []}


def obeys(problem, every):
    """Whether each placement satisfies the user's rules, each read off its definition."""
    good = np.ones(len(every), dtype=bool)
    for rule in (*problem.within, *problem.hierarchical_cp):
        inside = problem.up[rule.level][every][:, rule.members]
        good &= (inside == inside[:, :, :1]).all(axis=(1, 2))
    for peers in problem.footprint.peers if problem.footprint else ():
        good &= np.array([_alike(problem, cells, peers) for cells in every])
    if problem.contiguous:
        hosts = problem.up[problem.contiguous.level][every]
        runs = 1 + (np.diff(hosts, axis=1) != 0).sum(axis=1)
        good &= runs == np.array([len(set(row)) for row in hosts.tolist()])
    cell = problem.levels[0].domain
    for pin in problem.pins:
        good &= every[:, pin.slot] == cell[pin.device]
    return good


def _alike(problem, cells, peers):
    for up in problem.up:
        domain = up[cells]
        for block in peers:
            if len({len(set(domain[group].tolist())) for group in block}) > 1:
                return False
            for members in block.T:
                held = np.unique(domain[members], return_counts=True)[1]
                if held.max() - held.min() > 1:
                    return False
    return True


def some_rules(rng: random.Random, job, nodes, leaf=None, offline=()):
    """Up to three user rules for a job; the slots are in their canonical order."""
    top, last = 0 if leaf is None else 1, len(job.modules) - 1
    m = rng.randint(0, last)
    shape = job.modules[m]
    domain = np.repeat(np.arange(len(nodes)), nodes)
    free = [d for d in range(len(domain)) if d not in offline]
    peers = tuple(grid(job, i).reshape(-1, x.cp, x.tp) for i, x in enumerate(job.modules))
    makers = [
        lambda: {"within": (Within("tp", rng.randint(0, top), groups(job, m, "tp")),)},
        lambda: {"hierarchical_cp": (Within("hcp", 0, groups(job, m, "cp")),)},
        lambda: {"footprint": Footprint("footprint", peers)} if shape.cp * shape.tp > 1 else {},
        lambda: {"contiguous": Contiguous("launch", 0)},
        lambda: {
            "pins": tuple(
                Pin(f"pins[{i}]", s, d)
                for i, (s, d) in enumerate(
                    zip(rng.sample(range(job.world), 2), rng.sample(free, 2), strict=True)
                )
            )
        },
    ]
    rules = {}
    for make in rng.sample(makers, rng.randint(1, 3)):
        rules.update(make())
    return rules
