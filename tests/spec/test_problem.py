"""The problem file: what it accepts, what it resolves, and how it refuses."""

import json
import re

import jsonschema
import pytest

from planner.errors import InputError
from planner.spec.loading import load, parse_json
from planner.spec.problem import Problem
from planner.spec.schema import problem_schema
from tests.problems import problem

TWO = {"nodes": 2}
PIN = {"slot": {"pp": 0, "dp": 0, "cp": 0, "tp": 0}, "host": "node0", "gpu": 0}

BAD = {
    "wrong type": ({"cluster": {"nodes": "a", "gpus_per_node": "8"}}, r"\$\.cluster\.gpus_per_node: wrong kind of value; got \"8\"; expected a whole number; write 8 without quotes"),
    "float for a size": ({"cluster": {"nodes": 2.0}}, r"\$\.cluster\.nodes: wrong kind of value; got 2\.0; expected a whole number; write 2$"),
    "bool for a size": ({"cluster": {"nodes": True}}, r"\$\.cluster\.nodes"),
    "zero nodes": ({"cluster": {"nodes": 0}}, r"\$\.cluster\.nodes: too small; got 0; expected 1 or more$"),
    "negative size": ({"cluster": TWO, "job": {"decoder": {"tp": -4}}}, r"\$\.job\.decoder\.tp: too small; got -4; expected 1 or more$"),
    "unknown key": ({"cluster": {"nodes": 2, "gpu_per_node": 8}}, r"\$\.cluster\.gpu_per_node: unknown key 'gpu_per_node'; did you mean 'gpus_per_node'\?"),
    "unknown key in a list": ({"cluster": {"nodes": ["a", {"name": "b", "offlin": [1]}]}}, r"\$\.cluster\.nodes\[1\]\.offlin: unknown key 'offlin'; did you mean 'offline'\?"),
    "unknown key at the top": ({"cluster": TWO, "jobs": {}}, r"\$\.jobs: unknown key 'jobs'; did you mean 'job'\?"),
    "unknown kind": ({"cluster": TWO, "objective": {"weights": {"embed": 1}}}, r"\$\.objective\.weights\.embed: unknown key 'embed'; did you mean 'embd'\?"),
    "duplicate host": ({"cluster": {"nodes": ["a[1-3]", "a2"]}}, r"\$\.cluster\.nodes\[1\]: duplicate host name; got 'a2'; .*already stands at \$\.cluster\.nodes\[0\]"),
    "bad hostlist": ({"cluster": {"nodes": "a[3-1]"}}, r"\$\.cluster\.nodes: not a hostlist \(column 3\); got '3-1'"),
    "shell name": ({"cluster": {"nodes": ["a;rm -rf /"]}}, r"\$\.cluster\.nodes\[0\]: not a"),
    "path name": ({"cluster": {"nodes": ["../etc/x"]}}, r"\$\.cluster\.nodes\[0\]: not a name; got '\.\./etc/x'"),
    "control character": ({"cluster": {"nodes": ["a\x1b[31m"]}}, r"\$\.cluster\.nodes\[0\]: not a"),
    "option-like name": ({"cluster": {"nodes": ["-oProxyCommand=x"]}}, r"\$\.cluster\.nodes\[0\]: not a name"),
    "offline out of range": ({"cluster": {"nodes": [{"name": "a", "gpus": 4, "offline": [4]}]}}, r"\$\.cluster\.nodes\[0\]\.offline: no such GPU; got 4; expected 0 to 3"),
    "uuid count": ({"cluster": {"nodes": [{"name": "a", "gpus": 2, "uuids": ["x"]}]}}, r"\$\.cluster\.nodes\[0\]\.uuids: one UUID a GPU; got 1; expected 2"),
    "uuid twice": ({"cluster": {"nodes": [{"name": "a[1-2]", "gpus": 1, "uuids": ["x"]}]}}, r"one GPU twice; got 'x'"),
    "absurd nodes": ({"cluster": {"nodes": 10**12}}, r"\$\.cluster\.nodes: too many devices; got 8,000,000,000,000 GPUs on 1,000,000,000,000 nodes; expected at most 4,194,304 GPUs"),
    "absurd in sum": ({"cluster": {"nodes": [f"a{i}x[1-900000]" for i in range(50)], "gpus_per_node": 1}}, r"\$\.cluster\.nodes\[4\]: too many devices; got 4,500,000 GPUs on 4,500,000 nodes up to here; expected at most 4,194,304 GPUs; name only"),
    "absurd in sum, described": ({"cluster": {"nodes": ["b", {"name": "a[1-900000]", "gpus": 5}]}}, r"\$\.cluster\.nodes\[1\]\.name: too many devices; got 4,500,008 GPUs on 900,001 nodes up to here"),
    "absurd domains": ({"cluster": {"nodes": 1, "levels": [{"name": "leaf", "domains": {"a": "node0", "b": [f"a{i}x[1-900000]" for i in range(50)]}}]}}, r"\$\.cluster\.levels\[0\]\.domains\.b: too many nodes; got 45,000,001 nodes up to here; expected at most 4,194,304 nodes"),
    "offline twice": ({"cluster": {"nodes": ["b", {"name": "a", "offline": [1, 2, 1]}]}}, r"\$\.cluster\.nodes\[1\]\.offline: a GPU stands twice; got 1; expected every GPU index once; drop one 1, or write the index that was meant"),
    "empty domain": ({"cluster": {"nodes": 2, "levels": [{"name": "leaf", "domains": {"a": "node[0-1]", "b": []}}]}}, r"\$\.cluster\.levels\[0\]\.domains\.b: a domain without nodes; got \[\]; expected a hostlist, or a list of them; name its nodes, or drop the domain"),
    "empty domain as text": ({"cluster": {"nodes": 2, "levels": [{"name": "leaf", "domains": {"a": "node[0-1]", "b": ""}}]}}, r"\$\.cluster\.levels\[0\]\.domains\.b: not a hostlist \(column 1\); got the end of the text; expected a name"),
    "absurd hostlist": ({"cluster": {"nodes": "a[1-99999999999]"}}, r"\$\.cluster\.nodes: not a hostlist"),
    "absurd gpus": ({"cluster": {"nodes": [{"name": "a", "gpus": 10**9}]}}, r"too many devices"),
    "absurd job": ({"cluster": TWO, "job": {"decoder": {"tp": 10**9, "cp": 10**9}, "dp": 1}}, r"\$\.job: too many slots"),
    "too large": ({"cluster": TWO, "job": {"decoder": {"tp": 8, "ep": 4, "etp": 1}, "dp": 3}}, r"\$\.job\.dp: the job is larger than the machines; got 24 ranks = dp 3 x decoder tp 8 x cp 1 x pp 1; expected at most 16 usable GPUs on 2 nodes; dp 2 fits"),
    "too large for a rule": ({"cluster": TWO, "job": {"decoder": {"tp": 5}, "dp": 4}, "constraints": {"within": {"tp": "node"}}}, r"\$\.job\.dp: .*got 20 ranks .*; dp 2 fits$"),
    "one copy too large": ({"cluster": TWO, "job": {"decoder": {"tp": 8, "pp": 4}}}, r"\$\.job: the job is larger .*got 32 ranks = one data copy .*not even dp 1 fits"),
    "experts do not divide": ({"cluster": TWO, "job": {"decoder": {"tp": 4, "ep": 3}, "dp": 4}}, r"\$\.job\.decoder: etp x ep must divide tp x cp x dp; got etp 4 x ep 3 = 12 \(etp defaults to tp, as in Megatron\), tp 4 x cp 1 x dp 4 = 16"),
    "no dp for experts": ({"cluster": TWO, "job": {"decoder": {"tp": 4, "ep": 7}}}, r"\$\.job\.dp: no number of data copies that fits"),
    "vpp without pp": ({"cluster": TWO, "job": {"decoder": {"vpp": 2}}}, r"\$\.job\.decoder\.vpp: virtual stages need a pipeline; got vpp 2 with pp 1"),
    "hierarchical product": ({"cluster": TWO, "job": {"decoder": {"cp": 4}, "hierarchical_cp": [2, 4]}}, r"\$\.job\.hierarchical_cp: its product must be cp; got 2 x 4 = 8; expected 4"),
    "hierarchical unequal": ({"cluster": TWO, "job": {"encoder": {"cp": 2}, "decoder": {"cp": 4}, "hierarchical_cp": [4]}}, r"equal cp in both modules"),
    "order unknown": ({"cluster": TWO, "job": {"order": "tp-cp-xp-pp"}}, r"\$\.job\.order: unknown axis 'xp'"),
    "order twice": ({"cluster": TWO, "job": {"order": "tp-cp-tp-dp-pp"}}, r"axis 'tp' stands twice"),
    "order incomplete": ({"cluster": TWO, "job": {"decoder": {"pp": 2}, "order": "tp-cp-ep-dp"}}, r"does not name pp, larger than 1"),
    "order of experts": ({"cluster": TWO, "job": {"decoder": {"cp": 2, "ep": 2}, "order": "cp-tp-ep-dp-pp"}}, r"must stand in this sequence"),
    "order without ep": ({"cluster": TWO, "job": {"decoder": {"cp": 2, "ep": 2}, "order": "tp-cp-dp-pp"}}, r"must stand in this sequence"),
    "within level": ({"cluster": TWO, "constraints": {"within": {"tp": "nod"}}}, r"\$\.constraints\.within\.tp: no such level; got 'nod'; expected a level: node"),
    "within group": ({"cluster": TWO, "constraints": {"within": {"tpcp": "node"}}}, r"\$\.constraints\.within\.tpcp: no such group; got 'tpcp'; did you mean 'tp_cp'\?"),
    "within hcp": ({"cluster": TWO, "constraints": {"within": {"hcp_0": "node"}}}, r"no such group"),
    "pin offline": ({"cluster": {"nodes": [{"name": "node0", "offline": [0]}]}, "constraints": {"pins": [PIN]}}, r"\$\.constraints\.pins\[0\]\.gpu: an offline GPU holds no slot; got node0 GPU 0"),
    "pin host": ({"cluster": TWO, "constraints": {"pins": [{**PIN, "host": "nod0"}]}}, r"unknown node; got 'nod0'; did you mean 'node0'\?"),
    "pin gpu": ({"cluster": TWO, "constraints": {"pins": [{**PIN, "gpu": 8}]}}, r"no such GPU; got 8; expected 0 to 7"),
    "pin one GPU twice": ({"cluster": TWO, "constraints": {"pins": [PIN, {**PIN, "slot": {"pp": 0, "dp": 1, "cp": 0, "tp": 0}}]}}, r"\$\.constraints\.pins\[1\]: one GPU holds one slot; got node0 GPU 0; see \$\.constraints\.pins\[0\]"),
    "pin one slot twice": ({"cluster": TWO, "constraints": {"pins": [PIN, {**PIN, "gpu": 1}]}}, r"one slot pinned twice"),
    "pin no slot": ({"cluster": TWO, "constraints": {"pins": [{**PIN, "slot": {**PIN["slot"], "tp": 1}}]}}, r"\$\.constraints\.pins\[0\]\.slot\.tp: no such slot; got 1; expected 0 to 0"),
    "pin partly named": ({"cluster": TWO, "constraints": {"pins": [{"slot": {"pp": 0, "dp": 0, "cp": 0}, "host": "node0", "gpu": 0}]}}, r"\$\.constraints\.pins\[0\]\.slot\.tp: required"),
    "pin without module": ({"cluster": TWO, "job": {"encoder": {}}, "constraints": {"pins": [PIN]}}, r"names no module"),
    "NaN weight": ({"cluster": {"nodes": 2, "node_weight": float("nan")}}, r"\$\.cluster\.node_weight: .*finite"),
    "infinite weight": ({"cluster": TWO, "objective": {"weights": {"tp": float("inf")}}}, r"\$\.objective\.weights\.tp: .*finite"),
    "negative weight": ({"cluster": TWO, "objective": {"weights": {"tp": -1}}}, r"\$\.objective\.weights\.tp: too small; got -1; expected 0 or more$"),
    "weight in quotes": ({"cluster": TWO, "objective": {"weights": {"tp": "x"}}}, r"\$\.objective\.weights\.tp: wrong kind of value; got \"x\"; expected a number$"),
    "dp zero": ({"cluster": TWO, "job": {"dp": 0}}, r"\$\.job\.dp: too small; got 0; expected 1 or more or 'auto'$"),
    "dp misspelt": ({"cluster": TWO, "job": {"dp": "Auto"}}, r"\$\.job\.dp: wrong kind of value; got \"Auto\"; expected a whole number or 'auto'$"),
    "launch misspelt": ({"cluster": TWO, "constraints": {"launch": "contiguous"}}, r"\$\.constraints\.launch: no such value; got \"contiguous\"; expected 'free' or 'node-contiguous'$"),
    "flag in quotes": ({"cluster": TWO, "job": {"tied_embeddings": "yes"}}, r"\$\.job\.tied_embeddings: wrong kind of value; got \"yes\"; expected true or false$"),
    "no list": ({"cluster": {"nodes": 2, "levels": {"name": "leaf"}}}, r"\$\.cluster\.levels: wrong kind of value; got \{\"name\": \"leaf\"\}; expected a list$"),
    "no text": ({"cluster": TWO, "job": {"order": 3}}, r"\$\.job\.order: wrong kind of value; got 3; expected text$"),
    "neither hostlist nor object": ({"cluster": {"nodes": [3]}}, r"\$\.cluster\.nodes\[0\]: wrong kind of value; got 3; expected a hostlist or an object$"),
    "no nodes at all": ({"cluster": {"nodes": None}}, r"\$\.cluster\.nodes: wrong kind of value; got null; expected a whole number, a hostlist or a list$"),
    "neither hostlist nor list": ({"cluster": {"nodes": 2, "levels": [{"name": "leaf", "domains": {"a": 3}}]}}, r"\$\.cluster\.levels\[0\]\.domains\.a: wrong kind of value; got 3; expected text or a list$"),
    "two bandwidths": ({"cluster": {"nodes": 2, "bandwidth": {"per_gpu": 1, "per_node": 2}}}, r"\$\.cluster\.bandwidth: give either per_gpu or per_node, in GB/s; got"),
    "absurd weight": ({"cluster": TWO, "objective": {"weights": {"tp": 1e200}}}, r"\$\.objective\.weights\.tp: out of range; got 1e\+200; expected 0, or 1e-18 to 1e\+18$"),
    "vanishing weight": ({"cluster": {"nodes": 2, "node_weight": 1e-200}}, r"\$\.cluster\.node_weight: out of range; got 1e-200; expected 0, or 1e-18 to 1e\+18$"),
    "no object": ({"cluster": 3}, r"\$\.cluster: wrong kind of value; got 3; expected an object$"),
    "no cluster": ({"job": {}}, r"\$\.cluster: required, but not given"),
    "a list": ([], r"\$: .*got \[\]"),
    "level without domains": ({"cluster": {"nodes": 2, "levels": [{"name": "leaf"}]}}, r"\$\.cluster\.levels\[0\]: a level names its domains in exactly one way; got none"),
    "level two ways": ({"cluster": {"nodes": 2, "levels": [{"name": "leaf", "nodes_per_domain": 2, "gpus_per_domain": 2}]}}, r"got nodes_per_domain and gpus_per_domain"),
    "level called node": ({"cluster": {"nodes": 2, "levels": [{"name": "node", "nodes_per_domain": 2}]}}, r"level name taken; got 'node'"),
    "level name twice": ({"cluster": {"nodes": 4, "levels": [{"name": "x", "nodes_per_domain": 2}, {"name": "x", "nodes_per_domain": 4}]}}, r"\$\.cluster\.levels\[1\]\.name: level name taken"),
    "overlapping domains": ({"cluster": {"nodes": 2, "levels": [{"name": "leaf", "domains": {"a": "node[0-1]", "b": "node1"}}]}}, r"\$\.cluster\.levels\[0\]\.domains\.b: a node in two places of one level; got 'node1'; it already lies in 'a'"),
    "incomplete domains": ({"cluster": {"nodes": 3, "levels": [{"name": "leaf", "domains": {"a": "node[0-1]"}}]}}, r"every node lies in one domain; got 1 in none, the first 'node2'"),
    "unknown node in a domain": ({"cluster": {"nodes": 2, "levels": [{"name": "leaf", "domains": {"a": ["node0", "node1", "nodd1"]}}]}}, r"unknown node; got 'nodd1'; .*did you mean 'node1'\?"),
    "levels that do not nest": ({"cluster": {"nodes": 6, "levels": [{"name": "x", "nodes_per_domain": 2}, {"name": "y", "nodes_per_domain": 3}]}}, r"\$\.cluster\.levels\[0\]: levels must nest, but x 'x1' lies in two domains of y"),
    "GPU levels that do not nest": ({"cluster": {"nodes": 1, "levels": [{"name": "x", "gpus_per_domain": 2}, {"name": "y", "gpus_per_domain": 3}]}}, r"levels must nest, but x 'node0\.x1' lies in two domains of y"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_with_its_path(name: str) -> None:
    data, pattern = BAD[name]
    with pytest.raises(InputError) as refused:
        Problem.model_validate(data)
    assert re.search(pattern, str(refused.value)), str(refused.value)
    assert refused.value.exit_code == 2


def test_all_complaints_are_listed_at_once() -> None:
    with pytest.raises(InputError) as refused:
        Problem.model_validate({"cluster": {"nodes": 0, "gpus_per_node": 0}})
    assert [c.where for c in refused.value.complaints] == [
        "$.cluster.nodes",
        "$.cluster.gpus_per_node",
    ]


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        (
            "{",
            r"x\.json: line 1, column 2: not JSON; got the end; expected property name enclosed in double quotes",
        ),
        ("hello", r"x\.json: line 1, column 1: not JSON; got 'hello'; expected value"),
        (
            '{"a": 1\n "b": 2}',
            r"x\.json: line 2, column 2: not JSON; got '\"b\": 2}'; expected ',' delimiter",
        ),
        (
            '{"a": 1} x',
            r"x\.json: line 1, column 10: not JSON; got 'x'; expected nothing after the first value",
        ),
        (
            '{"a": "b',
            r"x\.json: line 1, column 7: not JSON: unterminated string starting at; got '\"b'",
        ),
        (
            '{"a": 1, "a": 2}',
            r"x\.json: line 1: \$\.a: a key stands twice in one object; got 'a'; expected every key once; it already stands in line 1; drop one of the two",
        ),
        (
            '{"a": {"x": [1, {"b": ":"}, {"b": "{\\"", "c": [],\n"\\u0062": 2}]}}',
            r"x\.json: line 2: \$\.a\.x\[2\]\.b: .*already stands in line 1",
        ),
        (
            '[{"a": 1}, {"a": {"a": 1},\n\n"b": 0,\n"a": 2}]',
            r"x\.json: line 4: \$\[1\]\.a: .*already stands in line 1",
        ),
        ("[" * 100_000, r"not JSON"),
        ('{"cluster": {"nodes": ' + "9" * 5000 + "}}", r"not JSON a problem could use"),
        ("", r"line 1, column 1: not JSON; got nothing: the input is empty; expected value"),
    ],
)
def test_what_is_not_json(text: str, pattern: str) -> None:
    with pytest.raises(InputError, match=pattern):
        parse_json(text, "x.json")


