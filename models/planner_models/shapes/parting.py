"""Pieces of one copy come from different domains.

What a domain holds of a block copy on one stage is one piece. So of the pieces a pattern has on a
stage, each lies in another copy, and a copy cannot have more pieces of some shapes than there are
domains that hold one of these shapes:

    apart[s, X, b]: sum over X of part[s, b, shape] <= domains whose pattern has one of X on s

for every set X of shapes. By Hall's theorem these say that the pieces of copy b on stage s can be
found in different domains. They are added as they are met. It matters under hard rules, where two
pieces that are allowed may not be one.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from ortools.sat.python import cp_model

from planner_models.shapes.column_generation import Relaxation
from planner_models.shapes.dealing import Dealing

Shapes = frozenset[int]


class Parting:
    """The rows of an integer master that keep the pieces of a domain apart.

    Args:
        model: the model to add to.
        relaxation: stages and shapes.
        held: the coupling rows of every pattern, and how many domains hold it.
        dealing: the copies.
    """

    def __init__(
        self,
        model: cp_model.CpModel,
        relaxation: Relaxation,
        held: Sequence[tuple[Sequence[int], cp_model.IntVar]],
        dealing: Dealing,
    ) -> None:
        self._model = model
        self._module = relaxation.graph.module
        self._dealing = dealing
        self._holders: defaultdict[int, list[tuple[Shapes, cp_model.IntVar]]] = defaultdict(list)
        for rows, count in held:
            on: defaultdict[int, set[int]] = defaultdict(set)
            for stage, shape in map(relaxation.graph.stage_and_shape, rows):
                on[stage].add(shape)
            for stage, shapes in on.items():
                self._holders[stage].append((frozenset(shapes), count))

    def crowds(self, solver: cp_model.CpSolver) -> list[tuple[int, Shapes]]:
        """(module, shapes) of which a copy has more pieces than domains in a solution."""
        found: dict[tuple[int, Shapes], None] = {}
        for stage, holders in self._holders.items():
            domains = Counter[Shapes]()
            for shapes, count in holders:
                domains[shapes] += solver.value(count)
            for pieces in self._dealing.pieces(solver, stage):
                crowded = crowd(pieces, +domains)
                if crowded is not None:
                    found[self._module[stage], crowded] = None
        return list(found)

    def part(self, module: int, shapes: Shapes) -> None:
        """Let every copy have no more pieces of these shapes than there are domains with one."""
        for stage, holders in self._holders.items():
            if self._module[stage] == module:
                domains = sum(count for others, count in holders if others & shapes)
                for b, pieces in enumerate(self._dealing.parts(stage, shapes)):
                    self._model.add(pieces <= domains).with_name(f"apart[{stage},{b}]")


def crowd(pieces: Mapping[int, int], domains: Mapping[Shapes, int]) -> Shapes | None:
    """Shapes with more pieces than domains that hold any of them; None if there are none.

    Args:
        pieces: number of pieces of each shape.
        domains: number of domains that hold exactly these shapes.

    Example:
        >>> sorted(crowd({1: 2, 2: 1, 3: 1}, {frozenset({1, 2}): 1, frozenset({1}): 1,
        ...                                   frozenset({3}): 2}))
        [1, 2]
    """
    given: dict[Shapes, list[int]] = {shapes: [] for shapes in domains}
    for shape in (s for s, count in pieces.items() for _ in range(count)):
        asked: set[Shapes] = set()

        def find(shape: int, asked: set[Shapes] = asked) -> bool:
            """Give a piece a domain, moving others on where that makes room."""
            for shapes, taken in given.items():
                if shape in shapes and shapes not in asked:
                    asked.add(shapes)
                    if len(taken) < domains[shapes]:
                        taken.append(shape)
                        return True
                    for i, other in enumerate(taken):
                        if find(other, asked):
                            taken[i] = shape
                            return True
            return False

        if not find(shape):
            return frozenset({shape}.union(*(given[shapes] for shapes in asked)))
    return None
