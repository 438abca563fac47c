"""Whole solves against every placement of tiny problems: `python -m benchmarks.solver_bruteforce`.

Every problem is solved twice: by all steps, where the exact model has the last word, and without
it, so that the bounds of all levels and formulations stand for themselves. Prints how often cost
and bound are the optimum, by feature; exits 1 at the first bound above it.
"""

import argparse
import sys
import time
from collections import Counter

from planner.grid import Grid
from planner.solver.weighing import weigh
from planner.spec.problem import Problem
from tests.problems import random_problem
from tests.solver.test_end_to_end import optimum
from tests.solver.test_metamorphic import bound_by_levels, features, solved


def main() -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=10_000, help="seed of the first problem")
    parser.add_argument("--largest", type=int, default=8, help="ranks of a job at most")
    options = parser.parse_args()
    seen: Counter[str] = Counter()
    cost, bound, levels = Counter[str](), Counter[str](), Counter[str]()
    begin = time.perf_counter()
    for seed in range(options.first, options.first + options.count):
        data = random_problem(seed, most_slots=options.largest)
        problem = Problem.model_validate(data)
        unit = weigh(problem, Grid.of(problem), problem.cluster.machines).unit
        best = optimum(problem) * unit
        plan, by_levels = solved(data), bound_by_levels(data)
        if max(plan.solver["bound"], by_levels) > best:
            print(f"ABOVE {best}: seed {seed}, {plan.solver['bound']}, by levels {by_levels}")
            return 1
        for name in ["all", *features(data)]:
            seen[name] += 1
            cost[name] += plan.solver["cost"] == best
            bound[name] += plan.solver["bound"] == best
            levels[name] += by_levels == best
    seconds = time.perf_counter() - begin
    print(f"{options.count} problems, none above, {seconds:.0f} s")
    print(f"{'problems':>9} {'cost =':>8} {'bound =':>8} {'without the exact model':>24}")
    for name, times in seen.most_common():
        shares = [100 * c[name] / times for c in (cost, bound, levels)]
        print(f"{times:>9} {shares[0]:>7.1f}% {shares[1]:>7.1f}% {shares[2]:>23.1f}%  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
