"""Vectors under (min, +): the cheapest way to reach every total by one entry from each table.

A table is an int64 vector: entry s is the least cost of size s, `UNREACHABLE` where nothing has
that size. Two tables make a convolution, n equal ones the n-th power: sizes and costs add up, and
the cheapest way to each size is kept. Costs stay below `UNREACHABLE` / 2 in absolute value.

Example:
    >>> power(np.array([0, 5, 6]), times=3, length=5)
    array([ 0,  5,  6, 11, 12])
"""

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

UNREACHABLE = 1 << 61


def convolve(a: IntArray, b: IntArray, length: int) -> IntArray:
    """Cheapest sums of one entry of each table; sizes of `length` and more are cut off."""
    if len(a) < len(b):
        a, b = b, a
    out = np.full(min(length, len(a) + len(b) - 1), UNREACHABLE, dtype=np.int64)
    for size, cost in enumerate(b[:length].tolist()):
        if cost < UNREACHABLE:
            reach = min(len(a), length - size)
            window = out[size : size + reach]
            np.minimum(window, a[:reach] + cost, out=window)
    out[out > UNREACHABLE // 2] = UNREACHABLE
    return out


def power(table: IntArray, times: int, length: int) -> IntArray:
    """Cheapest sums of `times` >= 1 entries of one table, as a vector of exactly `length` sizes."""
    at_rest = int(table[0])
    if times > length and at_rest < UNREACHABLE:  # the rest can only take size 0
        moving = power(table, length, length)
        return np.where(moving < UNREACHABLE, moving + (times - length) * at_rest, UNREACHABLE)
    result, square = np.zeros(1, dtype=np.int64), table[:length]
    while True:
        if times & 1:
            result = convolve(result, square, length)
        times >>= 1
        if not times:
            return np.pad(result, (0, length - len(result)), constant_values=UNREACHABLE)
        square = convolve(square, square, length)
