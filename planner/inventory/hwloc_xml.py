"""What ``lstopo file.xml`` writes: the GPUs of one node and the NUMA node next to each.

A GPU is a PCI device with a GPU of the management library below it (``nvml0``, ``rsmi0``), which
also tells its index. Without that library only PCI devices of class 0302 are left, in the order of
bus ids. hwloc 2 hangs memory beside the processors; hwloc 1 around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from planner.inventory.gpus import inside
from planner.inventory.lines import host_name
from planner.inventory.markup import Element, read_xml
from planner.inventory.model import Inventory, Node, Note, refuse

_INDEXED = re.compile(r"(nvml|rsmi)([0-9]{1,3})")
_GPU_CLASS = "0302"


@dataclass(frozen=True, slots=True)
class _Gpu:
    """A GPU: its index, the NUMA nodes next to it, its UUID, and the objects that stand for it."""

    index: int
    numa: str
    uuid: str
    objects: frozenset[str]
    where: str


def parse(text: str, source: str) -> Inventory:
    """Read an XML topology of hwloc.

    Raises:
        InputError: Not one, or without GPUs.
    """
    root = read_xml(text, source)
    if root.tag not in ("topology", "root"):
        got = f"<{root.tag}>"
        raise refuse(root.where, "not a topology of hwloc", got=got, expected="<topology>")
    devices = [found for found in root.each("object") if found.get("type") == "PCIDev"]
    notes = []
    gpus = [gpu for device in devices for gpu in _managed(device)]
    if not gpus:
        gpus = _unmanaged(devices)
        text = "GPUs are known by their PCI class only (hwloc without NVML): order of bus ids"
        notes.append(Note(source, text))
    if not gpus:
        remedy = "run lstopo on a GPU node, with an hwloc that knows NVML"
        raise refuse(source, "no GPU in the file", remedy=remedy)
    _refuse_twice(gpus)
    links = _nvlink(root, gpus)
    if not links:
        notes.append(Note(source, "the file tells no NVLink: add the output of nvidia-smi topo -m"))
    numa = {gpu.index: gpu.numa for gpu in gpus if gpu.numa}
    found = inside(source, [gpu.index for gpu in gpus], links, numa, notes)
    return replace(found, nodes=tuple(_host(root, gpus)))


def _managed(device: Element) -> Iterator[_Gpu]:
    """Yield the GPU of a PCI device that a management library knows."""
    for child in device.each("object"):
        match = _INDEXED.fullmatch(child.get("name"))
        if match:
            yield _gpu(int(match[2]), device, child)
            return


def _unmanaged(devices: Iterable[Element]) -> list[_Gpu]:
    found = [device for device in devices if device.get("pci_type").startswith(_GPU_CLASS)]
    found.sort(key=lambda device: device.get("pci_busid"))
    return [_gpu(index, device, device) for index, device in enumerate(found)]


def _gpu(index: int, device: Element, named: Element) -> _Gpu:
    infos = {info.get("name"): info.get("value") for info in named.children if info.tag == "info"}
    uuid = infos.get("NVIDIAUUID") or infos.get("AMDUUID") or ""
    objects = frozenset((device.get("gp_index"), named.get("gp_index"))) - {""}
    return _Gpu(index, _numa(device), uuid, objects, named.where)


def _numa(device: Element) -> str:
    """Return the NUMA nodes next to a device; empty if the file does not tell."""
    for around in device.above():
        if around.get("type") == "NUMANode":
            return around.get("os_index")
        beside = [c.get("os_index") for c in around.children if c.get("type") == "NUMANode"]
        if beside:
            return ",".join(beside)
    return ""


def _refuse_twice(gpus: Iterable[_Gpu]) -> None:
    seen: dict[int | str, _Gpu] = {}
    for gpu in gpus:
        for name in (gpu.index, gpu.uuid):
            if name in seen:
                got = f"{name}, first at {seen[name].where}"
                raise refuse(gpu.where, "a GPU is described twice", got=got)
        seen[gpu.index] = gpu
        if gpu.uuid:
            seen[gpu.uuid] = gpu


def _nvlink(root: Element, gpus: Iterable[_Gpu]) -> list[tuple[int, int]]:
    """Return the pairs with a bandwidth in the matrix ``NVLinkBandwidth``, if there is one.

    Objects of the matrix that are no GPU are NVSwitches: they join the GPUs that reach them.
    """
    index = {name: gpu.index for gpu in gpus for name in gpu.objects}
    pairs: list[tuple[int, int]] = []
    for matrix in (*root.each("distances2"), *root.each("distances2hetero")):
        if matrix.get("name") != "NVLinkBandwidth":
            continue
        names = [word.rpartition(":")[2] for word in _words(matrix, "indexes")]
        values = _words(matrix, "u64values")
        if len(values) != len(names) ** 2:
            got, expected = f"{len(values)} values", f"{len(names)} x {len(names)}"
            raise refuse(matrix.where, "a matrix of another size", got=got, expected=expected)
        linked = [
            (names[at // len(names)], names[at % len(names)])
            for at, value in enumerate(values)
            if value.strip("0") and at // len(names) != at % len(names)
        ]
        pairs += [(index[a], index[b]) for a, b in linked if a in index and b in index]
        reach = [index[a] for a, b in linked if a in index and b not in index]
        pairs += [(a, b) for a in reach for b in reach if a != b]
    return pairs


def _words(matrix: Element, tag: str) -> list[str]:
    return [word for part in matrix.each(tag) for word in part.text.split()]


def _host(root: Element, gpus: Sequence[_Gpu]) -> Iterator[Node]:
    """Yield the node the file is from, if it names it."""
    for info in root.each("info"):
        if info.get("name") == "HostName" and info.get("value"):
            name = host_name(info.get("value"), info.where)
            uuids = tuple(gpu.uuid for gpu in sorted(gpus, key=lambda gpu: gpu.index))
            complete = all(uuids) and sorted(g.index for g in gpus) == list(range(len(gpus)))
            yield Node(name, info.where, uuids=uuids if complete else ())
            return
