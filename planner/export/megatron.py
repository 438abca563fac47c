"""Megatron: the arguments under which it numbers its ranks as the plan does."""

import json
from collections.abc import Sequence
from shlex import quote
from typing import Any

import numpy as np

from planner.errors import Complaint, InputError
from planner.export.numbering import View
from planner.grid import Grid
from planner.spec.job import DEFAULT_ORDER, Job
from planner.spec.problem import Problem

PP_ORDER = "tp-cp-ep-pp-dp"
"""The order behind --use-tp-pp-dp-mapping, the only other one of the command line."""

_ARGUMENTS = """\
# source megatron.sh, then: pretrain_gpt.py "${{MEGATRON_ARGS[@]}}" ...
# Reproduces the plan's ranks in megatron-core {releases}.
MEGATRON_ARGS=(
{arguments}
)
"""

_NONE = """\
# {reason}
echo {text} >&2
return 1 2>/dev/null || exit 1
"""


def files(view: View) -> dict[str, str]:
    """``megatron.sh`` with an array of arguments; ``megatron.json`` with the same for Python.

    The JSON holds the keywords of `initialize_model_parallel` (or null), the megatron-core
    releases they are right for, and one HyperCommGrid a module (0.14 on).

    Raises:
        InputError: host numbering, or an order Megatron refuses.
    """
    if not np.array_equal(view.number, np.arange(view.world)):
        raise InputError(
            Complaint(
                "--numbering",
                "Megatron numbers its ranks itself",
                got=repr(view.numbering),
                expected="'trainer'",
            )
        )
    problem = view.plan.problem.resolved
    order = _order(problem)
    releases = _releases(problem, order)
    keywords = _keywords(problem.job, order) if releases else None
    described = {
        "releases": releases,
        "initialize_model_parallel": keywords,
        "grids": _grids(view, order),
    }
    return {
        "megatron.sh": _shell(problem.job, order, releases),
        "megatron.json": json.dumps(described, indent=1) + "\n",
    }


def _order(problem: Problem) -> str:
    """An order Megatron accepts that numbers as the job's does; one the command line has if any."""
    own = Grid.of(problem)
    for order in (DEFAULT_ORDER, PP_ORDER):
        data = problem.document()
        data["job"]["order"] = order
        other = Problem.model_validate(data)
        if not _same(own, Grid.of(other)):
            continue
        _refuse(other.job)
        return order
    _refuse(problem.job)
    return problem.job.order


def _same(a: Grid, b: Grid) -> bool:
    return all(
        np.array_equal(m.mesh, n.mesh) and np.array_equal(m.expert_mesh, n.expert_mesh)
        for m, n in zip(a.modules, b.modules, strict=True)
    )


def _refuse(job: Job) -> None:
    warnings = job.warnings()
    if warnings:
        where, what = warnings[0].split(": ", 1)
        remedy = f"leave the order out for {DEFAULT_ORDER!r}, or use --to torch"
        raise InputError(Complaint(where.replace("$", "$.problem", 1), what, remedy=remedy))


def _releases(problem: Problem, order: str) -> str | None:
    """The megatron-core releases whose own groups equal the plan's, or None."""
    encoder, decoder = problem.job.encoder, problem.job.decoder
    if encoder is None:
        return "0.11 on"
    one_slice = decoder.cp * problem.dp == 1
    plain = encoder.vpp == 1 and not encoder.has_experts and encoder.cp == decoder.cp
    if not plain or encoder.tp > decoder.tp or decoder.vpp > 1:
        return None
    if encoder.tp == decoder.tp:
        return "0.11 to 0.13"
    # 0.12 deals decoder lanes over all slices at once, which stays inside each only so.
    if one_slice or (decoder.tp % encoder.tp == 0 and order.startswith("tp-")):
        return "0.12 to 0.13"
    return None


def _keywords(job: Job, order: str) -> dict[str, Any]:
    d = job.decoder
    out: dict[str, Any] = {
        "tensor_model_parallel_size": d.tp,
        "pipeline_model_parallel_size": d.pp,
        "context_parallel_size": d.cp,
        "expert_model_parallel_size": d.ep,
        "expert_tensor_parallel_size": d.expert_tp,
        "order": order,
    }
    if d.vpp > 1:
        out["virtual_pipeline_model_parallel_size"] = d.vpp
    if job.hierarchical_cp:
        out["hierarchical_context_parallel_sizes"] = list(job.hierarchical_cp)
    if job.encoder is not None:
        out["encoder_tensor_model_parallel_size"] = job.encoder.tp
        out["encoder_pipeline_model_parallel_size"] = job.encoder.pp
    return out


def _grids(view: View, order: str) -> dict[str, dict[str, Any]]:
    """Shape, axis names (fastest first) and first rank of each module's HyperCommGrid."""
    grids = {}
    for module in view.plan.grid.modules:
        sizes = dict(zip(("pp", "dp", "cp", "tp"), module.mesh.shape, strict=True))
        names = [t for t in order.split("-") if t in sizes]
        names += [t for t in sizes if t not in names]
        grids[module.name] = {
            "shape": [sizes[t] for t in names],
            "dim_names": names,
            "rank_offset": int(module.mesh.min()),
        }
    return grids


def _shell(job: Job, order: str, releases: str | None) -> str:
    if releases is None:
        return _unusable(
            "No release of megatron-core builds these encoder groups itself: "
            "use planner.runtime.megatron (0.15 on)."
        )
    if order not in (DEFAULT_ORDER, PP_ORDER):
        return _unusable(
            f"Megatron's command line has no order {order}: "
            "pass the keywords of megatron.json to initialize_model_parallel."
        )
    lines = "\n".join(f"  {' '.join(map(quote, words))}" for words in _arguments(job, order))
    return _ARGUMENTS.format(releases=releases, arguments=lines)


def _unusable(reason: str) -> str:
    return _NONE.format(reason=reason, text=quote(f"megatron.sh: {reason}"))


def _arguments(job: Job, order: str) -> list[Sequence[str]]:
    d = job.decoder
    out: list[Sequence[str]] = [
        ("--tensor-model-parallel-size", str(d.tp)),
        ("--pipeline-model-parallel-size", str(d.pp)),
        ("--context-parallel-size", str(d.cp)),
    ]
    if d.has_experts:
        out.append(("--expert-model-parallel-size", str(d.ep)))
        out.append(("--expert-tensor-parallel-size", str(d.expert_tp)))
    if d.vpp > 1:
        out.append(("--num-virtual-stages-per-pipeline-rank", str(d.vpp)))
    if job.hierarchical_cp:
        sizes = map(str, job.hierarchical_cp)
        out.append(("--hierarchical-context-parallel-sizes", *sizes))
    if job.encoder is not None:
        out.append(("--encoder-tensor-model-parallel-size", str(job.encoder.tp)))
        out.append(("--encoder-pipeline-model-parallel-size", str(job.encoder.pp)))
    if order == PP_ORDER:
        out.append(("--use-tp-pp-dp-mapping",))
    return out
