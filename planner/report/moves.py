"""What a replanned plan moved, in a few lines."""

from planner.plan import Plan
from planner.wording import counted, number

_SHOWN = 8


def moves_summary(plan: Plan) -> str:
    """Moves, their proven bound, the cost beside the best found, and the first moves.

    Args:
        plan: a plan with a `replan` block.
    """
    assert plan.replan is not None
    moves, least = plan.replan["moves"], plan.replan["moves_bound"]
    share = f"{100 - 100 * len(moves) / plan.grid.world:.2f}"
    best = number(plan.replan["best_cost"])
    proof = "the fewest possible" if len(moves) == least else f"at least {number(least)} had to"
    moved = f"{number(len(moves))} of {counted(plan.grid.world, 'rank')} moved"
    lines = [
        f"{moved} ({proof}), {share} % stay",
        f"cost {number(plan.cost)}; best found for these machines {best}, whatever it moves",
    ]
    for move in moves[:_SHOWN]:
        old, new = move["from"], move["to"]
        lines.append(
            f"rank {move['rank']}: {old['host']} GPU {old['gpu']} -> {new['host']} GPU {new['gpu']}"
        )
    if len(moves) > _SHOWN:
        lines.append(f"... and {counted(len(moves) - _SHOWN, 'more move')}")
    return "\n".join(lines)
