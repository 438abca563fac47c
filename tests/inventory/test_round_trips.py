"""Random trees, written as Slurm has them and read again."""

from collections import Counter
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from planner.inventory import slurm_topology, slurm_topology_yaml
from planner.inventory.choosing import choose
from planner.inventory.cluster import to_cluster
from planner.inventory.hostfiles import parse_pbs
from planner.inventory.model import Inventory
from planner.spec.cluster import Cluster
from planner.spec.hostlist import fold


@dataclass(frozen=True)
class Tree:
    """A switch: nodes below it, or further switches."""

    name: str
    nodes: tuple[str, ...] = ()
    below: tuple["Tree", ...] = ()

    def all_nodes(self) -> frozenset[str]:
        return frozenset(self.nodes).union(*(tree.all_nodes() for tree in self.below))

    def switches(self) -> list["Tree"]:
        return [self, *(s for tree in self.below for s in tree.switches())]


@st.composite
def forests(draw, depth=3):
    """One to three trees; node numbers are shuffled over the leaves."""
    numbers = iter(draw(st.permutations(range(100))))
    names = iter(range(1000))

    def tree(levels):
        name = f"s{next(names)}"
        if levels == 0 or draw(st.integers(0, 4)) == 0:
            count = draw(st.integers(1, 3))
            return Tree(name, tuple(f"n{next(numbers):02}" for _ in range(count)))
        return Tree(name, (), tuple(tree(levels - 1) for _ in range(draw(st.integers(1, 3)))))

    return [tree(depth) for _ in range(draw(st.integers(1, 3)))]


def records(forest, draw):
    return draw(st.permutations([switch for tree in forest for switch in tree.switches()]))


def conf(switches):
    lines = []
    for switch in switches:
        what = f"Nodes={fold(switch.nodes)}" if switch.nodes else ""
        below = fold(tree.name for tree in switch.below)
        lines.append(f"SwitchName={switch.name} {what or f'Switches={below}'}")
    return "\n".join(lines)


def yaml(switches):
    lines = ["- topology: t", "  tree:", "    switches:"]
    for switch in switches:
        lines.append(f"    - switch: {switch.name}")
        if switch.nodes:
            lines.append(f"      nodes: '{fold(switch.nodes)}'")
        else:
            lines.append(f"      children: '{fold(tree.name for tree in switch.below)}'")
    return "\n".join(lines)


def partitions(inventory: Inventory) -> list[set[frozenset[str]]]:
    return [{frozenset(nodes) for nodes in level.domains.values()} for level in inventory.levels]


def height(tree: Tree) -> int:
    return max((height(below) + 1 for below in tree.below), default=0)


def expected(forest: list[Tree]) -> list[set[frozenset[str]]]:
    """Domains of every height, by the definition: the tallest switch of at most that height."""
    found: list[set[frozenset[str]]] = []
    for limit in range(max(map(height, forest)) + 1):
        queue, domains = list(forest), set()
        while queue:
            tree = queue.pop()
            if height(tree) <= limit:
                domains.add(tree.all_nodes())
            else:
                queue += tree.below
        if not found or len(domains) < len(found[-1]):
            found.append(domains)
    return found


@given(forests(), st.data())
def test_topology_conf(forest, data):
    inventory = slurm_topology.parse(conf(records(forest, data.draw)), "t.conf")
    assert partitions(inventory) == expected(forest)


@given(forests(), st.data())
def test_topology_yaml(forest, data):
    inventory = slurm_topology_yaml.parse(yaml(records(forest, data.draw)), "t.yaml")
    assert partitions(inventory) == expected(forest)


@given(forests())
def test_every_domain_arrives_in_the_machines(forest):
    inventory = slurm_topology.parse(
        conf([s for tree in forest for s in tree.switches()]), "t.conf"
    )
    machines = Cluster.model_validate(to_cluster(choose(inventory, None, 2)).data).machines
    for level in inventory.levels:
        domain = machines.level(level.name).domain
        for nodes in level.domains.values():
            devices = [machines.device(node, gpu) for node in nodes for gpu in range(2)]
            assert len(set(domain[devices].tolist())) == 1
        assert len(set(domain.tolist())) == len(level.domains)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=9), st.integers(1, 3), st.integers(2, 4))
def test_blocks(sizes, base, factor):
    nodes = iter(f"n{i}" for i in range(100))
    members = [tuple(next(nodes) for _ in range(size)) for size in sizes]
    text = "\n".join(f"BlockName=b{i} Nodes={fold(group)}" for i, group in enumerate(members))
    inventory = slurm_topology.parse(f"{text}\nBlockSizes={base},{base * factor}\n", "t.conf")
    joined = [sum(members[i : i + factor], ()) for i in range(0, len(members), factor)]
    larger = [{frozenset(group) for group in joined}] if len(joined) < len(members) else []
    assert partitions(inventory) == [{frozenset(group) for group in members}, *larger]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12))
def test_a_list_of_hosts_keeps_the_order_of_their_first_lines(lines):
    found = parse_pbs("\n".join(lines), "hosts")
    assert [node.name for node in found.nodes] == list(dict.fromkeys(lines))
    count = Counter(lines)
    repeated = max(count.values()) > 1
    assert [n.slots for n in found.nodes] == [
        count[n.name] if repeated else None for n in found.nodes
    ]
