"""Everything a plan file states, recomputed; this code never sees how a plan was found."""

from collections.abc import Iterable, Iterator
from math import isclose
from pathlib import Path

import numpy as np

from planner import lineage
from planner.cost import as_number, links, total
from planner.errors import VerificationError
from planner.feasibility import Violation, broken_constraints, seat
from planner.grid import Grid, Ints, rows
from planner.machines import Machines
from planner.plan import Plan, megatron_order, seats
from planner.planfile import PlanFile, parse_plan_file
from planner.spec.loading import read_text, source_name
from planner.spec.problem import Problem
from planner.traffic.measuring import measure
from planner.wording import counted


def verify(plan: Plan | PlanFile, problem: Problem | None = None) -> list[Violation]:
    """All violations of a plan; an empty list means every statement holds.

    Recomputed from the problem in the plan: ranks and their coordinates, hosts, local and host
    ranks, idle GPUs, datasets, groups, bridge, hard constraints, links, costs, gap.

    Args:
        plan: a plan, or the content of a plan file.
        problem: a problem the plan must be for, if given.
    """
    form = PlanFile.of(plan.document()) if isinstance(plan, Plan) else plan
    own = form.read_problem()
    grid, machines = Grid.of(own), own.cluster.machines
    found = [*_problem(form, own, problem), *_ranks(form, grid)]
    if any(v.kind == "ranks" for v in found):
        return found  # no placement to compute anything from
    placement = form.devices(machines)
    lost = np.flatnonzero(placement < 0)
    if len(lost):
        line = form.ranks[int(lost[0])]
        text = f"the machines have no {line.host} GPU {line.gpu}"
        return [*found, Violation("machines", f"$.ranks[{lost[0]}]", text)]
    broken = broken_constraints(own, grid, placement)
    if any(v.kind == "one_device" for v in broken):
        return [*found, *broken]
    return [
        *found,
        *broken,
        *_seats(form, own, placement),
        *_idle(form, machines, placement),
        *_datasets(form, grid),
        *_groups(form, grid),
        *_costs(form, own, grid, placement),
        *_traffic(form, own, grid, placement),
    ]


def read_verified(path: str | Path) -> Plan:
    """Read a plan file and refuse it unless everything it states holds.

    Raises:
        InputError: not a plan file.
        VerificationError: it states something wrong.
    """
    return verified(read_text(path), source_name(path))


def verified(text: str, name: str) -> Plan:
    """The plan of a plan file's text; `name` is what errors call the file.

    Raises:
        InputError: not a plan file.
        VerificationError: it states something wrong.
    """
    form = parse_plan_file(text, name)
    found = verify(form)
    if found:
        raise VerificationError(name, found)
    problem = form.read_problem().resolved
    replan = None if form.replan is None else form.replan.model_dump(by_alias=True)
    placement = form.devices(problem.cluster.machines)
    return Plan(problem, placement, form.solver.model_dump(), replan)


def _problem(form: PlanFile, own: Problem, wanted: Problem | None) -> Iterator[Violation]:
    if form.problem_sha256 != own.sha256:
        yield Violation("problem", "$.problem_sha256", "is not the hash of $.problem")
    if wanted is not None and wanted.sha256 != own.sha256:
        yield Violation("problem", "$.problem", "is not the problem given to compare with")


def _ranks(form: PlanFile, grid: Grid) -> Iterator[Violation]:
    if form.world_size != grid.world:
        text = f"states {form.world_size}, the problem has {counted(grid.world, 'rank')}"
        yield Violation("world_size", "$.world_size", text)
    ranks = [line.rank for line in form.ranks]
    if ranks != list(range(grid.world)):
        missing = sorted(set(range(grid.world)) - set(ranks))
        text = f"must be 0 to {grid.world - 1} in order" + (
            f"; missing {missing[:5]}" if missing else ""
        )
        yield Violation("ranks", "$.ranks", text)
        return
    names = [m.name for m in grid.modules]
    expected = {axis: values.tolist() for axis, values in grid.coordinates.items()}
    expected["module"] = [names[m] for m in expected["module"]]
    for axis, values in expected.items():
        stated = [getattr(line, axis) for line in form.ranks]
        yield from _first_difference("coordinates", "$.ranks[{}]." + axis, stated, values)


def _first_difference(
    kind: str, path: str, stated: Iterable[object], right: Iterable[object]
) -> Iterator[Violation]:
    for i, (a, b) in enumerate(zip(stated, right, strict=True)):
        if a != b:
            yield Violation(kind, path.format(i), f"states {a!r}, but it is {b!r}")
            return


def _seats(form: PlanFile, own: Problem, placement: Ints) -> Iterator[Violation]:
    machines = own.cluster.machines
    right = seats(machines, placement)
    hosts = [machines.hosts[h] for h in right.hosts.tolist()]
    if form.hosts != hosts:
        text = "must list the used hosts by the lowest trainer rank each holds"
        yield Violation("hosts", "$.hosts", text)
    for key, values in (("local_rank", right.local_rank), ("host_rank", right.host_rank)):
        stated = [getattr(line, key) for line in form.ranks]
        yield from _first_difference(key, "$.ranks[{}]." + key, stated, values.tolist())
    rank_zero = right.host_rank[0]
    if rank_zero != 0 and not _may_forbid_first_gpu(own):
        yield Violation("host_rank", "$.ranks[0]", f"rank 0 must be host rank 0, is {rank_zero}")


