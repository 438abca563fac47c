"""Pictures of plans: racks, nodes and GPUs, coloured by an axis, with the links that cross.

Self-contained SVG, and HTML pages around it, light or dark as the reader's screen is. Machines of
up to 2,048 nodes show every GPU; larger ones a cell for each node, or for a run of nodes.
"""

from planner.plan import Plan, megatron_order
from planner.report.pictures.colours import STYLE
from planner.report.pictures.drawing import Drawing, Look, Painter
from planner.wording import number

__all__ = ["Look", "before_megatron", "svg"]

_HATCH = (
    '<defs><pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><path class="hatch" d="M0 0V4" stroke-width="1.2"/>'
    "</pattern></defs>"
)

_BETWEEN = 24


def before_megatron(plan: Plan) -> Plan:
    """The same job in Megatron's own order on the nodes as given: what "before" is by default."""
    return Plan(plan.problem, megatron_order(plan.machines, plan.grid.world), {})


def svg(plan: Plan, look: Look | None = None, *, before: Plan | None = None) -> str:
    r"""A picture of a plan as one SVG file.

    Args:
        plan: the plan.
        look: what is shown.
        before: another plan to show to its left.

    Example:
        >>> import planner
        >>> problem = planner.Problem.model_validate({"cluster": {"nodes": 2, "gpus_per_node": 2},
        ...     "job": {"decoder": {"tp": 2, "pp": 2}}})
        >>> svg(planner.solve(problem)).count("<rect class=\"c")
        6
    """
    look = look or Look()
    painters = [Painter(plan, look, _title(plan, "this plan" if before else ""))]
    if before is not None:
        painters.insert(0, Painter(before, look, _title(before, "before")))
    rules = max((p.colour_rules() for p in painters), key=len)
    return _document([p.draw() for p in painters], rules)


def _title(plan: Plan, what: str) -> str:
    cost = f"cost {number(plan.cost)}"
    if plan.solver.get("status") == "optimal":
        cost += ", proven optimal"
    elif plan.solver.get("bound") is not None:
        cost += f", at least {number(plan.solver['bound'])} proven"
    return f"{what}: {cost}" if what else cost


def _document(drawings: list[Drawing], rules: str) -> str:
    width = sum(d.width for d in drawings) + _BETWEEN * (len(drawings) - 1)
    height = max(d.height for d in drawings)
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<style>{STYLE}{rules}</style>",
        _HATCH,
        f'<rect class="page" width="{width}" height="{height}"/>',
    ]
    x = 0
    for drawing in drawings:
        lines += [f'<g transform="translate({x},0)">', *drawing.elements, "</g>"]
        x += drawing.width + _BETWEEN
    return "\n".join([*lines, "</svg>", ""])
