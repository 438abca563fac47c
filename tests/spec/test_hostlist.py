"""Hostlists against what Slurm answers, and against themselves."""

import os
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.spec.hostlist import HostlistError, expand, fold

# What `scontrol show hostnames` prints. Slurm 22.05 and 26.05 agree on every line but those of
# SUFFIXES, which 22.05 refuses.
ORACLE = {
    "n1": "n1",
    "n[1]": "n1",
    "n[1-1]": "n1",
    "[1-3]": "1 2 3",
    "n[3,1,2]": "n3 n1 n2",
    "n3,n1,n2": "n3 n1 n2",
    "n[1-2,2]": "n1 n2 n2",
    "n1,n1": "n1 n1",
    "n01,n1": "n01 n1",
    "n[0001]": "n0001",
    "n[08-10,100]": "n08 n09 n10 n100",
    "n[8-010]": "n8 n9 n10",
    "n[1-03]": "n1 n2 n3",
    "n[01-03,1-3]": "n01 n02 n03 n1 n2 n3",
    "r[0-1]n[0-1]": "r0n0 r0n1 r1n0 r1n1",
    "a[1-2]b[3,4]": "a1b3 a1b4 a2b3 a2b4",
    "n[1-2][3-4]": "n13 n14 n23 n24",
    "ip-10-0-[1-2]-[3-4]": "ip-10-0-1-3 ip-10-0-1-4 ip-10-0-2-3 ip-10-0-2-4",
    "rack[0-1]_blade[0-1]": "rack0_blade0 rack0_blade1 rack1_blade0 rack1_blade1",
    "nodeA,nodeB[001,003],nodeC": "nodeA nodeB001 nodeB003 nodeC",
    "b04-[09-10]": "b04-09 b04-10",
    "foo003,foo0[10-12],foo[103-104],foo-m11-16": (
        "foo003 foo010 foo011 foo012 foo103 foo104 foo-m11-16"
    ),
    "a.b[1-2]": "a.b1 a.b2",
    "n1 n2": "n1 n2",
    "n1\nn2\n": "n1 n2",
    "n1 , n2": "n1 n2",
    "n[1-3],,n5": "n1 n2 n3 n5",
    ",n1": "n1",
    "n1,": "n1",
}
SUFFIXES = {
    "n[1-2]x": "n1x n2x",
    "dgx-[001-003].mgmt": "dgx-001.mgmt dgx-002.mgmt dgx-003.mgmt",
    "n[1-2]-ib0": "n1-ib0 n2-ib0",
}

# What scontrol answers with an empty list (and exit code 0), or with names nobody can have meant.
REFUSED = {
    "": "column 1: got the end of the text; expected a name",
    " ,\n": "column 4: got the end of the text; expected a name",
    "n[3-1]": "column 3: got '3-1'; expected low before high: '1-3'",
    "n[]": "column 3: got ''; expected a number or low-high, without blanks",
    "n[a-c]": "column 3: got 'a-c'; expected a number or low-high, without blanks",
    "n[1-10/3]": "column 3: got '1-10/3'; expected a number or low-high, without blanks",
    "n[1-2,]": "column 7: got ''; expected a number or low-high, without blanks",
    "n[,1]": "column 3: got ''; expected a number or low-high, without blanks",
    "n[-1]": "column 3: got '-1'; expected a number or low-high, without blanks",
    "n[1--3]": "column 3: got '1--3'; expected a number or low-high, without blanks",
    "n[1 - 3]": "column 3: got '1 - 3'; expected a number or low-high, without blanks",
    "n[+1-2]": "column 3: got '+1-2'; expected a number or low-high, without blanks",
    "n[1-": "column 2: got '[' that is never closed; expected ']' after the last range",
    "a,n[1[2]]": "column 4: got '[' that is never closed; expected ']' after the last range",
    "n]": "column 2: got ']' that closes nothing; expected '[' before the first range",
    "switch{leaf1}": (
        "column 7: got '{'; expected names and ranges only "
        "(functions of slurmctld: expand them first)"
    ),
}

BOMBS = {
    "n[1-1000000000000]": "column 1: got 1,000,000,000,000 names; expected at most 4,194,304 names",
    "n1,n[1-4194304]": "column 4: got 4,194,305 names; expected at most 4,194,304 names",
    "n" + "[0-9]" * 7: "column 1: got 10,000,000 names; expected at most 4,194,304 names",
    "n[1-9999999999999999999]": "column 3: got a number of 19 digits; expected at most 18",
    "n[" + "1" * 5000 + "]": "column 3: got a number of 5000 digits; expected at most 18",
    "x" * 252 + "[8-10]": "column 1: got a name of 254 characters; expected at most 253 characters",
}


