"""Units against every placement of thousands of tiny jobs: `python -m benchmarks.units_bruteforce`.

Prints, for jobs with and without experts and tensor groups to cut, on how many the bound is the
optimum and how many optimal patterns were assembled; stops at the first bound above an optimum.
"""

import argparse
import random
import time
from itertools import product

from planner_models import units
from tests.models.units_cases import WHOLE, domain_of_slots, tiny, tiny_experts
from tests.oracle.slots_cost import cost, optimum


def checked(seed: int, *, cutting: bool, experts: bool) -> tuple[bool, bool, bool]:
    """Whether linear and final bound are the optimum, and whether a plan of that cost came out."""
    rng = random.Random(seed)
    lanes, tensor = ((1, 2, 2, 3), rng.choice([0, 1, 5, 20])) if cutting else ((1, 1, 2), WHOLE)
    if experts:
        job, weights, capacities = tiny_experts(rng, tensor=tensor, most=10)
    else:
        modules = 2 if seed % 3 == 0 else None
        job, weights, capacities = tiny(rng, lanes=lanes, tensor=tensor, modules=modules)
    best = optimum(job, weights, capacities)
    if best >= WHOLE:
        return checked(seed + 10**6, cutting=cutting, experts=experts)
    # One module has a bound of its own on cut groups: half the time it stands alone.
    alone = len(job.modules) == 1 and seed % 2
    found = units.bound(
        job,
        weights,
        capacities,
        master=None if alone else lambda other: optimum(job, other, capacities),
    )
    assert found.value <= best, (seed, job, weights, capacities, found, best)
    placed = units.assemble(job, weights, found)
    if placed is None:
        return found.proof == "linear" and found.value == best, found.value == best, False
    slots = domain_of_slots(job, placed)
    paid = cost(job, weights, slots)
    assert all(slots.count(n) <= capacity for n, capacity in enumerate(capacities))
    assert found.reached is not None
    assert best <= paid
    if job.modules[0].cp == job.modules[-1].cp and not experts:
        assert paid <= found.reached
    return found.proof == "linear" and found.value == best, found.value == best, paid == best


def main() -> None:
    """Run and print one line a family."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    for experts, cutting in product((False, True), (False, True)):
        begin = time.perf_counter()
        seeds = range(options.first, options.first + options.jobs)
        linear, tight, placed = (
            sum(column)
            for column in zip(
                *(checked(s, cutting=cutting, experts=experts) for s in seeds), strict=True
            )
        )
        family = "experts, " if experts else ""
        family += "tensor groups may be cut" if cutting else "tensor groups whole"
        print(
            f"{family}: {options.jobs} jobs, bound = optimum on {tight}"
            f" ({linear} by the linear programme alone), optimal plan assembled on {placed},"
            f" {time.perf_counter() - begin:.0f} s"
        )


if __name__ == "__main__":
    main()
