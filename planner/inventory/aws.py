"""What ``aws ec2 describe-instance-topology`` prints: the network nodes above every instance.

``NetworkNodes`` goes from the root to the leaf, over three or four steps depending on the type of
the instance; levels are therefore counted from its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from planner.inventory.documents import Value, read_json
from planner.inventory.lines import host_name
from planner.inventory.model import Inventory, Node, Note, distinct
from planner.inventory.switches import levels_of_paths


def read(text: str, source: str) -> list[Value]:
    """Return the answer of one page.

    Raises:
        InputError: It is no JSON.
    """
    return [read_json(text, source)]


def parse(pages: Sequence[Value]) -> Inventory:
    """Return the instances of all pages.

    Instances without network nodes (a type AWS gives none for, or not running) are set aside.

    Raises:
        InputError: Not such an answer, or an instance that stands twice.
    """
    source = pages[0].source
    nodes: list[Node] = []
    paths: dict[str, list[str]] = {}
    types: Counter[str] = Counter()
    for instance in (found for page in pages for found in page.require("Instances").each()):
        name = instance.require("InstanceId")
        path = _path(instance)
        aside = None if path else "no network nodes: not running, or of a type without topology"
        nodes.append(Node(host_name(name.text(), name.where), instance.where, aside=aside))
        kind = instance.get("InstanceType")
        if path:
            paths[name.text()] = path
            types.update([kind.text()] if kind else [])
    levels, notes = levels_of_paths(source, paths)
    said = [*notes, Note(source, "nodes are called by instance id: AWS tells no host names")]
    if len(types) > 1:
        found = ", ".join(f"{count} {kind}" for kind, count in types.items())
        said.append(Note(source, f"instances of several types: {found}"))
    more = pages[-1].get("NextToken")
    if more is not None and more.raw:
        said.append(Note(more.where, "the answer goes on: import its other pages too"))
    return Inventory(distinct(nodes), levels, notes=tuple(said))


def _path(instance: Value) -> list[str]:
    """Return the network nodes, the leaf first."""
    found = instance.get("NetworkNodes")
    return [node.text() for node in found.each()][::-1] if found else []
