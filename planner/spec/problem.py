"""The problem file as a whole: checked across its parts, and with every default resolved."""

import hashlib
import json
from functools import cached_property
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from planner.errors import Complaint, InputError
from planner.spec.cluster import Cluster
from planner.spec.complaints import complaints_of
from planner.spec.copies import allowed_copies, most_copies
from planner.spec.job import Job, expert_complaint, job_complaints
from planner.spec.model import Strict
from planner.spec.names import MAX_ITEMS, did_you_mean
from planner.spec.objective import Constraints, Objective, Pin
from planner.spec.traffic import traffic_complaints
from planner.wording import counted


class Problem(Strict):
    """Machines, job, objective and constraints.

    Example:
        >>> problem = Problem.model_validate(
        ...     {"cluster": {"nodes": 2}, "job": {"decoder": {"tp": 8}}})
        >>> problem.resolved.job.dp, problem.world_size
        (2, 16)
    """

    schema_: str | None = Field(None, alias="$schema", description="Ignored; for editors")
    cluster: Cluster
    job: Job = Field(Job())
    objective: Objective = Field(Objective())
    constraints: Constraints = Field(Constraints())

    @classmethod
    def model_validate(cls, obj: Any, *args: Any, **options: Any) -> Self:
        """A problem from plain data.

        Raises:
            InputError: with every complaint and its JSON path.
        """
        try:
            return super().model_validate(obj, *args, **options)
        except ValidationError as error:
            raise InputError(complaints_of(error, obj, cls)) from None

    @model_validator(mode="after")
    def _check(self) -> Self:
        found = job_complaints(self.job)
        if found:
            raise InputError(found)
        found = [*_size_complaints(self)]
        if found:
            raise InputError(found)
        traffic = self.objective.traffic
        found = [] if traffic is None else traffic_complaints(traffic, self.job, self.dp)
        found += [*_within_complaints(self), *_pin_complaints(self)]
        if found:
            raise InputError(found)
        return self

    @cached_property
    def dp(self) -> int:
        """Data parallel copies, ``auto`` resolved."""
        return _largest_dp(self) if self.job.dp == "auto" else self.job.dp

    @property
    def world_size(self) -> int:
        """Ranks of the job: dp times the sum of tp * cp * pp; EP is no factor."""
        return self.dp * self.job.copy_size

    @cached_property
    def resolved(self) -> "Problem":
        """The same problem with every default written out."""
        modules = {
            name: m.model_copy(update={"etp": m.expert_tp}) for name, m in self.job.modules.items()
        }
        datasets = self.job.datasets or ("every-stage" if self.job.encoder else "first-last")
        job = self.job.model_copy(update={**modules, "dp": self.dp, "datasets": datasets})
        return self.model_copy(update={"job": job, "schema_": None})

    def document(self) -> dict[str, Any]:
        """The resolved problem as plain data, keys in a fixed order."""
        data = self.resolved.model_dump(exclude={"schema_"}, exclude_none=True)
        if self.objective.traffic is not None:
            del data["objective"]["weights"]  # derived from the traffic, never written
        return {key: data[key] for key in ("cluster", "job", "objective", "constraints")}

    @cached_property
    def sha256(self) -> str:
        """Hash of the resolved problem, equal for files that mean the same defaults."""
        text = json.dumps(self.document(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def group_names(job: Job) -> list[str]:
    """The keys a plan's `groups` will have."""
    names = ["tp", "cp", "dp", "dp_cp", "tp_cp", "tp_dp", "tp_dp_cp", "pp", "mp", "embd"]
    names += ["pos_embd", "ep", "expt_tp", "expt_dp", "tp_ep", "tp_ep_pp"]
    return names + [f"hcp_{i}" for i in range(len(job.hierarchical_cp or []))]


def _usable(problem: Problem) -> int:
    return len(problem.cluster.machines.usable)


def _largest_dp(problem: Problem) -> int:
    """What ``auto`` means: the most copies that fit, divide batch and experts, and can hold."""
    job = problem.job
    most = _usable(problem) // job.copy_size
    allowed = allowed_copies(job, problem.objective.traffic, most)
    held = most_copies(job, problem.cluster.machines, problem.constraints.within, allowed)
    # Where not even one copy can lie as `within` asks, the smallest job says so most clearly.
    return held or int(allowed[:1].sum())


def _size_complaints(problem: Problem) -> list[Complaint]:
    job, path = problem.job, "$.job.dp"
    if job.copy_size * (1 if job.dp == "auto" else job.dp) > MAX_ITEMS:
        got = f"dp {job.dp} x {job.factors()}"
        return [Complaint("$.job", "too many slots", got=got, expected=f"at most {MAX_ITEMS}")]
    usable = _usable(problem)
    machines = problem.cluster.machines
    dead = len(machines.online) - usable
    have = f"{counted(usable, 'usable GPU')} on {counted(len(machines.hosts), 'node')}" + (
        f" ({dead} offline)" if dead else ""
    )
    need = job.copy_size if job.dp == "auto" else job.copy_size * job.dp
    if need > usable:
        copies = "one data copy" if job.dp == "auto" else f"dp {job.dp}"
        most = _largest_dp(problem)
        remedy = f"dp {most} fits" if most else "not even dp 1 fits"
        return [
            Complaint(
                path if job.dp != "auto" else "$.job",
                "the job is larger than the machines",
                got=f"{counted(need, 'rank')} = {copies} x {job.factors()}",
                expected=f"at most {have}",
                remedy=remedy,
            )
        ]
    if problem.dp == 0:
        return [
            Complaint(
                path,
                "no number of data copies that fits lets etp x ep divide tp x cp x dp",
                got=", ".join(
                    f"{n}: etp {m.expert_tp} x ep {m.ep}, tp {m.tp} x cp {m.cp}"
                    for n, m in job.modules.items()
                ),
                expected=f"a dp up to {usable // job.copy_size}",
                remedy="set etp (its default is tp) or change ep",
            )
        ]
    return [
        c
        for name, m in job.modules.items()
        if (c := expert_complaint(name, m, problem.dp)) is not None
    ]


def _within_complaints(problem: Problem) -> list[Complaint]:
    groups = group_names(problem.job)
    levels = [level.name for level in problem.cluster.machines.levels]
    found = []
    for group, level in problem.constraints.within.items():
        path = f"$.constraints.within.{group}"
        if group not in groups:
            found.append(
                Complaint(path, "no such group", repr(group), remedy=did_you_mean(group, groups))
            )
        if level not in levels:
            expected = f"a level: {', '.join(levels)}"
            found.append(Complaint(path, "no such level", repr(level), expected))
    return found


def _pin_complaints(problem: Problem) -> list[Complaint]:
    found: list[Complaint] = []
    slots: dict[tuple[object, ...], str] = {}
    devices: dict[tuple[str, int], str] = {}
    for i, pin in enumerate(problem.constraints.pins):
        path = f"$.constraints.pins[{i}]"
        problems = [*_pin_slot_complaints(problem, pin, path), *_pin_device(problem, pin, path)]
        found += problems
        if problems:
            continue
        s = pin.slot
        slot = (s.module or "decoder", s.pp, s.dp, s.cp, s.tp)
        device = (pin.host, pin.gpu)
        if slot in slots:
            found.append(Complaint(path, "one slot pinned twice", remedy=f"see {slots[slot]}"))
        if device in devices:
            got = f"{pin.host} GPU {pin.gpu}"
            remedy = f"see {devices[device]}"
            found.append(Complaint(path, "one GPU holds one slot", got=got, remedy=remedy))
        slots.setdefault(slot, path)
        devices.setdefault(device, path)
    return found


def _pin_slot_complaints(problem: Problem, pin: Pin, path: str) -> list[Complaint]:
    modules = problem.job.modules
    if pin.slot.module is None and len(modules) > 1:
        return [Complaint(f"{path}.slot", "names no module", expected="module: encoder or decoder")]
    name = pin.slot.module or "decoder"
    if name not in modules:
        return [Complaint(f"{path}.slot.module", "no such module", repr(name), "decoder")]
    m = modules[name]
    sizes = {"pp": m.pp, "dp": problem.dp, "cp": m.cp, "tp": m.tp}
    return [
        Complaint(
            f"{path}.slot.{axis}",
            "no such slot",
            got=str(getattr(pin.slot, axis)),
            expected=f"0 to {size - 1}",
        )
        for axis, size in sizes.items()
        if getattr(pin.slot, axis) >= size
    ]


def _pin_device(problem: Problem, pin: Pin, path: str) -> list[Complaint]:
    machines = problem.cluster.machines
    node = machines.node_index.get(pin.host)
    if node is None:
        remedy = did_you_mean(pin.host, machines.hosts)
        return [Complaint(f"{path}.host", "unknown node", repr(pin.host), remedy=remedy)]
    gpus = int(machines.gpus[node])
    if pin.gpu >= gpus:
        return [Complaint(f"{path}.gpu", "no such GPU", str(pin.gpu), f"0 to {gpus - 1}")]
    if not machines.online[machines.device(pin.host, pin.gpu)]:
        got = f"{pin.host} GPU {pin.gpu}"
        return [Complaint(f"{path}.gpu", "an offline GPU holds no slot", got, "an online GPU")]
    return []
