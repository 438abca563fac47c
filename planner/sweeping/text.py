"""A sweep's table as a terminal shows it: what differs between points, best first."""

from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from planner.wording import counted

if TYPE_CHECKING:
    import pandas as pd

SIZES = ("tp", "cp", "pp", "vpp", "ep", "etp", "dp")
FACTS = {
    "gpus": "GPUs",
    "seconds": "seconds",
    "seconds_megatron": "Megatron's order",
    "node_gb": "GB out of nodes",
    "node_gb_megatron": "Megatron's order",
    "cost": "cost",
    "megatron_cost": "Megatron's order",
    "gap": "gap",
    "bubble": "bubble",
    "state_gb": "state GB a GPU",
    "pareto": "front",
}


def sweep_table(frame: "pd.DataFrame", most: int) -> Table:
    """The best rows of a sweep; sizes that are the same everywhere are left out."""
    solved = frame[frame["status"].isin(["optimal", "feasible"])]
    sizes = told_apart(solved)
    hidden = ("cost", "megatron_cost") if "node_gb" in solved else ()
    facts = [name for name in FACTS if name in solved and name not in hidden]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in sizes:
        table.add_column(name.replace("enc_", "enc "), justify="right")
    for name in facts:
        table.add_column(FACTS[name], justify="right")
    for _, row in solved.head(most).iterrows():
        table.add_row(*(_text(name, row[name]) for name in (*sizes, *facts)))
    if len(solved) > most:
        table.caption = f"{most} of {counted(len(solved), 'point')}"
    return table


def told_apart(frame: "pd.DataFrame") -> list[str]:
    """The size columns that tell points apart; etp only where it is not simply tp."""
    names = [prefix + size for prefix in ("enc_", "") for size in SIZES]
    varied = [name for name in names if name in frame and frame[name].nunique() > 1]
    for prefix in ("enc_", ""):
        etp, tp = prefix + "etp", prefix + "tp"
        if etp in varied and frame[etp].equals(frame[tp].rename(etp)):
            varied.remove(etp)
    return [*varied, *(["order"] if frame["order"].nunique() > 1 else [])]


def _text(name: str, value: Any) -> str:
    if name == "pareto":
        return "*" if value else ""
    if name in ("gap", "bubble"):
        return f"{100 * value:.2f} %"
    if isinstance(value, float):
        return f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
