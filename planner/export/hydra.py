"""MPICH's Hydra (and builds of it that know `-rankmap`): a host for every rank by its line."""

from planner.errors import Complaint, InputError
from planner.export.names import bare
from planner.export.numbering import View
from planner.export.wrapper import HYDRA, script
from planner.wording import counted

MAX_ARGUMENT = 131_071
"""Longest argument Linux passes to a program, in bytes."""

_RUN = """\
#!/bin/sh
# mpiexec.sh COMMAND [ARGUMENT...]: rank r runs on the host in line rankmap[r] of hosts, from 0.
# The map holds one id a rank: mpiexec repeats a shorter one, and crashes on an unknown id.
set -eu
dir=$(cd "$(dirname "$0")" && pwd)
exec mpiexec -f "$dir/hosts" -n {world} -rankmap "$(cat "$dir/rankmap")" "$dir/wrap.sh" "$@"
"""


def files(view: View) -> dict[str, str]:
    """``hosts``, ``rankmap`` (a host line for every rank), and what runs them.

    Raises:
        InputError: the map is longer than an argument may be.
    """
    hosts = bare(view.hosts, "a Hydra hostfile")
    rankmap = ",".join(map(str, view.host.tolist()))
    if len(rankmap) > MAX_ARGUMENT:
        raise InputError(
            Complaint(
                "$.ranks",
                "mpiexec takes its rank map as one argument, and this one is too long",
                got=f"{len(rankmap)} bytes for {counted(view.world, 'rank')}",
                expected=f"at most {MAX_ARGUMENT} bytes",
                remedy="use slurm or openmpi, which read a file",
            )
        )
    return {
        "hosts": "".join(f"{h}:{n}\n" for h, n in zip(hosts, view.local_sizes, strict=True)),
        "rankmap": rankmap + "\n",
        "mpiexec.sh": _RUN.format(world=view.world),
        "wrap.sh": script(view, [HYDRA]),
    }
