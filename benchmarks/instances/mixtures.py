"""Irregular jobs with something more: other weights, closed pipelines, a second uneven level."""

from benchmarks.instances.building import dead, even, instance, leaves, mixed, module, runs, uneven
from benchmarks.instances.fabrics import SEVEN_LEAVES
from benchmarks.instances.misfits import MIXED

_EQUAL = dict.fromkeys(("tp", "cp", "pp", "dp"), 1)
_PIPELINE = {"tp": 20, "cp": 10, "pp": 100, "dp": 5}
_GRADIENTS = {"dp": 100}
_CONTEXT = {"cp": 1000}

WEIGHTS = (
    instance(
        "pp-heavy-tp4-48-dead",
        mixed([8] * 7, {0: [1], 3: [1]}),
        module(4, pp=4),
        3,
        weights=_PIPELINE,
    ),
    instance(
        "equal-enc2-tp6-56", even(7), module(6, 2, 2), 2, encoder=module(2, 2), weights=_EQUAL
    ),
    instance("dp-as-cp-tp3-cp4-72", even(9), module(3, 4, 3), 2, weights=_GRADIENTS),
    instance(
        "cp-as-tp-tp4-cp4-96-dead", dead(13, 4, first=1), module(4, 4, 2), 3, weights=_CONTEXT
    ),
    instance("pp-heavy-tp6-108-mixed", mixed(MIXED), module(6, pp=6), 3, weights=_PIPELINE),
    instance("equal-tp4-cp2-120-dead", dead(16, 4), module(4, 2, 3), 5, weights=_EQUAL),
    instance(
        "dp-as-cp-enc2-tp6-256",
        even(32),
        module(6, 2, 2),
        8,
        encoder=module(2, 2, 2),
        weights=_GRADIENTS,
    ),
)

CYCLES = tuple(
    instance(f"cycle-{name}", cluster, decoder | {"vpp": 2}, dp, encoder=enc, tied_embeddings=True)
    for name, cluster, decoder, dp, enc in (
        ("enc2-tp6-56", even(7), module(6, 2, 2), 2, module(2, 2)),
        ("tp6-72", even(9), module(6, pp=4), 3, None),
        ("tp3-cp4-72", even(9), module(3, 4, 3), 2, None),
        ("tp5-80", even(10), module(5, pp=4), 4, None),
        ("tp4-96-dead", dead(13, 3, stride=1), module(4, pp=6), 4, None),
        ("tp4-cp2-120-dead", dead(16, 4), module(4, 2, 3), 5, None),
    )
)

_DEAD_LEAVES = dead(17, 4) | {"levels": [{"name": "leaf", "domains": runs("n", [6, 5, 6])}]}

TWO_LEVELS = (
    instance("leaves-enc2-tp6-112", leaves([5, 4, 5]), module(6, 2, 2), 4, encoder=module(2, 2)),
    instance("leaves-tp4-cp2-128-dead", _DEAD_LEAVES, module(4, 2, 4), 4),
    instance("leaves-tp6-cp2-144", leaves([5, 7, 6]), module(6, 2, 2), 6),
    instance("leaves-tp6-192", leaves([7, 5, 6, 6], weight=2), module(6, pp=4), 8),
    instance("leaves-tp5-200", leaves([9, 7, 9]), module(5, pp=4), 10),
    instance("leaves-tp3-cp4-216", leaves([8, 11, 8]), module(3, 4, 3), 6),
)

ENCODERS = (
    instance(
        "leaves-enc2-tp4-256", leaves([9, 6, 10, 7]), module(4, pp=3), 16, encoder=module(2, pp=2)
    ),
    instance(
        "leaves-enc8-tp8-448", leaves([9, 13, 11, 16, 7]), module(8, pp=6), 8, encoder=module(8)
    ),
    instance(
        "leaves-enc4-tp4-512", leaves(SEVEN_LEAVES), module(4, 2, 6), 8, encoder=module(4, 2, 2)
    ),
    instance(
        "leaves-enc4-tp8-576",
        leaves([15, 9, 12, 16, 10, 10]),
        module(8, pp=5),
        12,
        encoder=module(4, pp=2),
    ),
    instance(
        "leaves-enc8-tp8-960",
        leaves(uneven(120, 9, 18, seed=5)),
        module(8, 2, 8),
        6,
        encoder=module(8, 2, 2),
    ),
)
