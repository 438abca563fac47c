"""What can go wrong, as data; the text is made at the edge.

Each error carries the exit code of the commands (0 done, 1 a plan fails verification, 2 bad input,
3 proven infeasible, 4 nothing found within the limit).
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing wrong with an input.

    Attributes:
        where: file and JSON path or line, e.g. ``cluster.json: $.job.dp``.
        what: what is wrong with it.
        got: the offending value as the user wrote it, or None.
        expected: what would have been accepted, or None.
        remedy: what to do about it, or None.

    Example:
        >>> print(Complaint("a.json: $.job.dp", "must be positive", got="0", expected="1 or more"))
        a.json: $.job.dp: must be positive; got 0; expected 1 or more
    """

    where: str
    what: str
    got: str | None = None
    expected: str | None = None
    remedy: str | None = None

    def __str__(self) -> str:
        parts = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.got is not None:
            parts.append(f"got {self.got}")
        if self.expected is not None:
            parts.append(f"expected {self.expected}")
        if self.remedy is not None:
            parts.append(self.remedy)
        return "; ".join(parts)

    def within(self, source: str) -> "Complaint":
        """The same complaint with the file it came from put in front of its path."""
        where = f"{source}: {self.where}" if self.where else source
        return Complaint(where, self.what, self.got, self.expected, self.remedy)


class PlannerError(Exception):
    """Base of every error a user can cause; `exit_code` is what the commands end with."""

    exit_code = 1


class InputError(PlannerError):
    """Bad usage or input: all complaints found, not only the first."""

    exit_code = 2

    def __init__(self, complaints: Complaint | Sequence[Complaint]) -> None:
        self.complaints = (complaints,) if isinstance(complaints, Complaint) else tuple(complaints)
        super().__init__("\n".join(str(c) for c in self.complaints))

    def within(self, source: str) -> "InputError":
        """The same error with the file it came from put in front of every path."""
        return InputError([c.within(source) for c in self.complaints])


class VerificationError(PlannerError):
    """A plan that does not hold what it states; carries the violations."""

    exit_code = 1

    def __init__(self, source: str, violations: Sequence[object]) -> None:
        self.violations = tuple(violations)
        super().__init__("\n".join(f"{source}: {v}" for v in self.violations))


class Infeasible(PlannerError):  # noqa: N818 - the contract names it
    """Proven: no plan satisfies the hard constraints.

    Attributes:
        conflict: JSON paths of the user's lines that cannot hold together, a minimal set.
        reason: the argument in words.
        remedy: the nearest change that would help, or None.
    """

    exit_code = 3

    def __init__(self, conflict: Sequence[str], reason: str, remedy: str | None = None) -> None:
        self.conflict = tuple(conflict)
        self.reason = reason
        self.remedy = remedy
        text = f"no plan exists: {reason}; conflicting: {', '.join(self.conflict)}"
        super().__init__(f"{text}; {remedy}" if remedy else text)


class NoPlan(PlannerError):  # noqa: N818 - the contract names it
    """Nothing was found within the limit, and nothing was proven either."""

    exit_code = 4
