"""Jobs whose tensor groups do not fill nodes: odd sizes, two modules, dead GPUs, mixed nodes."""

from benchmarks.instances.building import dead, even, instance, mixed, module

MISFITS = (
    instance("enc2-tp6-56", even(7), module(6, 2, 2), 2, encoder=module(2, 2)),
    instance("enc1-tp5-66", even(9), module(5, pp=2), 6, encoder=module(1)),
    instance("tp3-cp4-72", even(9), module(3, 4, 3), 2),
    instance("enc3-tp4-cp3-99", even(13), module(4, 3, 2), 3, encoder=module(3, 3)),
    instance("enc2-tp6-256", even(32), module(6, 2, 2), 8, encoder=module(2, 2, 2)),
    instance("enc3-tp5-1056", even(136), module(5, 2, 6), 16, encoder=module(3, 2)),
    instance("enc2-tp6-3200", even(400), module(6, 2, 8), 32, encoder=module(2, 2)),
)

MIXED = [4, 8, 8, 8, 8, 4, 8, 8, 8, 8, 4, 8, 8, 8, 8]

DEAD = (
    instance("tp5-90-dead", dead(12, 4), module(5, pp=3), 6),
    instance("tp4-cp4-96-dead", dead(13, 4, first=1), module(4, 4, 2), 3),
    instance("tp6-108-mixed", mixed(MIXED), module(6, pp=6), 3),
    instance("tp4-cp2-120-dead", dead(16, 4), module(4, 2, 3), 5),
    instance("tp4-cp2-512-dead", dead(66, 5, stride=3), module(4, 2, 8), 8),
)
