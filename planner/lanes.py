"""Which lanes and slices of one module feed which of the next: the part trainers got wrong.

Megatron-core 0.9 to 0.11 pair a cycled flat list, 0.12 and 0.13 contiguous blocks of the whole
list; both leave the (dp, cp) slice where tensor sizes do not divide. Here lanes are dealt inside
one slice, and slices meet where their shares of the sequence do.
"""

import numpy as np

from planner.machines import Ints


def lane_pairs(sources: int, targets: int) -> Ints:
    """Which tensor lane of one module feeds which lane of the next, inside a (dp, cp) slice.

    The larger side's lanes are dealt to the smaller side's in contiguous runs, the first runs one
    longer. Equal to megatron-core 0.12 wherever that release keeps to the slice.

    Returns:
        [max(sources, targets), 2] pairs (source lane, target lane), ascending.

    Example:
        >>> lane_pairs(2, 3).tolist()
        [[0, 0], [0, 1], [1, 2]]
    """
    many, few = max(sources, targets), min(sources, targets)
    runs = np.full(few, many // few, np.int64)
    runs[: many % few] += 1
    dealt = np.repeat(np.arange(few, dtype=np.int64), runs)
    lanes = np.arange(many, dtype=np.int64)
    return np.stack([dealt, lanes] if sources <= targets else [lanes, dealt], axis=1)


def slice_pairs(sources: int, targets: int) -> Ints:
    """Which context slice of one module feeds which slice of the next under zigzag cutting.

    Slice c of C holds chunks c and 2C-1-c of 2C, so slices meet where their fractions of the
    half sequence overlap.

    Returns:
        [pairs, 2] pairs (source slice, target slice), ascending.

    Example:
        >>> slice_pairs(2, 3).tolist()
        [[0, 0], [0, 1], [1, 1], [1, 2]]
    """
    i, j = np.meshgrid(np.arange(sources), np.arange(targets), indexing="ij")
    meets = (i * targets < (j + 1) * sources) & (j * sources < (i + 1) * targets)
    return np.argwhere(meets).astype(np.int64)
