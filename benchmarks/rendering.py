"""Recorded rows as markdown: by family, by instance, by contender."""

from collections.abc import Iterable, Iterator, Sequence
from math import exp, log
from statistics import mean, median

from benchmarks.contenders import CONTENDERS, PEERS, PLANNER
from benchmarks.instances import FAMILIES, FAMILY_OF, INSTANCES, TITLES
from benchmarks.measuring import Row
from benchmarks.records import Latest
from planner.spec.problem import Problem

SECTIONS = ("families", "instances", "contenders", "verdict")
_NONE = "-"
_PLURALS = {"leaf": "leaves", "nvl": "NVLink racks"}
_APART = ("weights", "cycles", "two-levels", "encoders", "constraints")
_STATEMENTS = {
    "Default weights, dense and with experts": set(FAMILIES) - set(_APART),
    **{TITLES[family].capitalize(): {family} for family in _APART},
}
"""Families that the verdict takes together."""


def render(rows: Latest, sections: Sequence[str] = SECTIONS) -> str:
    """The wanted sections, a blank line between them."""
    makers = {
        "families": family_table,
        "instances": instance_table,
        "contenders": contender_table,
        "verdict": verdict,
    }
    return "\n".join(makers[name](rows) for name in sections)


def family_table(rows: Latest) -> str:
    """A line a family: how much dearer each peer is than the planner, and what is proven."""
    peers = [name for name in PEERS if any(key[1] == name for key in rows)]
    head = ["family", "instances", *(CONTENDERS[name].title for name in peers)]
    head += ["proven optimal", "largest gap", "seconds, median"]
    lines = []
    for family in FAMILIES:
        own = [row for row in _planner(rows) if FAMILY_OF[row.instance] == family]
        if not own:
            continue
        proven = sum(gap(row) == 0 for row in own)
        largest = max(gap(row) for row in own)
        seconds = median(row.seconds for row in own)
        line = [TITLES[family], str(len(own)), *(_dearer(rows, own, peer) for peer in peers)]
        line += [f"{proven} of {len(own)}", percent(largest), f"{seconds:.1f}"]
        lines.append(line)
    return markdown(head, lines)


def _dearer(rows: Latest, own: Iterable[Row], peer: str) -> str:
    """Geometric mean of a peer's cost over the planner's, where both have a plan of some cost."""
    ratios = []
    for row in own:
        other = rows.get((row.instance, peer))
        if other is not None and other.valid and other.cost and row.cost:
            ratios.append(log(other.cost / row.cost))
    return f"{exp(mean(ratios)):.2f}x" if ratios else _NONE


def instance_table(rows: Latest) -> str:
    """A line an instance: every contender's cost, the planner's bound, seconds and memory."""
    peers = [name for name in PEERS if any(key[1] == name for key in rows)]
    head = ["instance", "job", "machines", *(CONTENDERS[name].title for name in peers)]
    head += ["planner", "bound", "gap", "s", "MB"]
    lines = []
    for row in _planner(rows):
        problem = INSTANCES[row.instance].problem()
        line = [row.instance, job(problem), machines(problem)]
        line += [_cell(rows.get((row.instance, peer))) for peer in peers]
        line += [f"**{number(row.cost)}**" if beats(rows, row) else number(row.cost)]
        line += [number(row.bound), percent(gap(row))]
        line += [f"{row.seconds:.1f}", f"{row.memory_mb:.0f}"]
        lines.append(line)
    return markdown(head, lines)


def contender_table(rows: Latest) -> str:
    """A line a contender: where it has a plan, how it compares, seconds and memory."""
    head = ["contender", "plans", "cheaper than the planner", "as cheap", "dearer"]
    head += ["seconds, median", "longest", "MB, largest"]
    lines = []
    for name in CONTENDERS:
        own = [row for key, row in rows.items() if key[1] == name]
        if not own:
            continue
        valid = [row for row in own if row.valid]
        signs = [_compared(rows, row) for row in valid]
        took = [row.seconds for row in valid] or [0.0]
        line = [CONTENDERS[name].title, f"{len(valid)} of {len(own)}"]
        line += [_NONE if name == PLANNER else str(signs.count(sign)) for sign in (-1, 0, 1)]
        line += [f"{median(took):.1f}", f"{max(took):.1f}"]
        line += [f"{max((row.memory_mb for row in valid), default=0):.0f}"]
        lines.append(line)
    return markdown(head, lines)


