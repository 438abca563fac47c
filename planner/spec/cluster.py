"""`cluster`: the machines as the user writes them, and how they become arrays."""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from pydantic import Field

from planner.errors import Complaint, InputError
from planner.machines import Ints, Level, Machines, first_domain_that_splits, order_levels
from planner.spec.hosts import PATH, Host, Nodes, count_hostlist, expand_hostlist, expand_nodes
from planner.spec.model import Count, Factor, Strict
from planner.spec.names import MAX_ITEMS, NAME_RULE, did_you_mean, is_name
from planner.spec.traffic import Bandwidth
from planner.wording import counted


class FabricLevel(Strict):
    """A level of the fabric beside the node: exactly one way of naming its domains."""

    name: str = Field(description="Name of the level")
    weight: Factor = Field(1, description="Cost factor of a link that leaves a domain")
    bandwidth: Bandwidth | None = Field(None, description="What can leave a domain, in GB/s")
    domains: dict[str, str | list[str]] | None = Field(
        None, description="Domain name to hostlist of its nodes"
    )
    nodes_per_domain: Count | None = Field(
        None, description="Consecutive nodes of a domain; the last may be shorter"
    )
    gpus_per_domain: Count | None = Field(
        None, description="Consecutive GPU indices of a domain inside a node"
    )


class Cluster(Strict):
    """Nodes of GPUs and the levels of the fabric."""

    nodes: Nodes = Field(description="Number of nodes, a hostlist, or a list of both and objects")
    gpus_per_node: Count = Field(8, description="GPUs of a node that names none")
    node_weight: Factor = Field(1, description="Cost factor of a link that leaves a node")
    bandwidth: Bandwidth | None = Field(None, description="What can leave a node, in GB/s")
    levels: list[FabricLevel] = Field([], description="Further levels; they must nest")

    @cached_property
    def machines(self) -> Machines:
        """The machines as arrays.

        Raises:
            InputError: names, sizes or domains that contradict one another.
        """
        return _build(self)


def _build(cluster: Cluster) -> Machines:
    hosts = expand_nodes(cluster.nodes, cluster.gpus_per_node)
    gpus = np.array([h.gpus for h in hosts], np.int64)
    first = np.concatenate([[0], np.cumsum(gpus)[:-1]])
    online = np.ones(int(gpus.sum()), bool)
    for h, host in enumerate(hosts):
        if host.offline:
            online[first[h] + np.array(host.offline)] = False
    names = tuple(h.name for h in hosts)
    uuids = {h.name: tuple(h.uuids) for h in hosts if h.uuids}
    bare = Machines(names, gpus, online, uuids, (), _rails(hosts, gpus, first))
    levels = [Level("node", cluster.node_weight, bare.device_node, names)]
    paths = {"node": PATH}
    for i, level in enumerate(cluster.levels):
        path = f"{PATH}.levels[{i}]"
        _check_level_name(level, paths, path)
        paths[level.name] = path
        levels.append(_level(level, bare, path))
    ordered = order_levels(levels)
    for fine, coarse in pairwise(ordered):
        _check_nesting(fine, coarse, paths)
    return Machines(names, gpus, online, bare.uuids, ordered, bare.rails)


def _rails(hosts: Sequence[Host], gpus: Ints, first: Ints) -> Ints:
    """[devices] rail of each GPU."""
    rails = np.arange(int(gpus.sum()), dtype=np.int64) - np.repeat(first, gpus)
    for h, host in enumerate(hosts):
        if host.rails:
            rails[first[h] : first[h] + gpus[h]] = host.rails
    return rails


def _check_level_name(level: FabricLevel, taken: dict[str, str], path: str) -> None:
    if not is_name(level.name):
        raise InputError(
            Complaint(f"{path}.name", "not a name", got=repr(level.name), expected=NAME_RULE)
        )
    if level.name in taken:
        other = "node is the level of the nodes themselves" if level.name == "node" else None
        raise InputError(
            Complaint(
                f"{path}.name",
                "level name taken",
                got=repr(level.name),
                expected="a name of its own",
                remedy=other or f"it already stands at {taken[level.name]}",
            )
        )


