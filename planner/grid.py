"""Slots, trainer ranks and every group family of a job, as arrays.

A slot is (module, pp, dp, cp, tp); it is identified with its trainer rank. The encoder's block of
ranks comes first, the decoder's after it; inside a block a rank is a mixed-radix number with the
first token of the order fastest (Megatron-core's numbering, 0.9 to current).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt

from planner.lanes import lane_pairs, slice_pairs
from planner.spec.job import Job, Module
from planner.spec.names import DENSE_GROUPS
from planner.spec.problem import Problem

Ints = npt.NDArray[np.int64]
Family = list[Ints]
"""Groups of one name: arrays [groups, members] of trainer ranks, rows ascending."""

MESH_AXES = ("pp", "dp", "cp", "tp")


@dataclass(frozen=True, eq=False)
class ModuleGrid:
    """One module's block of trainer ranks.

    Attributes:
        name: ``encoder`` or ``decoder``.
        shape: its sizes.
        mesh: [pp, dp, cp, tp] trainer ranks.
        expert_mesh: [pp, expert dp, ep, expert tp] the same ranks, factored for the experts.
    """

    name: str
    shape: Module
    mesh: Ints
    expert_mesh: Ints

    def vary(self, *axes: str) -> Ints:
        """Groups that vary the named axes of the mesh: [groups, members], rows ascending."""
        return _vary(self.mesh, [MESH_AXES.index(axis) for axis in axes])

    def vary_experts(self, *axes: str) -> Ints:
        """Groups that vary the named axes (pp, dp, ep, tp) of the experts' factorisation."""
        return _vary(self.expert_mesh, [("pp", "dp", "ep", "tp").index(axis) for axis in axes])


