"""The benchmark's instances by family, each made by a few lines of code.

A document is what a user would write as ``cluster.json``. Names say what the job is and how many
ranks it has.
"""

from benchmarks.instances.building import Instance
from benchmarks.instances.constraints import CONSTRAINTS
from benchmarks.instances.experts import EXPERTS
from benchmarks.instances.fabrics import LEAVES, LEVELS, RACKS, SPARES
from benchmarks.instances.misfits import DEAD, MISFITS
from benchmarks.instances.mixtures import CYCLES, ENCODERS, TWO_LEVELS, WEIGHTS
from benchmarks.instances.published import PUBLISHED

FAMILIES: dict[str, tuple[Instance, ...]] = {
    "regular": PUBLISHED,
    "misfits": MISFITS,
    "dead": DEAD,
    "leaves": LEAVES,
    "spares": SPARES,
    "racks": RACKS,
    "experts": EXPERTS,
    "levels": LEVELS,
    "weights": WEIGHTS,
    "cycles": CYCLES,
    "two-levels": TWO_LEVELS,
    "encoders": ENCODERS,
    "constraints": CONSTRAINTS,
}

TITLES = {
    "regular": "regular published layouts",
    "misfits": "modules that do not fit nodes",
    "dead": "dead GPUs, mixed nodes",
    "leaves": "uneven leaves",
    "spares": "spare GPUs",
    "racks": "rack-scale NVLink",
    "experts": "experts",
    "levels": "three levels",
    "weights": "other weights",
    "cycles": "vpp 2, tied embeddings",
    "two-levels": "two irregular levels",
    "encoders": "encoders in uneven leaves",
    "constraints": "hard constraints",
}

INSTANCES: dict[str, Instance] = {
    instance.name: instance for family in FAMILIES.values() for instance in family
}
FAMILY_OF = {instance.name: name for name, family in FAMILIES.items() for instance in family}

__all__ = ["FAMILIES", "FAMILY_OF", "INSTANCES", "TITLES", "Instance"]
