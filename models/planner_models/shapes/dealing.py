"""Segments dealt to block copies, so that every copy is tiled on every stage at once.

Sets
    u: lots of equal segments. b: block copies. s: stages. a: arcs, pairs of stages.
Data
    held[u]: segments in a lot, a number or an expression of the model.
    cores: pieces that cannot lie side by side on the two stages of an arc (`packing`).
Variables
    deal[u, b] >= 0: segments of lot u that lie in copy b.
    part[s, b, shape] >= 0: pieces of a shape on stage s of copy b.
    tiling[b] >= 0: which tiling copy b has on one stage, the one with most.
    lost[a, b] in {0, 1}: copy b loses a credited link on arc a.
Subject to
    dealt[u]:         sum_b deal[u, b] = held[u]
    parts[s,b,shape]: part = sum of deal[u, b] over lots with that shape on s
    tiled[s, b]:      part[s, b, .] is one of the tilings of the block, on one stage tiling[b]
    order[b]:         tiling[b] <= tiling[b + 1], since copies are alike
    core[a, b]:       lost[a, b], unless copy b lacks a piece of the core on arc a

Cores are added as they are met. Links lost on different arcs or in different copies are different
links, so each adds at least the weight of one to the cost on paper.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from itertools import chain, pairwise

from ortools.sat.python import cp_model

from planner_models.shapes.column_generation import Relaxation
from planner_models.shapes.packing import Core, Ends, Packing
from planner_models.shapes.stages import Arc

MOST_TILINGS = 5_000
"""Longest table of tilings."""

Rows = tuple[int, ...]
"""A segment by the coupling rows it uses."""


class TooManyTilingsError(ValueError):
    """Blocks can be tiled in more ways than a table lists."""


class Dealing:
    """Variables and constraints of a deal, added to a model.

    Args:
        model: the model to add to.
        relaxation: stages, shapes and tilings.
        lots: the segment of every lot and how many there are.

    Attributes:
        deal: [lot][copy] variables.
        lost: [arc][copy] variables.

    Raises:
        TooManyTilingsError: more than `MOST_TILINGS`; the model is as before.
    """

    def __init__(
        self,
        model: cp_model.CpModel,
        relaxation: Relaxation,
        lots: Sequence[tuple[Rows, cp_model.LinearExprT]],
    ) -> None:
        self._model = model
        self._relaxation = relaxation
        stages = range(len(relaxation.graph.module))
        tables = [self._tilings_on(stage, [rows for rows, _ in lots]) for stage in stages]
        self._copies = range(relaxation.graph.blocks[0].blocks)
        self.deal: list[list[cp_model.IntVar]] = []
        for u, (rows, held) in enumerate(lots):
            most = min(self._most_in_copy(row) for row in rows)
            dealt = [model.new_int_var(0, most, f"deal[{u},{b}]") for b in self._copies]
            model.add(sum(dealt) == held).with_name(f"dealt[{u}]")
            self.deal.append(dealt)
        self._by_shape = [having for having, _ in tables]
        busiest = max(stages, key=lambda stage: len(tables[stage][1]))
        for stage, (having, tilings) in enumerate(tables):
            self._tile(stage, having, tilings, ordered=stage == busiest)
        arcs = relaxation.graph.arcs
        self._having = [self._lots_by_ends(arc, [rows for rows, _ in lots]) for arc in arcs]
        self.lost = [
            [model.new_bool_var(f"lost[{a},{b}]") for b in self._copies] for a in range(len(arcs))
        ]
        self._present: dict[tuple[int, Ends, int, int], cp_model.IntVar] = {}

    @property
    def loss(self) -> cp_model.LinearExpr:
        """Doubled cost of the links lost."""
        weights = [2 * arc.weight for arc in self._relaxation.graph.arcs for _ in self._copies]
        return cp_model.LinearExpr.weighted_sum(list(chain.from_iterable(self.lost)), weights)

    def parts(self, stage: int, shapes: Collection[int]) -> list[cp_model.LinearExprT]:
        """[copy] pieces of these shapes on a stage."""
        having = self._by_shape[stage]
        lots = [u for shape in shapes for u in having.get(shape, ())]
        return [sum(self.deal[u][b] for u in lots) for b in self._copies]

    def pieces(self, solver: cp_model.CpSolver, stage: int) -> list[Counter[int]]:
        """[copy] how many pieces of each shape a solution has on a stage."""
        return [
            Counter(
                {
                    shape: sum(solver.value(self.deal[u][b]) for u in lots)
                    for shape, lots in self._by_shape[stage].items()
                }
            )
            for b in self._copies
        ]

    def avoid(self, core: Core) -> None:
        """Make every copy that holds a core lose a link."""
        for a, arc in enumerate(self._relaxation.graph.arcs):
            if arc.modules != core.kind or any(e not in self._having[a] for e, _ in core.pieces):
                continue
            for b in self._copies:
                lacking = [~self._at_least(a, ends, b, times) for ends, times in core.pieces]
                self._model.add_bool_or([*lacking, self.lost[a][b]]).with_name(f"core[{a},{b}]")

    def cores(self, solver: cp_model.CpSolver, packing: Packing) -> list[Core]:
        """Cores a solution holds without having lost a link for them."""
        found: list[Core | None] = []
        for a, arc in enumerate(self._relaxation.graph.arcs):
            for b in self._copies:
                if not solver.value(self.lost[a][b]):
                    pieces = {
                        ends: sum(solver.value(self.deal[u][b]) for u in lots)
                        for ends, lots in self._having[a].items()
                    }
                    found.append(packing.core(arc, +Counter(pieces)))
        return list(dict.fromkeys(core for core in found if core is not None))

    def _at_least(self, a: int, ends: Ends, b: int, times: int) -> cp_model.IntVar:
        """Whether copy b holds so many pieces with these ends on arc a."""
        key = a, ends, b, times
        if key not in self._present:
            present = self._model.new_bool_var(f"present[{a},{ends},{b},{times}]")
            held = sum(self.deal[u][b] for u in self._having[a][ends])
            self._model.add(held < times).only_enforce_if(~present)
            self._present[key] = present
        return self._present[key]

    def _lots_by_ends(self, arc: Arc, lots: Sequence[Rows]) -> dict[Ends, list[int]]:
        having: defaultdict[Ends, list[int]] = defaultdict(list)
        for u, rows in enumerate(lots):
            shape = dict(map(self._relaxation.graph.stage_and_shape, rows))
            ends = shape.get(arc.ends[0], -1), shape.get(arc.ends[1], -1)
            if max(ends) >= 0:
                having[ends].append(u)
        return having

    def _most_in_copy(self, row: int) -> int:
        stage, shape = self._relaxation.graph.stage_and_shape(row)
        block = self._relaxation.graph.block(stage)
        return block.cells // int(block.size[shape])

    def _tilings_on(
        self, stage: int, lots: Sequence[Rows]
    ) -> tuple[dict[int, list[int]], list[Counter[int]]]:
        """Lots that have each shape of a stage, and the tilings those shapes allow."""
        graph = self._relaxation.graph
        first, last = graph.offset[stage], graph.offset[stage + 1]
        having: defaultdict[int, list[int]] = defaultdict(list)
        for u, rows in enumerate(lots):
            for row in rows:
                if first <= row < last:
                    having[row - first].append(u)
        available = Counter({shape: self._most_in_copy(first + shape) for shape in having})
        tilings = graph.block(stage).tilers[0].graph.multisets(available, MOST_TILINGS)
        if tilings is None:
            raise TooManyTilingsError
        return having, tilings

    def _tile(
        self,
        stage: int,
        having: dict[int, list[int]],
        tilings: Sequence[Counter[int]],
        *,
        ordered: bool,
    ) -> None:
        graph = self._relaxation.graph
        if not tilings:
            self._model.add_bool_or(()).with_name(f"tiled[{stage}]")
            return
        allowed = [[tiling[shape] for shape in having] for tiling in tilings]
        numbers = []
        if ordered:
            allowed = [[*parts, number] for number, parts in enumerate(allowed)]
            numbers = [
                self._model.new_int_var(0, len(tilings) - 1, f"tiling[{b}]") for b in self._copies
            ]
            for b, (number, following) in enumerate(pairwise(numbers)):
                self._model.add(number <= following).with_name(f"order[{b}]")
        for b in range(graph.block(stage).blocks):
            part = []
            for shape, lots in having.items():
                name = f"[{stage},{b},{shape}]"
                most = self._most_in_copy(graph.offset[stage] + shape)
                held = self._model.new_int_var(0, most, f"part{name}")
                lying = sum(self.deal[u][b] for u in lots)
                self._model.add(held == lying).with_name(f"parts{name}")
                part.append(held)
            part += numbers[b : b + 1]
            self._model.add_allowed_assignments(part, allowed).with_name(f"tiled[{stage},{b}]")