@dataclass(frozen=True, eq=False)
class Grid:
    """All slots of a job.

    Attributes:
        modules: encoder first.
        dp: data parallel copies.
        world: number of ranks.
        tied: whether the decoder's embeddings are tied.
        hierarchy: Megatron's hierarchical CP sizes, innermost first, or empty.
        every_stage: whether every stage builds datasets.
        context_exchanged: whether context groups work by all-to-all instead of a ring.
    """

    modules: tuple[ModuleGrid, ...]
    dp: int
    world: int
    tied: bool
    hierarchy: tuple[int, ...]
    every_stage: bool
    context_exchanged: bool = False

    @classmethod
    def of(cls, problem: Problem) -> "Grid":
        """The grid of a problem, its defaults resolved.

        Example:
            >>> problem = Problem.model_validate({"cluster": {"nodes": 1}, "job": {
            ...     "decoder": {"tp": 2, "cp": 1, "pp": 2}, "dp": 2}})
            >>> Grid.of(problem).mesh("decoder")[1, 0, 0].tolist()
            [4, 5]
        """
        job = problem.resolved.job
        dp = problem.dp
        modules, offset = [], 0
        for name, shape in job.modules.items():
            modules.append(_module_grid(name, shape, dp, job, offset))
            offset += shape.size * dp
        return cls(
            tuple(modules),
            dp,
            offset,
            job.tied_embeddings,
            tuple(job.hierarchical_cp or ()),
            job.datasets == "every-stage",
            problem.objective.exchanges_context,
        )

    def module(self, name: str) -> ModuleGrid:
        """The module of that name; KeyError if the job has none."""
        for module in self.modules:
            if module.name == name:
                return module
        raise KeyError(name)

    def mesh(self, name: str) -> Ints:
        """[pp, dp, cp, tp] trainer ranks of a module."""
        return self.module(name).mesh

    @cached_property
    def coordinates(self) -> dict[str, Ints]:
        """[world] module index and pp, dp, cp, tp of every trainer rank."""
        out = {axis: np.empty(self.world, np.int64) for axis in ("module", *MESH_AXES)}
        for m, module in enumerate(self.modules):
            ranks = module.mesh.ravel()
            out["module"][ranks] = m
            for axis, values in zip(MESH_AXES, np.indices(module.mesh.shape), strict=True):
                out[axis][ranks] = values.ravel()
        return out

    @cached_property
    def canonical(self) -> Ints:
        """[world] trainer rank of each slot in the models' order: tp fastest, cp, dp, pp."""
        return np.concatenate([m.mesh.ravel() for m in self.modules])

    @cached_property
    def bridge(self) -> Ints:
        """[pairs, 2] encoder rank and the decoder rank it feeds; empty with one module."""
        if len(self.modules) == 1:
            return np.empty((0, 2), np.int64)
        source, target = self.modules
        lanes = lane_pairs(source.shape.tp, target.shape.tp)
        slices = slice_pairs(source.shape.cp, target.shape.cp)
        last, first = source.mesh[-1], target.mesh[0]
        out = last[:, slices[:, 0]][:, :, lanes[:, 0]]
        into = first[:, slices[:, 1]][:, :, lanes[:, 1]]
        return _sorted_rows(np.stack([out.ravel(), into.ravel()], axis=1))

    @cached_property
    def pipelines(self) -> Family:
        """Pipelines, through both modules where their context slices agree."""
        if not self._joined:
            return [m.vary("pp") for m in self.modules]
        source, target = self.modules
        lanes = lane_pairs(source.shape.tp, target.shape.tp)
        stages = np.concatenate([source.mesh[..., lanes[:, 0]], target.mesh[..., lanes[:, 1]]])
        return [_sorted_rows(stages.reshape(len(stages), -1).T)]

    @property
    def _joined(self) -> bool:
        return len({m.shape.cp for m in self.modules}) == 1 and len(self.modules) == 2

    @cached_property
    def groups(self) -> dict[str, Family]:
        """Every group family of the contract by name; singletons included, rows ascending.

        Names follow Megatron-core's ProcessGroupCollection.
        """
        expert = {
            "ep": ("ep",),
            "expt_tp": ("tp",),
            "expt_dp": ("dp",),
            "tp_ep": ("tp", "ep"),
            "tp_ep_pp": ("tp", "ep", "pp"),
        }
        out = {name: [m.vary(*axes) for m in self.modules] for name, axes in DENSE_GROUPS.items()}
        out["pp"] = self.pipelines
        out["mp"] = self._model_groups()
        out["embd"] = [_distinct_rows(p[:, sorted({0, p.shape[1] - 1})]) for p in self.pipelines]
        out["pos_embd"] = [_distinct_rows(p[:, :1]) for p in self.pipelines]
        out |= {
            name: [m.vary_experts(*axes) for m in self.modules] for name, axes in expert.items()
        }
        for level, _ in enumerate(self.hierarchy):
            out[f"hcp_{level}"] = [self._hierarchical(m, level) for m in self.modules]
        return out

    def _model_groups(self) -> Family:
        families = [m.vary("tp", "pp") for m in self.modules]
        if not self._joined:
            return families
        by_slice = [
            m.mesh.transpose(1, 2, 0, 3).reshape(self.dp * m.shape.cp, -1) for m in self.modules
        ]
        return [_sorted_rows(np.sort(np.concatenate(by_slice, axis=1), axis=1))]

    def _hierarchical(self, module: ModuleGrid, level: int) -> Ints:
        pp, dp, _, tp = module.mesh.shape
        digits = module.mesh.reshape(pp, dp, *reversed(self.hierarchy), tp)
        return _vary(digits, [1 + len(self.hierarchy) - level])

    @cached_property
    def rings(self) -> dict[str, Family]:
        """Families that pay a link for each domain they touch, by link kind."""
        out = {
            "tp": self.groups["tp"],
            "cp": [] if self.context_exchanged else self.groups["cp"],
            "dp": self.groups["dp_cp"],
        }
        experts = [m for m in self.modules if m.shape.ep > 1]
        out["expt_tp"] = [m.vary_experts("tp") for m in experts]
        out["expt_dp"] = [m.vary_experts("dp") for m in experts]
        return out

    @cached_property
    def exchanges(self) -> dict[str, Family]:
        """Families that pay a link for each member pair in two domains (all-to-all), by kind."""
        return {
            "cp": self.groups["cp"] if self.context_exchanged else [],
            "ep": [m.vary_experts("ep") for m in self.modules if m.shape.ep > 1],
        }

    @cached_property
    def pairs(self) -> dict[str, Ints]:
        """[links, 2] rank pairs that pay a link when they lie in two domains, by link kind."""
        pipeline = [_stage_pairs(m) for m in self.modules]
        decoder = self.modules[-1].mesh
        tied = self.tied and decoder.shape[0] > 1
        embd = np.stack([decoder[0].ravel(), decoder[-1].ravel()], axis=1)
        return {
            "pp": np.concatenate([*pipeline, self.bridge]),
            "embd": embd if tied else np.empty((0, 2), np.int64),
        }

    @cached_property
    def dataset(self) -> npt.NDArray[np.bool_]:
        """[world] whether a rank builds datasets."""
        flags = np.zeros(self.world, bool)
        for module in self.modules:
            mesh = module.mesh[..., 0]
            if self.every_stage:
                flags[mesh.ravel()] = True
                continue
            flags[mesh[0].ravel()] = True
            if module.name == "decoder":
                flags[mesh[-1].ravel()] = True
        return flags


