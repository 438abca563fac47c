"""What ``ibnetdiscover`` prints: an InfiniBand fabric, cable by cable.

Records of switches and of channel adapters follow one another, each a header and its ports::

    Switch  65 "S-2c5e…10"        # "MF0;LEAF-01:MQM9701/U1" enhanced port 0 lid 73 lmc 0
    [1]     "H-e09d…01"[1](e0…01)     # "dgx-c01 mlx5_5" lid 647 4xNDR

A host is the first word of an adapter's description. Adapters that state their model instead have
no host, aggregation nodes of SHARP are none. On a fabric with rails the adapters of one host hang
off different leaves: leaves with mostly the same hosts are one domain, and a host belongs to the
domain that most of its cables lead to.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from planner.inventory.lines import numbered
from planner.inventory.model import Inventory, Node, Note, refuse, shorten
from planner.inventory.switches import Fabric, levels_of
from planner.spec.names import is_name

_HEADER = re.compile(r'(Switch|Ca|Rt)\s+[0-9]+\s+"([^"]*)"(?:\s*#\s*"([^"]*)")?[^"]*$')
_END = r"\[[0-9]+\](?:\([^)]*\))?"
_PORT = re.compile(rf'{_END}\s*"([^"]*)"\s*{_END}(?:\s*#\s*"([^"]*)"[^"#]*$)?')
_IGNORED = re.compile(r"\s*#|\w+(guid|id)=[\w()]*\s*$")
_MODEL = re.compile(r"MT[0-9]+\b.*|.*\bMellanox Technologies\b.*|.*\bConnectX.*", re.IGNORECASE)
_SHARP = "Aggregation Node"
_MANAGED = re.compile(r"(?:MF0;)?([^:;/\s]+).*")


@dataclass(slots=True)
class _Net:
    """What the records tell.

    Attributes:
        switches: Description of every switch, by id, in the order of the file.
        where: Place of the first mention of a switch.
        adapters: Description and place of every adapter, by id.
        cables: Switches of an adapter, by id of the adapter, with the place.
        trunks: Switches next to a switch.
    """

    switches: dict[str, str] = field(default_factory=dict)
    where: dict[str, str] = field(default_factory=dict)
    adapters: dict[str, tuple[str, str]] = field(default_factory=dict)
    cables: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    trunks: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))


def looks_like(text: str) -> bool:
    """Whether a text has a header of a record."""
    return any(_HEADER.match(line) for _, line in numbered(text))


def parse(text: str, source: str) -> Inventory:
    """Read the output of ``ibnetdiscover``.

    Raises:
        InputError: No switch with hosts in the file.
    """
    net = _Net()
    notes: list[Note] = []
    _read(text, source, net, notes)
    if not net.switches:
        remedy = "run ibnetdiscover where it can see the fabric"
        raise refuse(source, "no switch in the file", remedy=remedy)
    hosts, where = _hosts(net, source, notes)
    if not hosts:
        raise refuse(source, "no host on any switch", expected="descriptions like 'node01 mlx5_0'")
    leaves_of = {
        host: Counter(switch for adapter in adapters for switch in net.cables.get(adapter, ()))
        for host, adapters in hosts.items()
    }
    notes += _fewer_cables(leaves_of, where)
    first = _rails(leaves_of.values(), net)
    leaf_of = _leaves(leaves_of, first, net, notes)
    levels, joined = levels_of(_fabric(leaf_of, first, net, source))
    nodes = tuple(Node(host, where[host]) for host in hosts)
    return Inventory(nodes, levels, notes=(*notes, *joined))


def _read(text: str, source: str, net: _Net, notes: list[Note]) -> None:
    """Take every record."""
    record = ""
    for number, line in numbered(text):
        where = f"{source}:{number}"
        port = _PORT.match(line) if line.startswith("[") else None
        header = _HEADER.match(line) if line.startswith(("Switch", "Ca", "Rt")) else None
        if header:
            record = header[2]
            if header[1] == "Switch":
                net.switches[record] = header[3] or net.switches.get(record, "")
                net.where.setdefault(record, where)
            elif header[1] == "Ca":
                _describe(record, header[3] or "", where, net)
        elif not line.strip():
            record = ""
        elif port and _cable(record, port[1], port[2] or "", where, net):
            continue
        elif not _IGNORED.match(line):
            notes.append(Note(where, f"not read: '{shorten(line.strip())}'"))


def _describe(adapter: str, text: str, where: str, net: _Net) -> None:
    """Take the description of an adapter, which stands in several places."""
    known, place = net.adapters.setdefault(adapter, (text, where))
    if text and not known:
        net.adapters[adapter] = (text, where)
    elif text and text != known:
        got = f"'{text}' here, '{known}' at {place}"
        raise refuse(where, f"adapter {adapter} has two descriptions", got=got)


def _cable(one: str, other: str, text: str, where: str, net: _Net) -> bool:
    """Take a port line of the record ``one``, which describes the other end where that is plain.

    Returns:
        Whether it is a cable between switches, or between a switch and an adapter.
    """
    if one.startswith("S-") and other.startswith("S-"):
        net.switches.setdefault(other, text)
        net.where.setdefault(other, where)
        net.trunks[one][other] = None
        net.trunks[other][one] = None
    elif one.startswith("S-") and other.startswith("H-") and text:
        _describe(other, text, where, net)
        net.cables[other].setdefault(one, where)
    elif one.startswith("H-") and other.startswith("S-"):
        net.switches.setdefault(other, "")
        net.where.setdefault(other, where)
        net.cables[one].setdefault(other, where)
    else:
        return False
    return True


def _hosts(
    net: _Net, source: str, notes: list[Note]
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return the adapters of every host, and the place that names it."""
    hosts: dict[str, list[str]] = defaultdict(list)
    where: dict[str, str] = {}
    nameless: list[str] = []
    for adapter, (text, place) in net.adapters.items():
        if _SHARP in text:
            continue
        host = text.split()[0].strip("'") if text.split() else ""
        if not is_name(host) or _MODEL.fullmatch(text) or host.startswith("localhost"):
            nameless.append(f"{adapter} '{text}' ({place})")
            continue
        hosts[host].append(adapter)
        where.setdefault(host, place)
    if nameless:
        some = ", ".join(nameless[:5]) + (", …" if len(nameless) > 5 else "")
        text = f"adapters that name no host, left out ({len(nameless)}): {some}"
        notes.append(Note(source, text))
    return dict(hosts), where


