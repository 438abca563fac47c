"""Matching of two equal sets of largest total gain.

Sets        i ∈ I, j ∈ J, |I| = |J|
Data        gain_ij ≥ 0, integers
Variables   take[i,j] ∈ {0, 1}
Subject to  Σ_j take[i,j] = 1 for each i;  Σ_i take[i,j] = 1 for each j
Maximise    Σ_ij gain_ij take[i,j]

The polytope is integral; solved by OR-tools' push-relabel for assignments.
"""

import numpy as np
import numpy.typing as npt
from ortools.graph.python import linear_sum_assignment  # type: ignore[import-untyped]

Ints = npt.NDArray[np.int64]


def best_matching(gain: Ints) -> Ints:
    """[n] column of each row in a matching of largest gain ([n, n], non-negative integers).

    Example:
        >>> best_matching(np.array([[3, 5], [0, 4]])).tolist()
        [0, 1]
    """
    n = len(gain)
    if n == 1:
        return np.zeros(1, np.int64)
    rows, columns = np.indices(gain.shape)
    solver = linear_sum_assignment.SimpleLinearSumAssignment()
    solver.add_arcs_with_cost(rows.ravel(), columns.ravel(), (gain.max() - gain).ravel())
    status = solver.solve()
    assert status == solver.OPTIMAL, status
    return np.array([solver.right_mate(i) for i in range(n)], np.int64)
