"""The table of a sweep: sorted, with its Pareto front marked, and written whole."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from planner.errors import Complaint, InputError
from planner.files import write_whole
from planner.sweeping.points import SIZES

if TYPE_CHECKING:
    import pandas as pd

Sort = Literal["auto", "time", "bytes", "cost"]
METRICS = {"time": "seconds", "bytes": "node_gb", "cost": "cost"}
"""What each way of sorting looks at."""

TRADED = {"cost": ("cost", "idle"), "traffic": ("bubble", "state_gb")}
"""What the Pareto front weighs: without traffic, and beside time or bytes with it."""

_COUNTS = {*SIZES, *(f"enc_{size}" for size in SIZES), "dp", "gpus", "idle"}
_FORMATS = (".csv", ".json", ".parquet")


def table(rows: Sequence[Mapping[str, Any]], sort: Sort = "auto") -> "pd.DataFrame":
    """The rows as a table, best first, refused points last.

    A point is on the Pareto front if no other is as good in all of: time (or GB out of the nodes),
    pipeline bubble and model state of a GPU, and better in one; without traffic: cost, idle GPUs.

    Args:
        rows: columns of each point; those of refused points lack what was never computed.
        sort: `auto` is time if bandwidths are known, else bytes if traffic is, else cost.

    Raises:
        InputError: sorted by something that was not computed.
    """
    import pandas as pd  # noqa: PLC0415 - half a second, for sweeps alone

    names = list(dict.fromkeys(name for row in rows for name in row))
    frame = pd.DataFrame(rows, columns=names)
    for name in _COUNTS & set(names):
        frame[name] = frame[name].astype("Int64")
    metric = _metric(names, sort)
    traded = TRADED["traffic"] if "bubble" in names else TRADED["cost"]
    costs = [name for name in dict.fromkeys((metric, *traded)) if name in names]
    frame["pareto"] = _front(frame[costs].to_numpy(float, na_value=np.nan)) if costs else False
    if metric in names:
        frame = frame.sort_values(metric, kind="stable", na_position="last", ignore_index=True)
    return frame


def _metric(names: Sequence[str], sort: Sort) -> str:
    if sort == "auto":
        return next((METRICS[m] for m in ("time", "bytes") if METRICS[m] in names), "cost")
    if METRICS[sort] not in names and "cost" in names:
        needs = {"time": "objective.traffic and a bandwidth", "bytes": "objective.traffic"}
        what = f"cannot sort by {sort}"
        raise InputError(Complaint("sort", what, expected=f"a problem with {needs[sort]}"))
    return METRICS[sort]


def _front(costs: Any) -> Any:
    """[rows] whether no other row is at most as large everywhere and smaller somewhere."""
    known = np.isfinite(costs).all(axis=1)
    front = known.copy()
    for i in np.flatnonzero(known):
        others = costs[known]
        beaten = (others <= costs[i]).all(axis=1) & (others < costs[i]).any(axis=1)
        front[i] = not beaten.any()
    return front


def check_format(path: str | Path) -> None:
    """Refuse a results file of an unknown kind, before long work starts.

    Raises:
        InputError: neither .csv nor .json nor .parquet, or pyarrow missing for the latter.
    """
    suffix = Path(path).suffix
    if suffix not in _FORMATS:
        expected = "a name that ends in .csv, .json or .parquet"
        raise InputError(Complaint(str(path), "unknown kind of table", suffix or "none", expected))
    if suffix == ".parquet":
        _require("pyarrow", f"{path}: writing parquet")


def _require(module: str, what: str) -> None:
    from importlib.util import find_spec  # noqa: PLC0415 - rarely asked

    if find_spec(module) is None:
        remedy = "pip install 'rank-layout-planner[sweep]'"
        raise InputError(Complaint(what, f"needs {module}, which is not installed", remedy=remedy))


def write_table(frame: "pd.DataFrame", path: str | Path) -> None:
    """Write a table in the format of its file name, whole or not at all."""
    target = Path(path)
    if target.suffix == ".csv":
        write_whole(target, frame.to_csv(index=False))
    elif target.suffix == ".json":
        write_whole(target, frame.to_json(orient="records", indent=1) + "\n")
    else:
        raw = BytesIO()
        frame.to_parquet(raw, index=False)
        write_whole(target, raw.getvalue())
