"""Two failures on large plans: how many ranks move, what that costs, and how long it takes.

    python benchmarks/replanning.py [--workers N]

512 GPUs lose a node and get a spare one; 2,048 GPUs lose a GPU in each of three nodes.
"""

import argparse
import time
from typing import Any

import planner

SPARE_NODE = {
    "problem": {
        "cluster": {
            "nodes": 65,
            "gpus_per_node": 8,
            "levels": [{"name": "leaf", "nodes_per_domain": 16}],
        },
        "job": {"decoder": {"tp": 8, "cp": 1, "pp": 8}, "dp": 8},
    },
    "lost": 1,
    "gpus": None,
    "solve": 10.0,
    "limit": 10.0,
}
THREE_GPUS = {
    "problem": {
        "cluster": {
            "nodes": 258,
            "gpus_per_node": 8,
            "levels": [{"name": "leaf", "nodes_per_domain": 32}],
        },
        "job": {"decoder": {"tp": 4, "cp": 2, "pp": 8}, "dp": 32},
    },
    "lost": 3,
    "gpus": 1,
    "solve": 60.0,
    "limit": 60.0,
}
CASES: dict[str, dict[str, Any]] = {
    "a node of 64, one spare": SPARE_NODE,
    "3 GPUs in three nodes": THREE_GPUS,
}


def main() -> None:
    """Run both cases and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=1)
    workers = parser.parse_args().workers
    for name, case in CASES.items():
        problem = planner.Problem.model_validate(case["problem"])
        old = planner.solve(problem, time_limit=case["solve"], workers=workers)
        step = len(old.hosts) // (case["lost"] + 1)
        hosts = old.hosts[step::step][: case["lost"]]
        lost = [h if case["gpus"] is None else f"{h}:{i}" for i, h in enumerate(hosts)]
        began = time.monotonic()
        new = planner.replan(old, lost=lost, time_limit=case["limit"], workers=workers)
        seconds = time.monotonic() - began
        fresh = planner.solve(new.problem, time_limit=case["solve"], workers=workers)
        assert new.replan is not None
        moved, world = len(new.replan["moves"]), new.grid.world
        print(
            f"{name} ({world} ranks, lost {', '.join(lost)}): {moved} ranks move (at least "
            f"{new.replan['moves_bound']}), {100 - 100 * moved / world:.2f} % stay; cost "
            f"{old.cost} -> {new.cost}, a fresh solve {fresh.cost}, bound {new.solver['bound']}; "
            f"{seconds:.1f} s; violations {planner.verify(new)}"
        )


if __name__ == "__main__":
    main()
