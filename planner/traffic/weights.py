"""Weight of a link of each kind: the user's, or the bytes it carries in one training step."""

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from math import gcd

from planner.spec.job import Module
from planner.spec.names import LINK_KINDS
from planner.spec.problem import Problem
from planner.traffic.tables import ModuleBytes, StepBytes

STEPS = 2**20
"""Resolution of derived weights: the largest is worth about this many units."""


def exact(number: float) -> Fraction:
    """A user's decimal as the number it stands for: 0.1 is a tenth."""
    return Fraction(str(number))


def kind_weights(problem: Problem) -> dict[str, Fraction]:
    """Cost of one link of each kind: `objective.weights`, or bytes with `objective.traffic`.

    The cost has one weight a kind, while modules and stages may differ; a kind's derived weight is
    the mean over all links of that kind. Derived weights are whole multiples of a power of two of
    bytes, the largest about 2^20 of them, so that integers of modest size stand for them exactly;
    a kind that moves anything keeps at least one unit.

    Example:
        >>> weights = kind_weights(Problem.model_validate({"cluster": {"nodes": 1}}))
        >>> str(weights["tp"]), str(weights["dp"])
        ('1000', '1')
    """
    traffic = problem.objective.traffic
    if traffic is None:
        return {k: exact(w) for k, w in problem.objective.weights.model_dump().items()}
    return rounded(mean_bytes(problem, StepBytes.of(problem, traffic)))


def rounded(weights: dict[str, Fraction]) -> dict[str, Fraction]:
    """Weights as multiples of the power of two that cuts the largest into about `STEPS` units."""
    largest = int(max(weights.values()))
    unit = 1 << max(0, largest.bit_length() - STEPS.bit_length())
    return {
        kind: Fraction(max(1, round(weight / unit)) * unit) if weight else Fraction(0)
        for kind, weight in weights.items()
    }


def mean_bytes(problem: Problem, step: StepBytes) -> dict[str, Fraction]:
    """Bytes of a link of each kind, the mean over all links the job has; 0 where it has none."""
    total: dict[str, Fraction] = defaultdict(Fraction)
    count: dict[str, int] = defaultdict(int)
    for kind, links, each in _all_links(problem, step):
        total[kind] += links * each
        count[kind] += links
    return {k: total[k] / count[k] if count[k] else Fraction(0) for k in LINK_KINDS}


def _all_links(problem: Problem, step: StepBytes) -> Iterator[tuple[str, int, Fraction]]:
    """(kind, how many links if every group were cut everywhere, bytes of one)."""
    job, dp = problem.resolved.job, problem.dp
    for name, module in job.modules.items():
        held = step.modules[name]
        for stage in range(module.pp):
            yield from _stage_links(problem, module, held, stage)
        lanes = module.tp * module.cp * dp
        yield "pp", (module.pp - 1) * lanes, held.pp
        yield "pp", lanes if module.vpp > 1 else 0, held.wrap
    if job.encoder is not None:
        pairs = max(job.encoder.tp, job.decoder.tp) * bridged_slices(job.encoder, job.decoder) * dp
        yield "pp", pairs, step.bridge
    yield "embd", job.decoder.tp * job.decoder.cp * dp, step.embd


def _stage_links(
    problem: Problem, module: Module, held: ModuleBytes, stage: int
) -> Iterator[tuple[str, int, Fraction]]:
    """Links of one stage; a ring of one member has none."""
    ranks = module.tp * module.cp * problem.dp
    if problem.objective.exchanges_context:
        yield "cp", ranks * (module.cp - 1) // 2, 2 * held.cp_peer[stage]
    elif module.cp > 1:
        # The inner all-to-alls of a2a+p2p stay inside a node; a context group's links carry the
        # outer rings, one for each inner member.
        traffic = problem.objective.traffic
        two_step = traffic is not None and traffic.cp == "a2a+p2p"
        inner = (problem.job.hierarchical_cp or [1])[0] if two_step else 1
        yield "cp", ranks, inner * held.cp_ring[stage]
    if module.tp > 1:
        yield "tp", ranks, held.tp[stage]
    if module.cp * problem.dp > 1:
        yield "dp", ranks, held.dp[stage]
    if module.ep > 1:
        yield "ep", ranks * (module.ep - 1) // 2, 2 * held.ep_peer[stage]
        yield "expt_tp", ranks if module.expert_tp > 1 else 0, held.expt_tp[stage]
        alone = ranks == module.expert_tp * module.ep
        yield "expt_dp", 0 if alone else ranks, held.expt_dp[stage]


def bridged_slices(encoder: Module, decoder: Module) -> int:
    """Pairs of context slices that meet between the modules.

    Example:
        >>> bridged_slices(Module(cp=2), Module(cp=3))
        4
    """
    return encoder.cp + decoder.cp - gcd(encoder.cp, decoder.cp)
