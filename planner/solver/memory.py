"""What searches of one process have worked out, kept for those that ask the same."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from hashlib import sha256
from typing import TypeVar

from planner.machines import Machines

T = TypeVar("T")


class Memory:
    """Results by everything they depend on, the least recently used forgotten first.

    Attributes:
        asked: by name of the result, how often it was asked for.
        computed: how often it had to be worked out.

    Example:
        >>> memory = Memory()
        >>> [memory.recall("squares", n, lambda: n * n) for n in (3, 3, 4)]
        [9, 9, 16]
        >>> memory.asked["squares"], memory.computed["squares"]
        (3, 2)
    """

    def __init__(self, most: int = 512) -> None:
        self.asked: Counter[str] = Counter()
        self.computed: Counter[str] = Counter()
        self._most = most
        self._known: OrderedDict[Hashable, object] = OrderedDict()

    def recall(self, name: str, key: Hashable, compute: Callable[[], T]) -> T:
        """The result of that name for that key, computed if nobody asked before."""
        self.asked[name] += 1
        full = (name, key)
        if full in self._known:
            self._known.move_to_end(full)
            return self._known[full]  # type: ignore[return-value]  # stored by the same name
        self.computed[name] += 1
        value = self._known[full] = compute()
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return value


def fingerprint(machines: Machines) -> bytes:
    """Equal for machines that a placement cannot tell apart, level weights left out."""
    digest = sha256(machines.online.tobytes())
    for level in machines.levels:
        digest.update(level.domain.tobytes())
    return digest.digest()
