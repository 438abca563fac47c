"""How each kind's bytes grow with model, batch and sequence; weights survive their scaling."""

from fractions import Fraction

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from planner.grid import Grid
from planner.solver.weighing import weigh
from planner.spec.problem import Problem
from planner.traffic import StepBytes, kind_weights
from planner.traffic.weights import STEPS, mean_bytes, rounded
from tests.problems import problem

KINDS = ("tp", "cp", "dp", "pp", "ep", "expt_tp", "expt_dp", "embd")


@st.composite
def configurations(draw):
    """Job, model and batch of any shape that a trainer accepts."""
    power = st.sampled_from([1, 2, 4])
    tp, cp, pp, ep = (draw(power) for _ in range(4))
    vpp = draw(st.sampled_from([1, 2])) if pp > 1 else 1
    dp, etp = 4 * draw(power), draw(st.sampled_from([1, tp]))
    stack = {
        "layers": draw(st.integers(pp * vpp, 13)),
        "hidden": 64 * draw(st.integers(1, 9)),
        "heads": 16,
        "kv_heads": draw(st.sampled_from([1, 2, 4, 16])),
        "head_dim": 8 * draw(power),
        "ffn": draw(st.integers(1, 500)),
        "gated": draw(st.booleans()),
        "vocabulary": draw(st.integers(0, 999)),
        "experts": 8,
        "top_k": draw(st.integers(1, 8)),
        "shared_ffn": draw(st.sampled_from([0, 48])),
        "moe_layer_freq": draw(st.integers(1, 3)),
    }
    traffic = {
        "model": {"decoder": stack, "tied_embeddings": draw(st.booleans())},
        "sequence": 2 * cp * tp * draw(st.integers(1, 50)),
        "micro_batch": draw(st.integers(1, 3)),
        "sequence_parallel": True,
        "distributed_optimizer": draw(st.booleans()),
        "recompute": draw(st.sampled_from(["none", "selective", "full"])),
        "cp": draw(st.sampled_from(["p2p", "all-gather", "a2a"])),
    }
    traffic["global_batch"] = 2 * dp * traffic["micro_batch"] * draw(st.integers(1, 5))
    decoder = {"tp": tp, "cp": cp, "pp": pp, "vpp": vpp, "ep": ep, "etp": etp}
    job = {"decoder": decoder, "dp": dp, "tied_embeddings": traffic["model"]["tied_embeddings"]}
    return job, traffic


def bytes_of(job, traffic):
    p = problem({"nodes": 64, "gpus_per_node": 16}, job, objective={"traffic": traffic})
    return mean_bytes(p, StepBytes.of(p, p.objective.traffic))


def grown(traffic, **factors):
    return traffic | {key: traffic[key] * factor for key, factor in factors.items()}


@settings(max_examples=60, deadline=None)
@given(configurations())
def test_twice_the_hidden_width_doubles_everything_but_attention(case):
    """Activations, matrices, embedding and routers are linear in h; heads keep their own width."""
    job, traffic = case
    stack = traffic["model"]["decoder"]
    wide = {**traffic["model"], "decoder": stack | {"hidden": 2 * stack["hidden"]}}
    before, after = bytes_of(job, traffic), bytes_of(job, traffic | {"model": wide})
    assert after == {kind: n * (1 if kind == "cp" else 2) for kind, n in before.items()}


@settings(max_examples=60, deadline=None)
@given(configurations())
def test_twice_the_batch_doubles_activations_and_leaves_gradients(case):
    job, traffic = case
    before, after = bytes_of(job, traffic), bytes_of(job, grown(traffic, global_batch=2))
    once = ("dp", "expt_dp", "embd")
    assert after == {kind: n * (1 if kind in once else 2) for kind, n in before.items()}


@settings(max_examples=60, deadline=None)
@given(configurations())
def test_larger_micro_batches_move_the_same_bytes(case):
    """Half as many micro-batches of twice the size."""
    job, traffic = case
    assert bytes_of(job, grown(traffic, micro_batch=2)) == bytes_of(job, traffic)