def test_files_that_cannot_be_read(tmp_path) -> None:
    with pytest.raises(InputError, match=r"missing\.json: cannot be read; got No such file"):
        load(tmp_path / "missing.json")
    with pytest.raises(InputError, match=r"cannot be read; got Is a directory"):
        load(tmp_path)
    (tmp_path / "latin.json").write_bytes(b'{"cluster": "\xe9"}')
    with pytest.raises(InputError, match=r"not UTF-8 text; got byte 0xe9 at offset 13"):
        load(tmp_path / "latin.json")


def test_a_file_with_a_byte_order_mark_and_a_schema_key_is_read(tmp_path) -> None:
    path = tmp_path / "c.json"
    path.write_text('\ufeff{"$schema": "x", "cluster": {"nodes": 1}}', encoding="utf-8")
    assert load(path).world_size == 8


def test_the_error_names_the_file(tmp_path) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"cluster": {"nodes": 0}}')
    with pytest.raises(InputError, match=r"c\.json: \$\.cluster\.nodes"):
        load(path)


def test_defaults_are_written_out() -> None:
    resolved = problem(3, {"decoder": {"tp": 4, "pp": 2}}).document()
    assert resolved["job"] == {
        "decoder": {"tp": 4, "cp": 1, "pp": 2, "vpp": 1, "ep": 1, "etp": 4},
        "dp": 3,
        "order": "tp-cp-ep-dp-pp",
        "tied_embeddings": False,
        "datasets": "first-last",
    }
    assert resolved["objective"]["weights"]["tp"] == 1000
    assert (
        Problem.model_validate(resolved).sha256
        == problem(3, {"decoder": {"tp": 4, "pp": 2}}).sha256
    )


