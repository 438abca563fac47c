"""Nodes inside leaves, as the formulation sees them: classes of leaves that are alike."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Leaf:
    """Leaves whose nodes have equal capacities.

    Attributes:
        nodes: how many nodes of each capacity one of them has, ascending by capacity.
        count: how many such leaves there are.
    """

    nodes: tuple[tuple[int, int], ...]
    count: int

    @property
    def capacity(self) -> int:
        """Usable slots of one leaf."""
        return sum(capacity * nodes for capacity, nodes in self.nodes)


def leaves_of(leaves: Sequence[Sequence[int]]) -> tuple[Leaf, ...]:
    """Classes of leaves, given the usable slots of each node of each leaf.

    Example:
        >>> [(leaf.capacity, leaf.count) for leaf in leaves_of([[8, 8], [8, 7], [8, 8]])]
        [(15, 1), (16, 2)]
    """
    alike = Counter(tuple(sorted(Counter(c for c in nodes if c).items())) for nodes in leaves)
    return tuple(Leaf(nodes, count) for nodes, count in sorted(alike.items()) if nodes)
