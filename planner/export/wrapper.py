"""The shell that gives a process its place in the plan, whatever started it."""

from collections.abc import Sequence
from shlex import quote
from typing import NamedTuple

from planner.export.numbering import View


class Launcher(NamedTuple):
    """The variables by which a launcher tells a process who it is.

    Attributes:
        sign: set only in processes of this launcher.
        rank: the process's rank.
        size: how many processes there are.
    """

    sign: str
    rank: str
    size: str


TORCHRUN = Launcher("TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE")
OPENMPI = Launcher("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")
HYDRA = Launcher("PMI_RANK", "PMI_RANK", "PMI_SIZE")
FLUX = Launcher("FLUX_TASK_RANK", "FLUX_TASK_RANK", "FLUX_JOB_SIZE")
SLURM = Launcher("SLURM_PROCID", "SLURM_PROCID", "SLURM_NTASKS")
PLAIN = Launcher("RANK", "RANK", "WORLD_SIZE")

ANY = (TORCHRUN, OPENMPI, HYDRA, FLUX, SLURM, PLAIN)
"""In the order they are looked for: what a batch job starts inherits the job's own SLURM_PROCID,
and torchrun's processes that of the task that runs torchrun."""

_FOUND = """\
{word} [ -n "${{{sign}:-}}" ]; then
  RANK=${rank} planner_size=${{{size}:-{world}}}{more}"""

_SLURM_HOST = """
  # Slurm's name of the node, for `planner check`: it need not be the hostname.
  if [ -n "${SLURMD_NODENAME:-}" ]; then
    export PLANNER_HOST="${PLANNER_HOST:-$SLURMD_NODENAME}"
  fi"""

_SCRIPT = """\
#!/bin/sh
# wrap.sh COMMAND [ARGUMENT...]: start it as the rank of the plan that this process is, with
# RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR, MASTER_PORT and the GPUs
# of its node in the order of local ranks. MASTER_ADDR and MASTER_PORT are kept if already set.
set -eu
{find}
else
  echo "wrap.sh: no launcher says which rank this is (looked for {looked})" >&2
  exit 2
fi
if [ "$planner_size" != {world} ]; then
  echo "wrap.sh: the launcher started $planner_size processes, the plan has {world}" >&2
  exit 2
fi
export RANK
{tables}exec "$@"
"""

_TABLES = """\
case $RANK in
{seats}
*) echo "the plan has ranks 0 to {last}, not $RANK" >&2; exit 2 ;;
esac
case $GROUP_RANK in
{nodes}
esac
WORLD_SIZE={world}
NODE_RANK=$GROUP_RANK
planner_master={master}
MASTER_ADDR=${{MASTER_ADDR:-$planner_master}}
MASTER_PORT=${{MASTER_PORT:-29500}}
CUDA_DEVICE_ORDER=PCI_BUS_ID
export WORLD_SIZE GROUP_RANK NODE_RANK LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT
export CUDA_DEVICE_ORDER CUDA_VISIBLE_DEVICES PLANNED_HOST
"""


def tables(view: View) -> str:
    """Shell that sets everything about the rank in RANK: its host's and its own variables."""
    places = zip(view.host.tolist(), view.local_rank.tolist(), strict=True)
    nodes = zip(view.hosts, view.local_sizes, view.visible_devices, strict=True)
    return _TABLES.format(
        seats="\n".join(
            f"{rank}) GROUP_RANK={host} LOCAL_RANK={local} ;;"
            for rank, (host, local) in enumerate(places)
        ),
        nodes="\n".join(
            f"{i}) PLANNED_HOST={quote(host)} LOCAL_WORLD_SIZE={size}"
            f" CUDA_VISIBLE_DEVICES={devices} ;;"
            for i, (host, size, devices) in enumerate(nodes)
        ),
        last=view.world - 1,
        world=view.world,
        master=quote(view.hosts[0]),
    )


def script(view: View, launchers: Sequence[Launcher] = ANY) -> str:
    """``wrap.sh COMMAND...``: finds the process's rank, sets its variables, runs the command.

    Args:
        view: the plan.
        launchers: whose variables to look at, in this order.
    """
    find = "\n".join(
        _FOUND.format(
            word="elif" if i else "if",
            **launcher._asdict(),
            world=view.world,
            more=_SLURM_HOST if launcher is SLURM else "",
        )
        for i, launcher in enumerate(launchers)
    )
    return _SCRIPT.format(
        find=find,
        looked=", ".join(dict.fromkeys(launcher.rank for launcher in launchers)),
        world=view.world,
        tables=tables(view),
    )