def _may_forbid_first_gpu(problem: Problem) -> bool:
    """Whether rules can keep rank 0 from its host's first GPU: pins, or rules inside nodes."""
    rules = problem.constraints
    inside = bool(rules.within) or rules.cp_symmetry == "footprint"
    return bool(rules.pins) or (inside and problem.cluster.machines.node_level > 0)


def _idle(form: PlanFile, machines: Machines, placement: Ints) -> Iterator[Violation]:
    idle = np.setdiff1d(machines.usable, placement)
    right = [seat(machines, d) for d in idle]
    if [f"{s.host} GPU {s.gpu}" for s in form.idle] != right:
        yield Violation("idle", "$.idle", f"must list the {len(right)} usable GPUs without a rank")


def _datasets(form: PlanFile, grid: Grid) -> Iterator[Violation]:
    stated = [line.dataset for line in form.ranks]
    yield from _first_difference("dataset", "$.ranks[{}].dataset", stated, grid.dataset.tolist())


def _groups(form: PlanFile, grid: Grid) -> Iterator[Violation]:
    for name in sorted(form.groups.keys() - grid.groups.keys()):
        yield Violation("groups", f"$.groups.{name}", "no such group in this job")
    for name, family in grid.groups.items():
        if name not in form.groups:
            yield Violation("groups", f"$.groups.{name}", "missing")
        elif form.groups[name] != (right := rows(family)):
            differs = [g for g in right if g not in form.groups[name]][:1]
            text = f"differs from the job's; {differs[0]} is missing" if differs else "differs"
            yield Violation("groups", f"$.groups.{name}", text)
    if form.bridge != grid.bridge.tolist():
        yield Violation("bridge", "$.bridge", "differs from the lanes of the job's slices")


def _costs(form: PlanFile, problem: Problem, grid: Grid, placement: Ints) -> Iterator[Violation]:
    machines = problem.cluster.machines
    counted = links(grid, machines, placement)
    cost = total(problem, machines, counted)
    if form.links != counted:
        yield Violation("links", "$.links", _difference(form.links, counted))
    stated = form.solver
    if stated.cost != as_number(cost):
        text = f"states {stated.cost}, recomputed {as_number(cost)}"
        yield Violation("cost", "$.solver.cost", text)
    yield from _claims(form)
    yield from lineage.violations(form.replan, as_number(cost), machines, placement)
    own = links(grid, machines, megatron_order(machines, grid.world))
    if form.baseline.links != own or form.baseline.cost != as_number(total(problem, machines, own)):
        text = "differs from Megatron's order on the nodes as given"
        yield Violation("baseline", "$.baseline", text)


def _traffic(form: PlanFile, problem: Problem, grid: Grid, placement: Ints) -> Iterator[Violation]:
    right = None
    if problem.objective.traffic is not None:
        right = measure(problem, grid, problem.cluster.machines, placement).document()
    where = _first_unlike(form.traffic, right, "$.traffic")
    if where is not None:
        yield Violation("traffic", where, "differs from what the links carry in a step")


def _first_unlike(stated: object, right: object, where: str) -> str | None:
    """Path of the first value that differs by more than rounding."""
    if isinstance(right, dict) and isinstance(stated, dict) and stated.keys() == right.keys():
        found = (_first_unlike(stated[k], right[k], f"{where}.{k}") for k in right)
        return next((path for path in found if path is not None), None)
    if isinstance(right, float) and isinstance(stated, int | float):
        return None if isclose(stated, right, rel_tol=1e-9, abs_tol=2e-6) else where
    return None if stated == right else where


def _claims(form: PlanFile) -> Iterator[Violation]:
    """Bound, gap and status must agree with one another; the first that does not is named."""
    s = form.solver
    gap = (s.cost - s.bound) / s.cost if s.cost else 0
    if not 0 <= s.bound <= s.cost:
        text = f"{s.bound} is not between 0 and the cost {s.cost}"
        yield Violation("bound", "$.solver.bound", text)
    elif not isclose(s.gap, gap, rel_tol=1e-9, abs_tol=1e-12):
        yield Violation("gap", "$.solver.gap", f"states {s.gap}, but it is {gap}")
    elif (s.status == "optimal") != (s.bound == s.cost):
        text = f"{s.status!r} with cost {s.cost} and bound {s.bound}"
        yield Violation("status", "$.solver.status", text)


def _difference(stated: dict[str, dict[str, int]], right: dict[str, dict[str, int]]) -> str:
    for level, kinds in right.items():
        for kind, count in kinds.items():
            got = stated.get(level, {}).get(kind)
            if got != count:
                return f"{level} {kind} states {got}, recomputed {count}"
    return "names levels or kinds the problem does not have"
