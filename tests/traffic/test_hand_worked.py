"""Bytes of three published training configurations, worked by hand."""

from fractions import Fraction

from planner.traffic import StepBytes, kind_weights
from tests.problems import problem

LLAMA = {"model": "llama3-405b", "sequence": 8192, "global_batch": 2048}
DEEPSEEK = {"model": "deepseek-v3", "sequence": 4096, "global_batch": 15360}
T5_STACK = {
    "layers": 24,
    "hidden": 4096,
    "heads": 64,
    "head_dim": 64,
    "ffn": 10240,
    "gated": True,
    "vocabulary": 29184,
}
T5 = {
    "model": {
        "encoder": T5_STACK,
        "decoder": {**T5_STACK, "cross_attention": True},
        "tied_embeddings": True,
    },
    "sequence": 128,
    "encoder_sequence": 512,
    "micro_batch": 24,
    "global_batch": 1920,
}


def step(nodes, job, traffic):
    p = problem(nodes, job, objective={"traffic": traffic})
    return StepBytes.of(p, p.objective.traffic)


def test_dense_llama3_405b_on_16384_gpus():
    """Llama 3 405B, arXiv 2407.21783, table 4: tp 8, cp 1, pp 16, dp 128, 16 samples a copy.

    V = 8192 tokens x 16384 x 2 bytes = 268,435,456. 126 layers: 7 on the first and last stage, 8 on
    the others. 16 micro-batches.

    * tp, middle stage: 8 layers x 16 x 10 V x 7/8 = 300,647,710,720; first stage 7/8 of it.
    * pp: 2 directions x 16 x V / 8 lanes = 1,073,741,824.
    * parameters of a layer on one rank: q and o 2 x 16384 x 16384, k and v 2 x 16384 x 1024, three
      matrices 16384 x 53248, together 3,187,671,040, by 8 = 398,458,880; two norms 32,768 whole:
      398,491,648.
    * dp, middle stage: 8 x 398,491,648 x (4 + 2) bytes x 127/128 = 18,978,164,736.
    * dp, first stage: 7 layers and an eighth of the embedding, 128256 x 16384 / 8 = 262,668,288:
      3,052,109,824 x 6 x 127/128 = 18,169,591,296; the last has a norm of 16384 more.
    """
    decoder = step(2048, {"decoder": {"tp": 8, "pp": 16}}, LLAMA).modules["decoder"]
    assert decoder.tp == [263_066_746_880, *[300_647_710_720] * 14, 263_066_746_880]
    assert decoder.pp == 1_073_741_824
    assert decoder.dp[0] == 18_169_591_296
    assert decoder.dp[1:15] == [18_978_164_736] * 14
    assert decoder.dp[15] == (3_052_109_824 + 16_384) * 6 * Fraction(127, 128)
    assert set(decoder.cp_ring + decoder.ep_peer + decoder.expt_dp) == {0}


def test_dense_llama3_405b_with_long_context():
    """The same table at 131,072 tokens: tp 8, cp 16, pp 16, dp 8, 16 samples a copy.

    A slice has 8192 tokens; one of the 8 key-value heads is on each rank: K = 2 x 8192 x 128 x 2 =
    4,194,304 bytes. cp, middle stage: 8 layers x 16 x 3 x 15 K = 24,159,191,040.
    By all-to-all: 16 query heads a rank, Q = O = 8192 x 16 x 128 x 2 = 33,554,432; of the
    2 (2 x 33,554,432 + 4,194,304) = 142,606,336 bytes a sixteenth goes to each peer, 8,912,896;
    x 8 x 16 = 1,140,850,688.
    In two steps of 4: around the outer ring 8 x 16 x 3 x 3 K, to each inner peer a quarter.
    """
    traffic = LLAMA | {"sequence": 131072, "global_batch": 128}
    job = {"decoder": {"tp": 8, "cp": 16, "pp": 16}}
    ring = step(2048, job, traffic).modules["decoder"]
    assert ring.cp_ring[7] == 24_159_191_040
    assert ring.cp_peer[7] == 0
    exchange = step(2048, job, traffic | {"cp": "a2a"}).modules["decoder"]
    assert exchange.cp_ring[7] == 0
    assert exchange.cp_peer[7] == 1_140_850_688
    two_step = step(2048, job | {"hierarchical_cp": [4, 4]}, traffic | {"cp": "a2a+p2p"}).modules[
        "decoder"
    ]
    assert two_step.cp_ring[7] == 8 * 16 * 3 * 3 * 4_194_304
    assert two_step.cp_peer[7] == 8 * 16 * 2 * 71_303_168 * Fraction(1, 4)


