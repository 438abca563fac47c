"""Breaks files, and checks that what is read of them loses no machine in silence."""

import random
import re

from planner.errors import InputError
from planner.inventory.choosing import choose
from planner.inventory.cluster import Cluster, to_cluster
from planner.inventory.merging import merge
from planner.inventory.reading import Source, read
from planner.spec.cluster import Cluster as Checked
from planner.spec.hostlist import expand
from tests.inventory.examples import HOSTS, Example

INSIDE = ("nvidia-smi", "nccl", "hwloc")  # files of the inside of one node
_NAMES = {
    "aws": re.compile(r'"InstanceId"\s*:\s*"(\w+)"'),
    "gcp": re.compile(r'"name"\s*:\s*"(\w+)"'),
    "topograph": re.compile(r'"id"\s*:\s*"(\w+)"'),
    "kubernetes": re.compile(r"metadata\W+name\W+(\w+)"),
}
_USER = re.compile(r"[\w.-]+@")
_WORD = re.compile(r"[A-Za-z0-9_.-]+")
_BITS = [
    *" \t\n,;:=#[]{}()<>\"'\\/*&!|%@-_.\x00\x1b\xa0",
    "null",
    "0",
    "-1",
    "NaN",
    "\n\n",
    "- ",
    "é",
]


def breakages(rng: random.Random, text: str) -> str:
    """Return the text after one to four small accidents."""
    for _ in range(rng.randint(1, 4)):
        text = rng.choice((_cut, _insert, _replace, _drop_line, _repeat_line, _swap_lines, _end))(
            rng, text
        )
    return text


def _cut(rng: random.Random, text: str) -> str:
    start = rng.randint(0, len(text))
    return text[:start] + text[start + rng.choice((1, 1, 1, 2, 5, 20)) :]


def _insert(rng: random.Random, text: str) -> str:
    at = rng.randint(0, len(text))
    return text[:at] + rng.choice(_BITS) + text[at:]


def _replace(rng: random.Random, text: str) -> str:
    at = rng.randint(0, len(text))
    return text[:at] + rng.choice(_BITS) + text[at + 1 :]


def _drop_line(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    del lines[rng.randrange(len(lines))]
    return "\n".join(lines)


def _repeat_line(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return "\n".join(lines)


def _swap_lines(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines)


def _end(rng: random.Random, text: str) -> str:
    return text[: rng.randint(len(text) // 2, len(text))]


def imported(example: Example, text: str) -> Cluster | None:
    """Import a text as the kind of an example; None if that is refused."""
    try:
        readings = read([Source("file", text, example.kind)])
        return to_cluster(choose(merge(readings), None, example.gpus))
    except InputError:
        return None


def names_of(nodes: str | list[str | dict[str, object]]) -> set[str]:
    """Return the names under ``cluster.nodes``."""
    items = [nodes] if isinstance(nodes, str) else nodes
    texts = (item if isinstance(item, str) else str(item["name"]) for item in items)
    return {name for text in texts for name in expand(text)}


def named(kind: str, text: str) -> set[str]:
    """Return the hosts a text names, as its kind names them, outside comments."""
    if kind in _NAMES:
        return set(HOSTS) & set(_NAMES[kind].findall(text))
    if kind == "ibnetdiscover":  # there "#" also stands before a description
        lines = [line for line in text.split("\n") if not line.lstrip().startswith("#")]
    else:
        lines = [_USER.sub("", line.split("#", 1)[0]) for line in text.split("\n")]
    return set(HOSTS) & set(_WORD.findall("\n".join(lines)))


def check(example: Example, text: str) -> bool:
    """Import a broken file and check the result; return whether it was read at all.

    Raises:
        AssertionError: A host of the file is neither a node nor in a warning, or the machines are
            not those of a valid problem file.
    """
    cluster = imported(example, text)
    if cluster is None:
        return False
    assert Checked.model_validate(cluster.data).machines.hosts
    if example.kind not in INSIDE:
        said = set(_WORD.findall("\n".join(map(str, cluster.notes))))
        lost = named(example.kind, text) - names_of(cluster.data["nodes"]) - said
        assert not lost, f"lost in silence: {sorted(lost)}"
    return True
