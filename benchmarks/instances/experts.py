"""Jobs with experts, a second factorisation of each stage's ranks, on machines that cut it."""

from benchmarks.instances.building import consecutive, dead, even, instance, mixed, module

EXPERTS = (
    instance("tp4-ep8-72-dead", dead(10, 2, stride=2), module(4, pp=3, ep=8, etp=1), 6),
    instance("tp2-ep6-96", even(12), module(2, pp=4, ep=6, etp=1), 12),
    instance("tp2-cp2-ep8-96", even(12), module(2, 2, 3, ep=8, etp=1), 8),
    instance("tp2-cp2-ep8-96-dead", dead(13, 3, stride=3), module(2, 2, 3, ep=8, etp=1), 8),
    instance(
        "enc3-tp6-etp2-108",
        mixed([8] * 14, {0: [0], 5: [5]}),
        module(6, pp=4, ep=3, etp=2),
        4,
        encoder=module(3),
    ),
    instance("tp5-ep5-160", even(20), module(5, pp=4, ep=5, etp=1), 8),
    instance("tp3-ep8-192-dead", dead(25, 4, stride=4), module(3, pp=4, ep=8, etp=1), 16),
    instance("ep64-512-dead", dead(66, 5, stride=5), module(1, pp=8, ep=64, etp=1), 64),
    instance(
        "half-rack-ep16-1152",
        even(288, 4, consecutive("nvl", 18), node_weight=0),
        module(2, pp=8, ep=16, etp=1),
        72,
    ),
    instance("ep64-2048", even(256), module(1, pp=16, ep=64, etp=1), 128),
)
