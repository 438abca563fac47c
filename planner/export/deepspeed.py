"""The deepspeed launcher: a hostfile whose order is the order of node ranks."""

from shlex import quote

import numpy as np

from planner.export.names import bare
from planner.export.numbering import View
from planner.export.wrapper import PLAIN, script

_RUN = """\
#!/bin/sh
# deepspeed.sh COMMAND [ARGUMENT...]: DeepSpeed starts each node's ranks, wrap.sh puts them right.
# Without wrap.sh the launcher sorts the GPUs of a node, and counts LOCAL_RANK wrongly where nodes
# hold different numbers of ranks.
set -eu
dir=$(cd "$(dirname "$0")" && pwd)
master={master}
exec deepspeed --hostfile "$dir/hostfile" {include}\\
  --master_addr "${{MASTER_ADDR:-$master}}" --master_port "${{MASTER_PORT:-29500}}" \\
  --no_python --no_local_rank "$dir/wrap.sh" "$@"
"""


def files(view: View) -> dict[str, str]:
    """``hostfile`` with the GPUs each node really has, and what runs it.

    Raises:
        InputError: some host's ranks are not one run; it is named.
    """
    view.require_runs("deepspeed")
    hosts = bare(view.hosts, "a DeepSpeed hostfile")
    machines = view.plan.machines
    physical = machines.gpus[view.plan.seats.hosts].tolist()
    include = ""
    if physical != view.local_sizes:
        # slots is the number of GPUs a node has, not of those wanted, which --include names.
        wanted = (",".join(map(str, np.sort(gpus).tolist())) for gpus in view.gpus_of)
        nodes = "@".join(f"{h}:{gpus}" for h, gpus in zip(hosts, wanted, strict=True))
        include = f"--include {quote(nodes)} "
    return {
        "hostfile": "".join(f"{h} slots={n}\n" for h, n in zip(hosts, physical, strict=True)),
        "deepspeed.sh": _RUN.format(include=include, master=quote(view.hosts[0])),
        "wrap.sh": script(view, [PLAIN]),
    }
