"""Every group of a plan in `torch.distributed`, and a DeviceMesh of the rank's own module."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.grid import MESH_AXES
from planner.plan import Plan
from planner.runtime.layout import Families, Layout

if TYPE_CHECKING:
    ProcessGroup = Any
    DeviceMesh = Any


@dataclass(frozen=True, eq=False)
class Groups:
    """This rank's groups.

    Attributes:
        layout: the plan's lists for all ranks.
        rank: this rank.
        module: the module it belongs to.
        coordinates: its pp, dp, cp and tp inside the module.
        families: by name, the groups that hold this rank. All but `pp`, `embd` and `pos_embd` are
            one or none; an encoder rank that feeds several decoder lanes is in several `pp`.
        bridge: pairs (encoder rank, decoder rank) that hold this rank, and the group of each.
        mesh: DeviceMesh of the module with the dimensions pp, dp, cp, tp, on the same groups.
    """

    layout: Layout
    rank: int
    module: str
    coordinates: dict[str, int]
    families: "dict[str, list[ProcessGroup]]"
    bridge: "dict[tuple[int, int], ProcessGroup]"
    mesh: "DeviceMesh"

    def __getitem__(self, name: str) -> "ProcessGroup":
        """The one group of a family that holds this rank.

        Raises:
            KeyError: no such family, or the rank is in none or several of its groups.
        """
        groups = self.families[name]
        if len(groups) != 1:
            raise KeyError(f"rank {self.rank} is in {len(groups)} {name} groups; see families")
        return groups[0]


def init_groups(plan: Plan | Layout | str | Path, *, device_type: str | None = None) -> Groups:
    """Build every group of the plan; call it in every process after `init_process_group`.

    All processes call `new_group` for the same lists in the same order, as torch demands; only
    a rank's own groups become communicators. Lists ascend, so torch's sorting changes nothing.
    Groups of one rank share a single one-rank group. The default process group must not be bound
    to a device (`init_process_group(device_id=...)` makes one-rank groups collective).

    Args:
        plan: a plan, its file, or the file of `planner export --to torch` (host numbering too).
        device_type: of the mesh; default ``cuda`` where there is one, else ``cpu``.

    Raises:
        ModuleNotFoundError: torch is not installed.
        ValueError: the process group has another size than the plan.

    Example::

        torch.distributed.init_process_group("nccl")
        groups = planner.runtime.torch.init_groups("plan.json")
        torch.distributed.all_reduce(gradient, group=groups["dp_cp"])
    """
    torch = import_module("torch")
    layout = Layout.of(plan)
    maker = Maker(layout)
    families = maker.families(layout.groups)
    bridge = maker.pairs(layout.bridge)
    module = layout.module(maker.rank)
    own = {f"{name}.pp": lists["pp"] for name, lists in layout.modules.items()}
    # With two modules `pp` runs through both; the mesh needs the module's own stages.
    stages = families["pp"] if len(own) == 1 else maker.families(own)[f"{module}.pp"]
    dims = [stages[0], *(families[axis][0] for axis in MESH_AXES[1:])]
    device = device_type or ("cuda" if torch.cuda.is_available() else "cpu")
    mesh = import_module("torch.distributed.device_mesh").DeviceMesh.from_group(
        dims, device, layout.meshes[module], mesh_dim_names=MESH_AXES
    )
    return Groups(
        layout, maker.rank, module, layout.coordinates(maker.rank), families, bridge, mesh
    )


class Maker:
    """Makes groups; every process must ask for the same lists in the same order."""

    def __init__(self, layout: Layout) -> None:
        self._dist = import_module("torch.distributed")
        self.rank: int = self._dist.get_rank()
        world = self._dist.get_world_size()
        if world != layout.world:
            raise ValueError(f"the process group has {world} ranks, the plan {layout.world}")
        self._alone: Any = None

    @property
    def alone(self) -> "ProcessGroup":
        """The group of this rank only; made by this process alone."""
        if self._alone is None:
            self._alone = self._dist.new_group([self.rank], use_local_synchronization=True)
        return self._alone

    def families(self, families: Families) -> "dict[str, list[ProcessGroup]]":
        """This rank's groups of every family."""
        return {
            name: [g for ranks in lists if (g := self._group(ranks, name)) is not None]
            for name, lists in families.items()
        }

    def pairs(self, pairs: Sequence[list[int]]) -> "dict[tuple[int, int], ProcessGroup]":
        """This rank's groups of two."""
        made = {(a, b): self._group([a, b], "bridge") for a, b in pairs}
        return {pair: group for pair, group in made.items() if group is not None}

    def _group(self, ranks: list[int], name: str) -> "ProcessGroup | None":
        if len(ranks) == 1:
            return self.alone if ranks[0] == self.rank else None
        group = self._dist.new_group(ranks, group_desc=name)
        return group if self.rank in ranks else None
