"""Hostfiles of five launchers."""

import pytest

from planner.errors import InputError
from planner.inventory import hostfiles

PARSERS = {
    "openmpi": hostfiles.parse_openmpi,
    "deepspeed": hostfiles.parse_deepspeed,
    "mpich": hostfiles.parse_mpich,
    "pbs": hostfiles.parse_pbs,
    "slurm-hostfile": hostfiles.parse_slurm,
}


def read(kind, text):
    """Every host with its GPUs, or with a question mark and how often it stands."""
    found = PARSERS[kind](text, "hosts")
    assert found.allocation
    return " ".join(
        f"{n.name}={n.gpus}" if n.gpus is not None else f"{n.name}?{n.slots or ''}"
        for n in found.nodes
    )


@pytest.mark.parametrize(
    ("kind", "text", "hosts"),
    [
        ("openmpi", "b slots=8\na slots=8\n", "b=8 a=8"),
        ("openmpi", "# c\na  slots=8 # c\n\nb\nme@d\tslots=3 max_slots=4\n", "a=8 b? d=3"),
        ("openmpi", "a\na\nb\nb\n", "a?2 b?2"),
        ("openmpi", "a\nb\n", "a? b?"),
        ("openmpi", "job-worker-0.job.ns.svc slots=8\n", "job-worker-0.job.ns.svc=8"),
        (
            "deepspeed",
            "# c\nworker-2 slots=8 max_slots=8\n\nworker-10\tslots=8\n",
            "worker-2=8 worker-10=8",
        ),
        ("mpich", "n3:8\nn1:4\nn2\n", "n3=8 n1=4 n2?"),
        ("mpich", "n3:4\nn3:4\n", "n3=8"),
        ("mpich", "n1:8 ifname=ib0\n", "n1=8"),
        ("pbs", "n2.example\nn2.example\nn1.example\nn2.example\n", "n2.example?3 n1.example?1"),
        ("pbs", "n2\nn1\n", "n2? n1?"),
        ("slurm-hostfile", "n[03,01]\nn02\n", "n03? n01? n02?"),
        ("slurm-hostfile", "n3*8\nn[1-2]*4\n", "n3=8 n1=4 n2=4"),
        ("slurm-hostfile", "n3\nn1\nn1\nn3\n", "n3?2 n1?2"),
    ],
)
def test_read(kind, text, hosts):
    assert read(kind, text) == hosts


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (
            "deepspeed",
            "w0 slots=8\nw0 slots=8\n",
            "hosts:2: a host stands twice; got w0, first at hosts:1; expected every host once",
        ),
        (
            "deepspeed",
            "w0 slots = 8\n",
            (
                "hosts:1: not a line of a DeepSpeed hostfile; got 'w0 slots = 8'; expected 'host "
                "slots=8', no blanks around '='"
            ),
        ),
        ("deepspeed", "w0\n", "hosts:1: not a line of a DeepSpeed hostfile; got 'w0'"),
        ("deepspeed", "w0:8\n", "hosts:1: not a line of a DeepSpeed hostfile; got 'w0:8'"),
        (
            "openmpi",
            "a slots=8\na slots=8\n",
            (
                "hosts:2: a host stands twice; got a, first at hosts:1; expected every host once, or "
                "without slots"
            ),
        ),
        ("openmpi", "a\na slots=2\n", "hosts:2: a host stands twice"),
        ("openmpi", "a slots=2\na\n", "hosts:2: a host stands twice"),
        ("openmpi", "a slots = 8\n", "hosts:1: not a line of a hostfile"),
        ("openmpi", "a slots=x\n", "hosts:1: not a number of slots; got 'x'"),
        ("openmpi", "a b\n", "hosts:1: not a line of a hostfile; got 'a b'"),
        ("mpich", "a:b\n", "hosts:1: not a host name; got 'a:b'"),
        ("pbs", "a b\n", "hosts:1: not a host name; got 'a b'"),
        ("slurm-hostfile", "n[1\n", "hosts:1: not a hostlist (column 2)"),
        ("pbs", "# nothing\n", "hosts: no host in the file"),
    ],
)
def test_refused(kind, text, message):
    with pytest.raises(InputError) as caught:
        read(kind, text)
    assert str(caught.value).startswith(message)


def test_text_that_deepspeed_ignores_is_named():
    found = hostfiles.parse_deepspeed("a slots=8 b slots=8\n", "hosts")
    assert [str(note) for note in found.notes] == [
        "hosts:1: not read, as DeepSpeed does not: 'b slots=8'"
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a slots=8\nb\n", "openmpi"),
        ("me@a\n", "openmpi"),
        ("a slots=8 spare\n", "deepspeed"),
        ("a:8\nb\n", "mpich"),
        ("a\na\n", "pbs"),
        ("n[1-2]\n", "slurm-hostfile"),
        ("n1*8\n", "slurm-hostfile"),
        ("n1,n2\n", "slurm-hostfile"),
        ("a b c\n", None),
        ("", None),
    ],
)
def test_guess(text, kind):
    assert hostfiles.guess(text) == kind
