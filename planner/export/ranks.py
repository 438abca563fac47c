"""Every group as lists of ranks, alone."""

import json

from planner.export.numbering import View


def files(view: View) -> dict[str, str]:
    """``ranks.json``: the plan's `groups` and `bridge` in the view's numbering."""
    return {"ranks.json": lists(view)}


def lists(view: View) -> str:
    """The group lists as JSON, one family a line."""
    families = ",\n  ".join(f'"{name}": {json.dumps(g)}' for name, g in view.groups.items())
    return (
        f'{{"world_size": {view.world}, "numbering": "{view.numbering}",\n'
        f' "groups": {{\n  {families}\n }},\n "bridge": {json.dumps(view.bridge)}}}\n'
    )