@pytest.mark.parametrize(("text", "names"), (ORACLE | SUFFIXES).items())
def test_expands_as_slurm_does(text, names):
    assert expand(text) == names.split()


@pytest.mark.parametrize(("text", "message"), (REFUSED | BOMBS).items())
def test_refuses_with_the_column(text, message):
    with pytest.raises(HostlistError) as caught:
        expand(text)
    assert str(caught.value) == message


def test_the_limit_is_the_callers():
    assert len(expand("n[1-8]", limit=8)) == 8
    with pytest.raises(HostlistError, match="got 9 names; expected at most 8 names"):
        expand("n[1-9]", limit=8)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("", ""),
        ("login", "login"),
        ("login login", "login,login"),
        ("n1 n2 n3", "n[1-3]"),
        ("n3 n1 n4 n2", "n[3,1,4,2]"),
        ("n1 n1", "n[1,1]"),
        ("n08 n09 n10 n100", "n[08-10,100]"),
        ("n9 n10 n011", "n[9-10,011]"),
        ("r1n1 r1n2 r2n1 r2n2", "r1n[1-2],r2n[1-2]"),
        ("r1n1 r2n1", "r1n1,r2n1"),  # not r[1-2]n1: old Slurm reads no text behind brackets
        ("a1.x2.y a1.x3.y a2.x3.y", "a1.x[2-3].y,a2.x3.y"),
        ("a1.y a2.y a2.z", "a[1-2].y,a2.z"),
        ("n1234567890123456789 n1234567890123456790", "n1234567890123456789,n1234567890123456790"),
    ],
)
def test_folds_in_order(names, text):
    assert fold(names.split()) == text


@pytest.mark.parametrize("name", ["", "a b", "a,b", "a[1]", "a{b}"])
def test_refuses_to_fold_what_is_no_name(name):
    with pytest.raises(ValueError, match="cannot stand in a hostlist"):
        fold([name])


NAMES = st.lists(
    st.from_regex(r"[an._-]{0,2}(0{0,2}[0-9]{1,2}[a.]?){0,2}x?", fullmatch=True).filter(len)
)


@given(NAMES.filter(len))
def test_a_folded_list_expands_to_itself(names):
    assert expand(fold(names)) == names


NUMBER = st.integers(0, 120).flatmap(lambda n: st.integers(0, 2).map(lambda z: "0" * z + str(n)))
RANGE = NUMBER | st.tuples(NUMBER, st.integers(0, 12)).map(lambda r: f"{r[0]}-{int(r[0]) + r[1]}")
GROUP = st.lists(RANGE, min_size=1, max_size=3).map(lambda ranges: f"[{','.join(ranges)}]")
ITEM = st.tuples(
    st.sampled_from(["n", "gpu-", "r1_"]), GROUP, st.sampled_from(["", "x"]), GROUP | st.just("")
).map(lambda i: "".join(i[:2] if not i[3] else i))
HOSTLISTS = st.lists(ITEM | st.just("login"), min_size=1, max_size=4).map(",".join)


@given(HOSTLISTS)
def test_folding_an_expanded_list_changes_no_name(text):
    names = expand(text)
    assert expand(fold(names)) == names


def _scontrol(tmp_path, text):
    """Names as the installed Slurm expands them; as the table says where there is none."""
    if shutil.which("scontrol") is None:
        return ORACLE[text].split()
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=test\nSlurmctldHost=localhost\n")
    answer = subprocess.run(
        ["scontrol", "show", "hostnames", text],
        env={**os.environ, "SLURM_CONF": str(conf)},
        capture_output=True,
        text=True,
        check=True,
    )
    return answer.stdout.split()


def _cases():
    """The table, and with Slurm at hand expressions nobody wrote down.

    With at most two groups an item: of three, Slurm 22.05 lets the second vary slowest.
    """
    if shutil.which("scontrol") is None:
        return list(ORACLE)
    groups = ["[0-3]", "[003,1]", "[098-101]", "[7]", "[1-2,4]", "[09-10,9-10]"]
    pairs = [f"n{a}{middle}{b}" for a in groups for middle in ("", "-r") for b in groups]
    return list(ORACLE) + [f"gpu{a},login,{b}" for a, b in zip(groups, pairs, strict=False)] + pairs


@pytest.mark.parametrize("text", _cases())
def test_agrees_with_the_installed_slurm(tmp_path, text):
    assert expand(text) == _scontrol(tmp_path, text)
