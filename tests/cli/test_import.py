"""`planner import`, as a user runs it."""

import json

import pytest
from click.testing import CliRunner

from planner.cli.importing import command
from planner.errors import InputError
from tests.inventory.examples import AWS, HWLOC, KUBERNETES, MATRIX, NODES

TREE = """\
SwitchName=leaf1 Nodes=n[1,3]
SwitchName=leaf2 Nodes=n[2,4]
SwitchName=spine Switches=leaf[1-2]
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command in an empty folder; return exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)

    def run(*arguments, stdin=None, **files):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        result = CliRunner().invoke(command, [*map(str, arguments)], input=stdin)
        if isinstance(result.exception, InputError):  # `planner` itself turns these into text
            return result.exception.exit_code, result.stdout, f"error: {result.exception}\n"
        return result.exit_code, result.stdout, result.stderr

    return run


def cluster(out):
    return json.loads(out)["cluster"]


def test_a_topology_and_the_flag(run):
    code, out, err = run("tree", "--gpus-per-node", 8, tree=TREE)
    assert code == 0
    assert cluster(out) == {
        "nodes": "n[1,3,2,4]",
        "gpus_per_node": 8,
        "levels": [
            {"name": "leaf", "weight": 1, "domains": {"leaf1": "n[1,3]", "leaf2": "n[2,4]"}},
            {"name": "spine", "weight": 1, "domains": {"spine": "n[1,3,2,4]"}},
        ],
    }
    assert err == (
        "tree: Slurm topology.conf (guessed; --kind slurm-topology)\n"
        "4 nodes, 8 GPUs each: 32 GPUs\n"
        "leaf: 2 domains of 2 nodes\n"
        "spine: 1 domain of 4 nodes\n"
    )


def test_a_topology_without_the_flag_asks_for_it(run):
    assert run("tree", tree=TREE) == (
        2,
        "",
        (
            "error: tree:1: no file tells the GPUs of n[1,3,2,4]; give --gpus-per-node N, or add scontrol "
            "show nodes or nvidia-smi topo -m\n"
        ),
    )


def test_a_topology_and_the_inside_of_a_node(run):
    code, out, _ = run("tree", "topo", tree=TREE, topo=MATRIX)
    assert code == 0
    assert cluster(out)["gpus_per_node"] == 4
    assert [level["name"] for level in cluster(out)["levels"]] == ["nvlink", "leaf", "spine"]


def test_nodes_restrict_and_order_and_uneven_leaves_are_said(run):
    code, out, err = run("tree", "--nodes", "n[4,1,3]", "--gpus-per-node", 8, tree=TREE)
    assert code == 0
    assert cluster(out)["nodes"] == "n[4,1,3]"
    assert "nodes: those of --nodes, in its order\n" in err
    assert (
        "leaf: 2 domains, uneven: 1 of 2, 1 of 1 nodes\nleaf: 2 nodes each but for leaf2 1\n" in err
    )


def test_nodes_of_the_job_this_runs_in(run, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[2-3]")
    code, out, err = run("tree", "--gpus-per-node", 8, tree=TREE)
    assert code == 0
    assert cluster(out)["nodes"] == "n[2-3]"
    assert "nodes: those of $SLURM_JOB_NODELIST, in its order\n" in err
    code, out, err = run("tree", "--nodes", "n1", "--gpus-per-node", 8)
    assert cluster(out)["nodes"] == "n1"


def test_stdin(run):
    code, out, err = run("-", "--gpus-per-node", 8, stdin=TREE)
    assert code == 0
    assert cluster(out)["nodes"] == "n[1,3,2,4]"
    assert err.startswith("<stdin>: Slurm topology.conf")


def test_warnings_have_their_line(run):
    code, out, err = run("nodes", nodes=NODES)
    assert code == 0
    assert cluster(out) == {"nodes": ["alpha", {"name": "delta", "gpus": 4}], "gpus_per_node": 8}
    assert "warning: nodes:8: left out, MIXED+DRAIN: bravo\n" in err
    assert "warning: nodes:13: left out, DOWN*+CLOUD: charlie\n" in err
    assert "warning: nodes:23: left out, no GPU: echo\n" in err


def test_a_kind_is_given_for_every_file(run):
    code, _, err = run("a", "b", "--kind", "guess", "--kind", "mpich", a=TREE, b="n1:8\nn2:8\n")
    assert code == 0
    assert "b: hostfile of MPICH or Intel MPI\n" in err
    code, _, err = run("a", "b", "--kind", "mpich")
    assert code == 2
    assert "--kind 1 times for 2 files" in err


def test_a_kind_that_is_wrong(run):
    code, _, err = run("tree", "--kind", "nccl", tree=TREE)
    assert (code, err) == (
        2,
        "error: tree:1: not well-formed XML; got not well-formed (invalid token)\n",
    )
    code, _, err = run("tree", "--kind", "topology")
    assert code == 2
    assert "'topology' is not one of" in err


def test_a_job_makes_a_whole_problem(run):
    job = {"decoder": {"tp": 2, "pp": 2}}
    code, out, _ = run("tree", "--gpus-per-node", 8, "--job", "job", tree=TREE, job=json.dumps(job))
    assert code == 0
    assert json.loads(out)["job"] == job
    whole = {
        "job": job,
        "objective": {"weights": {"tp": 9}},
        "constraints": {"within": {"tp": "node"}},
    }
    code, out, _ = run("tree", "--gpus-per-node", 8, "--job", "job", job=json.dumps(whole))
    assert code == 0
    assert json.loads(out) == {"cluster": cluster(out), **whole}


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ('{"decoder": {"tp": 64}}', "error: job: $.job: the job is larger than the machines"),
        ('{"decoder": {"tpp": 2}}', "error: job: $.job.decoder.tpp: unknown key 'tpp'"),
        ('{"cluster": {"nodes": 2}, "job": {}}', "error: job: $.cluster: has machines of its own"),
        ("[]", "error: job: not a job; expected a JSON object"),
        ("{", "error: job: line 1, column 2: not JSON"),
    ],
)
def test_a_job_that_does_not_fit(run, job, message):
    code, out, err = run("tree", "--gpus-per-node", 8, "--job", "job", tree=TREE, job=job)
    assert (code, out) == (2, "")
    assert message in err


def test_output_is_whole_or_absent(run, tmp_path):
    assert run("tree", "--gpus-per-node", 8, "-o", "out.json", tree=TREE)[:2] == (0, "")
    before = (tmp_path / "out.json").read_text()
    assert json.loads(before)["cluster"]["gpus_per_node"] == 8
    assert run("tree", "-o", "out.json")[0] == 2
    assert (tmp_path / "out.json").read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "tree"]
    code, _, err = run("tree", "--gpus-per-node", 8, "-o", "no/out.json")
    assert code == 2
    assert "no such folder" in err


def test_files_that_cannot_be_read(run, tmp_path):
    code, _, err = run("missing")
    assert (code, err) == (2, "error: missing: cannot be read; got No such file or directory\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    code, _, err = run("binary")
    assert (code, err) == (2, "error: binary: not UTF-8 text; got byte 0xff at offset 0\n")
    code, _, err = run("-", "-")
    assert code == 2
    assert "stdin ('-') can be read once" in err


@pytest.mark.parametrize(
    "text", [KUBERNETES, HWLOC, MATRIX], ids=["kubernetes", "hwloc", "nvidia-smi"]
)
def test_files_that_need_no_flag(run, text):
    assert run("f", f=text)[0] == 0


def test_what_no_machine_of_a_file_needs_contradicts_it(run):
    code, _, err = run("topo", "--gpus-per-node", 8, topo=MATRIX)
    assert code == 2
    assert "--gpus-per-node: contradicts a file that tells the GPUs; got 8 here, 4 at topo" in err


def test_instances_without_a_place_can_be_named(run):
    code, out, err = run("aws", "--gpus-per-node", 8, "--nodes", "delta,alpha", aws=AWS)
    assert code == 0
    assert cluster(out)["nodes"] == "delta,alpha"
    assert "warning: aws: Instances[3]: delta is kept, since it is named: no network nodes" in err


def test_help_lists_the_kinds(run):
    code, out, _ = run("--help")
    assert code == 0
    assert "  ibnetdiscover        output of ibnetdiscover\n" in out
