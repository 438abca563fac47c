"""Pictures as text: every GPU, link and label where and as often as the plan says."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import planner
from planner.plan import Plan, megatron_order
from planner.report.pictures import Look, before_megatron, svg
from planner.report.pictures.cells import Cells, category
from planner.report.pictures.crossings import crossing_lines
from planner.report.pictures.page import html
from planner.spec.problem import Problem
from tests.problems import MISFIT, REGULAR, problem

SVG = "{http://www.w3.org/2000/svg}"


def laid(made: Problem) -> Plan:
    """A plan in Megatron's order: pictures need no solver."""
    own = made.resolved
    return Plan(own, megatron_order(own.cluster.machines, own.world_size), {})


def cells_of(text: str) -> list[tuple[str, str]]:
    """(class, hover text) of every cell of a picture."""
    root = ET.fromstring(text)
    found = []
    for rect in root.iter(f"{SVG}rect"):
        title = rect.find(f"{SVG}title")
        if title is not None:
            found.append((rect.attrib["class"], title.text or ""))
    return found


def test_every_gpu_is_a_cell_that_says_what_it_holds() -> None:
    cluster = {"nodes": ["a", {"name": "b", "gpus": 3, "offline": [1]}], "gpus_per_node": 2}
    plan = laid(problem(cluster, {"decoder": {"tp": 1, "pp": 3}}))
    assert cells_of(svg(plan)) == [
        ("c0", "rank 0: a GPU 0; pp 0 dp 0 cp 0 tp 0"),
        ("c1", "rank 1: a GPU 1; pp 1 dp 0 cp 0 tp 0"),
        ("c2", "rank 2: b GPU 0; pp 2 dp 0 cp 0 tp 0"),
        ("offline", "b GPU 1: offline"),
        ("idle", "b GPU 2: idle"),
    ]


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        ("pp", ["c0", "c1", "c2"]),
        ("module", ["c0", "c1"]),
        ("cp", ["c0", "c1"]),
        ("dp", ["c0", "c1"]),
        ("dataset", ["c0", "c1"]),
    ],
)
def test_colours_are_those_of_the_axis(axis: str, expected: list[str]) -> None:
    plan = laid(Problem.model_validate(MISFIT))
    assert sorted({look for look, _ in cells_of(svg(plan, Look(axis)))}) == expected


def test_tensor_groups_have_one_colour_each_and_neighbours_differ() -> None:
    plan = laid(Problem.model_validate(MISFIT))
    chosen = category(plan, "tp")
    for groups in plan.grid.groups["tp"]:
        assert (chosen.of_rank[groups] == chosen.of_rank[groups[:, :1]]).all()
    assert len(chosen.names) == len(plan.groups["tp"])


@pytest.mark.parametrize("kind", ["tp", "pp", "embd", "ep"])
def test_lines_stand_for_the_links_that_cross(kind: str) -> None:
    job = {"decoder": {"tp": 2, "pp": 3, "ep": 4, "etp": 1}, "dp": 6, "tied_embeddings": True}
    plan = laid(problem({"nodes": 12, "gpus_per_node": 3}, job))
    level = plan.machines.level("node")
    ends, counts = crossing_lines(Cells(plan), kind, level)
    domain = level.domain[ends]  # cells are devices here
    assert (domain[:, 0] != domain[:, 1]).all()
    # A ring of two domains is one line but two links; the other kinds have a line a link.
    if kind == "tp":
        assert 2 * counts.sum() == plan.links["node"]["tp"]
    elif kind == "ep":
        assert 0 < counts.sum() <= plan.links["node"]["ep"]
    else:
        assert counts.sum() == plan.links["node"][kind] > 0


def test_rings_close_over_all_their_domains() -> None:
    plan = laid(problem({"nodes": 3, "gpus_per_node": 2}, {"decoder": {"tp": 6}}))
    ends, counts = crossing_lines(Cells(plan), "tp", plan.machines.level("node"))
    assert ends.tolist() == [[0, 2], [0, 4], [2, 4]]
    assert counts.tolist() == [1, 1, 1]


def test_boxes_hold_their_cells_and_do_not_overlap() -> None:
    cluster = {"nodes": 13, "levels": [{"name": "leaf", "nodes_per_domain": 4}]}
    text = svg(laid(problem(cluster, {"decoder": {"tp": 8}})))
    root = ET.fromstring(text)
    boxes = [
        [int(rect.attrib[k]) for k in ("x", "y", "width", "height")]
        for rect in root.iter(f"{SVG}rect")
        if rect.attrib["class"] == "box"
    ]
    assert len(boxes) == 13
    x, y, w, h = np.array(boxes).T
    apart = (x[:, None] + w[:, None] <= x) | (y[:, None] + h[:, None] <= y)
    assert (apart | apart.T | np.eye(13, dtype=bool)).all()
    labels = [t.text for t in root.iter(f"{SVG}text")]
    assert {"leaf0", "leaf3", "node0", "node12"} <= set(labels)


def test_large_machines_show_a_cell_a_node_and_larger_ones_a_cell_a_run() -> None:
    job = {"decoder": {"tp": 8, "pp": 2}}
    leaf = {"name": "leaf", "nodes_per_domain": 64}
    plan = laid(problem({"nodes": 2050, "levels": [leaf]}, job))
    found = cells_of(svg(plan))
    assert len(found) == 2050
    assert found[0] == ("c0", "node0: 8 ranks, the lowest 0")
    assert found[-1] == ("c1", "node2049: 8 ranks, the lowest 16392")
    plan = laid(problem({"nodes": 40_000, "gpus_per_node": 1}, {"decoder": {"pp": 2}}))
    cells = Cells(plan)
    assert len(cells.first) == 13_334
    assert cells.texts()[0] == "node0 to node2: 3 ranks, the lowest 0"


def test_a_cell_of_several_ranks_takes_the_commonest_colour() -> None:
    plan = laid(problem(2050, {"decoder": {"tp": 1, "pp": 3}, "dp": 5461}))
    cells, chosen = Cells(plan), category(plan, "pp")
    shown = cells.shown(chosen)
    at = chosen.of_rank.reshape(-1)[:16_376].reshape(-1, 8)
    assert shown[:2047].tolist() == [np.bincount(row).argmax() for row in at]
    assert shown[-1] == -1  # the last nodes are idle


def test_before_and_after_stand_side_by_side() -> None:
    plan = laid(Problem.model_validate(REGULAR))
    text = svg(plan, Look(links="tp"), before=before_megatron(plan))
    assert len(cells_of(text)) == 2 * 128
    assert ">before: cost" in text
    assert ">this plan: cost" in text


def test_a_page_is_self_contained_and_lists_the_links() -> None:
    plan = laid(Problem.model_validate(MISFIT))
    page = html(plan, before=before_megatron(plan))
    assert not re.search(r"(?:src|href)=|@import|url\((?!#)", page)
    assert page.count("<tr>") == 1 + 4  # tp, cp, dp, pp at the node level
    assert "prefers-color-scheme" in page


def test_a_mended_plan_outlines_what_moved() -> None:
    made = problem({"nodes": 3, "gpus_per_node": 2}, {"decoder": {"tp": 2}, "dp": 2})
    new = planner.replan(laid(made), lost=["node0"], time_limit=5, workers=1)
    moved = [text for look, text in cells_of(svg(new)) if "moved" in look]
    assert [t.split(";")[0] for t in moved] == ["rank 0: node2 GPU 0", "rank 1: node2 GPU 1"]
    assert "2 of 4 ranks moved" in html(new, before=laid(made))
