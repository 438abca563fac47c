"""NCCL's and hwloc's XML, and the XML reader below them."""

import pytest

from planner.errors import InputError
from planner.inventory import hwloc_xml, nccl_xml
from planner.inventory.markup import read_xml
from tests.inventory.examples import HWLOC, NCCL
from tests.inventory.looks import notes

NO_NVLINK = "the file tells no NVLink: add the output of nvidia-smi topo -m"


def nccl(*cpus, version="1"):
    return nccl_xml.parse(f'<system version="{version}">{"".join(cpus)}</system>', "t.xml")


def cpu(numa, *inside, host=""):
    return f'<cpu numaid="{numa}" host_hash="{host}">{"".join(inside)}</cpu>'


def gpu(dev, links="", bus=None):
    bus = bus or f"0000:0{dev}:00.0"
    return f'<pci busid="{bus}" class="0x030200"><gpu dev="{dev}" sm="80">{links}</gpu></pci>'


def link(bus, kind="0x030200"):
    return f'<nvlink target="{bus}" count="4" tclass="{kind}"/>'


def test_nccl_switches_join_all_gpus_that_reach_one():
    found = nccl_xml.parse(NCCL, "t.xml")
    assert (found.inside.gpus, found.inside.levels) == (2, ())
    assert notes(found) == ["t.xml: NVLink joins GPUs of 2 NUMA nodes: no level 'numa'"]


def test_nccl_direct_links():
    pairs = [gpu(0, link("0000:01:00.0")), gpu(1), gpu(2, link("0000:03:00.0")), gpu(3)]
    assert nccl(cpu(0, *pairs)).inside.levels == (("nvlink", 2),)


def test_nccl_without_links_has_its_sockets():
    found = nccl(cpu(0, gpu(0), gpu(1)), cpu(1, gpu(2), gpu(3)))
    assert found.inside.levels == (("numa", 2),)
    assert notes(found) == [f"t.xml: {NO_NVLINK}"]


def test_nccl_file_made_for_a_cloud_machine():
    """No <gpu>, bridges around, network cards beside: GPUs in the order of bus ids."""
    leaf = '<pci busid="{}" class="{}" link_speed="2.5 GT/s PCIe" link_width="0"/>'
    bridge = '<pci busid="ffff:ff:{}.0" class="0x060400">{}</pci>'
    cards = [
        ("0003:00:00.0", "0x030200"),
        ("0101:00:00.0", "0x020700"),
        ("0001:00:00.0", "0x030200"),
    ]
    first = bridge.format("01", "".join(leaf.format(*card) for card in cards))
    found = nccl(
        cpu(0, first),
        cpu(1, leaf.format("0005:00:00.0", "0x0302"), leaf.format("0006:00:00.0", "0x0302")),
    )
    assert (found.inside.gpus, found.inside.levels) == (4, (("numa", 2),))


def test_nccl_of_a_rack_holds_several_hosts():
    host = [gpu(d, link("0000:99:00.0", "0x068000")) for d in range(4)]
    found = nccl(cpu(0, *host, host="0xa"), cpu(0, *host, host="0xb"))
    assert found.inside.gpus == 4
    assert notes(found) == [
        (
            "t.xml: 2 hosts share one NVLink fabric, with 4 GPUs each; the file does not name them: "
            "only the inside of the first is read"
        )
    ]


def test_nccl_links_to_nowhere_are_named():
    found = nccl(cpu(0, gpu(0, link("0000:77:00.0")), gpu(1)))
    assert notes(found) == [
        "t.xml: NVLink to what is neither GPU of the file nor switch: 1 targets left out"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<system version="2"/>', "t.xml:1: an unknown version; got '2'; expected version=\"1\""),
        ("<topology/>", "t.xml:1: not a topology of NCCL; got <topology>; expected <system>"),
        (
            '<system version="1"><cpu/></system>',
            "t.xml: no GPU in the file; expected <gpu>, or <pci>",
        ),
        (
            f'<system version="1">{cpu(0, gpu(0), gpu(0))}</system>',
            "t.xml:1: a GPU is described twice; got dev 0, first at t.xml:1",
        ),
        (
            f'<system version="1">{cpu(0, gpu(9, bus="x").replace("9", "many"))}</system>',
            't.xml:1: not a GPU index; got dev="many"; expected a number',
        ),
    ],
)
def test_nccl_refused(text, message):
    with pytest.raises(InputError) as caught:
        nccl_xml.parse(text, "t.xml")
    assert str(caught.value).startswith(message)


def hwloc(text):
    return hwloc_xml.parse(text, "t.xml")


