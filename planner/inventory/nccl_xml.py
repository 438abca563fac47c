"""NCCL's topology: what ``NCCL_TOPO_DUMP_FILE`` writes, and what is written for ``NCCL_TOPO_FILE``.

A GPU is a ``<gpu>`` below the ``<pci>`` that has its bus id; NVLink targets are bus ids of GPUs, or
of NVSwitches (device class 0x0680), which join all GPUs that reach one. Files made for a cloud
machine have no ``<gpu>``: there a ``<pci>`` of class 0x0302 is a GPU, in the order of bus ids, and
nothing is known about NVLink. A dump of a rack with one NVLink fabric holds several hosts, told
apart by ``host_hash``; bus ids repeat in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner.inventory.gpus import inside
from planner.inventory.markup import Element, read_xml
from planner.inventory.model import Inventory, Note, refuse
from planner.inventory.nvidia_smi import MAX_GPUS

_GPU_CLASS, _SWITCH_CLASS = "0x0302", "0x0680"


@dataclass(frozen=True, slots=True)
class _Gpu:
    index: int
    bus: str
    numa: str
    links: tuple[tuple[str, str], ...]  # bus id and class of every target
    where: str


def parse(text: str, source: str) -> Inventory:
    """Read a topology of NCCL.

    Raises:
        InputError: Not one, of another version, or without GPUs.
    """
    root = read_xml(text, source)
    if root.tag != "system":
        raise refuse(root.where, "not a topology of NCCL", got=f"<{root.tag}>", expected="<system>")
    if root.get("version") != "1":
        got = f"'{root.get('version')}'"
        raise refuse(root.where, "an unknown version", got=got, expected='version="1"')
    cpus: dict[str, list[Element]] = {}
    for cpu in root.each("cpu"):
        cpus.setdefault(cpu.get("host_hash"), []).append(cpu)
    hosts = [gpus for group in cpus.values() if (gpus := _gpus(group))]
    if not hosts:
        raise refuse(source, "no GPU in the file", expected="<gpu>, or <pci> of class 0x0302")
    notes = _notes(hosts, source)
    gpus = hosts[0]
    links, unknown = _links(gpus)
    if unknown:
        text = f"NVLink to what is neither GPU of the file nor switch: {unknown} targets left out"
        notes.append(Note(source, text))
    numa = {gpu.index: gpu.numa for gpu in gpus if gpu.numa}
    return inside(source, [gpu.index for gpu in gpus], links, numa, notes)


def _gpus(cpus: Iterable[Element]) -> list[_Gpu]:
    """Return the GPUs of one host."""
    found = [gpu for cpu in cpus for gpu in _described(cpu)]
    if not found:
        found = [leaf for cpu in cpus for leaf in _leaves(cpu)]
        found.sort(key=lambda gpu: gpu.bus)
        return [_Gpu(i, gpu.bus, gpu.numa, (), gpu.where) for i, gpu in enumerate(found)]
    seen: dict[int, _Gpu] = {}
    for gpu in found:
        if gpu.index in seen:
            got = f"dev {gpu.index}, first at {seen[gpu.index].where}"
            raise refuse(gpu.where, "a GPU is described twice", got=got)
        seen[gpu.index] = gpu
    return found


def _described(cpu: Element) -> Iterable[_Gpu]:
    for gpu in cpu.each("gpu"):
        dev = gpu.get("dev")
        if not (dev.isascii() and dev.isdigit() and len(dev) <= 4 and int(dev) < MAX_GPUS):
            raise refuse(gpu.where, "not a GPU index", got=f'dev="{dev}"', expected="a number")
        bus = gpu.parent.get("busid") if gpu.parent else ""
        links = tuple((link.get("target"), link.get("tclass")) for link in gpu.each("nvlink"))
        yield _Gpu(int(dev), bus, cpu.get("numaid"), links, gpu.where)


def _leaves(cpu: Element) -> Iterable[_Gpu]:
    for pci in cpu.each("pci"):
        if pci.get("class").startswith(_GPU_CLASS) and not any(pci.each("pci")):
            yield _Gpu(0, pci.get("busid"), cpu.get("numaid"), (), pci.where)


def _links(gpus: Sequence[_Gpu]) -> tuple[list[tuple[int, int]], int]:
    """Return the pairs joined by NVLink, and the number of targets that are neither."""
    by_bus = {gpu.bus.lower(): gpu.index for gpu in gpus}
    switched = [gpu.index for gpu in gpus if any(c.startswith(_SWITCH_CLASS) for _, c in gpu.links)]
    pairs = [(a, b) for a in switched for b in switched if a != b]
    unknown = 0
    for gpu in gpus:
        for target, kind in gpu.links:
            other = by_bus.get(target.lower())
            if other is not None and other != gpu.index:
                pairs.append((gpu.index, other))
            elif not kind.startswith(_SWITCH_CLASS):
                unknown += 1
    return pairs, unknown


def _notes(hosts: Sequence[Sequence[_Gpu]], source: str) -> list[Note]:
    notes = []
    if len(hosts) > 1:
        sizes = sorted({len(gpus) for gpus in hosts})
        text = (
            f"{len(hosts)} hosts share one NVLink fabric, with {', '.join(map(str, sizes))} GPUs "
            "each; the file does not name them: only the inside of the first is read"
        )
        notes.append(Note(source, text))
    if not any(gpu.links for gpu in hosts[0]):
        notes.append(Note(source, "the file tells no NVLink: add the output of nvidia-smi topo -m"))
    return notes
