"""Numbers and names as English sentences need them."""

from re import sub


def counted(number: int, noun: str) -> str:
    """A number and its noun, singular or plural.

    Example:
        >>> counted(1, "host"), counted(1200, "leaf"), counted(0, "GPU")
        ('1 host', '1,200 leaves', '0 GPUs')
    """
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def number(value: float) -> str:
    """A count or cost with thousands separated.

    Example:
        >>> number(11716), number(2.5)
        ('11,716', '2.5')
    """
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def plural(noun: str) -> str:
    """The plural of a noun, also of names that users give to levels.

    Example:
        >>> [plural(noun) for noun in ("leaf", "pod", "switch", "chassis", "facility", "nvl72")]
        ['leaves', 'pods', 'switches', 'chassis', 'facilities', 'nvl72 domains']
    """
    if not noun[-1:].isalpha():
        return f"{noun} domains"
    if noun.endswith(("is", "ies")):
        return noun
    if noun.endswith(("leaf", "shelf", "half")):
        return f"{noun[:-1]}ves"
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return f"{noun}es"
    return sub(r"(?<=[^aeiou])y$", "ie", noun) + "s"


def a(noun: str) -> str:
    """A noun behind its article; names of groups are spelled out when read.

    Example:
        >>> a("tp group"), a("ep group"), a("hcp_0 group"), a("leaf"), a("hall")
        ('a tp group', 'an ep group', 'an hcp_0 group', 'a leaf', 'a hall')
    """
    spelled = noun.startswith(("hcp", "mp"))
    return f"{'an' if spelled or noun[:1] in 'aeioAEIO' else 'a'} {noun}"
