"""ibnetdiscover."""

import pytest

from planner.errors import InputError
from planner.inventory.ibnetdiscover import parse
from tests.inventory.examples import FABRIC
from tests.inventory.looks import levels, names, notes


def read(text):
    return parse(text, "net")


def switch(guid, name, *ports):
    lines = [f'Switch\t65 "S-{guid}"\t\t# "{name}" enhanced port 0 lid 1 lmc 0']
    for number, (kind, other, text) in enumerate(ports, start=1):
        lines.append(f'[{number}]\t"{kind}-{other}"[1](ab) \t\t# "{text}" lid 2 4xNDR')
    return "\n".join(lines) + "\n\n"


def leaf(number, hosts, spines=(), rail=0):
    """A leaf with one cable to every host and spine."""
    cards = [("H", f"{host}{rail}", f"{host} mlx5_{rail}") for host in hosts.split()]
    trunks = [("S", f"9{spine}", f"MF0;SPINE-{spine}:MQM9700/U1") for spine in spines]
    return switch(f"1{number}", f"MF0;LEAF-{number}:MQM9700/U1", *cards, *trunks)


def spine(number, *below):
    ports = [("S", f"1{leaf}", f"MF0;LEAF-{leaf}:MQM9700/U1") for leaf in below]
    return switch(f"9{number}", f"MF0;SPINE-{number}:MQM9700/U1", *ports)


def test_leaves_spines_hosts_and_what_is_none():
    found = read(FABRIC)
    assert names(found) == "alpha bravo charlie delta"
    assert levels(found) == {
        "leaf": {"LEAF-01": "alpha bravo", "LEAF-02": "charlie delta"},
        "spine": {"SPINE-01": "alpha bravo charlie delta"},
    }
    assert notes(found) == [
        (
            "net: adapters that name no host, left out (1): H-e0 'MT4129 ConnectX7   Mellanox Technologies' "
            "(net:19)"
        )
    ]


def test_records_of_adapters_alone_are_enough():
    text = (
        'Ca\t1 "H-a"\t# "a mlx5_0"\n[1](a) \t"S-1"[1]\t\t# lid 1 lmc 0 "MF0;L1:X/U1" lid 2 4xNDR\n'
    )
    found = read(text + '\nCa\t1 "H-b"\t# "b mlx5_0"\n[1](b) \t"S-1"[2]\n')
    assert levels(found) == {"leaf": {"S-1": "a b"}}


def test_rails_are_one_domain_and_said_so():
    text = "".join(leaf(rail, "a b c", rail=rail) for rail in (1, 2, 3))
    text += "".join(leaf(rail + 3, "d e f", rail=rail) for rail in (1, 2, 3))
    found = read(text)
    assert levels(found) == {"leaf": {"LEAF-1": "a b c", "LEAF-4": "d e f"}}
    said = "leaf: switches with mostly the same hosts (rails) kept as one domain"
    assert notes(found) == [f"net:6: {said}: LEAF-1, LEAF-2, LEAF-3; LEAF-4, LEAF-5, LEAF-6"]


def test_a_host_with_one_cable_astray_stays_with_the_others():
    text = leaf(1, "a b c", rail=1) + leaf(2, "a b", rail=2) + leaf(3, "d e f c", rail=2)
    found = read(text)
    assert levels(found) == {"leaf": {"LEAF-1": "a b c", "LEAF-3": "d e f"}}
    assert notes(found)[-1] == (
        "net:10: leaf: hosts with cables elsewhere too, kept: c under LEAF-1, not LEAF-3"
    )


def test_three_tiers_keep_their_pods():
    text = leaf(1, "a", [1]) + leaf(2, "b", [1]) + leaf(3, "c", [2]) + leaf(4, "d", [2])
    core = switch("77", "MF0;CORE-1:X/U1", ("S", "91", "MF0;SPINE-1:X/U1"), ("S", "92", "SPINE-2"))
    assert levels(read(text + core)) == {
        "leaf": {"LEAF-1": "a", "LEAF-2": "b", "LEAF-3": "c", "LEAF-4": "d"},
        "spine": {"SPINE-1": "a b", "SPINE-2": "c d"},
        "core": {"CORE-1": "a b c d"},
    }


def test_parallel_spines_are_one_domain():
    text = leaf(1, "a", [1, 2]) + leaf(2, "b", [1, 2]) + spine(1, 1, 2) + spine(2, 1, 2)
    assert levels(read(text))["spine"] == {"SPINE-1": "a b"}


def test_a_host_on_a_spine_does_not_join_the_leaves():
    text = leaf(1, "a b", [1, 2]) + leaf(2, "c d", [1, 2])
    text += switch("91", "MF0;SPINE-1:X/U1", ("H", "ufm0", "ufm mlx5_0"))
    found = levels(read(text))
    assert found["leaf"] == {"LEAF-1": "a b", "LEAF-2": "c d", "SPINE-1": "ufm"}


def test_unmanaged_switches_are_called_by_their_id():
    text = switch("1", "Quantum Mellanox Technologies", ("H", "a", "a HCA-1"))
    text += switch("2", "Quantum Mellanox Technologies", ("H", "b", "b HCA-1"))
    assert levels(read(text)) == {"leaf": {"S-1": "a", "S-2": "b"}}


def test_switches_of_one_name_are_told_apart():
    text = switch("1", "MF0;sw:X/U1", ("H", "a", "a HCA-1")) + switch(
        "2", "MF0;sw:X/U1", ("H", "b", "b x")
    )
    assert levels(read(text)) == {"leaf": {"sw-S-1": "a", "sw-S-2": "b"}}


def test_lines_that_cannot_be_read_are_named():
    found = read(leaf(1, "a b").replace('[2]\t"H-b0"', '[2]\tH-b0"'))
    assert notes(found)[0].startswith("net:3: not read: '[2]")


def test_localhost_is_no_host():
    found = read(leaf(1, "a localhost"))
    assert names(found) == "a"
    assert "H-localhost0 'localhost mlx5_0' (net:3)" in notes(found)[0]


def test_hosts_with_few_cables_are_pointed_out():
    found = read(leaf(1, "a b ufm", rail=1) + leaf(2, "a b", rail=2))
    assert names(found) == "a b ufm"
    assert "net:4: hosts with fewer cables than the usual 2: ufm 1; --nodes can leave them out" in (
        notes(found)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'Ca\t1 "H-a"\t# "a HCA-1"\n',
            "net: no switch in the file; run ibnetdiscover where it can see the fabric",
        ),
        (
            switch("1", "sw"),
            "net: no host on any switch; expected descriptions like 'node01 mlx5_0'",
        ),
        (
            leaf(1, "a") + 'Ca\t1 "H-a0"\t\t# "b mlx5_0"\n',
            "net:4: adapter H-a0 has two descriptions; got 'b mlx5_0' here, 'a mlx5_0' at net:2",
        ),
    ],
)
def test_refused(text, message):
    with pytest.raises(InputError) as caught:
        read(text)
    assert str(caught.value) == message