def _level(level: FabricLevel, machines: Machines, path: str) -> Level:
    ways = {
        "domains": level.domains,
        "nodes_per_domain": level.nodes_per_domain,
        "gpus_per_domain": level.gpus_per_domain,
    }
    given = [way for way, value in ways.items() if value is not None]
    if len(given) != 1:
        raise InputError(
            Complaint(
                path,
                "a level names its domains in exactly one way",
                got=" and ".join(given) or "none",
                expected="domains, nodes_per_domain or gpus_per_domain",
            )
        )
    if level.gpus_per_domain is not None:
        return _level_inside_nodes(level, level.gpus_per_domain, machines)
    if level.nodes_per_domain is not None:
        of_node = np.arange(len(machines.hosts)) // level.nodes_per_domain
        names = tuple(f"{level.name}{i}" for i in range(int(of_node[-1]) + 1))
    else:
        of_node, names = _named_domains(level.domains or {}, machines, f"{path}.domains")
    return Level(level.name, level.weight, of_node[machines.device_node], names)


def _level_inside_nodes(level: FabricLevel, size: int, machines: Machines) -> Level:
    parts = -(-machines.gpus // size)
    first = np.concatenate([[0], np.cumsum(parts)[:-1]])
    domain = first[machines.device_node] + machines.device_gpu // size
    names = tuple(
        f"{host}.{level.name}{i}"
        for host, count in zip(machines.hosts, parts.tolist(), strict=True)
        for i in range(count)
    )
    return Level(level.name, level.weight, domain, names)


def _named_domains(
    domains: dict[str, str | list[str]], machines: Machines, path: str
) -> tuple[Ints, tuple[str, ...]]:
    of_node = np.full(len(machines.hosts), -1, np.int64)
    names = tuple(domains)
    lists = {name: [text] if isinstance(text, str) else text for name, text in domains.items()}
    _check_domains(lists, path)
    for d, (name, hostlists) in enumerate(lists.items()):
        here = f"{path}.{name}"
        for text in hostlists:
            for host in expand_hostlist(text, here):
                _place(host, d, of_node, machines, names, here)
    missing = np.flatnonzero(of_node < 0)
    if len(missing):
        raise InputError(
            Complaint(
                path,
                "every node lies in one domain",
                got=f"{len(missing)} in none, the first {machines.hosts[int(missing[0])]!r}",
                remedy="add it to a domain (a domain of its own if it hangs alone)",
            )
        )
    return of_node, names


def _check_domains(lists: dict[str, list[str]], path: str) -> None:
    """Refuse bad names, empty domains and absurd numbers of nodes before one node is named."""
    total = 0
    for name, hostlists in lists.items():
        here = f"{path}.{name}"
        if not is_name(name):
            raise InputError(Complaint(path, "not a name", got=repr(name), expected=NAME_RULE))
        if not hostlists:
            raise InputError(
                Complaint(
                    here,
                    "a domain without nodes",
                    got="[]",
                    expected="a hostlist, or a list of them",
                    remedy="name its nodes, or drop the domain",
                )
            )
        total += sum(count_hostlist(text, here) for text in hostlists)
        if total > MAX_ITEMS:
            got = f"{counted(total, 'node')} up to here"
            expected = f"at most {counted(MAX_ITEMS, 'node')}"
            raise InputError(Complaint(here, "too many nodes", got, expected))


def _place(
    host: str, d: int, of_node: Ints, machines: Machines, names: Sequence[str], path: str
) -> None:
    node = machines.node_index.get(host)
    if node is None:
        raise InputError(
            Complaint(
                path,
                "unknown node",
                got=repr(host),
                expected="a node of cluster.nodes",
                remedy=did_you_mean(host, machines.hosts),
            )
        )
    if of_node[node] >= 0:
        raise InputError(
            Complaint(
                path,
                "a node in two places of one level",
                got=repr(host),
                remedy=f"it already lies in {names[int(of_node[node])]!r}",
            )
        )
    of_node[node] = d


def _check_nesting(fine: Level, coarse: Level, paths: dict[str, str]) -> None:
    split = first_domain_that_splits(fine.domain, coarse.domain)
    if split is not None:
        inside = np.unique(coarse.domain[fine.domain == split])[:2]
        a, b = (coarse.names[int(i)] for i in inside)
        raise InputError(
            Complaint(
                paths[fine.name] if fine.name != "node" else paths[coarse.name],
                f"levels must nest, but {fine.name} {fine.names[split]!r} lies in "
                f"two domains of {coarse.name}",
                got=f"{a!r} and {b!r}",
                remedy="move its nodes into one domain, or drop one of the two levels",
            )
        )
