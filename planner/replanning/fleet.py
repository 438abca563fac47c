"""What happened to the machines: GPUs lost, nodes added, as edits of `cluster`.

What is lost stays listed, offline, so that no other node changes its place in a level of
consecutive nodes. What is added goes behind the nodes there are.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from planner.errors import Complaint, InputError
from planner.machines import Machines
from planner.spec.cluster import Cluster, FabricLevel
from planner.spec.hostlist import fold
from planner.spec.hosts import Node, NodeItem, expand_hostlist
from planner.spec.names import did_you_mean
from planner.wording import a, plural

_GPUS = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


@dataclass(frozen=True)
class _Host:
    """A node as the file describes it."""

    name: str
    gpus: int
    offline: tuple[int, ...]
    uuids: tuple[str, ...]
    rails: tuple[int, ...]


def without(cluster: Cluster, lost: Iterable[str]) -> Cluster:
    """The cluster with some GPUs offline.

    Args:
        cluster: the machines.
        lost: ``HOST`` or ``HOST:GPU,GPU-GPU``; HOST may be a hostlist.

    Raises:
        InputError: unknown nodes or GPUs, or GPUs that are offline already.

    Example:
        >>> left = without(Cluster(nodes=4, gpus_per_node=2), ["node[1-2]", "node3:0"])
        >>> [n if isinstance(n, str) else (n.name, n.offline) for n in left.nodes]
        ['node0', ('node[1-2]', [0, 1]), ('node3', [0])]
    """
    machines = cluster.machines
    hosts = _hosts(machines)
    for text in lost:
        where = f"--lost {text}"
        names, _, listed = text.partition(":")
        for i in _known(machines, names, where):
            gpus = _gpus(listed, hosts[i], where) if listed else range(hosts[i].gpus)
            fresh = sorted({*hosts[i].offline, *gpus})
            if len(fresh) == len(hosts[i].offline):
                raise InputError(Complaint(where, "is offline already", got=hosts[i].name))
            hosts[i] = replace(hosts[i], offline=tuple(fresh))
    return _edited(cluster, nodes=_listed(hosts, cluster.gpus_per_node))


def extended(cluster: Cluster, added: Iterable[str]) -> Cluster:
    """The cluster with more nodes, or with lost nodes back.

    Args:
        cluster: the machines.
        added: ``HOSTLIST`` or ``DOMAIN=HOSTLIST``; a node that is listed already comes back online
            with all its GPUs, others are appended with `gpus_per_node` GPUs.

    Raises:
        InputError: no such domain, no domain where one is needed, or a node that is online.

    Example:
        >>> grown = extended(Cluster(nodes="a[1-2]", gpus_per_node=2), ["a3"])
        >>> grown.machines.hosts
        ('a1', 'a2', 'a3')
    """
    for text in added:
        domain, given, hostlist = text.rpartition("=")
        where = f"--added {text}"
        names = expand_hostlist(hostlist, where)
        back = [n for n in names if n in cluster.machines.node_index]
        cluster = _restored(cluster, back, where)
        new = [n for n in names if n not in cluster.machines.node_index]
        if new:
            cluster = _appended(cluster, new, domain if given else None, where)
    return cluster


def _edited(cluster: Cluster, **changes: Any) -> Cluster:
    """A cluster with other fields, built anew: nothing that was derived is carried over."""
    fields = {name: getattr(cluster, name) for name in Cluster.model_fields}
    return Cluster.model_validate(fields | changes)


def _hosts(machines: Machines) -> list[_Host]:
    first = machines.first_device.tolist()
    out = []
    for name, start, gpus in zip(machines.hosts, first, machines.gpus.tolist(), strict=True):
        online = machines.online[start : start + gpus].tolist()
        offline = tuple(g for g, on in enumerate(online) if not on)
        rails = tuple(machines.rails[start : start + gpus].tolist())
        out.append(_Host(name, gpus, offline, machines.uuids.get(name, ()), rails))
    return out


def _listed(hosts: Sequence[_Host], usual: int) -> list[NodeItem]:
    """Neighbours that look alike under one hostlist."""
    out: list[NodeItem] = []
    for (gpus, offline, uuids, rails), run in groupby(
        hosts, key=lambda h: (h.gpus, h.offline, h.uuids, h.rails)
    ):
        names = fold(h.name for h in run)
        named = None if rails == tuple(range(gpus)) else list(rails)
        if gpus == usual and not offline and not uuids and named is None:
            out.append(names)
        else:
            node = Node(
                name=names, gpus=gpus, offline=list(offline), uuids=list(uuids), rails=named
            )
            out.append(node)
    return out


def _known(machines: Machines, names: str, where: str) -> Iterator[int]:
    for name in expand_hostlist(names, where):
        if name not in machines.node_index:
            remedy = did_you_mean(name, machines.hosts)
            raise InputError(Complaint(where, "unknown node", repr(name), remedy=remedy))
        yield machines.node_index[name]


def _gpus(listed: str, host: _Host, where: str) -> list[int]:
    out: list[int] = []
    for part in listed.split(","):
        match = _GPUS.fullmatch(part)
        if match is None:
            raise InputError(Complaint(where, "not a GPU index", repr(part), "such as 0,3 or 4-7"))
        out += range(int(match[1]), int(match[2] or match[1]) + 1)
    bad = [g for g in out if g >= host.gpus]
    if bad:
        expected = f"0 to {host.gpus - 1}"
        raise InputError(Complaint(where, f"{host.name} has no such GPU", str(bad[0]), expected))
    return out


def _restored(cluster: Cluster, names: Sequence[str], where: str) -> Cluster:
    hosts = _hosts(cluster.machines)
    for name in names:
        i = cluster.machines.node_index[name]
        if not hosts[i].offline:
            raise InputError(Complaint(where, "the node is there and online", repr(name)))
        hosts[i] = replace(hosts[i], offline=())
    if not names:
        return cluster
    return _edited(cluster, nodes=_listed(hosts, cluster.gpus_per_node))


def _appended(cluster: Cluster, names: list[str], domain: str | None, where: str) -> Cluster:
    hosts = [
        *_hosts(cluster.machines),
        *(
            _Host(name, cluster.gpus_per_node, (), (), tuple(range(cluster.gpus_per_node)))
            for name in names
        ),
    ]
    levels = [_joined(cluster, level, names, domain, where) for level in cluster.levels]
    nodes = _listed(hosts, cluster.gpus_per_node)
    return _edited(cluster, nodes=nodes, levels=levels)


def _joined(
    cluster: Cluster, level: FabricLevel, names: list[str], domain: str | None, where: str
) -> FabricLevel:
    """A level with the new nodes in the domain they belong to."""
    if level.gpus_per_domain is not None or (domain is None and level.nodes_per_domain):
        return level
    built = cluster.machines.level(level.name)
    if domain is None:
        expected = f"DOMAIN=HOSTLIST, {a(level.name)} such as {built.names[0]}"
        raise InputError(Complaint(where, f"the nodes need {a(level.name)}", expected=expected))
    target = _domain_above(cluster, level.name, domain, where)
    of_node = built.domain[cluster.machines.first_device].tolist()
    members: list[list[str]] = [[] for _ in built.names]
    for host, d in zip(cluster.machines.hosts, of_node, strict=True):
        members[d].append(host)
    members[built.names.index(target)] += names
    domains: dict[str, str | list[str]] = {
        name: fold(inside) for name, inside in zip(built.names, members, strict=True)
    }
    return level.model_copy(update={"domains": domains, "nodes_per_domain": None})


def _domain_above(cluster: Cluster, level: str, domain: str, where: str) -> str:
    """The domain of a level that is, or holds, the domain the user named."""
    machines = cluster.machines
    coarser = machines.levels[machines.node_level + 1 :]
    named = next((found for found in coarser if domain in found.names), None)
    if named is None:
        known = [name for found in coarser for name in found.names]
        remedy = did_you_mean(domain, known) or "describe new domains with --cluster"
        raise InputError(Complaint(where, "no such domain", repr(domain), remedy=remedy))
    wanted = machines.level(level)
    inside = wanted.domain[named.domain == named.names.index(domain)]
    if inside.min() != inside.max():
        expected = f"DOMAIN=HOSTLIST, DOMAIN {a(level)}"
        what = f"the {named.name} {domain!r} holds several {plural(level)}"
        raise InputError(Complaint(where, what, repr(domain), expected))
    return wanted.names[int(inside[0])]
