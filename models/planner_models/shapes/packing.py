"""Whether the pieces of a block copy fit side by side on two neighbouring stages.

Tilings look at one stage at a time. Pieces that hold cells of both stages of an arc tie the two
tilings together: their overlaps are links, and for all of them to be there at once the pieces must
be packed into both stages with every overlap in place. Where that cannot be, some link credited is
lost, in every copy that holds these pieces.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from planner_models.shapes.stages import Arc, StageGraph

Ends = tuple[int, int]
"""What a piece holds on the two stages of an arc: shape indices, -1 for nothing."""

_PATIENCE = 200_000
"""Placements tried before pieces are taken to fit."""


@dataclass(frozen=True, slots=True)
class Core:
    """Pieces that do not fit together, none of which can be left out.

    Attributes:
        kind: modules of the two stages; arcs of one kind have the same packings.
        pieces: what the pieces hold on the two stages, and how many of each there are.
    """

    kind: tuple[int, int]
    pieces: tuple[tuple[Ends, int], ...]


class Packing:
    """Packings of pieces on the arcs of a stage graph; results are kept.

    Args:
        graph: stages, shapes and arcs.
    """

    def __init__(self, graph: StageGraph) -> None:
        self._graph = graph
        self._places: dict[tuple[tuple[int, int], Ends], list[int]] = {}
        self._cores: dict[tuple[tuple[int, int], frozenset[tuple[Ends, int]]], Core | None] = {}

    @property
    def cores(self) -> list[Core]:
        """All cores found so far."""
        return list(dict.fromkeys(core for core in self._cores.values() if core is not None))

    def core(self, arc: Arc, pieces: Counter[Ends]) -> Core | None:
        """A core among the pieces of a copy, or nothing if all of them fit."""
        key = arc.modules, frozenset(pieces.items())
        if key not in self._cores:
            self._cores[key] = None if self._fit(arc, pieces) else self._shrink(arc, pieces)
        return self._cores[key]

    def _shrink(self, arc: Arc, pieces: Counter[Ends]) -> Core:
        core = pieces.copy()
        for ends in sorted(pieces, key=lambda e: (-1 not in e, e)):
            while core[ends] and not self._fit(arc, core - Counter([ends])):
                core[ends] -= 1
        return Core(arc.modules, tuple(sorted((+core).items())))

    def _fit(self, arc: Arc, pieces: Counter[Ends]) -> bool:
        """Whether disjoint places exist for all pieces, those with fewest places first."""
        places = [self._places_of(arc, ends) for ends in pieces.elements()]
        places.sort(key=len)
        tried = 0

        def put(number: int, held: int, start: int) -> bool:
            nonlocal tried
            if number == len(places):
                return True
            again = number + 1 < len(places) and places[number + 1] is places[number]
            for index in range(start, len(places[number])):
                place = places[number][index]
                if not place & held:
                    tried += 1
                    if tried > _PATIENCE:
                        return True
                    if put(number + 1, held | place, index + 1 if again else 0):
                        return True
            return False

        return put(0, 0, 0)

    def _places_of(self, arc: Arc, ends: Ends) -> list[int]:
        """Masks over the cells of the first stage, then the second, with every link in place."""
        key = arc.modules, ends
        if key not in self._places:
            first, second = (
                self._graph.members(stage, shape) if shape >= 0 else np.zeros(1, np.int64)
                for stage, shape in zip(arc.ends, ends, strict=True)
            )
            if min(ends) >= 0:
                a, b = np.nonzero(arc.links(first, second) >= arc.overlap[ends])
                first, second = first[a], second[b]
            shift = self._graph.block(arc.ends[0]).cells
            self._places[key] = (first | second << shift).tolist()
        return self._places[key]
