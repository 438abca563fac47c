"""The hard constraints, one function a family."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from planner_models.assignment.data import IntArray, Within
from planner_models.assignment.formulation import ZERO, Bit, Formulation, place, total


def one_device(f: Formulation) -> None:
    """one_device[s]: Σ_n on[s,n] ≤ 1."""
    for s in np.flatnonzero(f.moving).tolist():
        f.at_most_one(f"one_device[s{s}]", f.at[0][s].values())


def group_shape(f: Formulation) -> None:
    """group_shape[g]: the members of g over all cells add up to its size; this places slots."""
    for kind, groups in enumerate(f.problem.shapes):
        for g, members in f.moved(groups):
            held = [bit for s in members for bit in f.at[0][s].values()]
            f.require(f"group_shape[m{kind},g{g}]", total(held) == len(members))


def capacity(f: Formulation) -> None:
    """capacity[n]: Σ_s on[s,n] ≤ devices of n."""
    sizes = f.problem.sizes(0)
    for n, bits in f.holders(0, range(f.problem.slots)).items():
        f.require(f"capacity[n{n}]", total(bits) <= int(sizes[n]))


def offline(f: Formulation) -> None:
    """offline[n]: Σ_s on[s,n] ≤ usable devices of n, where some are not."""
    sizes, usable = f.problem.sizes(0), f.problem.capacities(0)
    for n, bits in f.holders(0, range(f.problem.slots)).items():
        if usable[n] < sizes[n]:
            limit = total(bits) <= int(usable[n])
            f.require(f"offline[n{n}]", limit, label=f.problem.offline_label)


def lane(f: Formulation) -> None:
    """lane[k,s]: lane s of slice k has one partner, the one the balanced map names.

    `feeds` is open to every two lanes of one slice; this family makes all slices alike.
    """
    for bridge in f.problem.bridges:
        for k, s, mapped in f.bridged(bridge):
            choice = f.feeds(bridge, k, s)
            tag = f"{bridge.name},k{k},s{s}"
            f.require(f"lane[{tag}]", total(choice.values()) == 1)
            f.require(f"lane[{tag},map]", choice[mapped].expr == 1)


def within(f: Formulation) -> None:
    """within[i,g,s,n]: member s of g is in n exactly if the first member is."""
    for i, rule in enumerate(f.problem.within):
        _together(f, f"within[{i}", rule)


def hierarchical_cp(f: Formulation) -> None:
    """hierarchical_cp[i,g,s,n]: an innermost context group stays inside one node, as `within`."""
    for i, rule in enumerate(f.problem.hierarchical_cp):
        _together(f, f"hierarchical_cp[{i}", rule)


def _together(f: Formulation, name: str, rule: Within) -> None:
    for g, (first, *others) in f.moved(rule.members):
        lead = f.at[rule.level][first]
        for s in others:
            held = f.at[rule.level][s]
            for n in sorted(lead.keys() | held.keys()):
                same = held.get(n, ZERO).expr == lead.get(n, ZERO).expr
                f.require(f"{name},g{g},s{s},{place(rule.level, n)}]", same, label=rule.label)


def footprint(f: Formulation) -> None:
    """footprint[…]: context peers look alike at every level.

    span   Σ_n touch[g_c,n] = Σ_n touch[g_0,n] for the tp groups g_c of the peers
    even   low ≤ Σ_{s∈h} on[s,n] ≤ low + 1 in each domain n a cp group h touches
    """
    rule = f.problem.footprint
    if rule is None:
        return
    for m, peers in enumerate(rule.peers):
        block = peers.reshape(len(peers), -1)
        for k, _ in f.moved(block):
            for level in range(len(f.problem.levels)):
                _equal_spans(f, rule.label, f"m{m}k{k},l{level}", level, peers[k])
                for t in range(peers.shape[2]):
                    _even(f, rule.label, f"m{m}k{k}t{t},l{level}", level, peers[k, :, t].tolist())


def _equal_spans(f: Formulation, label: str, tag: str, level: int, groups: IntArray) -> None:
    spans = [
        total(f.touch(f"{tag}c{c}", level, group).values())
        for c, group in enumerate(groups.tolist())
    ]
    for c, span in enumerate(spans[1:], start=1):
        f.require(f"footprint[{tag}c{c},span]", span == spans[0], label=label)


def _even(f: Formulation, label: str, tag: str, level: int, members: Sequence[int]) -> None:
    touch = f.touch(tag, level, members)
    holders = f.holders(level, members)
    counts = [sum(b.hint for b in bits) for bits in holders.values()]
    least = min((k for k in counts if k), default=1)
    low = f.number(f"low[{tag}]", 1, len(members), least)
    for n, bits in holders.items():
        name = f"footprint[{tag},{place(level, n)}]"
        f.require(name, total(bits) >= low, when=[touch[n]], label=label)
        f.require(name, total(bits) <= low + 1, label=label)


def contiguous(f: Formulation) -> None:
    """contiguous[n]: at most one slot begins a run in n; s begins one if s is in n, s - 1 not."""
    rule = f.problem.contiguous
    if rule is None:
        return
    begins: dict[int, list[Bit]] = {}
    for s, held in enumerate(f.at[rule.level]):
        before = f.at[rule.level][s - 1] if s else {}
        for n, bit in held.items():
            begin = _begins(f, f"s{s},{place(rule.level, n)}", bit, before.get(n, ZERO))
            begins.setdefault(n, []).append(begin)
    for n, bits in sorted(begins.items()):
        f.require(f"contiguous[{place(rule.level, n)}]", total(bits) <= 1, label=rule.label)


def _begins(f: Formulation, tag: str, here: Bit, before: Bit) -> Bit:
    if before is ZERO:
        return here
    if before.fixed:
        return ZERO
    begin = f.bit(f"begins[{tag}]", int(here.hint > before.hint))
    f.require_any(f"contiguous[{tag}]", given=[here], some=[before, begin])
    return begin


def pins(f: Formulation) -> None:
    """pins[i]: on[s,n] = 1 for the cell n of the device; `devices` then hands it that device."""
    cell = f.problem.levels[0].domain
    for i, pin in enumerate(f.problem.pins):
        bit = f.at[0][pin.slot].get(int(cell[pin.device]), ZERO)
        f.require(f"pins[{i}]", bit.expr == 1, label=pin.label)


HARD: Mapping[str, Callable[[Formulation], None]] = {
    "one_device": one_device,
    "group_shape": group_shape,
    "capacity": capacity,
    "offline": offline,
    "lane": lane,
    "within": within,
    "hierarchical_cp": hierarchical_cp,
    "footprint": footprint,
    "contiguous": contiguous,
    "pins": pins,
}
