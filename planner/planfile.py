"""Reading a plan file back: its form is checked here, what it states in `verification`."""

from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from planner.errors import Complaint, InputError
from planner.grid import Ints
from planner.lineage import Lineage
from planner.machines import Machines
from planner.plan import FORMAT, VERSION
from planner.spec.complaints import complaints_of
from planner.spec.loading import parse_json, read_text, source_name
from planner.spec.names import NAME_RULE, is_name
from planner.spec.problem import Problem


class _Form(BaseModel):
    """Known fields are typed; what later versions or other tools add is left alone."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


class Seat(_Form):
    """A GPU of a host."""

    host: str
    gpu: int


class RankEntry(Seat):
    """One line of `ranks`."""

    rank: int
    local_rank: int
    host_rank: int
    module: str
    pp: int
    dp: int
    cp: int
    tp: int
    dataset: bool


class SolverEntry(_Form):
    """What the solver claims."""

    status: Literal["optimal", "feasible"]
    cost: int | float
    bound: int | float
    gap: int | float


class BaselineEntry(_Form):
    """Megatron's own order."""

    cost: int | float
    links: dict[str, dict[str, int]]


class PlanFile(_Form):
    """The content of a plan file as stated, nothing recomputed yet."""

    format: str
    version: int
    problem_sha256: str
    problem: dict[str, Any]
    solver: SolverEntry
    replan: Lineage | None = None
    baseline: BaselineEntry
    links: dict[str, dict[str, int]]
    traffic: dict[str, Any] | None = None
    world_size: int
    hosts: list[str]
    idle: list[Seat]
    ranks: list[RankEntry]
    groups: dict[str, list[list[int]]]
    bridge: list[list[int]]

    @classmethod
    def of(cls, data: object) -> Self:
        """A plan file's content from plain data.

        Raises:
            InputError: not a plan, a newer version, or names no plan may hold.
        """
        _check_version(data)
        try:
            form = cls.model_validate(data)
        except ValidationError as error:
            raise InputError(complaints_of(error, data, cls)) from None
        for path, name in form.names():
            if not is_name(name):
                raise InputError(Complaint(path, "not a host name", repr(name), NAME_RULE))
        return form

    def names(self) -> list[tuple[str, str]]:
        """(JSON path, host name) of every place that names a host."""
        named = [(f"$.hosts[{i}]", h) for i, h in enumerate(self.hosts)]
        named += [(f"$.idle[{i}].host", s.host) for i, s in enumerate(self.idle)]
        distinct = {r.host: i for i, r in reversed(list(enumerate(self.ranks)))}
        return named + [(f"$.ranks[{i}].host", h) for h, i in distinct.items()]

    def read_problem(self) -> Problem:
        """The problem the plan solves.

        Raises:
            InputError: it is no valid problem; paths start at ``$.problem``.
        """
        try:
            return Problem.model_validate(self.problem)
        except InputError as error:
            raise InputError(
                [
                    Complaint("$.problem" + c.where[1:], c.what, c.got, c.expected, c.remedy)
                    for c in error.complaints
                ]
            ) from None

    def devices(self, machines: Machines) -> Ints:
        """[lines of ranks] device each line names, -1 where the machines have none."""
        out = np.full(len(self.ranks), -1, np.int64)
        for i, line in enumerate(self.ranks):
            node = machines.node_index.get(line.host)
            if node is not None and 0 <= line.gpu < machines.gpus[node]:
                out[i] = machines.first_device[node] + line.gpu
        return out


def read_plan_file(path: str | Path) -> PlanFile:
    """Read a plan file; ``-`` reads standard input.

    Raises:
        InputError: with the file and JSON path.
    """
    return parse_plan_file(read_text(path), source_name(path))


def parse_plan_file(text: str, name: str) -> PlanFile:
    """The content of a plan file's text; `name` is what errors call the file.

    Raises:
        InputError: with the file and JSON path.
    """
    data = parse_json(text, name)
    try:
        return PlanFile.of(data)
    except InputError as error:
        raise error.within(name) from None


def _check_version(data: object) -> None:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        got = repr(data.get("format")) if isinstance(data, dict) else type(data).__name__
        raise InputError(
            Complaint(
                "$.format",
                "not a plan",
                got=got,
                expected=repr(FORMAT),
                remedy="make one with `planner solve cluster.json -o plan.json`",
            )
        )
    version = data.get("version")
    if isinstance(version, int) and version > VERSION:
        raise InputError(
            Complaint(
                "$.version",
                "the plan is of a newer version than this planner reads",
                got=str(version),
                expected=f"at most {VERSION}",
                remedy="upgrade the planner",
            )
        )
    if version != VERSION:
        raise InputError(Complaint("$.version", "unknown version", repr(version), str(VERSION)))
