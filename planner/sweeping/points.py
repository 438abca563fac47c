"""The points of a sweep: every combination of parallel sizes, as a problem or with its refusal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from operator import index
from typing import Any, Literal

from planner.errors import Complaint, InputError
from planner.spec.copies import most_copies
from planner.spec.names import did_you_mean
from planner.spec.problem import Problem
from planner.wording import counted

SIZES = ("tp", "cp", "pp", "vpp", "ep", "etp")
Values = int | Sequence[int]
Dp = Literal["auto"] | Values


@dataclass(frozen=True)
class Axes:
    """What is swept.

    Attributes:
        encoder, decoder: values of each size of a module.
        dp: data parallel copies; ``auto`` fills the machines.
        order: order strings; the problem's own if empty.
        max_idle: share of the GPUs that may idle although another data copy would fit, where the
            batch or the experts do not divide by more copies.
    """

    encoder: Mapping[str, Values]
    decoder: Mapping[str, Values]
    dp: Dp = "auto"
    order: Sequence[str] = ()
    max_idle: float = 0.05

    def combinations(self) -> Iterator[dict[str, Any]]:
        """Every combination as {"decoder.tp": 4, …, "dp": "auto"}, the last axis fastest.

        Raises:
            InputError: a size that modules do not have, or no value for one.
        """
        axes: dict[str, Sequence[Any]] = {}
        for module, sizes in (("encoder", self.encoder), ("decoder", self.decoder)):
            for size, values in sizes.items():
                if size not in SIZES:
                    remedy = did_you_mean(size, SIZES)
                    raise InputError(Complaint(module, f"no such size {size!r}", remedy=remedy))
                axes[f"{module}.{size}"] = _listed(f"{module}.{size}", values)
        axes["dp"] = ("auto",) if self.dp == "auto" else _listed("dp", self.dp)
        if self.order:
            axes["order"] = self.order
        for name, values in axes.items():
            if not values:
                raise InputError(Complaint(name, "has no value", expected="at least one"))
        for chosen in product(*axes.values()):
            yield dict(zip(axes, chosen, strict=True))


def _listed(name: str, values: Values) -> Sequence[int]:
    """Values without repeats; whatever counts as a whole number, numpy's too."""
    several = values if isinstance(values, Iterable) else (values,)
    try:
        return tuple(dict.fromkeys(index(value) for value in several))
    except TypeError:
        raise InputError(Complaint(name, "not whole numbers", got=repr(values))) from None


@dataclass(frozen=True)
class Point:
    """One combination.

    Attributes:
        columns: its sizes as the table names them.
        problem: what is solved; None if it is refused.
        reason: why it is refused; None if it is not.
    """

    columns: dict[str, Any]
    problem: Problem | None
    reason: InputError | None


def expand(base: Problem | Mapping[str, Any], axes: Axes) -> list[Point]:
    """All points of a sweep, refused ones included, in the order of the axes.

    Args:
        base: machines, objective and constraints, and the sizes that are not swept; as a problem or
            as the data of a problem file.
        axes: what is swept.

    Raises:
        InputError: bad machines or axes, or no combination that makes a problem (then why the first
            makes none).

    Example:
        >>> points = expand({"cluster": {"nodes": 2}}, Axes({}, {"tp": [8, 3, 32]}))
        >>> [(p.columns["tp"], p.columns["dp"], p.reason is None) for p in points]
        [(8, 2, True), (3, 5, True), (32, None, False)]
    """
    parts, job = _parts(base)
    points = [_point(parts, job, chosen, axes.max_idle) for chosen in axes.combinations()]
    refused = [point.reason for point in points if point.reason is not None]
    if len(refused) == len(points):
        raise refused[0]
    return points


def _parts(base: Problem | Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What all points share, validated once where possible; and the job they vary."""
    if isinstance(base, Problem):
        shared = {key: getattr(base, key) for key in ("cluster", "objective", "constraints")}
        return shared, base.job.model_dump(exclude_unset=True)
    job = base.get("job", {})
    if not isinstance(job, Mapping):
        Problem.model_validate(dict(base))  # says what is wrong with it
    cluster = Problem.model_validate({k: v for k, v in base.items() if k == "cluster"}).cluster
    rest = {k: v for k, v in base.items() if k not in ("cluster", "job")}
    return {"cluster": cluster, **rest}, dict(job)


def _point(
    parts: Mapping[str, Any], job: Mapping[str, Any], chosen: dict[str, Any], max_idle: float
) -> Point:
    own: dict[str, Any] = {**job, **{k: chosen[k] for k in ("dp", "order") if k in chosen}}
    for name in ("encoder", "decoder"):
        sizes = {k.partition(".")[2]: v for k, v in chosen.items() if k.startswith(f"{name}.")}
        if sizes:
            own[name] = {**(own.get(name) or {}), **sizes}
    try:
        problem = Problem.model_validate({**parts, "job": own}).resolved
        if chosen["dp"] == "auto":
            _refuse_unfilled(problem, max_idle)
    except InputError as error:
        return Point(_wanted(own), None, error)
    return Point(_resolved(problem), problem, None)


def _refuse_unfilled(problem: Problem, max_idle: float) -> None:
    """Refuse a point that leaves much idle and room for another data copy."""
    usable = len(problem.cluster.machines.usable)
    idle = usable - problem.world_size
    room = range(1, usable // problem.job.copy_size + 1)
    held = most_copies(
        problem.job, problem.cluster.machines, problem.constraints.within, room
    )  # batch and experts left out
    if held > problem.dp and idle > max_idle * usable:
        raise InputError(
            Complaint(
                "$.job.dp",
                "the job does not fill the machines",
                got=f"dp {problem.dp}, {idle} of {counted(usable, 'GPU')} idle",
                expected=f"dp {held}",
                remedy="which does not divide the batch, or etp x ep does not divide tp x cp x dp",
            )
        )


def _resolved(problem: Problem) -> dict[str, Any]:
    return _columns({n: m.model_dump() for n, m in problem.job.modules.items()}) | {
        "dp": problem.dp,
        "order": problem.job.order,
    }


def _wanted(job: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a combination that makes no problem: what was asked for, and defaults."""
    modules = {
        n: dict(job.get(n) or {}) for n in ("encoder", "decoder") if n in job or n == "decoder"
    }
    for sizes in modules.values():
        sizes.setdefault("etp", sizes.get("tp", 1))
    dp = job.get("dp")
    columns = _columns(modules)
    return columns | {"dp": None if dp == "auto" else dp, "order": job.get("order")}


def _columns(modules: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    prefix = {"encoder": "enc_", "decoder": ""}
    return {
        prefix[name] + size: sizes.get(size, 1) for name, sizes in modules.items() for size in SIZES
    }
