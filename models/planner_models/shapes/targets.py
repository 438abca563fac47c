"""Costs at which the integer master asks whether a plan exists, from the bound upwards."""

FEW = 4_000
"""Patterns that are always worth listing."""

ALL_AT_ONCE = 300
"""Patterns so few that the cost just below a known plan's is asked at once."""


class Targets:
    """Targets with doubling steps, shortened where one would list far more patterns.

    The first step is a four-thousandth: far enough to matter, and few patterns to list. A master of
    three times the patterns may take twenty times as long, for a plan that a shorter step had found
    too.

    Args:
        bound: what is proven.
        granularity: costs are multiples of this.
        below: no target reaches this.
        known: whether that is the cost of a plan.

    Attributes:
        at: the target to try, None if there is none left.
        most: patterns of one capacity worth listing for it.

    Example:
        >>> targets, seen = Targets(8, 2, 30), []
        >>> while targets.at is not None:
        ...     seen.append(targets.at)
        ...     targets.rise(patterns=10)
        >>> seen
        [8, 10, 14, 22, 28]
    """

    def __init__(self, bound: int, granularity: int, below: int, *, known: bool = False) -> None:
        self._unit = granularity
        self._last = below - granularity
        self._decided: int | None = None
        self._step = max(1, bound // 4000 // granularity) * granularity
        self._first: int | None = min(bound, self._last) if bound < below else None
        self.at = self._first
        self.most: int | None = FEW
        if known and self.at is not None:
            self.at, self.most = self._last, ALL_AT_ONCE

    def rise(self, patterns: int) -> None:
        """The target is decided, with so many patterns of one capacity listed: try a higher one."""
        assert self.at is not None
        self._decided = self.at
        self.at = None if self.at == self._last else min(self.at + self._step, self._last)
        self._step *= 2
        self.most = max(FEW, 2 * patterns)

    def shorten(self) -> bool:
        """The target takes more than `most` patterns: try a lower one, or any number of patterns.

        Returns:
            Whether either is left to try; `most` is None once any number is allowed.
        """
        assert self.at is not None
        if self._decided is None and self.at != self._first:
            self.at, self.most = self._first, FEW
            return True
        if self._decided is not None and self.at - self._decided > self._unit:
            step = (self.at - self._decided) // 2 // self._unit * self._unit
            self.at, self._step = self._decided + step, 2 * step
            return True
        allowed, self.most = self.most, None
        return allowed is not None
