"""The cost of placements straight from its definition: plain loops, meant to be obviously right.

Slots carry the canonical numbers of `planner_models.job`. One level is looked at: `domain_of[slot]`
is the domain a slot lives in, and a placement is nothing more than that. Three views of one cost:

* `links(job, domain_of)`: links by kind, as a report would count them;
* `cost(job, weights, domain_of)`: links times weights;
* `content_cost(job, weights, slots)`: *doubled* share of one domain that holds `slots`. Rings pay a
  link for every domain they touch without staying inside it, pairs half a link on either side, so
  the shares of all domains sum to twice the cost.

`optimum` tries every way to fill domains. It is meant for a dozen slots.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from planner_models.job import Job, ModuleShape, Weights


class Group(NamedTuple):
    kind: str
    members: tuple[int, ...]


def slot(job: Job, module: int, t: int, c: int, d: int, p: int) -> int:
    """Canonical number of a slot: encoder block first, then t fastest, c, d, p."""
    before = sum(m.tp * m.cp * m.pp for m in job.modules[:module]) * job.dp
    shape = job.modules[module]
    return before + t + shape.tp * (c + shape.cp * (d + job.dp * p))


def rings(job: Job) -> list[Group]:
    """Every group that pays one link a touched domain: tp, cp, dp and the experts' rings."""
    found = []
    for m, shape in enumerate(job.modules):
        ts, cs, ds = range(shape.tp), range(shape.cp), range(job.dp)
        for p in range(shape.pp):
            found += [
                Group("tp", tuple(slot(job, m, t, c, d, p) for t in ts)) for c in cs for d in ds
            ]
            found += [
                Group("cp", tuple(slot(job, m, t, c, d, p) for c in cs)) for t in ts for d in ds
            ]
            found += [
                Group("dp", tuple(slot(job, m, t, c, d, p) for d in ds for c in cs)) for t in ts
            ]
            if shape.ep > 1:
                found += [Group("expt_tp", g) for g in _expert_groups(job, m, p, "expt_tp")]
                found += [Group("expt_dp", g) for g in _expert_groups(job, m, p, "expt_dp")]
    return found


def all_to_alls(job: Job) -> list[Group]:
    """Every group that pays one link for each pair of members in different domains."""
    return [
        Group("ep", g)
        for m, shape in enumerate(job.modules)
        if shape.ep > 1
        for p in range(shape.pp)
        for g in _expert_groups(job, m, p, "ep")
    ]


def pairs(job: Job) -> list[Group]:
    """Every single link: pipeline neighbours, bridge, interleaving wrap, tied embeddings."""
    found = []
    for m, shape in enumerate(job.modules):
        for d in range(job.dp):
            for c in range(shape.cp):
                for t in range(shape.tp):
                    lane = [slot(job, m, t, c, d, p) for p in range(shape.pp)]
                    found += [Group("pp", (lane[p], lane[p + 1])) for p in range(shape.pp - 1)]
                    if shape.vpp > 1 and shape.pp > 1:
                        found.append(Group("pp", (lane[-1], lane[0])))
                    if job.tied and shape.pp > 1 and m == len(job.modules) - 1:
                        found.append(Group("embd", (lane[-1], lane[0])))
    if len(job.modules) == 2:
        found += [Group("pp", pair) for pair in bridge(job)]
    return found


def bridge(job: Job) -> list[tuple[int, int]]:
    """Links from the encoder's last stage to the decoder's first, inside every copy and slice."""
    encoder, decoder = job.modules
    return [
        (slot(job, 0, a, i, d, encoder.pp - 1), slot(job, 1, b, j, d, 0))
        for d in range(job.dp)
        for i in range(encoder.cp)
        for j in range(decoder.cp)
        if _slices_overlap(encoder, decoder, i, j)
        for a, b in lane_pairs(encoder.tp, decoder.tp)
    ]


