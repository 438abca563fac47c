"""Staircase and master bounds against brute force: `python -m benchmarks.bounds_bruteforce`.

Every random tiny problem mixes one or two modules, uneven lane runs and slices, interleaving, tied
embeddings, experts, weights with zeros, uneven domains and idle places. Two statements are checked:
no content is priced above the cheapest subset of its size, neither listed nor put together from
sheets, and no bound is above the optimum over all placements. Prints how often they are equal, by
feature; exits 1 at the first that is above.
"""

import argparse
import random
import sys
import time
from collections import Counter

import numpy as np

from planner_models import bridge, master, sheets, staircases
from planner_models.job import Job
from tests.oracle.random_problems import random_capacities, random_job, random_weights
from tests.oracle.slots_cost import cheapest_prices, optimum


def features(job: Job) -> str:
    """What makes a problem hard, in a few words."""
    words = ["two modules" if len(job.modules) == 2 else "one module"]
    if len(job.modules) == 2 and not bridge.is_even(job):
        words.append("uneven bridge")
    if any(shape.ep > 1 for shape in job.modules):
        words.append("experts")
    if job.tied or any(shape.vpp > 1 for shape in job.modules):
        words.append("cycles")
    return ", ".join(words)


def main() -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--largest", type=int, default=10, help="slots of a job at most")
    parser.add_argument("--modules", type=int, choices=(1, 2), help="else one or two, at random")
    parser.add_argument("--uneven", action="store_true", help="uneven bridges alone")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    seen: Counter[str] = Counter()
    equal: dict[str, Counter[str]] = {"listed": Counter(), "sheets": Counter(), "bound": Counter()}
    above, seconds = 0, 0.0
    for _ in range(options.count):
        job = random_job(rng, largest=options.largest, modules=options.modules)
        while options.uneven and (len(job.modules) == 1 or bridge.is_even(job)):
            job = random_job(rng, largest=options.largest, modules=2)
        weights = random_weights(rng)
        capacities = random_capacities(rng, job.world)
        kind = features(job)
        seen[kind] += 1
        best = cheapest_prices(job, weights)
        a, b = (np.array(sizes) for sizes in zip(*best, strict=True))
        truth = np.array(list(best.values()))
        for name, room in (("listed", staircases), ("sheets", sheets)):
            prices = room.best_contents(job, weights, a, b)
            equal[name][kind] += int((prices == truth).all())
            above += int((prices > truth).any())
        least = optimum(job, weights, capacities)
        start = time.perf_counter()
        bound = master.bound(job, weights, capacities)
        seconds += time.perf_counter() - start
        equal["bound"][kind] += bound == least
        if bound > least or above:
            above += 1
            print(f"ABOVE: {job} {weights} {capacities}: bound {bound}, optimum {least}")
            return 1
    print(f"{'problems':>9} {'listed =':>9} {'sheets =':>9} {'bound =':>9}")
    for kind in [*sorted(seen), None]:
        total = seen[kind] if kind else options.count
        shares = [100 * (c[kind] if kind else c.total()) / total for c in equal.values()]
        print(
            f"{total:>9} {shares[0]:>8.1f}% {shares[1]:>8.1f}% {shares[2]:>8.1f}%  {kind or 'all'}"
        )
    print(f"none above; {1000 * seconds / options.count:.1f} ms a bound")
    return 0


if __name__ == "__main__":
    sys.exit(main())
