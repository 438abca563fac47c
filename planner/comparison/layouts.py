"""The layout a job runs in today, read from what its launcher was given.

| file       | a line or entry                           | where ranks sit                         |
|------------|-------------------------------------------|-----------------------------------------|
| hostfile   | ``host slots=8``, ``host:8``, ``host*8``  | so many consecutive ranks on the host   |
| hostfile   | bare hosts or hostlists, each once        | a run of ranks on all GPUs of each      |
| hostfile   | bare hosts, some repeated                 | a rank a line (``SLURM_HOSTFILE``, seq) |
| rankfile   | ``rank 3=host slot=1`` (Open MPI)         | the rank on the host                    |
| ranks.json | ``{"ranks": [{"rank", "host", "gpu"}]}``  | the rank on the host's GPU; also a plan |

Where the file names no GPU, the k-th rank of a host sits on the k-th usable GPU of the host, as
``LOCAL_RANK`` has it.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from planner.errors import Complaint, InputError
from planner.grid import Ints
from planner.machines import Machines
from planner.spec.hostlist import HostlistError, expand
from planner.spec.loading import parse_json, read_text, source_name
from planner.spec.names import MAX_ITEMS, did_you_mean
from planner.spec.problem import Problem
from planner.wording import counted

_RANK = re.compile(r"rank\s+([0-9]{1,9})\s*=\s*(\S+)(\s+slots?=\S+)?")
_SLOTS = re.compile(r"(\S+?)(?::([0-9]{1,7})|\*([0-9]{1,7}))?((?:\s+[a-z_-]+=\S+)*)")
_STATED = re.compile(r"\bslots=([0-9]{1,7})\b")

Seat = tuple[str, int | None, str]
"""Host, GPU index if named, and where the file says so."""


def read_layout(path: str | Path, problem: Problem) -> Ints:
    """Placement of a layout file: [world] device of each trainer rank; ``-`` reads standard input.

    Raises:
        InputError: not a layout, hosts or GPUs the machines do not have, or too few ranks.
    """
    return parse_layout(read_text(path), problem, source_name(path))


def parse_layout(text: str, problem: Problem, source: str = "layout") -> Ints:
    r"""Placement of a layout file's text; see the table above. Errors name `source`.

    Example:
        >>> problem = Problem.model_validate({"cluster": {"nodes": "a,b", "gpus_per_node": 2},
        ...     "job": {"decoder": {"tp": 4}}})
        >>> parse_layout("b slots=2\na slots=2", problem).tolist()
        [2, 3, 0, 1]
    """
    machines = problem.cluster.machines
    is_json = text.lstrip()[:1] in ("{", "[")
    data = parse_json(text, source) if is_json else None
    try:
        seats = _json_seats(data) if is_json else _line_seats(text, machines)
        return _placement(seats, problem.world_size, machines)
    except InputError as error:
        raise error.within(source) from None


def _line_seats(text: str, machines: Machines) -> list[Seat]:
    lines = [(i, bare) for i, line in enumerate(text.splitlines(), 1) if (bare := _bare(line))]
    ranked = any(line.startswith("rank ") for _, line in lines)
    return _rankfile_seats(lines) if ranked else _hostfile_seats(lines, machines)


def _bare(line: str) -> str:
    return line.split("#", 1)[0].strip()


def _json_seats(data: Any) -> list[Seat]:
    entries = data.get("ranks") if isinstance(data, dict) else data
    if not isinstance(entries, list):
        expected = '{"ranks": [{"rank", "host", "gpu"}, …]}'
        raise InputError(Complaint("$.ranks", "no list of ranks", expected=expected))
    seats: dict[int, Seat] = {}
    for i, entry in enumerate(entries):
        where = f"$.ranks[{i}]" if isinstance(data, dict) else f"$[{i}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("host"), str):
            got = json.dumps(entry)[:60]
            raise InputError(Complaint(where, "not a rank", got, '{"rank", "host", "gpu"}'))
        rank, gpu = entry.get("rank", i), entry.get("gpu")
        if type(rank) is not int or type(gpu) not in (int, type(None)):
            got = f"rank {rank!r}, gpu {gpu!r}"
            raise InputError(Complaint(where, "rank and gpu are whole numbers", got))
        if rank in seats:
            raise InputError(Complaint(where, f"rank {rank} stands twice"))
        seats[rank] = (entry["host"], gpu, where)
    return _in_order(seats)


def _rankfile_seats(lines: Iterable[tuple[int, str]]) -> list[Seat]:
    seats: dict[int, Seat] = {}
    for number, line in lines:
        match = _RANK.fullmatch(line)
        where = f"line {number}"
        if match is None or match[2].startswith("+"):
            expected = "rank N=host slot=…"
            raise InputError(Complaint(where, "not a line of a rankfile", repr(line), expected))
        rank = int(match[1])
        if rank in seats:
            raise InputError(Complaint(where, f"rank {rank} stands twice"))
        seats[rank] = (match[2], None, where)
    return _in_order(seats)


def _in_order(seats: dict[int, Seat]) -> list[Seat]:
    missing = next((r for r in range(len(seats)) if r not in seats), None)
    if missing is not None:
        raise InputError(Complaint("", f"rank {missing} is missing", counted(len(seats), "rank")))
    return [seats[r] for r in range(len(seats))]


def _hostfile_seats(lines: Iterable[tuple[int, str]], machines: Machines) -> list[Seat]:
    stated: list[tuple[str, int | None, str]] = []
    for number, line in lines:
        stated += _hosts_of(line, f"line {number}")
    repeats = max(Counter(host for host, _, _ in stated).values(), default=0)
    if repeats > 1 and all(count is None for _, count, _ in stated):
        return [(host, None, where) for host, _, where in stated]
    per_node = dict(zip(machines.hosts, _usable_per_node(machines), strict=True))
    return [
        (host, None, where)
        for host, count, where in stated
        for _ in range(per_node.get(host, 1) if count is None else count)
    ]


def _hosts_of(line: str, where: str) -> Iterator[tuple[str, int | None, str]]:
    match = _SLOTS.fullmatch(line)
    try:
        hosts = expand(match[1], MAX_ITEMS) if match else []
    except HostlistError:
        hosts = []
    if match is None or not hosts:
        expected = "host, host slots=8, host:8 or a hostlist"
        raise InputError(Complaint(where, "not a line of a hostfile", repr(line), expected))
    slots = _STATED.search(match[4] or "")
    count = match[2] or match[3] or (slots and slots[1])
    for host in hosts:
        yield host, int(count) if count else None, where


def _usable_per_node(machines: Machines) -> list[int]:
    counts: list[int] = machines.capacities(machines.level("node")).tolist()
    return counts


def _placement(seats: list[Seat], world: int, machines: Machines) -> Ints:
    """Devices of the first `world` seats; later ones, such as spare slots, stay free."""
    for host, _, where in seats:
        if host not in machines.node_index:
            remedy = did_you_mean(host, machines.hosts)
            raise InputError(Complaint(where, "unknown node", repr(host), remedy=remedy))
    if len(seats) < world:
        got = counted(len(seats), "rank")
        raise InputError(Complaint("", "too few ranks", got, f"{world} of the problem's job"))
    taken: Counter[str] = Counter()
    first = machines.first_device
    online = np.split(machines.usable, np.searchsorted(machines.usable, first[1:]))
    out = np.empty(world, np.int64)
    for rank, (host, gpu, where) in enumerate(seats[:world]):
        node = machines.node_index[host]
        if gpu is None:
            out[rank] = _next_free(online[node], taken[host], host, rank, where)
            taken[host] += 1
        elif not 0 <= gpu < machines.gpus[node] or not machines.online[first[node] + gpu]:
            got = f"{host} GPU {gpu}"
            raise InputError(Complaint(where, "no such usable GPU", got))
        else:
            out[rank] = first[node] + gpu
    _refuse_shared(out, seats, machines)
    return out


def _next_free(usable: Ints, taken: int, host: str, rank: int, where: str) -> int:
    if taken >= len(usable):
        got = f"rank {rank} would be number {taken + 1} on {host}"
        expected = f"at most {len(usable)}, one a usable GPU"
        raise InputError(Complaint(where, "more ranks than GPUs", got, expected))
    return int(usable[taken])


def _refuse_shared(placement: Ints, seats: list[Seat], machines: Machines) -> None:
    _, first, counts = np.unique(placement, return_index=True, return_counts=True)
    if (counts > 1).any():
        device = placement[first[counts > 1][0]]
        one, two = np.flatnonzero(placement == device)[:2].tolist()
        host, gpu = machines.hosts[int(machines.device_node[device])], machines.device_gpu[device]
        got = f"ranks {one} and {two} on {host} GPU {gpu}"
        raise InputError(Complaint(seats[two][2], "one GPU holds one rank", got))
