"""A picture in an HTML page: before and after side by side, details under the pointer."""

from html import escape

from planner.plan import Plan
from planner.report.moves import moves_summary
from planner.report.pictures import Look, svg
from planner.report.summary import before_after
from planner.wording import counted, number

_STYLE = """
:root{color-scheme:light dark;--page:#fff;--ink:#1b2330;--faint:#5b6676;--line:#c3cad4}
@media (prefers-color-scheme:dark){
:root{--page:#14171f;--ink:#e8ecf2;--faint:#9aa6b6;--line:#3a4454}}
body{margin:16px;background:var(--page);color:var(--ink);
font:14px/1.4 ui-sans-serif,system-ui,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
h1{font-size:18px;margin:0 0 4px}p,pre{color:var(--faint);margin:0 0 10px;font-size:13px}
svg{max-width:100%;height:auto}
table{border-collapse:collapse;margin:12px 0}td,th{padding:3px 12px;border-bottom:1px solid
var(--line);text-align:right;font-variant-numeric:tabular-nums}
td:nth-child(-n+2),th:nth-child(-n+2){text-align:left}
#tip{position:fixed;display:none;pointer-events:none;padding:4px 8px;border-radius:4px;
background:var(--ink);color:var(--page);font-size:12px;white-space:nowrap}
rect:hover{stroke:var(--ink);stroke-width:2}
"""
_SCRIPT = """
const tip=document.getElementById("tip");
for(const t of document.querySelectorAll("svg rect>title")){
 const r=t.parentNode;r.dataset.text=t.textContent;t.remove();}
document.addEventListener("mousemove",e=>{
 const text=e.target.dataset?e.target.dataset.text:"";
 tip.style.display=text?"block":"none";if(!text)return;
 tip.textContent=text;
 tip.style.left=Math.min(e.clientX+14,innerWidth-tip.offsetWidth-8)+"px";
 tip.style.top=Math.min(e.clientY+14,innerHeight-tip.offsetHeight-8)+"px";});
"""


def html(plan: Plan, look: Look | None = None, *, before: Plan) -> str:
    """A self-contained page: the two plans, the links each pays for, the moves of a mended plan.

    Args:
        plan: the plan.
        look: what is shown.
        before: the plan to show beside it.
    """
    title = f"{counted(plan.grid.world, 'rank')} on {counted(len(plan.hosts), 'host')}"
    moves = f"<pre>{escape(moves_summary(plan))}</pre>" if plan.replan is not None else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>{title}</h1>\n"
        f"<p>{escape(_job(plan))}</p>\n{svg(plan, look, before=before)}\n{moves}{_table(plan)}\n"
        f'<div id="tip"></div><script>{_SCRIPT}</script></body></html>\n'
    )


def _job(plan: Plan) -> str:
    job = plan.problem.job
    modules = "; ".join(f"{n} tp {m.tp} cp {m.cp} pp {m.pp}" for n, m in job.modules.items())
    return f"{modules}; dp {plan.grid.dp}; cost {number(plan.cost)}, Megatron's order " + (
        number(plan.baseline["cost"])
    )


def _table(plan: Plan) -> str:
    rows = "".join(
        f"<tr><td>{escape(level)}</td><td>{kind}</td><td>{number(a)}</td><td>{number(b)}</td></tr>"
        for level, kind, a, b in before_after(plan)
    )
    head = "<th>links that leave a</th><th>kind</th><th>Megatron's order</th><th>this plan</th>"
    return f"<table><tr>{head}</tr>{rows}</table>"
