"""A plain slot x domain model in CP-SAT, as one would write it first.

Sets: slots s, domains n of each level with weight, ring groups g, pairs (a, b).
Data: capacity[n], weight of each group and pair times the level's.
Variables: on[s, n], touched[g, n], cut[g], together[a, b, n], all Boolean; at coarser levels
on[s, m] is the sum of on[s, n] over the finest domains n inside m.
Subject to: every slot on one domain, no domain over its capacity, touched[g, n] >= on[s, n],
sum_n touched[g, n] - 1 <= (size - 1) cut[g], together[a, b, n] <= on[a, n], on[b, n].
Minimise: weight * (sum_n touched[g, n] - 1 + cut[g]) + weight * (1 - sum_n together[a, b, n]).

No symmetry is broken, no start is given.
"""

from typing import Any

import numpy as np

from benchmarks.peers.task import Limits, NotApplicable, Task, refuse_constraints
from benchmarks.peers.topdown import families, seated
from planner.grid import Ints

_MOST = 100_000  # Booleans on[s, n] beyond which nothing is found in a minute


def plain_cpsat(task: Task, limits: Limits) -> Ints:
    """The best placement CP-SAT finds within the time left after building the model."""
    refuse_constraints(task)
    levels = [i for i, weight in enumerate(task.levels) if weight]
    finest = task.machines.levels[levels[0]].domain
    usable = task.machines.usable
    homes, capacities = np.unique(finest[usable], return_counts=True)
    if task.grid.world * len(homes) > _MOST:
        raise NotApplicable(f"{task.grid.world} slots x {len(homes)} domains are too many")
    from ortools.sat.python import cp_model  # noqa: PLC0415 - two seconds

    model = cp_model.CpModel()
    on = _assignment(model, task.grid.world, capacities)
    cost: list[Any] = []
    for i in levels:
        outer = task.machines.levels[i].domain
        parent = np.array([outer[usable][finest[usable] == home][0] for home in homes])
        cost += _level(model, task, on if i == levels[0] else _lifted(model, on, parent), i)
    model.minimize(sum(cost))
    solver = cp_model.CpSolver()
    solver.parameters.catch_sigint_signal = False  # else Ctrl-C kills the benchmark afterwards
    solver.parameters.max_time_in_seconds = limits.left
    solver.parameters.num_workers = limits.threads
    solver.parameters.random_seed = limits.seed
    if solver.solve(model) not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        raise NotApplicable("found no placement in time")
    held = [next(n for n, var in enumerate(row) if solver.value(var)) for row in on]
    return seated(task, homes[np.array(held)], finest)


def _assignment(model: Any, slots: int, capacities: Ints) -> list[list[Any]]:
    on = [
        [model.new_bool_var(f"on[{s},{n}]") for n in range(len(capacities))] for s in range(slots)
    ]
    for row in on:
        model.add_exactly_one(row)
    for n, capacity in enumerate(capacities.tolist()):
        model.add(sum(row[n] for row in on) <= capacity)
    return on


def _lifted(model: Any, on: list[list[Any]], parent: Ints) -> list[list[Any]]:
    """on[s, m] of a coarser level."""
    out = []
    for s, row in enumerate(on):
        lifted = []
        for m in np.unique(parent).tolist():
            var = model.new_bool_var(f"on[{s},{m}]")
            model.add(var == sum(row[n] for n in np.flatnonzero(parent == m).tolist()))
            lifted.append(var)
        out.append(lifted)
    return out


def _level(model: Any, task: Task, on: list[list[Any]], level: int) -> list[Any]:
    """Cost terms of one level."""
    return [
        task.levels[level] * weight * (_ring if ring else _pair)(model, [on[s] for s in group])
        for members, weight, ring in families(task)
        for group in members.tolist()
    ]


def _ring(model: Any, on: list[list[Any]]) -> Any:
    cut = model.new_bool_var("cut")
    touched = []
    for column in zip(*on, strict=True):
        var = model.new_bool_var("touched")
        model.add_max_equality(var, column)
        touched.append(var)
    model.add(sum(touched) - 1 <= (len(on) - 1) * cut)
    return sum(touched) - 1 + cut


def _pair(model: Any, on: list[list[Any]]) -> Any:
    together = []
    for a, b in zip(*on, strict=True):
        var = model.new_bool_var("together")
        model.add_implication(var, a)
        model.add_implication(var, b)
        together.append(var)
    return 1 - sum(together)
