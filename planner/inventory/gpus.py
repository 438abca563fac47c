"""What separates the GPUs of a node: islands of NVLink, and sockets that NVLink does not join."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from planner.inventory.model import Inside, Inventory, Note
from planner.wording import counted

NVLINK = "nvlink"
NUMA = "numa"


def inside(
    where: str,
    gpus: Iterable[int],
    links: Iterable[tuple[int, int]],
    numa: Mapping[int, str],
    notes: Sequence[Note] = (),
) -> Inventory:
    """Return the inside of a node.

    A problem file says "k consecutive GPUs" and nothing else about the inside of a node. What is
    more uneven than that is left out, with a note.

    Args:
        where: The file.
        gpus: Indices of the GPUs, gaps included; not empty.
        links: Pairs of GPUs that NVLink joins, switches already resolved.
        numa: NUMA node of a GPU, by index, as far as the file tells.
        notes: What the reader has to say already.
    """
    present = sorted(set(gpus))
    count = present[-1] + 1
    offline = tuple(sorted(set(range(count)) - set(present)))
    said = list(notes)
    if offline:
        missing = ", ".join(map(str, offline))
        said.append(Note(where, f"GPU {missing} is missing from the file: taken as offline"))
    pairs = {pair for a, b in links for pair in ((a, b), (b, a))}
    levels = []
    islands = _islands(present, pairs)
    size = _level(NVLINK, islands, count, where, said)
    if size:
        levels.append((NVLINK, size))
    sockets = _sockets(present, numa)
    if sockets and _numa_matters(islands, sockets, pairs, where, said):
        size = _level(NUMA, sockets, count, where, said)
        if size and all(_nest(size, other) for _, other in levels):
            levels.append((NUMA, size))
        elif size and (NVLINK, size) not in levels:
            domains = f"{NUMA} domains of {counted(size, 'GPU')}"
            text = f"{domains} cut {NVLINK} domains: level '{NUMA}' left out"
            said.append(Note(where, text))
    levels.sort(key=lambda level: level[1])
    return Inventory(inside=Inside(where, count, offline, tuple(levels)), notes=tuple(said))


def _nest(a: int, b: int) -> bool:
    """Whether domains of a and of b consecutive GPUs nest and differ."""
    return a != b and max(a, b) % min(a, b) == 0


def _islands(gpus: Sequence[int], pairs: set[tuple[int, int]]) -> list[list[int]]:
    """Return the connected components, each ascending, by their first GPU."""
    left = dict.fromkeys(gpus)
    islands = []
    while left:
        island = [next(iter(left))]
        del left[island[0]]
        for gpu in island:  # grows while it is walked
            found = [other for other in left if (gpu, other) in pairs]
            island += found
            for other in found:
                del left[other]
        islands.append(sorted(island))
    return islands


def _sockets(gpus: Sequence[int], numa: Mapping[int, str]) -> list[list[int]]:
    """Return the GPUs of every NUMA node; nothing if the file does not tell all of them."""
    if not all(gpu in numa for gpu in gpus):
        return []
    sockets: dict[str, list[int]] = {}
    for gpu in gpus:
        sockets.setdefault(numa[gpu], []).append(gpu)
    return list(sockets.values())


def _numa_matters(
    islands: Sequence[Sequence[int]],
    sockets: Sequence[Sequence[int]],
    pairs: set[tuple[int, int]],
    where: str,
    notes: list[Note],
) -> bool:
    """Whether a link between two sockets is worse than one inside."""
    if len(sockets) < 2:
        return False
    socket = {gpu: s for s, members in enumerate(sockets) for gpu in members}
    across = [
        (a, b) for isle in islands for a in isle for b in isle if a < b and socket[a] != socket[b]
    ]
    if across and all(pair in pairs for pair in across):
        text = f"NVLink joins GPUs of {len(sockets)} NUMA nodes: no level '{NUMA}'"
        notes.append(Note(where, text))
        return False
    return True


def _level(
    name: str, groups: Sequence[Sequence[int]], count: int, where: str, notes: list[Note]
) -> int | None:
    """Return the size of a level of consecutive GPUs, None if there is nothing to write.

    ``groups`` are ascending lists of GPU indices below ``count``; missing GPUs belong anywhere.
    """
    largest = max(len(group) for group in groups)
    if len(groups) == 1 or largest == 1:
        return None
    for size in range(largest, count):
        if all(len({gpu // size for gpu in group}) == 1 for group in groups) and len(
            {group[0] // size for group in groups}
        ) == len(groups):
            return size
    text = "; ".join(",".join(map(str, group)) for group in groups)
    notes.append(Note(where, f"{name}: GPUs {text} are not equal runs: level '{name}' left out"))
    return None