def test_datasets_default_to_every_stage_with_an_encoder() -> None:
    assert problem(1, {"encoder": {}}).resolved.job.datasets == "every-stage"


def test_auto_dp_lets_the_experts_divide() -> None:
    assert problem(2, {"decoder": {"tp": 1, "ep": 3, "etp": 1}}).dp == 15
    assert problem(2, {"decoder": {"tp": 2, "pp": 3}}).dp == 2


def test_dead_gpus_shrink_what_fits() -> None:
    nodes = [{"name": "a[1-2]", "gpus": 4, "offline": [0, 3]}]
    assert problem({"nodes": nodes}, {"decoder": {"tp": 2}}).dp == 2


def test_every_way_of_naming_nodes() -> None:
    cluster = {"nodes": ["b[2,1]", {"name": "a[1-2]", "gpus": 2}], "gpus_per_node": 1}
    machines = problem(cluster).cluster.machines
    assert machines.hosts == ("b2", "b1", "a1", "a2")
    assert machines.gpus.tolist() == [1, 1, 2, 2]
    assert problem({"nodes": 2}).cluster.machines.hosts == ("node0", "node1")


def test_levels_are_ordered_from_fine_to_coarse_whatever_the_file_says() -> None:
    cluster = {
        "nodes": 5,
        "gpus_per_node": 4,
        "levels": [
            {"name": "pod", "nodes_per_domain": 4},
            {"name": "pair", "gpus_per_domain": 2},
            {
                "name": "leaf",
                "domains": {"l1": "node[0,2]", "l2": ["node1", "node3"], "l3": "node4"},
            },
        ],
    }
    machines = problem(cluster).cluster.machines
    assert [level.name for level in machines.levels] == ["pair", "node", "leaf", "pod"]
    assert machines.level("leaf").domain.tolist() == [0] * 4 + [1] * 4 + [0] * 4 + [1] * 4 + [2] * 4
    assert machines.level("pod").domain.tolist() == [0] * 16 + [1] * 4
    assert machines.level("pair").names[:3] == ("node0.pair0", "node0.pair1", "node1.pair0")


