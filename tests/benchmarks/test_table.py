"""Rows are kept and resumed, and the tables follow from them."""

from dataclasses import replace

from benchmarks import table
from benchmarks.measuring import Row, fresh, measure
from benchmarks.records import append, latest, recorded
from benchmarks.rendering import render

LIMIT = 5.0


def row(instance, contender, cost=None, bound=None, **more):
    return replace(fresh(instance, contender, LIMIT, 1), cost=cost, bound=bound, **more)


ROWS = [
    row("enc2-tp6-56", "planner", 8490, 8490, seconds=1.5, memory_mb=120.0),
    row("enc2-tp6-56", "megatron", 11716),
    row("enc2-tp6-56", "kaminpar", 8594),
    row("enc2-tp6-56", "jax", note="a mesh holds one module"),
    row("equal-enc2-tp6-56", "planner", 200, 190),
    row("equal-enc2-tp6-56", "megatron", 180),
    row("pins-enc1-tp5-66", "planner", 6297, 6297),
    row("pins-enc1-tp5-66", "megatron", 6000, broken="pins"),
]


def test_tables_show_costs_gaps_and_who_wins():
    text = render(latest(ROWS))
    assert (
        "| enc2-tp6-56 | enc tp2 cp2, tp6 cp2 pp2, dp2 | 7 x 8 | 11,716 | - | 8,594 | **8,490** "
        in text
    )
    assert "| 200 | 190 | 5 % |" in text
    assert "breaks pins" in text
    assert "| modules that do not fit nodes | 1 | 1.38x | - | 1.01x | 1 of 1 | 0 | 1.5 |" in text
    assert (
        "cheaper than every peer's on 1, as cheap as the cheapest on 0, dearer on 1; on 1 no peer"
        in text
    )
    assert "Cheaper than the planner on equal-enc2-tp6-56: Megatron's order (180)." in text
    assert "Other weights: 0 of 1 proven optimal, median gap 5 %" in text


def test_rows_survive_the_file_and_a_cut_last_line(tmp_path):
    path = tmp_path / "rows.jsonl"
    for each in ROWS:
        append(path, each)
    with path.open("a") as out:
        out.write('{"instance": "enc2-tp6-56", "conte')
    assert list(recorded(path)) == ROWS
    assert list(recorded(tmp_path / "none")) == []


def test_a_stopped_benchmark_continues_and_the_planner_can_run_again(tmp_path, monkeypatch):
    ran = []

    def quick(instance, contender, time_limit, threads):
        ran.append((contender, threads))
        return row(instance, contender, 1, 1, time_limit=time_limit)

    monkeypatch.setattr(table, "measure_apart", quick)
    monkeypatch.setattr(table.os, "cpu_count", lambda: 2)
    protocol = table.Protocol(LIMIT, 2, tmp_path / "rows.jsonl", ())
    names = ["megatron", "axes", "planner"]
    append(protocol.rows, row("enc2-tp6-56", "axes", 11716))
    list(table.run(protocol, ["enc2-tp6-56"], names))
    assert ran == [("planner", 2), ("megatron", 1)]
    list(table.run(protocol, ["enc2-tp6-56"], names))
    assert len(ran) == 2
    list(table.run(replace(protocol, time_limit=9.0), ["enc2-tp6-56"], ["axes"]))
    assert ran[2:] == [("axes", 1)]
    again = replace(protocol, again=("planner",))
    list(table.run(again, ["enc2-tp6-56"], ["megatron", "planner"]))
    assert len(ran) == 3  # measured at this very revision
    append(protocol.rows, row("enc2-tp6-56", "planner", 9000, 1, revision="old"))
    append(protocol.rows, row("enc2-tp6-56", "megatron", note="failed: exit code 1", failed=True))
    list(table.run(again, ["enc2-tp6-56"], ["megatron", "planner"]))
    assert ran[3:] == [("planner", 2), ("megatron", 1)]


def test_a_row_is_measured_from_the_placement():
    measured = measure("contiguous-enc2-tp6-56", "axes", LIMIT, 1)
    assert isinstance(measured, Row)
    assert measured.cost == 11716
    assert measured.bound is None
    refused = measure("enc2-tp6-56", "jax", LIMIT, 1)
    assert (refused.cost, refused.note) == (None, "a mesh holds one module")
