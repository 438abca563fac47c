"""Cells for segments whose copies are known.

Sets
    i: segments of all domains. m: placements of a segment. (s, b, r): cells of a block copy.
    g: groups of a dp plane.
Variables
    cells[i, m] in {0, 1}: segment i lies on placement m.
    touched[n, s, g], whole[n, s, g] in {0, 1}: domain n holds some, all of a group on stage s.
    more[n, s] >= 0: groups the domain cuts beyond those it pays for on paper.
    size[s, b, h, k] in {0, 1}: pieces may hold k cells of context group h; under the footprint rule
Subject to
    one_place[i]:  sum_m cells[i, m] = 1
    held[s, b, r]: one segment of the copy holds the cell
    shared[n, s]:  sum_g touched - whole <= rows the domain pays for on paper + more[n, s]
    span[s, b, g]: as many segments touch tensor group g as the first of its copy
    even[s, b, h]: no two sizes that are allowed differ by more than `spread`; a segment holds
                   none or an allowed number of h
    slack:         links lost on the placements and more, at their weights, <= slack
Minimise
    the left side of slack, if any is allowed
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from ortools.sat.python import cp_model

from planner_models import interruption
from planner_models.shapes.blocks import Block
from planner_models.shapes.footprint import Footprint
from planner_models.shapes.placements import Placements
from planner_models.shapes.stages import StageGraph
from planner_models.shapes.tilings import Ints


@dataclass(frozen=True, slots=True)
class Piece:
    """A segment in a domain: domain number, coupling rows, the stages they lie on."""

    domain: int
    rows: tuple[int, ...]
    stages: tuple[int, ...]


class Cells:
    """The model that gives every piece its cells.

    Args:
        graph: stages and shapes.
        pieces: the segments of all domains.
        copies: block copy of each piece.
        placements: where segments can lie.
        slack: doubled cost the cells may add to what the segments cost on paper.
    """

    def __init__(
        self,
        graph: StageGraph,
        pieces: Sequence[Piece],
        copies: Sequence[int],
        placements: Placements,
        slack: int = 0,
    ) -> None:
        self._graph = graph
        self._pieces = pieces
        self.model = cp_model.CpModel()
        self._slack = slack
        listed = [placements.of(piece.rows, slack) for piece in pieces]
        self._options = [options for options, _ in listed]
        self._cells = [
            [self.model.new_bool_var(f"cells[{i},{m}]") for m in range(len(options))]
            for i, options in enumerate(self._options)
        ]
        for i, choice in enumerate(self._cells):
            self.model.add(sum(choice) == 1).with_name(f"one_place[{i}]")
        self._added: list[cp_model.LinearExprT] = []
        self._hold(copies)
        self._look_alike(copies)
        for (domain, stage), held in self._together().items():
            self._share(domain, stage, held)
        if slack:
            added = self._added + [
                int(cost) * lies
                for (_, loss), choice in zip(listed, self._cells, strict=True)
                for cost, lies in zip(loss.tolist(), choice, strict=True)
                if cost
            ]
            self.model.add(sum(added) <= slack).with_name("slack")
            self.model.minimize(sum(added))

    def solve(self, solver: cp_model.CpSolver) -> tuple[list[Ints], int] | None:
        """Cell masks of every piece, one a stage, and the doubled cost they add, if any fit."""
        if interruption.solve(solver, self.model) not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
            return None
        masks = [
            options[[solver.value(m) for m in choice].index(1)]
            for options, choice in zip(self._options, self._cells, strict=True)
        ]
        return masks, round(solver.objective_value) if self._slack else 0

    def _hold(self, copies: Sequence[int]) -> None:
        held: defaultdict[tuple[int, int, int], list[cp_model.IntVar]] = defaultdict(list)
        everything = zip(self._pieces, copies, self._options, self._cells, strict=True)
        for piece, b, options, choice in everything:
            for place, stage in enumerate(piece.stages):
                for mask, lies in zip(options[:, place].tolist(), choice, strict=True):
                    for r in _bits(mask):
                        held[stage, b, r].append(lies)
        for (s, b, r), holders in held.items():
            self.model.add_exactly_one(holders).with_name(f"held[{s},{b},{r}]")

    def _look_alike(self, copies: Sequence[int]) -> None:
        """Every copy is cut up as the footprint rule wants it, on stages that have the rule."""
        held: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for i, (piece, b) in enumerate(zip(self._pieces, copies, strict=True)):
            for place, stage in enumerate(piece.stages):
                held[stage, b].append((i, place))
        for (stage, b), parts in held.items():
            block = self._graph.block(stage)
            if isinstance(block, Block) and block.footprint:
                self._span(f"{stage},{b}", parts, block.footprint)
                self._even(f"{stage},{b}", parts, block.footprint)

    def _span(self, at: str, parts: list[tuple[int, int]], footprint: Footprint) -> None:
        for peers in footprint.peers:
            first, *others = (
                sum(self._cells[i][m] for i, place in parts for m in self._meeting(i, place, group))
                for group in peers
            )
            for g, touching in enumerate(others, start=1):
                self.model.add(touching == first).with_name(f"span[{at},{g}]")

    def _even(self, at: str, parts: list[tuple[int, int]], footprint: Footprint) -> None:
        for h, ring in enumerate(footprint.rings):
            size = [
                self.model.new_bool_var(f"size[{at},{h},{k}]")
                for k in range(1, ring.bit_count() + 1)
            ]
            for low, high in combinations(range(len(size)), 2):
                if high - low > footprint.spread:
                    self.model.add_at_most_one(size[low], size[high]).with_name(f"even[{at},{h}]")
            for i, place in parts:
                count = np.bitwise_count(self._options[i][:, place] & ring)
                for k, allowed in enumerate(size, start=1):
                    lying = [self._cells[i][m] for m in np.flatnonzero(count == k).tolist()]
                    if lying:
                        self.model.add(sum(lying) <= allowed).with_name(f"even[{at},{h},{i},{k}]")

    def _meeting(self, i: int, place: int, group: int) -> list[int]:
        """Placements of a piece that hold some of a group."""
        found: list[int] = np.flatnonzero(self._options[i][:, place] & group).tolist()
        return found

    def _together(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """(piece, place of the stage in it) of everything a domain holds on a stage."""
        together: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for i, piece in enumerate(self._pieces):
            for place, stage in enumerate(piece.stages):
                together[piece.domain, stage].append((i, place))
        return together

    def _share(self, domain: int, stage: int, held: list[tuple[int, int]]) -> None:
        """A domain touches no more plane groups than it pays for on paper."""
        block = self._graph.block(stage)
        shapes = [self._pieces[i].rows[place] - self._graph.offset[stage] for i, place in held]
        complete = len(held) == block.blocks
        for f, plane in enumerate(block.planes):
            paid = int(block.rows[f, shapes].max())
            paid -= int(block.full[f, shapes].min()) if complete else 0
            cut: list[cp_model.LinearExprT] = []
            for g, group in enumerate(plane.masks):
                cut.append(self._touched(f"touched[{domain},{stage},{f},{g}]", held, group))
                if complete:
                    cut.append(-self._whole(f"whole[{domain},{stage},{f},{g}]", held, group))
            name = f"[{domain},{stage},{f}]"
            more = self.model.new_int_var(0, self._slack // (2 * plane.weight), f"more{name}")
            self.model.add(sum(cut) <= paid + more).with_name(f"shared{name}")
            self._added.append(2 * plane.weight * more)

    def _touched(self, name: str, held: list[tuple[int, int]], group: int) -> cp_model.IntVar:
        touched = self.model.new_bool_var(name)
        for i, place in held:
            inside = self._meeting(i, place, group)
            self.model.add(touched >= sum(self._cells[i][m] for m in inside))
        return touched

    def _whole(self, name: str, held: list[tuple[int, int]], group: int) -> cp_model.IntVar:
        whole = self.model.new_bool_var(name)
        for i, place in held:
            filling = np.flatnonzero(self._options[i][:, place] & group == group)
            self.model.add(whole <= sum(self._cells[i][m] for m in filling.tolist()))
        return whole


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
