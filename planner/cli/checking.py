"""`planner check`: run inside the job, once a process or once a node."""

import click


@click.command("check")
@click.argument("plan")
@click.option("--rank", type=click.IntRange(min=0), help="Default: RANK, else the launcher's.")
@click.option("--host", help="This node's name. Default: PLANNER_HOST, else the hostname.")
@click.option("--local-rank", type=click.IntRange(min=0), help="Default: LOCAL_RANK, likewise.")
@click.option(
    "--numbering",
    type=click.Choice(["trainer", "host"]),
    default="trainer",
    show_default=True,
    help="How the job counts its ranks.",
)
@click.option("--node", "whole_node", is_flag=True, help="Check the node, not this one process.")
def command(
    plan: str,
    rank: int | None,
    host: str | None,
    local_rank: int | None,
    numbering: str,
    whole_node: bool,
) -> None:
    """Compare this process with PLAN: rank, host, local rank, and GPU where UUIDs are known.

    Without a rank the node as a whole is checked. Ends with 1 and names each misplacement.
    """
    from planner.errors import VerificationError  # noqa: PLC0415 - only now anything is read
    from planner.runtime import check  # noqa: PLC0415
    from planner.spec.loading import source_name  # noqa: PLC0415

    found = check(
        plan,
        rank=rank,
        host=host,
        local_rank=local_rank,
        numbering=numbering,
        whole_node=whole_node,
    )
    if found:
        raise VerificationError(source_name(plan), found)
