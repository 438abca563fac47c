"""Pictures: one file for light and dark, the same bytes each time, nothing drawn that cannot be."""

import re
import xml.etree.ElementTree as ET

import pytest

from planner.comparison import compare
from planner.comparison.plotting import plot_comparison
from planner.errors import InputError
from planner.report.figures import DARK, KIND_COLOURS, check_picture
from planner.sweeping import sweep
from planner.sweeping.plotting import plot_sweep, point_labels
from planner.traffic import kind_weights
from tests.problems import problem

TRAFFIC = {"model": "llama3-8b", "sequence": 4096, "global_batch": 64}
DEAD = {"nodes": [{"name": "a", "gpus": 8, "offline": [3]}, "b", "c"]}
JOB = {"decoder": {"tp": 4, "pp": 2}, "dp": 2}


@pytest.fixture(scope="module")
def frame():
    base = {"cluster": {"nodes": 4}, "objective": {"traffic": TRAFFIC}}
    return sweep(base, decoder={"tp": [1, 2, 4, 8], "pp": [1, 2, 4]})


@pytest.fixture(scope="module")
def layouts():
    p = problem(DEAD, JOB, objective={"traffic": TRAFFIC})
    return compare(p, workers=1, time_limit=10)


def colours(svg):
    return set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", svg))


def test_every_colour_of_a_sweep_has_a_dark_one(frame, tmp_path):
    plot_sweep(frame, tmp_path / "s.svg")
    svg = (tmp_path / "s.svg").read_text()
    assert ET.fromstring(svg).tag.endswith("svg")
    style = svg[svg.index("<style>") : svg.index("</style>")]
    assert style.startswith("<style>@media (prefers-color-scheme: dark){")
    assert len(colours(svg)) > 3
    for colour in colours(svg):
        assert f'[style*="fill: {colour}"]{{fill:{DARK[colour]} !important}}' in style
        assert f'[style*="stroke: {colour}"]{{stroke:{DARK[colour]} !important}}' in style


def test_colours_of_kinds_stand_on_either_background(layouts, tmp_path):
    """At least 2 to 1 against paper and against the dark page."""
    plot_comparison(layouts, {}, tmp_path / "c.svg")
    used = colours((tmp_path / "c.svg").read_text()) - set(DARK)
    assert used <= set(KIND_COLOURS.values())
    assert len(used) >= 3

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    for colour in KIND_COLOURS.values():
        for page in ("#ffffff", "#0d1117"):
            light, dark = sorted((luminance(colour), luminance(page)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) > 2


def test_the_same_table_gives_the_same_bytes(frame, tmp_path):
    for name in ("a.svg", "b.svg", "a.png", "b.png"):
        plot_sweep(frame, tmp_path / name)
    for suffix in ("svg", "png"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "a.svg", "b.png", "b.svg"]


def test_a_sweep_without_traffic_is_drawn_by_cost(tmp_path):
    found = sweep({"cluster": {"nodes": 2}}, decoder={"tp": [2, 4, 8]})
    plot_sweep(found, tmp_path / "s.svg")
    assert (tmp_path / "s.svg").stat().st_size > 5000


def test_a_comparison_without_traffic_is_drawn_by_weight(tmp_path):
    p = problem(DEAD, JOB)
    weights = {kind: float(w) for kind, w in kind_weights(p).items()}
    plot_comparison(compare(p, workers=1), weights, tmp_path / "c.svg")
    assert KIND_COLOURS["tp"] in (tmp_path / "c.svg").read_text()


def test_labels_say_what_differs(frame):
    solved = frame[frame.status == "optimal"]
    assert set(point_labels(solved)[0].split(" ")[0]) >= {"t", "p"}
    assert all(label.startswith("tp") and "cp" not in label for label in point_labels(solved))


def test_a_sweep_of_nothing_is_not_drawn(frame, tmp_path):
    with pytest.raises(InputError, match="nothing to draw: no point was solved"):
        plot_sweep(frame[frame.status == "infeasible"], tmp_path / "s.svg")


@pytest.mark.parametrize("name", ["s.pdf", "s"])
def test_other_pictures_are_refused(name):
    with pytest.raises(InputError, match=r"unknown kind of picture; .* ends in \.svg or \.png"):
        check_picture(name)


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    monkeypatch.setattr("planner.report.figures.find_spec", lambda _: None)
    with pytest.raises(
        InputError, match=r"needs matplotlib; pip install 'rank-layout-planner\[sweep\]'"
    ):
        check_picture("s.svg")