def test_orders_megatron_refuses_are_planned_with_a_warning() -> None:
    job = {"decoder": {"tp": 2, "cp": 2, "pp": 2}, "order": "tp-cp-ep-pp-dp"}
    assert "Megatron refuses" in problem(2, job).job.warnings()[0]
    assert not problem(2, {"decoder": {"tp": 2, "cp": 2, "pp": 2}}).job.warnings()
    job = {"decoder": {"tp": 2, "cp": 2, "pp": 2, "ep": 2}, "order": "tp-cp-ep-pp-dp"}
    assert not problem(2, job).job.warnings()


def test_the_schema_accepts_what_the_models_accept_and_refuses_unknown_keys() -> None:
    validator = jsonschema.Draft202012Validator(problem_schema())
    validator.check_schema(problem_schema())
    assert validator.is_valid({"$schema": "s", "cluster": {"nodes": ["a[1-2]", {"name": "b"}]}})
    assert validator.is_valid({"cluster": {"nodes": 2}, "job": {"dp": "auto"}})
    assert not validator.is_valid({"cluster": {"nodes": 2, "gpu": 8}})
    assert not validator.is_valid({"cluster": {"nodes": 0}})
    assert not validator.is_valid({"cluster": {"nodes": 2, "node_weight": -1}})
    assert not validator.is_valid({"cluster": {"nodes": 2}, "job": {"decoder": {"tp": 0}}})
    json.dumps(problem_schema())
