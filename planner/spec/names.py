"""Which names of nodes, levels and domains are accepted, and where a group or kind name stands."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9_])?")
NAME_RULE = "letters, digits, '_', '.' and '-', at most 253, neither first nor last a '.' or '-'"

LINK_KINDS = ("tp", "cp", "dp", "pp", "ep", "expt_tp", "expt_dp", "embd")
"""Kinds of links, in the order reports print them."""

DENSE_GROUPS = {
    "tp": ("tp",),
    "cp": ("cp",),
    "dp": ("dp",),
    "dp_cp": ("dp", "cp"),
    "tp_cp": ("tp", "cp"),
    "tp_dp": ("tp", "dp"),
    "tp_dp_cp": ("tp", "dp", "cp"),
}
"""Axes that the groups of a name vary inside a stage; experts have their own factorisation."""

DEFAULT_WEIGHTS = {
    "tp": 1000,
    "cp": 100,
    "dp": 1,
    "pp": 10,
    "ep": 100,
    "expt_tp": 1000,
    "expt_dp": 1,
    "embd": 1,
}

MAX_ITEMS = 4_194_304
"""Most devices or slots of one problem."""


def is_name(text: str) -> bool:
    """Whether `text` may name a node, level or domain.

    Example:
        >>> is_name("gpu-01.rack"), is_name("gpu 1"), is_name("../x")
        (True, False, False)
    """
    return NAME.fullmatch(text) is not None


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A remedy that names the closest known word, or lists all of a short list."""
    words = list(known)
    close = get_close_matches(word, words, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(words)}" if words and len(words) <= 24 else None
