"""Short ways to look at what a reader returns."""

from planner.inventory.model import Inventory


def names(inventory: Inventory) -> str:
    """Return the nodes in order."""
    return " ".join(node.name for node in inventory.nodes)


def levels(inventory: Inventory) -> dict[str, dict[str, str]]:
    """Return the nodes of every domain of every level."""
    return {
        level.name: {domain: " ".join(nodes) for domain, nodes in level.domains.items()}
        for level in inventory.levels
    }


def notes(inventory: Inventory) -> list[str]:
    """Return the notes, with their places."""
    return [str(note) for note in inventory.notes]
