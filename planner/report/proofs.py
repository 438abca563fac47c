"""What was proven by what, a line a level, without the formulations' own names."""

from typing import Any

from planner.wording import number, plural

_HOW = {
    "staircases": "the cheapest set of ranks for each {level}, one {level} at a time",
    "shapes": "weighing every way to share tensor groups between {levels}",
    "units": "weighing every way to spread whole tensor groups over {levels}",
    "units, all levels together": "weighing all levels together",
    "runs of consecutive ranks": "weighing every way to cut the ranks into one run a node",
    "the exact model": "a search through all placements",
    "nodes and leaves together": "weighing nodes and leaves together",
    "the problem without its rules": "the same job without its constraints",
}
"""What a formulation looks at, by the name the plan file gives it."""

_NOTHING = "nothing"  # how such names start where nothing was proven


def proof_line(entry: dict[str, Any], seconds: float | None) -> str:
    """One level's cost, what no plan can go below, and how and when that was shown.

    Args:
        entry: a line of the plan's `solver.levels`; names not known here are taken as they are.
        seconds: when the bound was proven, if that was kept.

    Example:
        >>> proof_line({"level": "node", "cost": 84, "bound": 80, "proof": "shapes"}, 0.25)
        'node: costs 84; no plan costs less than 80, shown after 0.2 s by weighing every \
way to share tensor groups between nodes'
    """
    level, cost, bound = entry["level"], entry["cost"], entry["bound"]
    costs = f"{'all levels' if level == 'all' else level}: costs {number(cost)}"
    if entry["proof"].startswith(_NOTHING) or not bound:
        none = "nothing is proven about less" if cost else "no plan costs less"
        return f"{costs}; {none}"
    limit = "no plan costs less" + ("" if bound == cost else f" than {number(bound)}")
    when = "" if seconds is None else f" after {seconds:.1f} s"
    known = _HOW.get(entry["proof"])
    how = entry["proof"] if known is None else known.format(level=level, levels=plural(level))
    return f"{costs}; {limit}, shown{when} by {how}"
