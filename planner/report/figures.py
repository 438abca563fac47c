"""Pictures for READMEs: one style, readable on white, in print and in dark mode."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.errors import Complaint, InputError
from planner.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER, INK, MUTED, GRID = "#ffffff", "#1f2328", "#59636e", "#d1d9e0"
ACCENT = "#c2410c"
DARK = {
    PAPER: "#0d1117",
    INK: "#e6edf3",
    MUTED: "#9198a1",
    GRID: "#3d444d",
    ACCENT: "#fb923c",
}
"""Colours of the light picture and what takes their place in dark mode."""

KIND_COLOURS = {
    "tp": "#d55e00",
    "cp": "#e69f00",
    "dp": "#3b82c4",
    "pp": "#009e73",
    "ep": "#cc79a7",
    "expt_tp": "#9467bd",
    "expt_dp": "#56b4e9",
    "embd": "#8c8c8c",
}
"""Okabe and Ito's palette, told apart by colour-blind readers and on either background."""

_STYLE: dict[Any, Any] = {
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GRID,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": INK,
    "font.size": 10,
    "legend.frameon": False,
    "svg.hashsalt": "planner",
}
_FORMATS = (".svg", ".png")


def check_picture(path: str | Path) -> None:
    """Refuse a picture that cannot be drawn, before long work starts.

    Raises:
        InputError: neither .svg nor .png, or matplotlib is missing.
    """
    suffix = Path(path).suffix
    if suffix not in _FORMATS:
        expected = "a name that ends in .svg or .png"
        raise InputError(
            Complaint(str(path), "unknown kind of picture", suffix or "none", expected)
        )
    if find_spec("matplotlib") is None:
        remedy = "pip install 'rank-layout-planner[sweep]'"
        raise InputError(Complaint(str(path), "drawing needs matplotlib", remedy=remedy))


@contextmanager
def drawn(path: str | Path, panels: int, width: float, height: float) -> Iterator[tuple[Any, Any]]:
    """A figure and its panels (side by side), written to `path` when the block ends.

    Args:
        path: .svg (light and dark in one file) or .png (light).
        panels: how many.
        width: of the figure, in inches at 96 pixels.
        height: of the figure.
    """
    import matplotlib as mpl  # noqa: PLC0415 - a second, and an extra
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots(1, panels, squeeze=False)[0]
        _save(figure, Path(path))


def _save(figure: "Figure", path: Path) -> None:
    if path.suffix == ".svg":
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        write_whole(path, with_dark_mode(text.getvalue()))
        return
    raw = BytesIO()
    figure.savefig(raw, format="png", dpi=192, metadata={"Software": None})
    write_whole(path, raw.getvalue())


def with_dark_mode(svg: str) -> str:
    """The picture with a style sheet that trades its colours where the reader prefers dark."""
    rules = "".join(
        f'[style*="{what}: {light}"]{{{what}:{dark} !important}}'
        for light, dark in DARK.items()
        for what in ("fill", "stroke")
    )
    style = f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"
    return re.sub(r"(<svg\b[^>]*>)", rf"\1\n {style}", svg, count=1)
