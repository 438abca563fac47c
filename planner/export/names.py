"""Names inside someone else's file, quoted or refused by that file's own rule.

The contract already limits the names a plan may hold; this is the second line of defence, and
UUIDs are free text.
"""

import re
from collections import Counter
from collections.abc import Sequence
from shlex import quote

from planner.errors import Complaint, InputError
from planner.spec.names import NAME_RULE, is_name

LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
LABEL_RULE = "letters, digits, '_', '.' and '-', at most 63, first and last a letter or digit"


def bare(hosts: Sequence[str], consumer: str) -> Sequence[str]:
    """Host names for a file that has no way of quoting them.

    Raises:
        InputError: one of them would be read as something else.
    """
    for i, host in enumerate(hosts):
        if not is_name(host):
            what = f"{consumer} has no quoting for such a host name"
            raise InputError(Complaint(f"$.hosts[{i}]", what, repr(host), NAME_RULE))
    return hosts


def labels(hosts: Sequence[str], consumer: str) -> Sequence[str]:
    """Host names as label values (Kubernetes and Ray share the rule).

    Raises:
        InputError: one of them is no label value.
    """
    for i, host in enumerate(hosts):
        if not LABEL.fullmatch(host):
            what = f"not a label value of {consumer}"
            raise InputError(Complaint(f"$.hosts[{i}]", what, repr(host), LABEL_RULE))
    return hosts


def host_patterns(hosts: Sequence[str]) -> list[str]:
    """Shell ``case`` patterns that match each host's own name, long or short.

    Long and short names are told apart only where two hosts share the short one.

    Example:
        >>> host_patterns(["n3", "n1.rack", "n2.a", "n2.b"])
        ['n3|n3.*', 'n1.rack|n1', 'n2.a', 'n2.b']
    """
    short = [host.split(".")[0] for host in hosts]
    shared = Counter(short)
    patterns = []
    for host, name in zip(hosts, short, strict=True):
        if shared[name] > 1:
            patterns.append(quote(host))
        elif host == name:
            patterns.append(f"{quote(host)}|{quote(host)}.*")
        else:
            patterns.append(f"{quote(host)}|{quote(name)}")
    return patterns
