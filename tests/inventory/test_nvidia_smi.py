"""nvidia-smi topo -m."""

import pytest

from planner.errors import InputError
from planner.inventory.nvidia_smi import parse
from tests.inventory.looks import notes


def read(text):
    return parse(text, "topo").inside


def matrix(links, tail="", numa=None, sep="\t"):
    """A capture of a matrix given as rows of cells, X on the diagonal."""
    count = len(links)
    header = [*(f"GPU{i}" for i in range(count)), *(["NUMA Affinity"] if numa else [])]
    rows = [
        [f"GPU{i}", *(" X " if c == "X" else c for c in row), *([numa[i]] if numa else [])]
        for i, row in enumerate(links)
    ]
    return "\n".join(["\t" + sep.join(header), *(sep.join(row) for row in rows)]) + "\n" + tail


def links(count, joined):
    """NV4 between the pairs that ``joined`` accepts, SYS elsewhere."""
    return [
        ["X" if a == b else "NV4" if joined(a, b) else "SYS" for b in range(count)]
        for a in range(count)
    ]


PAIRS = links(4, lambda a, b: a // 2 == b // 2)
ALL = links(8, lambda a, b: True)
NONE = links(8, lambda a, b: False)


def test_bridges_join_pairs():
    assert read(matrix(PAIRS)).levels == (("nvlink", 2),)


def test_a_switch_joins_all_and_numa_is_no_level():
    found = parse(matrix(ALL, numa="00001111"), "topo")
    assert (found.inside.gpus, found.inside.levels) == (8, ())
    assert notes(found) == ["topo: NVLink joins GPUs of 2 NUMA nodes: no level 'numa'"]


def test_sockets_without_nvlink_are_a_level():
    assert read(matrix(NONE, numa="00001111")).levels == (("numa", 4),)


def test_pairs_inside_sockets_are_two_levels():
    pairs = links(8, lambda a, b: a // 2 == b // 2)
    assert read(matrix(pairs, numa="00001111")).levels == (("nvlink", 2), ("numa", 4))


def test_a_cube_mesh_keeps_its_sockets():
    mesh = links(8, lambda a, b: a // 4 == b // 4 or a % 4 == b % 4)
    assert read(matrix(mesh, numa="00001111")).levels == (("numa", 4),)


def test_islands_that_are_no_runs_are_left_out_and_named():
    found = parse(matrix(links(4, lambda a, b: a % 2 == b % 2)), "topo")
    assert found.inside.levels == ()
    assert notes(found) == [
        "topo: nvlink: GPUs 0,2; 1,3 are not equal runs: level 'nvlink' left out"
    ]


def test_a_last_domain_may_be_shorter():
    assert read(matrix(links(5, lambda a, b: a // 3 == b // 3))).levels == (("nvlink", 3),)


def test_numa_that_cuts_islands_is_left_out():
    ring = links(6, lambda a, b: a // 3 == b // 3 and abs(a - b) == 1)
    found = parse(matrix(ring, numa="001122"), "topo")
    assert found.inside.levels == (("nvlink", 3),)
    assert notes(found) == [
        "topo: numa domains of 2 GPUs cut nvlink domains: level 'numa' left out"
    ]


COLOURED = """\
\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tSYS\tPIX\t0-31\t0\t\tN/A
GPU1\tSYS\t X \tSYS\t32-63\t1\t\tN/A
NIC0\tPIX\tSYS\t X \t\t\t\t
"""

OLD_NAMES = """\
\tGPU0\tGPU1\tmlx5_0\tmlx5_2\tmlx5_1\tCPU Affinity
GPU0\t X \tNV2\tPIX\tPHB\tSYS\t0-19
GPU1\tNV2\t X \tPIX\tPHB\tSOC\t0-19
mlx5_0\tPIX\tPIX\t X \tPHB\tSYS\t
"""

BLANKS = """\
        GPU0    GPU1    GPU2    GPU3    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA ID
GPU0     X      PIX     SYS     SYS     PIX     0-55,112-167    0               N/A
GPU1    PIX      X      SYS     SYS     SYS     0-55,112-167    0               N/A
GPU2    SYS     SYS      X      PIX     SYS     56-111,168-223  1               N/A
GPU3    SYS     SYS     PIX      X      SYS     56-111,168-223  1               N/A
"""


def test_colours_and_the_column_of_gpu_numa():
    found = read(COLOURED)
    assert (found.gpus, found.levels) == (2, ())


def test_old_names_of_network_cards():
    assert read(OLD_NAMES).gpus == 2


def test_pasted_with_blanks():
    assert read(BLANKS).levels == (("numa", 2),)


def test_pasted_without_its_first_blanks():
    assert read(BLANKS.lstrip(" ")).levels == (("numa", 2),)


def test_a_bare_matrix_of_one_gpu():
    assert read("\tGPU0\nGPU0\t X \n").gpus == 1


def test_old_drivers_tell_sockets_by_their_cpus():
    text = "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\n"
    rows = [("X SYS SYS SYS", 0), ("SYS X SYS SYS", 0), ("SYS SYS X SYS", 9), ("SYS SYS SYS X", 9)]
    text += "".join(
        "\t".join([f"GPU{i}", *cells.split(), f"{cpu}-{cpu + 8}"]) + "\n"
        for i, (cells, cpu) in enumerate(rows)
    )
    assert read(text).levels == (("numa", 2),)


def test_affinities_of_a_virtual_machine_tell_nothing():
    assert read(matrix(PAIRS, numa=["N/A"] * 4)).levels == (("nvlink", 2),)
    assert read(matrix(NONE, numa=["0-3"] * 8)).levels == ()


def test_a_missing_row_is_read_from_the_others():
    text = "\n".join(line for line in matrix(PAIRS).split("\n") if not line.startswith("GPU3"))
    found = parse(text, "topo")
    assert (found.inside.gpus, found.inside.levels) == (4, (("nvlink", 2),))
    assert notes(found) == ["topo: the row of GPU3 is missing: read from the other rows"]


def test_a_row_without_its_end_is_read_from_the_others():
    text = matrix(PAIRS).replace("GPU1\tNV4\t X \tSYS\tSYS", "GPU1\tNV4")
    assert read(text).levels == (("nvlink", 2),)


def test_a_gap_in_the_numbers_is_a_gpu_offline():
    found = parse("\tGPU0\tGPU2\nGPU0\t X \tSYS\nGPU2\tSYS\t X \n", "topo")
    assert (found.inside.gpus, found.inside.offline) == (3, (1,))
    assert notes(found) == ["topo: GPU 1 is missing from the file: taken as offline"]


def test_an_unknown_cell_is_no_nvlink():
    found = parse("\tGPU0\tGPU1\nGPU0\t X \tERR!\nGPU1\tERR!\t X \n", "topo")
    assert notes(found) == ["topo:2: GPU0 to GPU1: 'ERR!' read as no NVLink"]


def test_a_second_matrix_is_not_read():
    found = parse(matrix(PAIRS) + matrix(ALL), "topo")
    assert found.inside.gpus == 4
    assert notes(found) == ["topo:6: a second matrix: not read"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "nvidia-smi has failed\n",
            "topo: no matrix; expected a header line that begins with GPU0",
        ),
        (
            "\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tSYS\t X \n",
            "topo:2: GPU0 and GPU1 disagree about their link; got NV4, and SYS at topo:3",
        ),
        ("\tGPU0\tGPU1\nGPU0\tSYS\t X \n", "topo:2: GPU0 to itself; got 'SYS'; expected 'X'"),
        (
            "\tGPU0\nGPU0\t X \nGPU0\t X \n",
            "topo:3: a second row of GPU0; got the first is at topo:2",
        ),
        ("\tGPU0\nGPU7\t X \n", "topo:2: a row of GPU7, which is no column"),
        ("\tGPU0\tGPU0\n", "topo:1: a GPU stands twice in the header"),
        ("\tGPU9999\n", "topo:1: GPU9999 in one node; expected at most 1024 GPUs"),
    ],
)
def test_refused(text, message):
    with pytest.raises(InputError) as caught:
        read(text)
    assert str(caught.value).startswith(message)
