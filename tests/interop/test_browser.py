"""Pictures in a real browser: headless Chromium draws them, runs the page's script, complains of
nothing, and shows every cell in its colour.

`.ci/chromium-setup` installs it.
"""

import re
import struct
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest

from planner.plan import Plan, megatron_order
from planner.report.pictures import Look, before_megatron, svg
from planner.report.pictures.boxes import lay_out
from planner.report.pictures.cells import Cells, category
from planner.report.pictures.colours import scale
from planner.report.pictures.page import html
from tests.interop.tools import need
from tests.problems import problem

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
)
SIZES = {
    "2 nodes": (2, None, {"tp": 4, "pp": 4}, 1),
    "64 nodes": (64, 16, {"tp": 4, "cp": 2, "pp": 4}, 16),
    "2,048 nodes": (2048, 64, {"tp": 8, "pp": 16}, 128),
}
DARK = "--blink-settings=preferredColorScheme=0"


def a_plan(size: str) -> Plan:
    nodes, leaf, decoder, dp = SIZES[size]
    levels = [{"name": "leaf", "nodes_per_domain": leaf}] if leaf else []
    made = problem({"nodes": nodes, "levels": levels}, {"decoder": decoder, "dp": dp}).resolved
    return Plan(made, megatron_order(made.cluster.machines, made.world_size), {})


def browse(folder: Path, file: Path, *flags: str) -> str:
    """What Chromium prints; fails on anything its console says."""
    need("chromium")
    done = subprocess.run(
        ["chromium", *FLAGS, f"--user-data-dir={folder / 'profile'}", *flags, file.as_uri()],
        check=False,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "CONSOLE" not in done.stderr, done.stderr
    return done.stdout


def pixels(png: Path) -> np.ndarray:
    """[height, width, 3] of a PNG file with 8 bits a channel, no interlacing."""
    data = png.read_bytes()
    width, height, depth, colour = struct.unpack(">IIBB", data[16:26])
    assert (depth, colour in (2, 6)) == (8, True)
    chunks, at = b"", 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            chunks += data[at + 8 : at + 8 + length]
        at += length + 12
    per = 3 if colour == 2 else 4
    raw = np.frombuffer(zlib.decompress(chunks), np.uint8).reshape(height, 1 + width * per)
    out = np.zeros((height, width, per), np.int64)
    above = np.zeros((width, per), np.int64)
    for y in range(height):
        row = unfiltered(int(raw[y, 0]), raw[y, 1:].reshape(width, per).astype(np.int64), above)
        out[y] = above = row
    return out[:, :, :3]


def unfiltered(kind: int, row: np.ndarray, above: np.ndarray) -> np.ndarray:
    """A line of a PNG with its filter undone."""
    if kind == 0:
        return row
    if kind == 1:
        return np.cumsum(row, axis=0) % 256
    if kind == 2:
        return (row + above) % 256
    left = corner = [0] * row.shape[1]
    out = []
    for here, up in zip(row.tolist(), above.tolist(), strict=True):
        if kind == 3:
            left = [(v + (a + b) // 2) % 256 for v, a, b in zip(here, left, up, strict=True)]
        else:
            left = [
                (v + nearest(a, b, c)) % 256
                for v, a, b, c in zip(here, left, up, corner, strict=True)
            ]
        corner = up
        out.append(left)
    return np.array(out)


def nearest(a: int, b: int, c: int) -> int:
    """PNG's Paeth predictor."""
    guess = a + b - c
    return min((a, b, c), key=lambda v: abs(guess - v))


def rgb(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dark", [False, True])
def test_every_cell_has_its_colour_on_the_screen(tmp_path: Path, size: str, dark: bool) -> None:
    plan = a_plan(size)
    text = svg(plan)
    picture, shot = tmp_path / "plan.svg", tmp_path / "plan.png"
    picture.write_text(text)
    width, height = (int(v) for v in re.findall(r'(?:width|height)="(\d+)"', text)[:2])
    flags = [f"--window-size={width},{height}", f"--screenshot={shot}"]
    browse(tmp_path, picture, *flags, *([DARK] if dark else []))
    seen = pixels(shot)
    sheet, cells, chosen = lay_out(Cells(plan)), Cells(plan), category(plan, "pp")
    left, top = (int(v) for v in re.findall(r"translate\((\d+),(\d+)\)", text)[1])
    corner = sheet.style.side // 4  # off the text in the middle
    colours = np.array([rgb(c) for c in scale(len(chosen.names), ordered=chosen.ordered)])
    found = seen[sheet.y + top + corner, sheet.x + left + corner]
    assert np.array_equal(found, colours[cells.shown(chosen)])
    page = [20, 23, 31] if dark else [255, 255, 255]
    assert seen[2, 2].tolist() == page


def test_a_page_runs_its_script_and_keeps_every_cell(tmp_path: Path) -> None:
    plan = a_plan("64 nodes")
    page = tmp_path / "plan.html"
    page.write_text(html(plan, Look(links="pp"), before=before_megatron(plan)))
    dom = browse(tmp_path, page, "--dump-dom")
    texts = re.findall(r'data-text="(rank \d+: [^"]+)"', dom)
    assert len(texts) == 2 * plan.grid.world
    assert "rank 0: node0 GPU 0; pp 0 dp 0 cp 0 tp 0" in texts
    assert dom.count('class="link"') > 0
