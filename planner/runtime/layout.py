"""The lists of a plan as trainers need them: meshes and groups in one numbering."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from planner.errors import Complaint, InputError
from planner.grid import MESH_AXES, Ints
from planner.plan import Plan
from planner.spec.loading import parse_json, read_text, source_name
from planner.verification import read_verified

EXPORTED = "planner.torch"
"""Format of the file that `planner export --to torch` writes."""

JOINED = ("pp", "mp", "embd", "pos_embd")
"""Families that run through both modules of a job with an encoder."""

Families = dict[str, list[list[int]]]


@dataclass(frozen=True, eq=False)
class Layout:
    """Ranks as a trainer sees them.

    Attributes:
        world: number of ranks.
        meshes: [pp, dp, cp, tp] ranks of each module, encoder first.
        groups: every family of groups, ascending lists of ranks.
        bridge: (encoder rank, decoder rank) pairs.
    """

    world: int
    meshes: dict[str, Ints]
    groups: Families
    bridge: list[list[int]]

    @classmethod
    def of(cls, source: "Plan | Layout | str | Path") -> "Layout":
        """The layout of a plan, of a plan file (verified), or of an exported ``torch.json``.

        Raises:
            InputError: the file is none of these.
            VerificationError: the plan states something wrong.
        """
        if isinstance(source, Layout):
            return source
        if isinstance(source, Plan):
            meshes = {m.name: m.mesh for m in source.grid.modules}
            return cls(source.grid.world, meshes, source.groups, source.bridge)
        name = source_name(source)
        data = parse_json(read_text(source), name)
        if isinstance(data, dict) and data.get("format") == EXPORTED:
            return cls._exported(data, name)
        return cls.of(read_verified(source))

    @classmethod
    def _exported(cls, data: dict[str, Any], name: str) -> "Layout":
        try:
            meshes = {m: np.array(mesh, np.int64) for m, mesh in data["meshes"].items()}
            layout = cls(data["world_size"], meshes, data["groups"], data["bridge"])
            ranks = np.sort(np.concatenate([m.ravel() for m in meshes.values()]))
            whole = np.array_equal(ranks, np.arange(layout.world))
            ascending = all(
                (np.diff(g) > 0).all() for lists in layout.groups.values() for g in lists
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(Complaint(name, "not an exported layout", got=repr(error))) from None
        if not whole or not ascending or any(m.ndim != len(MESH_AXES) for m in meshes.values()):
            raise InputError(
                Complaint(
                    name,
                    "not an exported layout",
                    expected="every rank in one mesh [pp, dp, cp, tp], and ascending groups",
                    remedy="write it with `planner export plan.json --to torch`",
                )
            )
        return layout

    def module(self, rank: int) -> str:
        """The module a rank belongs to; KeyError if it is no rank of the plan."""
        for name, mesh in self.meshes.items():
            if (mesh == rank).any():
                return name
        raise KeyError(rank)

    def coordinates(self, rank: int) -> dict[str, int]:
        """pp, dp, cp and tp of a rank inside its module.

        Example:
            >>> Layout(2, {"decoder": np.array([[[[0, 1]]]])}, {}, []).coordinates(1)
            {'pp': 0, 'dp': 0, 'cp': 0, 'tp': 1}
        """
        position = np.argwhere(self.meshes[self.module(rank)] == rank)[0].tolist()
        return dict(zip(MESH_AXES, position, strict=True))

    @cached_property
    def modules(self) -> dict[str, Families]:
        """Each module's own families: those of the plan, and pp, mp, embd, pos_embd inside it."""
        return {name: self._own(mesh) for name, mesh in self.meshes.items()}

    def _own(self, mesh: Ints) -> Families:
        members = set(mesh.ravel().tolist())
        own = {
            name: [group for group in lists if group[0] in members]
            for name, lists in self.groups.items()
            if name not in JOINED
        }
        stages = mesh.reshape(mesh.shape[0], -1).T
        own["pp"] = _lists(stages)
        own["mp"] = _lists(mesh.transpose(1, 2, 0, 3).reshape(-1, mesh.shape[0] * mesh.shape[3]))
        own["embd"] = _lists(stages[:, sorted({0, mesh.shape[0] - 1})])
        own["pos_embd"] = _lists(stages[:, :1])
        return own


def _lists(groups: Ints) -> list[list[int]]:
    ascending: list[list[int]] = np.sort(groups, axis=1).tolist()
    return sorted(ascending)
