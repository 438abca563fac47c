"""Slurm: `srun -m arbitrary` starts rank r on line r of a hostfile, whatever the plan."""

from planner.export.names import bare
from planner.export.numbering import View
from planner.export.wrapper import SLURM, script
from planner.spec.hostlist import fold

_JOB = """\
#!/bin/bash
#SBATCH --nodes={nodes}
#SBATCH --nodelist={nodelist}
#SBATCH --ntasks={world}
#SBATCH --exclusive
# sbatch job.sh COMMAND [ARGUMENT...], from the folder that holds hosts and wrap.sh.
# Add your site's partition, account, time and GPU request above.
set -eu
dir=${{PLAN_DIR:-$PWD}}
# Line r of this file is the host of rank r. No -N here: newer srun refuses it, older misplaces.
export SLURM_HOSTFILE=$dir/hosts
# The first line is the master; the first of the sorted node list need not be.
export MASTER_ADDR=${{MASTER_ADDR:-$(head -n 1 "$SLURM_HOSTFILE")}}
# wrap.sh numbers by SLURM_PROCID. SLURM_NODEID follows the sorted node list, not the plan.
exec srun -n {world} -m arbitrary "$dir/wrap.sh" "$@"
"""


def files(view: View) -> dict[str, str]:
    """``hosts`` for SLURM_HOSTFILE, an sbatch script, and the wrapper it starts."""
    bare(view.hosts, "a Slurm hostfile")
    job = _JOB.format(nodes=len(view.hosts), nodelist=fold(view.hosts), world=view.world)
    return {
        "hosts": "".join(f"{host}\n" for host in view.host_of),
        "job.sh": job,
        "wrap.sh": script(view, [SLURM]),
    }