def test_hwloc_tells_gpus_sockets_host_and_uuids():
    found = hwloc(HWLOC)
    assert (found.inside.gpus, found.inside.levels) == (4, (("numa", 2),))
    assert [(n.name, n.uuids) for n in found.nodes] == [
        ("alpha", ("GPU-00", "GPU-01", "GPU-02", "GPU-03"))
    ]
    assert notes(found) == [f"t.xml: {NO_NVLINK}"]


def test_hwloc_1_hangs_everything_below_its_numa_nodes():
    pci = '<object type="PCIDev" pci_busid="{0}" pci_type="0302"><object type="OSDev" name="nvml{0}"/></object>'
    node = '<object type="NUMANode" os_index="{}">{}</object>'
    sockets = node.format(0, pci.format(0) + pci.format(1)) + node.format(
        1, pci.format(2) + pci.format(3)
    )
    assert hwloc(f"<topology>{sockets}</topology>").inside.levels == (("numa", 2),)


def test_hwloc_without_nvml_counts_pci_devices():
    found = hwloc(HWLOC.replace("nvml", "card"))
    assert (found.inside.gpus, found.inside.levels) == (4, (("numa", 2),))
    assert notes(found)[0] == (
        "t.xml: GPUs are known by their PCI class only (hwloc without NVML): order of bus ids"
    )


@pytest.mark.parametrize(
    ("names", "kind", "values"),
    [
        ("11 13 23 25", "distances2", "9 5 0 0 5 9 0 0 0 0 9 5 0 0 5 9"),
        (
            "OSDev:11 OSDev:13 OSDev:23 OSDev:25",
            "distances2hetero",
            "9 5 0 0 5 9 0 0 0 0 9 5 0 0 5 9",
        ),
    ],
)
def test_hwloc_matrix_of_nvlink(names, kind, values):
    matrix = f"""<{kind} name="NVLinkBandwidth"><indexes>{names}</indexes>
      <u64values>{values[:16]}</u64values><u64values>{values[16:]}</u64values></{kind}></topology>"""
    found = hwloc(HWLOC.replace("</topology>", matrix))
    assert found.inside.levels == (("nvlink", 2),)


def test_hwloc_switches_in_the_matrix_join_all():
    cells = "9 0 0 0 5 0 9 0 0 5 0 0 9 0 5 0 0 0 9 5 5 5 5 5 9"
    matrix = f"""<distances2 name="NVLinkBandwidth"><indexes>11 13 23 25 99</indexes>
      <u64values>{cells}</u64values></distances2></topology>"""
    assert hwloc(HWLOC.replace("</topology>", matrix)).inside.levels == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<system/>", "t.xml:1: not a topology of hwloc; got <system>; expected <topology>"),
        (
            '<topology><object type="Machine"/></topology>',
            "t.xml: no GPU in the file; run lstopo on a GPU node, with an hwloc that knows NVML",
        ),
        (
            HWLOC.replace("nvml1", "nvml0"),
            "t.xml:14: a GPU is described twice; got 0, first at t.xml:9",
        ),
        (HWLOC.replace("GPU-01", "GPU-00"), "t.xml:14: a GPU is described twice; got GPU-00"),
        (
            HWLOC.replace(
                "</topology>",
                '<distances2 name="NVLinkBandwidth"><indexes>11 13</indexes>'
                "<u64values>1 2</u64values></distances2></topology>",
            ),
            "t.xml:33: a matrix of another size; got 2 values; expected 2 x 2",
        ),
    ],
)
def test_hwloc_refused(text, message):
    with pytest.raises(InputError) as caught:
        hwloc(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<a>\n<b></a>", "t.xml:2: not well-formed XML; got mismatched tag"),
        ("", "t.xml:1: not well-formed XML; got no element found"),
        (
            '<!DOCTYPE a [<!ENTITY x "xxxx">]>\n<a>&x;</a>',
            "t.xml:1: entity declarations are not read",
        ),
        ("<a>" * 300 + "</a>" * 300, "t.xml:1: elements nested deeper than 200 levels"),
    ],
)
def test_xml_refused(text, message):
    with pytest.raises(InputError) as caught:
        read_xml(text, "t.xml")
    assert str(caught.value) == message


def test_an_external_dtd_and_another_encoding_are_not_asked_for():
    text = '<?xml version="1.0" encoding="ISO-8859-1"?>\n<!DOCTYPE a SYSTEM "a.dtd">\n<a n="é"/>'
    assert read_xml(text, "t.xml").get("n") == "é"