@settings(max_examples=60, deadline=None)
@given(configurations())
def test_twice_the_sequence_doubles_activations_and_leaves_gradients(case):
    job, traffic = case
    before, after = bytes_of(job, traffic), bytes_of(job, grown(traffic, sequence=2))
    once = ("dp", "expt_dp", "embd")
    assert after == {kind: n * (1 if kind in once else 2) for kind, n in before.items()}


@settings(max_examples=60, deadline=None)
@given(configurations())
def test_a_repeated_forward_pass_adds_its_share(case):
    """Tensor rings 10 to 14 of V (t-1)/t a layer, expert kinds 4 to 6, context 3 to 4 or 2 to 3."""
    job, traffic = case
    before = bytes_of(job, traffic | {"recompute": "none"})
    after = bytes_of(job, traffic | {"recompute": "full"})
    context = Fraction(3, 2) if traffic["cp"] == "a2a" else Fraction(4, 3)
    factor = {"ep": Fraction(3, 2), "expt_tp": Fraction(3, 2), "cp": context}
    for kind in KINDS:
        if kind != "tp":
            assert after[kind] == before[kind] * factor.get(kind, 1)
    assert before["tp"] * Fraction(7, 5) <= after["tp"] <= before["tp"] * Fraction(3, 2)


def test_without_sequence_parallelism_a_layer_sends_eight_tenths_and_stages_t_times():
    job = {"decoder": {"tp": 4, "pp": 2}, "dp": 2}
    traffic = {"model": "llama3-8b", "sequence": 4096, "global_batch": 8}
    cut, whole = (bytes_of(job, traffic | {"sequence_parallel": on}) for on in (True, False))
    assert whole["tp"] == cut["tp"] * Fraction(8, 10)
    assert whole["pp"] == cut["pp"] * 4


@given(
    st.lists(
        st.one_of(st.just(Fraction(0)), st.fractions(Fraction(1, 10**6), Fraction(10) ** 18)),
        min_size=8,
        max_size=8,
    )
)
def test_rounding_keeps_every_weight_and_its_size(numbers):
    """No positive weight is lost, none moves by more than a millionth of the largest."""
    weights = dict(zip(KINDS, numbers, strict=True))
    found = rounded(weights)
    unit = 1 << max(0, int(max(numbers)).bit_length() - STEPS.bit_length())
    for kind, weight in weights.items():
        assert (found[kind] == 0) == (weight == 0)
        assert found[kind] % unit == 0
        assert abs(found[kind] - weight) <= max(Fraction(unit, 2), unit - weight)
    assert max(found.values()) <= 2 * STEPS * unit


@pytest.mark.parametrize("global_batch", [131_072, 131_072 * 64])
def test_integer_weights_of_the_largest_jobs_fit(global_batch):
    """131,072 GPUs, three levels, the largest model: exact, and every total far below 2^63."""
    p = Problem.model_validate(
        {
            "cluster": {
                "nodes": 16384,
                "levels": [
                    {"name": "leaf", "nodes_per_domain": 32, "weight": 2.5},
                    {"name": "pod", "nodes_per_domain": 1024, "weight": 10},
                ],
            },
            "job": {"decoder": {"tp": 8, "pp": 16, "ep": 64, "etp": 1}},
            "objective": {
                "traffic": {
                    "model": "deepseek-v3",
                    "sequence": 4096,
                    "global_batch": global_batch,
                }
            },
        }
    )
    weighing = weigh(p, Grid.of(p), p.cluster.machines)
    exact = kind_weights(p)
    positive = [kind for kind in KINDS if exact[kind]]
    assert {"tp", "dp", "pp", "ep", "expt_dp"} <= set(positive)
    assert weighing.is_exact
    levels = [Fraction(1), Fraction(5, 2), Fraction(10)]
    for kind in positive:
        for level, own in zip(weighing.levels, levels, strict=True):
            assert weighing.kinds[kind] * level * weighing.unit == exact[kind] * own
    links = 20 * p.world_size * 64  # more than any kind can count
    assert sum(weighing.kinds.values()) * sum(weighing.levels) * links < 2**62
