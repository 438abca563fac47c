"""Everything that is measured, under the names the tables use."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from benchmarks.peers.task import Peer

PLANNER = "planner"


@dataclass(frozen=True)
class Contender:
    """A peer, or the planner.

    Attributes:
        title: as tables name it.
        home: module and function of a peer; none for the planner.
    """

    title: str
    home: str | None

    @property
    def peer(self) -> Peer:
        """The peer's function."""
        assert self.home is not None
        module, function = self.home.split(":")
        found: Callable[..., object] = getattr(
            import_module(f"benchmarks.peers.{module}"), function
        )
        return cast("Peer", found)


CONTENDERS = {
    "megatron": Contender("Megatron's order", "orders:megatron_order"),
    "axes": Contender("best axis order", "orders:best_axis_order"),
    "jax": Contender("JAX mesh", "meshes:jax_mesh"),
    "mtkahypar": Contender("Mt-KaHyPar", "mtkahypar:mt_kahypar"),
    "kaminpar": Contender("KaMinPar", "kaminpar:kaminpar"),
    "swaps": Contender("swap annealing", "swaps:swap_annealing"),
    "cpsat": Contender("plain CP-SAT", "plain_cpsat:plain_cpsat"),
    PLANNER: Contender("planner", None),
}
PEERS = tuple(name for name in CONTENDERS if name != PLANNER)
