"""Open MPI 4.x and 5.x: a sequence of hosts, or a rankfile."""

from planner.export.names import bare
from planner.export.numbering import View
from planner.export.wrapper import OPENMPI, script

_RUN = """\
#!/bin/sh
# mpirun.sh COMMAND [ARGUMENT...]: Open MPI 4.x or 5.x; line r of seqfile is the host of rank r.
# A plain hostfile would not do: repeated lines collapse, and 4.x puts the launching host first.
set -eu
dir=$(cd "$(dirname "$0")" && pwd)
exec mpirun -np {world} --hostfile "$dir/seqfile" --map-by seq --bind-to none \\
  "$dir/wrap.sh" "$@"
"""

_RANKFILE = """\
# mpirun -np {world} --hostfile hostfile OPTION ./wrap.sh COMMAND [ARGUMENT...], where OPTION is
# -rf rankfile with Open MPI 4.x, --map-by rankfile:file=rankfile with 5.x.
# slot=i pins the rank to core i: prefer seqfile with --bind-to none, or write core ranges here.
"""


def files(view: View) -> dict[str, str]:
    """``seqfile`` (exact placement, no binding), a rankfile, and what runs them."""
    hosts = bare(view.hosts, "an Open MPI hostfile")
    slots = zip(view.host_of, view.local_rank.tolist(), strict=True)
    return {
        "seqfile": "".join(f"{host}\n" for host in view.host_of),
        "rankfile": _RANKFILE.format(world=view.world)
        + "".join(f"rank {r}={host} slot={slot}\n" for r, (host, slot) in enumerate(slots)),
        "hostfile": "".join(
            f"{host} slots={size}\n" for host, size in zip(hosts, view.local_sizes, strict=True)
        ),
        "mpirun.sh": _RUN.format(world=view.world),
        "wrap.sh": script(view, [OPENMPI]),
    }
