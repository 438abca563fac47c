"""deepspeed_reads.py HOSTFILE INCLUDE < TOPOLOGY: what DeepSpeed's own parsers make of them.

Prints resources as its runner hands them to the launcher of every node (also encoded as it does),
and the rank lists along each axis of the topology, with the topology's mapping set to the ranks.
"""

import json
import sys

from deepspeed.launcher.runner import (
    encode_world_info,
    fetch_hostfile,
    parse_inclusion_exclusion,
)
from deepspeed.runtime.pipe.topology import ProcessTopology

pool = fetch_hostfile(sys.argv[1])
active = parse_inclusion_exclusion(pool, sys.argv[2], "")
exported = json.load(sys.stdin)
topology = ProcessTopology(exported["axes"], exported["dims"])
counted = list(topology.mapping.values())
topology.mapping = dict(zip(topology.mapping, exported["ranks"], strict=True))
answer = {
    "pool": pool,
    "active": active,
    "world_info": encode_world_info(active),
    "counted": counted,
    "lists": {axis: topology.get_axis_comm_lists(axis) for axis in exported["axes"]},
}
sys.stdout.write("\n" + json.dumps(answer) + "\n")
