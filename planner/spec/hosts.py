"""`cluster.nodes`: hostlists and descriptions of nodes, expanded once their number is known."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import Discriminator, Field, Tag

from planner.errors import Complaint, InputError
from planner.spec.hostlist import HostlistError, count, expand
from planner.spec.model import NONE_OF, Count, Index, Strict
from planner.spec.names import MAX_ITEMS, NAME_RULE, is_name
from planner.wording import counted

PATH = "$.cluster"
_T = TypeVar("_T")


class Node(Strict):
    """Nodes that share their GPUs' description."""

    name: str = Field(description="Hostlist of the nodes this object describes")
    gpus: Count | None = Field(None, description="GPUs of each; default cluster.gpus_per_node")
    offline: list[Index] = Field([], description="GPU indices that may hold no rank")
    uuids: list[str] = Field([], description="UUID of each GPU, in index order")
    rails: list[Index] | None = Field(
        None, description="Rail of each GPU, in index order; default its index"
    )


def _node_kind(value: object) -> str | None:
    if isinstance(value, str):
        return "hostlist"
    return "node" if isinstance(value, dict | Node) else None


def _nodes_kind(value: object) -> str | None:
    if isinstance(value, str):
        return "hostlist"
    if isinstance(value, list):
        return "list"
    return "count" if isinstance(value, int | float) else None


NodeItem = Annotated[
    Annotated[str, Tag("hostlist")] | Annotated[Node, Tag("node")],
    Discriminator(
        _node_kind, custom_error_type=NONE_OF, custom_error_message="a hostlist or an object"
    ),
]
Nodes = Annotated[
    Annotated[Count, Tag("count")]
    | Annotated[str, Tag("hostlist")]
    | Annotated[list[NodeItem], Tag("list")],
    Discriminator(
        _nodes_kind,
        custom_error_type=NONE_OF,
        custom_error_message="a whole number, a hostlist or a list",
    ),
]


@dataclass(frozen=True)
class Host:
    """One expanded node and the JSON path of the line it comes from."""

    name: str
    gpus: int
    offline: Sequence[int]
    uuids: Sequence[str]
    rails: Sequence[int]
    path: str


def expand_hostlist(text: str, path: str) -> list[str]:
    """Names of a hostlist, with the JSON path in the error.

    Raises:
        InputError: not a hostlist, too long, or a name that may not be used.
    """
    names = _read(expand, text, path)
    for name in names:
        if not is_name(name):
            raise InputError(Complaint(path, "not a name", got=repr(name), expected=NAME_RULE))
    return names


def count_hostlist(text: str, path: str) -> int:
    """How many names a hostlist has, without making them; errors as `expand_hostlist`."""
    return _read(count, text, path)


def _read(read: Callable[[str, int], _T], text: str, path: str) -> _T:
    try:
        return read(text, MAX_ITEMS)
    except HostlistError as error:
        raise InputError(
            Complaint(
                path,
                f"not a hostlist (column {error.column})",
                got=error.got,
                expected=error.expected,
            )
        ) from None


def expand_nodes(nodes: Nodes, gpus_per_node: int) -> list[Host]:
    """All nodes one by one, in the user's order.

    Raises:
        InputError: too many, none, a name twice, or a description that does not fit its GPUs.
    """
    _refuse_absurd(nodes, gpus_per_node)
    seen: dict[str, str] = {}
    hosts = list(_each(nodes, gpus_per_node))
    for host in hosts:
        if host.name in seen:
            raise InputError(
                Complaint(
                    host.path,
                    "duplicate host name",
                    got=repr(host.name),
                    expected="every node once",
                    remedy=f"it already stands at {seen[host.name]}",
                )
            )
        seen[host.name] = host.path
        _check_gpus(host)
    if not hosts:
        raise InputError(Complaint(f"{PATH}.nodes", "no nodes", expected="at least one node"))
    _check_uuids(hosts)
    return hosts


def _refuse_absurd(nodes: Nodes, gpus_per_node: int) -> None:
    """Refuse more devices than any problem has, before a single name is made."""
    if isinstance(nodes, int):
        _limit_devices(nodes, nodes * gpus_per_node, f"{PATH}.nodes", "")
        return
    total = devices = 0
    for path, hostlist, node in _items(nodes):
        here = count_hostlist(hostlist, path)
        gpus = gpus_per_node if node is None or node.gpus is None else node.gpus
        total, devices = total + here, devices + here * gpus
        _limit_devices(total, devices, path, " up to here")


def _limit_devices(nodes: int, devices: int, path: str, where: str) -> None:
    if devices > MAX_ITEMS:
        raise InputError(
            Complaint(
                path,
                "too many devices",
                got=f"{counted(devices, 'GPU')} on {counted(nodes, 'node')}{where}",
                expected=f"at most {counted(MAX_ITEMS, 'GPU')}",
                remedy="name only the nodes of the allocation",
            )
        )


def _items(nodes: str | list[NodeItem]) -> Iterator[tuple[str, str, Node | None]]:
    """(JSON path of its names, hostlist, description if there is one) of every item."""
    if isinstance(nodes, str):
        yield f"{PATH}.nodes", nodes, None
        return
    for i, item in enumerate(nodes):
        path = f"{PATH}.nodes[{i}]"
        if isinstance(item, str):
            yield path, item, None
        else:
            yield f"{path}.name", item.name, item


def _each(nodes: Nodes, gpus_per_node: int) -> Iterator[Host]:
    if isinstance(nodes, int):
        path = f"{PATH}.nodes"
        yield from (Host(f"node{i}", gpus_per_node, (), (), (), path) for i in range(nodes))
        return
    for path, hostlist, node in _items(nodes):
        names = expand_hostlist(hostlist, path)
        if node is None:
            yield from (Host(name, gpus_per_node, (), (), (), path) for name in names)
            continue
        gpus = gpus_per_node if node.gpus is None else node.gpus
        here = path.removesuffix(".name")
        for name in names:
            yield Host(name, gpus, node.offline, node.uuids, node.rails or (), here)


def _check_gpus(host: Host) -> None:
    if len(set(host.offline)) < len(host.offline):
        twice = next(gpu for gpu, n in Counter(host.offline).items() if n > 1)
        raise InputError(
            Complaint(
                f"{host.path}.offline",
                "a GPU stands twice",
                got=f"{twice}",
                expected="every GPU index once",
                remedy=f"drop one {twice}, or write the index that was meant",
            )
        )
    bad = [gpu for gpu in host.offline if gpu >= host.gpus]
    if bad:
        raise InputError(
            Complaint(
                f"{host.path}.offline",
                "no such GPU",
                got=f"{bad[0]}",
                expected=f"0 to {host.gpus - 1} (node {host.name} has {counted(host.gpus, 'GPU')})",
            )
        )
    for what, given in (("UUID", host.uuids), ("rail", host.rails)):
        if given and len(given) != host.gpus:
            raise InputError(
                Complaint(
                    f"{host.path}.{what.lower()}s",
                    f"one {what} a GPU",
                    got=f"{len(given)}",
                    expected=f"{host.gpus}",
                )
            )


def _check_uuids(hosts: Sequence[Host]) -> None:
    owner: dict[str, str] = {}
    for host in hosts:
        for uuid in host.uuids:
            if uuid in owner:
                raise InputError(
                    Complaint(
                        f"{host.path}.uuids",
                        "one GPU twice",
                        got=repr(uuid),
                        remedy=f"it already stands at {owner[uuid]}; give each node its own object",
                    )
                )
            owner[uuid] = f"{host.path}.uuids"
