"""A plan's summary as a terminal shows it."""

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from planner.feasibility import broken_constraints
from planner.plan import Plan, megatron_order
from planner.report.proofs import proof_line
from planner.report.summary import before_after, datasets_per_host, ring_crossings, summary
from planner.report.traffic import traffic_table
from planner.spec.job import Module
from planner.wording import counted, number


def print_summary(plan: Plan, console: Console) -> None:
    """Print what the plan is, what it saves and what is proven."""
    console.print(_summary(plan), highlight=False)


def _summary(plan: Plan) -> RenderableType:
    facts = summary(plan)
    lines: list[RenderableType] = [_headline(plan), _job(plan), Text()]
    after = [*_proof(plan), *_layout(plan), *(Text(f"warning: {w}") for w in facts["warnings"])]
    tables: list[RenderableType] = [_link_table(plan), Text()]
    if plan.traffic is not None:
        tables += [traffic_table(plan), Text()]
    return Group(*lines, *tables, *after)


def _headline(plan: Plan) -> Text:
    s = plan.solver
    cost, before = s["cost"], plan.baseline["cost"]
    if s["status"] == "optimal":
        proven = "proven optimal"
    elif s["bound"]:
        above = 100 * (cost - s["bound"]) / s["bound"]
        proven = f"at most {above:.2f} % above the optimum (proven bound {number(s['bound'])})"
    else:
        proven = "nothing proven (bound 0)"
    broken = broken_constraints(
        plan.problem, plan.grid, megatron_order(plan.machines, plan.grid.world)
    )
    note = ", which breaks the constraints" if broken else ""
    ratio = f"{before / cost:.2f}x less than " if 0 < cost < before else ""
    megatron = f"; {ratio}Megatron's order ({number(before)}{note})"
    return Text.assemble(("cost ", ""), (number(cost), "bold"), (f", {proven}{megatron}", ""))


def _job(plan: Plan) -> Text:
    job = plan.problem.resolved.job
    modules = "; ".join(f"{name} {_sizes(m)}" for name, m in job.modules.items())
    return Text(
        f"{counted(plan.grid.world, 'rank')}: {modules}; dp {plan.grid.dp}; order {job.order}"
    )


def _sizes(m: Module) -> str:
    text = f"tp {m.tp} cp {m.cp} pp {m.pp}"
    text += f" vpp {m.vpp}" if m.vpp > 1 else ""
    return text + (f" ep {m.ep} etp {m.expert_tp}" if m.has_experts else "")


def _link_table(plan: Plan) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("links that leave a")
    table.add_column("kind")
    table.add_column("Megatron's order", justify="right")
    table.add_column("this plan", justify="right")
    shown = ""
    for level, kind, before, after in before_after(plan):
        table.add_row(level if level != shown else "", kind, number(before), number(after))
        shown = level
    return table


def _proof(plan: Plan) -> list[Text]:
    times = (plan.solver.get("seconds") or {}).get("proofs", {})
    entries = plan.solver.get("levels", [])
    return [Text(proof_line(entry, times.get(entry["level"]))) for entry in entries]


def _layout(plan: Plan) -> list[Text]:
    facts = summary(plan)
    lines = [Text(f"{counted(len(plan.hosts), 'host')}, master {facts['master']}")]
    crossings = ring_crossings(plan)
    if any(crossings.values()):
        text = ", ".join(f"{number(n)} at {level}" for level, n in crossings.items())
        lines.append(Text(f"borders the CP ring crosses in cp order: {text}"))
    rails = facts["on_rail"]
    if rails["links"]:
        share = f"{100 * rails['aligned'] / rails['links']:.1f}"
        lines.append(Text(f"on their rail: {share} % of the links that leave a node"))
    idle = facts["idle"]
    if idle:
        more = f" and {len(idle) - 8} more" if len(idle) > 8 else ""
        lines.append(Text(f"idle GPU{'s' if len(idle) > 1 else ''}: {', '.join(idle[:8])}{more}"))
    slots = ", ".join(f"{s} on {counted(h, 'host')}" for s, h in datasets_per_host(plan).items())
    lines.append(Text(f"dataset slots a host: {slots}"))
    if plan.solver.get("seconds") is not None:
        lines.append(Text(f"solved in {plan.solver['seconds']['total']:.1f} s"))
    return lines
