"""Ready problem files, small enough to read and real enough to learn from."""

from importlib import resources

EXAMPLES = {
    "dead-gpu": "two nodes of 8, one GPU dead",
    "encoder-decoder": "encoder tp 2 beside decoder tp 6 on nodes of 8: nothing fits node borders",
    "two-leaves": "two uneven leaves with interleaved host names",
    "llama3-405b": "Llama 3 405B on 16,384 GPUs: racks of 2 nodes, pods of 384",
    "mixture-of-experts": "expert groups of 8 on nodes of 8 with dead GPUs",
    "nvl72": "rack-scale NVLink: 72 GPUs a domain, 4 a node",
}
"""Name of each example and what it shows."""


def example_text(name: str) -> str:
    """The problem file of an example, as JSON text; KeyError if there is none of that name.

    Example:
        >>> "llama3-405b" in EXAMPLES, example_text("dead-gpu").startswith("{")
        (True, True)
    """
    if name not in EXAMPLES:
        raise KeyError(name)
    return resources.files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8")