def _fewer_cables(
    leaves_of: Mapping[str, Counter[str]], where: Mapping[str, str]
) -> Iterator[Note]:
    """Yield a note on hosts that may be no GPU machines: managers and gateways have few cables."""
    cables = {host: sum(leaves.values()) for host, leaves in leaves_of.items()}
    usual = Counter(cables.values()).most_common(1)[0][0]
    fewer = [host for host, count in cables.items() if count < usual]
    if fewer:
        names = shorten(", ".join(f"{host} {cables[host]}" for host in fewer), 300)
        text = f"hosts with fewer cables than the usual {usual}: {names}"
        yield Note(where[fewer[0]], f"{text}; --nodes can leave them out")


def _leaves(
    leaves_of: Mapping[str, Counter[str]],
    first: Mapping[str, str],
    net: _Net,
    notes: list[Note],
) -> dict[str, str]:
    """Return the leaf of every host: the first of those that are one domain."""
    rails = [members for members in _grouped(first).values() if len(members) > 1]
    if rails:
        names = "; ".join(", ".join(_plain(net.switches[m], m) for m in group) for group in rails)
        text = "leaf: switches with mostly the same hosts (rails) kept as one domain"
        text = f"{text}: {shorten(names)}"
        notes.append(Note(net.where[rails[0][1]], text))
    leaf_of = {}
    astray: list[tuple[str, str]] = []  # text and place
    for host, cables in leaves_of.items():
        weight: Counter[str] = Counter()
        for leaf, count in cables.items():
            weight[first[leaf]] += count
        if not weight:
            continue
        leaf_of[host] = max(weight, key=lambda leaf: weight[leaf])  # the first of equals
        others = [leaf for leaf in weight if leaf != leaf_of[host]]
        if others:
            names = ", ".join(_plain(net.switches[leaf], leaf) for leaf in others)
            kept = _plain(net.switches[leaf_of[host]], leaf_of[host])
            astray.append((f"{host} under {kept}, not {names}", net.where[others[0]]))
    if astray:
        text = shorten("; ".join(text for text, _ in astray), 300)
        notes.append(Note(astray[0][1], f"leaf: hosts with cables elsewhere too, kept: {text}"))
    return leaf_of


def _rails(cables: Iterable[Iterable[str]], net: _Net) -> dict[str, str]:
    """Return for every leaf the first leaf that holds mostly the same hosts."""
    size: Counter[str] = Counter()
    shared: Counter[tuple[str, str]] = Counter()
    order = {switch: i for i, switch in enumerate(net.switches)}
    for leaves in cables:
        members = sorted(leaves, key=order.__getitem__)
        size.update(members)
        shared.update((a, b) for i, a in enumerate(members) for b in members[i + 1 :])
    first = {leaf: leaf for leaf in order if leaf in size}  # a step towards the first of a group

    def root(leaf: str) -> str:
        while first[leaf] != leaf:
            leaf = first[leaf]
        return leaf

    for (a, b), count in shared.items():
        if 2 * count > max(size[a], size[b]):
            low, high = sorted((root(a), root(b)), key=order.__getitem__)
            first[high] = low
    return {leaf: root(leaf) for leaf in first}


def _grouped(first: Mapping[str, str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for leaf, root in first.items():
        groups[root].append(leaf)
    return dict(groups)


def _fabric(leaf_of: Mapping[str, str], first: Mapping[str, str], net: _Net, source: str) -> Fabric:
    """Return leaves and the switches above them; height is the distance to the next leaf."""
    height = dict.fromkeys(first, 0)
    queue = list(height)
    for switch in queue:  # grows while it is walked
        for other in net.trunks.get(switch, ()):
            if other not in height:
                height[other] = height[switch] + 1
                queue.append(other)
    names = _names({switch: net.switches[switch] for switch in net.switches if switch in height})
    nodes: dict[str, list[str]] = defaultdict(list)
    for host, leaf in leaf_of.items():
        nodes[names[leaf]].append(host)
    below = {
        names[switch]: tuple(
            dict.fromkeys(
                names[first.get(other, other)]
                for other in net.trunks.get(switch, ())
                if height[other] < height[switch]
            )
        )
        for switch in names
    }
    tall = {names[switch]: height[switch] for switch in names}
    where = {names[switch]: net.where[switch] for switch in names}
    return Fabric(source, nodes, below, tall, where)


def _names(switches: Mapping[str, str]) -> dict[str, str]:
    """Name every switch after its description; by its id too where that is not unique."""
    plain = {switch: _plain(text, switch) for switch, text in switches.items()}
    count = Counter(plain.values())
    return {
        switch: name if count[name] == 1 else f"{name}-{switch}" for switch, name in plain.items()
    }


def _plain(text: str, switch: str) -> str:
    """Return the name inside a description such as ``MF0;LEAF-01:MQM9701/U1``."""
    match = _MANAGED.fullmatch(text)
    return match[1] if match and not _MODEL.fullmatch(text) else switch
