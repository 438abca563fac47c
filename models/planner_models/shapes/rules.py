"""Hard rules on what the domains of a level hold of a block."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules that every placement looked at obeys.

    Attributes:
        tied: so many neighbouring context slices stay together: of the slots (t, c, d, p) with one
            c div tied a domain holds all or none (innermost groups of hierarchical CP). Jobs with
            experts know no such rule.
        footprint: context peers look alike: their tensor groups touch equally many domains, and the
            numbers of a context group in the domains it touches differ by at most one.
    """

    tied: int = 1
    footprint: bool = False

    @property
    def spread(self) -> int | None:
        """The most that numbers of tied slots in two domains differ by; None without footprint."""
        return 1 // self.tied if self.footprint else None