def rows(family: Iterable[Ints]) -> list[list[int]]:
    """The groups of a family as sorted lists of trainer ranks."""
    out: list[list[int]] = []
    for groups in family:
        out += groups.tolist()
    return sorted(out)


def _module_grid(name: str, shape: Module, dp: int, job: Job, offset: int) -> ModuleGrid:
    dense = {"tp": shape.tp, "cp": shape.cp, "dp": dp, "pp": shape.pp}
    tokens = [t for t in job.tokens() if t != "ep"]
    mesh = _numbered(dense, tokens).transpose(3, 2, 1, 0) + offset
    stage_order = [t for t in _complete(tokens, dense) if t != "pp"]
    stages = mesh.transpose(0, *(1 + ("dp", "cp", "tp").index(t) for t in reversed(stage_order)))
    edp = shape.tp * shape.cp * dp // (shape.expert_tp * shape.ep)
    folded = {"tp": shape.expert_tp, "ep": shape.ep, "dp": edp}
    fold_order = _complete([t for t in job.tokens() if t in folded], folded)
    expert = stages.reshape(shape.pp, *(folded[t] for t in reversed(fold_order)))
    axes = [1 + list(reversed(fold_order)).index(t) for t in ("dp", "ep", "tp")]
    return ModuleGrid(name, shape, mesh, expert.transpose(0, *axes))


def _complete(tokens: Sequence[str], sizes: dict[str, int]) -> list[str]:
    """The order's tokens, then those it leaves out (all of size 1)."""
    return [*tokens, *(t for t in sizes if t not in tokens)]


def _numbered(sizes: dict[str, int], tokens: Sequence[str]) -> Ints:
    """Mixed-radix numbers over `sizes`, first token fastest; axes in the order of `sizes`."""
    order = _complete(tokens, sizes)
    numbers = np.arange(prod(sizes.values()), dtype=np.int64)
    slow_first = list(reversed(order))
    block = numbers.reshape([sizes[t] for t in slow_first])
    return block.transpose([slow_first.index(t) for t in sizes])


def _vary(mesh: Ints, axes: Sequence[int]) -> Ints:
    moved = np.moveaxis(mesh, axes, range(-len(axes), 0))
    size = prod(mesh.shape[a] for a in axes)
    groups = np.sort(moved.reshape(-1, size), axis=1)
    return groups[np.argsort(groups[:, 0], kind="stable")]


def _sorted_rows(array: Ints) -> Ints:
    return array[np.lexsort(array.T[::-1])]


def _distinct_rows(array: Ints) -> Ints:
    return np.unique(array, axis=0)


def _stage_pairs(module: ModuleGrid) -> Ints:
    mesh = module.mesh.reshape(module.shape.pp, -1)
    starts, ends = mesh[:-1].ravel(), mesh[1:].ravel()
    if module.shape.vpp > 1:
        starts = np.concatenate([starts, mesh[-1]])
        ends = np.concatenate([ends, mesh[0]])
    return np.stack([starts, ends], axis=1)
