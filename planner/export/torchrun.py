"""torchrun with static rendezvous: every node starts one run of consecutive ranks."""

from shlex import quote

from planner.export.names import host_patterns
from planner.export.numbering import View

_SCRIPT = """\
#!/bin/sh
# torchrun.sh SCRIPT [ARGUMENT...], once on every node, in any order: starts that node's ranks.
# Static rendezvous: with c10d torchrun sorts the nodes by address and ignores --node-rank.
# The node's name is PLANNER_HOST, else Slurm's, else hostname. MASTER_ADDR and MASTER_PORT are kept
# if already set.
set -eu
master={master}
export CUDA_DEVICE_ORDER=PCI_BUS_ID MASTER_ADDR="${{MASTER_ADDR:-$master}}"
export MASTER_PORT="${{MASTER_PORT:-29500}}"
host=${{PLANNER_HOST:-${{SLURMD_NODENAME:-$(hostname)}}}}
case $host in
{nodes}
*) echo "torchrun.sh: $host holds no rank of the plan" >&2; exit 2 ;;
esac
"""

_NODE = """\
{pattern})
  export CUDA_VISIBLE_DEVICES={devices}
  exec torchrun --nnodes {nodes} --nproc-per-node {size} --node-rank {i} \
--master-addr "$MASTER_ADDR" --master-port "$MASTER_PORT" "$@" ;;"""


def files(view: View) -> dict[str, str]:
    """``torchrun.sh``, which knows every node's command.

    Raises:
        InputError: some host's ranks are not one run; it is named.
    """
    view.require_runs("torchrun")
    columns = zip(host_patterns(view.hosts), view.local_sizes, view.visible_devices, strict=True)
    nodes = "\n".join(
        _NODE.format(pattern=pattern, devices=devices, size=size, i=i, nodes=len(view.hosts))
        for i, (pattern, size, devices) in enumerate(columns)
    )
    return {"torchrun.sh": _SCRIPT.format(master=quote(view.hosts[0]), nodes=nodes)}
