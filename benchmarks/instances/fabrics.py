"""Whole tensor groups on nodes, and everything above the node uneven, large or deep."""

from benchmarks.instances.building import (
    consecutive,
    dead,
    even,
    instance,
    leaves,
    module,
    uneven,
)

SEVEN_LEAVES = [13, 7, 7, 11, 13, 9, 4]

LEAVES = (
    instance("leaves-512", leaves(SEVEN_LEAVES), module(4, 2, 8), 8),
    instance("leaves-1024", leaves(uneven(128, 9, 17, seed=7)), module(8, 2, 8), 8),
    instance(
        "leaves-2048-cp4",
        leaves([21, 21, 21, 27, 27, 21, 27, 29, 21, 32, 9]),
        module(8, 4, 8),
        8,
    ),
    instance(
        "leaves-2048-pp16",
        leaves([17, 17, 26, 26, 26, 26, 26, 26, 30, 26, 10]),
        module(8, pp=16),
        16,
    ),
    instance("leaves-16384", leaves(uneven(2048, 24, 32, seed=4)), module(8, 2, 32), 32),
)

SPARES = (
    instance("tp4-cp2-192-spares", dead(26, 6, stride=1), module(4, 2, 4), 6),
    instance("tp8-240-spares", dead(34, 11, first=5), module(8, pp=6), 5),
    instance("leaves-576-spares", leaves([15, 9, 12, 16, 10, 13]), module(8, 2, 6), 6),
)

_NVL = consecutive("nvl", 18)

RACKS = (
    instance("rack72-tp4-864", even(216, 4, _NVL, node_weight=0), module(4, 2, 12), 9),
    instance("rack72-tp8-1024", even(270, 4, _NVL, node_weight=0), module(8, pp=8), 16),
    instance("rack72-tp8-1152", even(288, 4, _NVL, node_weight=0), module(8, 2, 8), 9),
)

LEVELS = (
    instance(
        "sockets-leaves-256",
        even(
            32,
            8,
            {"name": "socket", "gpus_per_domain": 4, "weight": 0.25},
            consecutive("leaf", 8),
        ),
        module(4, 2, 4),
        8,
    ),
    instance(
        "leaves-pods-1536",
        even(192, 8, consecutive("leaf", 16, 2), consecutive("pod", 80, 4)),
        module(8, pp=12),
        16,
    ),
    instance(
        "leaves-pods-2048",
        even(256, 8, consecutive("leaf", 16, 2), consecutive("pod", 64, 4)),
        module(8, 2, 8),
        16,
    ),
)
