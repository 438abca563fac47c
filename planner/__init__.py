"""Places the ranks of a training job on machines, with a proof of how good the plan is.

Example:
    >>> import planner
    >>> problem = planner.Problem.model_validate(
    ...     {"cluster": {"nodes": 2}, "job": {"decoder": {"tp": 4, "pp": 2}}})
    >>> plan = planner.solve(problem)
    >>> plan.solver["status"], plan.mesh("decoder").shape
    ('optimal', (2, 2, 1, 4))
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers read it as true; importing `typing` would slow every start

if TYPE_CHECKING:
    from planner.errors import Infeasible, InputError, NoPlan, PlannerError, VerificationError
    from planner.feasibility import Violation
    from planner.pipeline import read_plan, solve, verify
    from planner.plan import Plan
    from planner.replanning import replan
    from planner.spec.loading import load
    from planner.spec.problem import Problem
    from planner.sweeping import sweep

__version__ = "0.1.0"

_HOMES = {
    "Infeasible": "planner.errors",
    "InputError": "planner.errors",
    "NoPlan": "planner.errors",
    "Plan": "planner.plan",
    "PlannerError": "planner.errors",
    "Problem": "planner.spec.problem",
    "VerificationError": "planner.errors",
    "Violation": "planner.feasibility",
    "load": "planner.spec.loading",
    "read_plan": "planner.pipeline",
    "replan": "planner.replanning",
    "solve": "planner.pipeline",
    "sweep": "planner.sweeping",
    "verify": "planner.pipeline",
}
"""Where each public name lives; imported at first use, so that light commands start fast."""

__all__ = [
    "Infeasible",
    "InputError",
    "NoPlan",
    "Plan",
    "PlannerError",
    "Problem",
    "VerificationError",
    "Violation",
    "load",
    "read_plan",
    "replan",
    "solve",
    "sweep",
    "verify",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'planner' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
