"""JSON and YAML values that know where they stand."""

import pytest

from planner.errors import InputError
from planner.inventory.documents import read_json, read_yaml


def refused(do):
    with pytest.raises(InputError) as caught:
        do()
    return str(caught.value)


def test_paths_of_json():
    value = read_json('{"a": [{"b": null, "c": 7}, "x"]}', "f.json")
    first, second = value.require("a").each()
    assert (first.where, second.where) == ("f.json: a[0]", "f.json: a[1]")
    assert first.get("b") is None
    assert first.require("c").count() == 7
    assert [key for key, _ in first.items()] == ["c"]
    assert [(key, v.where) for key, v in first.unknown({"c"})] == [("b", "f.json: a[0].b")]
    assert value.find("a") is not None
    assert value.find("b", "c") is None


def test_yaml_keeps_every_scalar_as_text_but_null():
    (root,) = read_yaml('- 0012\n- on\n- 1e3\n- ~\n- null\n- ""\n- 2024-01-01\n', "f.yaml")
    assert root.raw == ["0012", "on", "1e3", None, None, "", "2024-01-01"]


def test_yaml_knows_its_lines_and_documents():
    one, two = read_yaml("a:\n  b:\n  - x\n  - {c: y}\n---\nz: 1\n", "f.yaml")
    places = [value.where for value in one.require("a").require("b").each()]
    assert places == ["f.yaml:3: a.b[0]", "f.yaml:4: a.b[1]"]
    assert two.require("z").where == "f.yaml:6: z"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "f: line 1, column 2: not JSON"),
        ("[" * 5000, "f: not JSON a problem could use: nested too deep"),
        ('{"a": 1, "a": 2}', "f: line 1: $.a: a key stands twice in one object; got 'a'"),
    ],
)
def test_json_refused(text, message):
    assert refused(lambda: read_json(text, "f")).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "f:2: not YAML"),
        ("a: \x01", "f: not YAML; got a character no YAML text may hold"),
        ("a: &x 1", "f:1: anchors are not read; expected the value written out"),
        (
            "a: 1\nb: 2\na: 3\n",
            (
                "f:3: a: a key stands twice in one mapping; got 'a'; expected every key once; "
                "it already stands in line 1; drop one of the two"
            ),
        ),
        ("a: 1\nb:\n - c: 2\n - d: {e: 1,\n  e: 3}\n", "f:5: b[1].d.e: a key stands twice"),
        ("? [1]\n: 2\n", "f:1: a key that is no text"),
        ("[" * 200, "f:1: nested deeper than 100 levels"),
    ],
)
def test_yaml_refused(text, message):
    assert refused(lambda: read_yaml(text, "f")).startswith(message)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda v: v.require("z"), "f: 'z' is missing"),
        (lambda v: list(v.each()), "f: wrong kind of value; got an object; expected a list"),
        (
            lambda v: v.require("l").get("x"),
            "f: l: wrong kind of value; got a list; expected an object",
        ),
        (lambda v: v.require("l").text(), "f: l: wrong kind of value; got a list; expected text"),
        (lambda v: v.require("t").text(), "f: t: wrong kind of value; got True; expected text"),
        (lambda v: v.require("f").text(), "f: f: wrong kind of value; got 1.5; expected text"),
        (
            lambda v: v.require("n").count(),
            "f: n: wrong kind of value; got -1; expected a whole number",
        ),
    ],
)
def test_wrong_kinds(ask, message):
    value = read_json('{"l": [], "t": true, "f": 1.5, "n": -1}', "f")
    assert refused(lambda: ask(value)) == message