def test_moe_deepseek_v3_on_2048_gpus():
    """DeepSeek-V3, arXiv 2412.19437, sections 3.2 and 4.2: pp 16, ep 64, dp 128, batch 15,360.

    61 layers on 16 stages: 3 on stages 0, 14 and 15, 4 on the others; the first three are dense, so
    stage 0 routes nothing. 120 micro-batches of one 4096-token sample; a token has 7168 x 2 = 14,336
    bytes. Sent in bf16 (the report sends the dispatch in FP8).

    * ep: a rank sends 4 x 4096 tokens x 8 experts x 14,336 bytes / 64 = 29,360,128 to each peer, a
      layer and micro-batch; x 4 layers x 120 = 14,092,861,440. A pair link carries both directions.
    * expt_dp: 256 / 64 = 4 experts of 3 x 7168 x 2048 = 44,040,192 on each of 4 layers =
      704,643,072 elements over 128 / 64 = 2 ranks: x 6 bytes x 1/2 = 2,113,929,216.
    * dp: attention 7168 x (1536 + 512 + 64) + 1536 + 512 = 15,140,864 down, 1536 x 128 x 192 =
      37,748,736 and 512 x 128 x 256 = 16,777,216 up, 128 x 128 x 7168 = 117,440,512 out; norms
      14,336; shared expert 44,040,192; router 7168 x 256 = 1,835,008: 232,996,864 a layer, x 4
      x 6 bytes x 127/128 = 5,548,237,824.
    * pp: 2 directions x 120 x 4096 x 14,336 = 14,092,861,440.
    """
    job = {"decoder": {"pp": 16, "ep": 64}}
    found = step(256, job, DEEPSEEK)
    decoder = found.modules["decoder"]
    assert found.micro_batches == 120
    assert decoder.ep_peer[0] == 0
    assert decoder.ep_peer[7] == 14_092_861_440
    assert decoder.expt_dp[7] == 2_113_929_216
    assert decoder.dp[7] == 5_548_237_824
    assert decoder.pp == 14_092_861_440
    assert set(decoder.tp + decoder.cp_ring + decoder.expt_tp) == {0}


def test_encoder_decoder_t5_11b_on_160_gpus():
    """T5 11B as NVIDIA's NeMo launcher trains it (training/t5/11b.yaml): 20 nodes, tp 4.

    24 + 24 layers of width 4096, 512 tokens in, 128 out, micro-batch 24, batch 1920. With the encoder
    on GPUs of its own dp is 20 and there are 4 micro-batches.

    V = 24 x 512 x 4096 x 2 = 100,663,296 in the encoder, W = 24 x 128 x 4096 x 2 = 25,165,824 in the
    decoder.

    * tp, encoder: 24 layers x 4 x 10 V x 3/4 = 72,477,573,120.
    * tp, decoder: self attention, cross attention and feed-forward 5 W each, and the cross attention's
      keys and values read the encoder's output, 3 V: 24 x 4 x (15 W + 3 V) x 3/4 = 48,922,361,856.
    * pp: the bridge, 2 directions x 4 x V / 4 lanes = 201,326,592.
    * dp, encoder: a layer has 4 x 4096 x 4096 + 3 x 4096 x 10240 = 192,937,984, by 4 = 48,234,496,
      and two norms of 4096; 24 of them, a quarter of 29184 x 4096, and the last norm: 1,187,713,024
      x 6 bytes x 19/20 = 6,769,964,236.8.
    """
    job = {"encoder": {"tp": 4}, "decoder": {"tp": 4}, "dp": 20, "tied_embeddings": True}
    found = step(20, job, T5)
    assert found.modules["encoder"].tp == [72_477_573_120]
    assert found.modules["decoder"].tp == [48_922_361_856]
    assert found.bridge == 201_326_592
    assert found.modules["encoder"].dp == [Fraction(67_699_642_368, 10)]
    assert found.embd == 0  # one stage: nothing to keep in step


def test_encoder_decoder_t5_with_a_pipeline():
    """The same with two decoder stages, dp 13 of the 160 GPUs and batch 1872 (6 micro-batches).

    * pp inside the decoder: state and encoder output, 2 x 6 x (W + V) / 4 = 377,487,360.
    * embd: 29184 x 4096 / 4 elements x 4 bytes, both directions: 239,075,328.
    """
    job = {"encoder": {"tp": 4}, "decoder": {"tp": 4, "pp": 2}, "tied_embeddings": True}
    found = step(20, job, T5 | {"global_batch": 1872})
    assert found.micro_batches == 6
    assert found.modules["decoder"].pp == 377_487_360
    assert found.embd == 239_075_328


def test_the_weight_of_a_kind_is_the_mean_over_its_links():
    """Llama 3 405B: 14 stages send 300.6 GB around a tensor ring, two 263.1 GB: mean 295.95 GB."""
    p = problem(2048, {"decoder": {"tp": 8, "pp": 16}}, objective={"traffic": LLAMA})
    mean = (14 * 300_647_710_720 + 2 * 263_066_746_880) / 16
    assert abs(kind_weights(p)["tp"] - mean) <= mean / 2**20
