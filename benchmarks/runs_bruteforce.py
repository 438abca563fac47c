"""Runs against every way to cut random chains: `python -m benchmarks.runs_bruteforce`.

Runs are exact, so the bound has to be the optimum each time; exits 1 at the first that is not.
"""

import argparse
import random
import sys
import time
from collections import Counter

from planner_models.runs import cheapest_runs
from tests.models.test_runs import chain_of, cost, every_cut


def main() -> int:
    """Run the comparison and count what the problems had."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=1000, help="seed of the first problem")
    options = parser.parse_args()
    seen: Counter[str] = Counter()
    begin = time.perf_counter()
    for seed in range(options.first, options.first + options.count):
        rng = random.Random(seed)
        slots = rng.randint(3, 9)
        capacities: list[int] = []
        while sum(capacities) < slots + rng.choice([0, 0, 1, 2]):
            capacities.append(rng.randint(1, 4))
        chain = chain_of(rng, slots)
        bound = cheapest_runs(chain, capacities).cost
        best = min(cost(chain, cut) for cut in every_cut(slots, capacities))
        if bound != best:
            print(f"seed {seed}: bound {bound}, optimum {best}")
            return 1
        seen["idle places"] += sum(capacities) > slots
        seen["uneven domains"] += len(set(capacities)) > 1
        seen["all-to-alls"] += bool(chain.all_to_alls)
        seen["weights of 0"] += any(weight == 0 for weight, _ in chain.rings)
    counted = ", ".join(f"{name} {times}" for name, times in seen.items())
    seconds = time.perf_counter() - begin
    print(f"{options.count} problems ({counted}): every bound is the optimum, {seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
