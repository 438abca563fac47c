"""Megatron's groups where Megatron's own are wrong or absent: encoder and decoder, 0.15 on.

megatron-core 0.9 to 0.13 glue encoder and decoder lanes across slices for many sizes; later
releases have no encoder of their own and take one ProcessGroupCollection a module instead.
"""

from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.plan import Plan
from planner.runtime.layout import Layout
from planner.runtime.torch import Maker

if TYPE_CHECKING:
    ProcessGroup = Any
    ProcessGroupCollection = Any

FIELDS = (
    *("tp", "cp", "dp", "dp_cp", "tp_cp", "tp_dp_cp", "pp", "mp", "embd", "pos_embd"),
    *("ep", "expt_tp", "expt_dp", "tp_ep", "tp_ep_pp"),
)
"""Fields of a ProcessGroupCollection that are a family of the plan under the same name."""


@dataclass(frozen=True, eq=False)
class Collections:
    """The groups of one rank.

    Attributes:
        modules: a ProcessGroupCollection for the module the rank belongs to, None for the other.
        bridge: the rank's (encoder rank, decoder rank) pairs and the group of each, in which
            activations and their gradients pass from module to module.
    """

    modules: "dict[str, ProcessGroupCollection | None]"
    bridge: "dict[tuple[int, int], ProcessGroup]"


def collections(plan: Plan | Layout | str | Path) -> Collections:
    """Build one ProcessGroupCollection a module, and the bridge; call it in every process.

    `pp`, `mp`, `embd` and `pos_embd` stay inside the module. Only this rank's groups become
    communicators; those of one rank are one shared group, for Megatron asks every group for its
    size. `intra_dp_cp` and `intra_expt_dp` are `dp_cp` and `expt_dp`: one optimizer instance, all
    of the module's ranks.

    Args:
        plan: a plan, its file, or the file of `planner export --to torch`.

    Raises:
        ModuleNotFoundError: torch or megatron-core (0.15 on) is not installed.
        ValueError: the process group has another size than the plan.

    Example::

        groups = planner.runtime.megatron.collections("plan.json")
        decoder = GPTModel(..., pg_collection=groups.modules["decoder"])
    """
    kind = import_module("megatron.core.process_groups_config").ProcessGroupCollection
    layout = Layout.of(plan)
    maker = Maker(layout)
    modules = {name: _collection(kind, maker, layout, name) for name in layout.meshes}
    return Collections(modules, maker.pairs(layout.bridge))


def _collection(kind: Any, maker: Maker, layout: Layout, module: str) -> Any:
    """Made by every process, since `new_group` is collective; None where the rank is elsewhere."""
    own = layout.modules[module]
    hierarchy = sorted(name for name in own if name.startswith("hcp_"))
    members = sorted(layout.meshes[module].ravel().tolist())
    wanted = {name: own[name] for name in (*FIELDS, *hierarchy)}
    made = maker.families({**wanted, "intra_dist_opt": [members]})
    if layout.module(maker.rank) != module:
        return None
    groups = {name: made[name][0] if made[name] else None for name in made if name not in hierarchy}
    groups["hcp"] = [made[name][0] for name in hierarchy] or None
    groups["intra_dp_cp"] = groups["dp_cp"]
    groups["intra_expt_dp"] = groups["expt_dp"]
    groups["inter_dist_opt"] = None
    known = {field.name for field in fields(kind)}
    return kind(**{name: group for name, group in groups.items() if name in known})