def _compared(rows: Latest, row: Row) -> int | None:
    """Sign of a contender's cost less the planner's."""
    own = rows.get((row.instance, PLANNER))
    if own is None or own.cost is None or row.cost is None:
        return None
    return (row.cost > own.cost) - (row.cost < own.cost)


def verdict(rows: Latest) -> str:
    """What the benchmark is for, in a few sentences, and every instance that falls short."""
    own = list(_planner(rows))
    if not own:
        return "Nothing recorded.\n"
    return "".join(f"- {line}\n" for line in (*_compared_lines(rows, own), *_proven_lines(own)))


def _compared_lines(rows: Latest, own: list[Row]) -> Iterator[str]:
    dearer = sum(bool(_cheaper_peers(rows, row)) for row in own)
    cheaper = sum(beats(rows, row) for row in own)
    alone = sum(not _peer_plans(rows, row) for row in own)
    yield (
        f"{len(own)} instances. The planner's plan is cheaper than every peer's on {cheaper}, as "
        f"cheap as the cheapest on {len(own) - dearer - cheaper - alone}, dearer on {dearer}; "
        f"on {alone} no peer has a plan."
    )
    for row in own:
        if peers := _cheaper_peers(rows, row):
            yield f"Cheaper than the planner on {row.instance}: {', '.join(peers)}."


def _proven_lines(own: list[Row]) -> Iterator[str]:
    for title, families in _STATEMENTS.items():
        gaps = [gap(row) for row in own if FAMILY_OF[row.instance] in families]
        if gaps:
            yield (
                f"{title}: {gaps.count(0)} of {len(gaps)} proven optimal, median gap "
                f"{percent(median(gaps))}, largest {percent(max(gaps))}."
            )


def _cheaper_peers(rows: Latest, row: Row) -> list[str]:
    return [
        f"{CONTENDERS[other.contender].title} ({number(other.cost)})"
        for other in _peer_plans(rows, row)
        if _compared(rows, other) == -1
    ]


def beats(rows: Latest, row: Row) -> bool:
    """Whether some peer has a plan and the planner's is cheaper than all of them."""
    signs = [_compared(rows, other) for other in _peer_plans(rows, row)]
    return bool(signs) and all(sign == 1 for sign in signs)


def _peer_plans(rows: Latest, row: Row) -> list[Row]:
    others = (rows.get((row.instance, peer)) for peer in PEERS)
    return [other for other in others if other is not None and other.valid]


def gap(row: Row) -> float:
    """(cost - bound) / cost; 1 without a plan."""
    if row.cost is None or row.bound is None:
        return 1.0
    return (row.cost - row.bound) / row.cost if row.cost else 0.0


def job(problem: Problem) -> str:
    """The sizes of a job in a few words."""
    parts = []
    for name, m in problem.resolved.job.modules.items():
        sizes = {"tp": m.tp, "cp": m.cp, "pp": m.pp, "vpp": m.vpp, "ep": m.ep}
        if m.ep > 1 and m.etp != m.tp:
            sizes["etp"] = m.expert_tp
        words = [f"{k}{v}" for k, v in sizes.items() if v > 1 or (k == "etp")] or ["tp1"]
        parts.append(("enc " if name == "encoder" else "") + " ".join(words))
    return ", ".join(parts) + f", dp{problem.dp}"


def machines(problem: Problem) -> str:
    """The machines in a few words."""
    m = problem.cluster.machines
    sizes = sorted(set(m.gpus.tolist()), reverse=True)
    words = [f"{len(m.hosts)} x {' or '.join(map(str, sizes))}"]
    dead = len(m.online) - len(m.usable)
    if dead:
        words.append(f"{dead} dead")
    words += [
        f"{len(lv.names)} {_PLURALS.get(lv.name, lv.name + 's')}"
        for lv in m.levels
        if lv.name != "node"
    ]
    return ", ".join(words)


def _planner(rows: Latest) -> Iterator[Row]:
    """The planner's rows in the order of the instances."""
    return (rows[name, PLANNER] for name in INSTANCES if (name, PLANNER) in rows)


def _cell(row: Row | None) -> str:
    if row is None or row.cost is None:
        return _NONE
    return f"breaks {row.broken}" if row.broken else number(row.cost)


def number(value: float | None) -> str:
    """A cost with separators."""
    return _NONE if value is None else f"{value:,}"


def percent(value: float) -> str:
    """A gap; 0 is exact."""
    return "0" if value == 0 else f"{100 * value:.2g} %"


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table, words to the left and numbers to the right."""
    left = {"family", "instance", "job", "machines", "contender"}
    rule = [":--" if name in left else "--:" for name in head]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, rule, *lines))
