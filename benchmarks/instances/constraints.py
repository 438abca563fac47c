"""Two instances for each hard constraint a user can ask for.

Group shapes and the context lane map are hard in every instance.
"""

from typing import Any

from benchmarks.instances.building import dead, even, instance, leaves, mixed, module
from benchmarks.instances.fabrics import SEVEN_LEAVES
from benchmarks.instances.misfits import MIXED

_RUNS = {"launch": "node-contiguous"}
_EVEN_PEERS = {"cp_symmetry": "footprint"}


def _pin(host: str, gpu: int, dp: int, **slot: Any) -> dict[str, Any]:
    at = {"module": "decoder", "pp": 0, "dp": dp, "cp": 0, "tp": 0, **slot}
    return {"slot": at, "host": host, "gpu": gpu}


CONSTRAINTS = (
    instance(
        "within-tp-120-dead",
        dead(18, 4),
        module(4, 2, 3),
        5,
        constraints={"within": {"tp": "node"}},
    ),
    instance(
        "within-cp-leaves-512",
        leaves(SEVEN_LEAVES),
        module(4, 2, 8),
        8,
        constraints={"within": {"tp": "node", "cp": "leaf"}},
    ),
    instance("footprint-tp3-cp4-72", even(10), module(3, 4, 3), 2, constraints=_EVEN_PEERS),
    instance("footprint-tp4-cp2-120", dead(17, 4), module(4, 2, 3), 5, constraints=_EVEN_PEERS),
    instance("hcp-tp3-cp4-72", even(9), module(3, 4, 3), 2, hierarchical_cp=[2, 2]),
    instance("hcp-tp2-cp4-96-dead", dead(13, 4), module(2, 4, 3), 4, hierarchical_cp=[2, 2]),
    instance(
        "contiguous-enc2-tp6-56",
        even(7),
        module(6, 2, 2),
        2,
        encoder=module(2, 2),
        constraints=_RUNS,
    ),
    instance("contiguous-tp6-108-mixed", mixed(MIXED), module(6, pp=6), 3, constraints=_RUNS),
    instance(
        "pins-enc1-tp5-66",
        even(9),
        module(5, pp=2),
        6,
        encoder=module(1),
        constraints={"pins": [_pin(f"node{d}", 3, d, pp=d % 2) for d in range(3)]},
    ),
    instance(
        "pins-tp4-cp2-120-dead",
        dead(16, 4),
        module(4, 2, 3),
        5,
        constraints={"pins": [_pin(f"n{3 * d + 1}", 1, d, cp=d % 2) for d in range(5)]},
    ),
)