def lane_pairs(left: int, right: int) -> list[tuple[int, int]]:
    """Lanes of the larger side dealt to the smaller one in runs, the longer runs first.

    >>> lane_pairs(2, 3)
    [(0, 0), (0, 1), (1, 2)]
    """
    if left > right:
        return [(a, b) for b, a in lane_pairs(right, left)]
    found, lane = [], 0
    for a in range(left):
        for _ in range(right // left + (1 if a < right % left else 0)):
            found.append((a, lane))
            lane += 1
    return found


def links(job: Job, domain_of: Sequence[int]) -> dict[str, int]:
    """Links of every kind at one level."""
    count = dict.fromkeys(("tp", "cp", "dp", "pp", "ep", "expt_tp", "expt_dp", "embd"), 0)
    for kind, members in rings(job):
        touched = len({domain_of[s] for s in members})
        count[kind] += touched if touched > 1 else 0
    for kind, members in all_to_alls(job):
        count[kind] += sum(domain_of[a] != domain_of[b] for a, b in combinations(members, 2))
    for kind, (a, b) in pairs(job):
        count[kind] += domain_of[a] != domain_of[b]
    return count


def cost(job: Job, weights: Weights, domain_of: Sequence[int]) -> int:
    """Cost of a placement at one level, the level's own weight left out."""
    return sum(getattr(weights, kind) * n for kind, n in links(job, domain_of).items())


def content_cost(job: Job, weights: Weights, slots: Collection[int]) -> int:
    """Doubled share of one domain that holds exactly `slots`."""
    held, total = set(slots), 0
    for kind, members in rings(job):
        inside = len(held.intersection(members))
        total += 2 * getattr(weights, kind) * (0 < inside < len(members))
    for kind, members in all_to_alls(job):
        inside = len(held.intersection(members))
        total += getattr(weights, kind) * inside * (len(members) - inside)
    for kind, (a, b) in pairs(job):
        total += getattr(weights, kind) * ((a in held) != (b in held))
    return total


def content_costs(job: Job, weights: Weights) -> list[int]:
    """`content_cost` of every subset, by bit mask (bit s set: slot s is held); 2**world entries."""
    groups = [*rings(job), *all_to_alls(job), *pairs(job)]
    masks = [sum(1 << s for s in members) for _, members in groups]
    costly = [
        (getattr(weights, kind), mask, mask.bit_count(), kind)
        for (kind, _), mask in zip(groups, masks, strict=True)
        if getattr(weights, kind)
    ]
    costs = []
    for held in range(1 << job.world):
        total = 0
        for weight, mask, size, kind in costly:
            inside = (held & mask).bit_count()
            if kind == "ep":
                total += weight * inside * (size - inside)
            elif 0 < inside < size:
                total += weight if kind in {"pp", "embd"} else 2 * weight
        costs.append(total)
    return costs


def cheapest_prices(job: Job, weights: Weights) -> dict[tuple[int, int], int]:
    """{(a, b): least price} over all subsets of a encoder and b decoder slots.

    The price of a content counts pair links inside it as savings: its `content_cost`, less the
    weight of every pair link's ends in it. One module is all decoder.
    """
    ends = [0] * job.world
    for kind, members in pairs(job):
        for s in members:
            ends[s] += getattr(weights, kind)
    encoder = [0, *(job.dp * m.tp * m.cp * m.pp for m in job.modules)][-2]
    best: dict[tuple[int, int], int] = {}
    for held, cost in enumerate(content_costs(job, weights)):
        slots = [s for s in range(job.world) if held >> s & 1]
        a = sum(s < encoder for s in slots)
        price = cost - sum(ends[s] for s in slots)
        best[a, len(slots) - a] = min(price, best.get((a, len(slots) - a), price))
    return best


def optimum(job: Job, weights: Weights, capacities: Sequence[int]) -> int:
    """Least cost of any placement into domains of these capacities; every way is tried.

    Raises:
        ValueError: the domains together are too small.
    """
    if sum(capacities) < job.world:
        raise ValueError(f"{job.world} slots do not fit {sum(capacities)} places")
    share = content_costs(job, weights)
    everything = (1 << job.world) - 1
    best = {0: 0}  # slots placed so far -> least doubled cost
    left = sum(capacities)
    for capacity in capacities:
        left -= capacity
        following: dict[int, int] = {}
        for placed, paid in best.items():
            for content in _submasks(everything & ~placed):
                size = content.bit_count()
                union = placed | content
                if size > capacity or (everything & ~union).bit_count() > left:
                    continue
                total = paid + share[content]
                if total < following.get(union, total + 1):
                    following[union] = total
        best = following
    assert best[everything] % 2 == 0
    return best[everything] // 2


def _expert_groups(job: Job, m: int, p: int, kind: str) -> list[tuple[int, ...]]:
    """Expert groups of one stage: ranks r = t + tp * (c + cp * d) read in base etp, then ep."""
    shape = job.modules[m]
    stage = [
        slot(job, m, t, c, d, p)
        for d in range(job.dp)
        for c in range(shape.cp)
        for t in range(shape.tp)
    ]
    groups: dict[tuple[int, int], list[int]] = {}
    for r, s in enumerate(stage):
        digits = {
            "expt_tp": r % shape.etp,
            "ep": r // shape.etp % shape.ep,
            "expt_dp": r // (shape.etp * shape.ep),
        }
        del digits[kind]
        low, high = digits.values()
        groups.setdefault((low, high), []).append(s)
    return [tuple(members) for members in groups.values()]


def _slices_overlap(encoder: ModuleShape, decoder: ModuleShape, i: int, j: int) -> bool:
    """Whether [i/E, (i+1)/E) and [j/D, (j+1)/D) share a piece of the sequence."""
    return i * decoder.cp < (j + 1) * encoder.cp and j * encoder.cp < (i + 1) * decoder.cp


def _submasks(mask: int) -> Iterator[int]:
    content = mask
    while True:
        yield content
        if content == 0:
            return
        content = (content - 1) & mask
