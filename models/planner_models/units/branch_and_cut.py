"""A second opinion on an integer programme: HiGHS on the linear model that CP-SAT was given.

CP-SAT works in whole numbers and its proofs are used as such. Programmes that choose a hundred of
many hundred columns are better searched by branch and cut, which works in floating point: what
it finds is rounded, checked in whole numbers and taken as a hint, what it proves is not used.
"""

from datetime import timedelta

import numpy as np
from ortools.math_opt.python import mathopt  # type: ignore[import-untyped]  # ships no marker
from ortools.sat.python import cp_model

from planner_models.units.heights import Ints

NODES = 1000
"""Nodes of the search tree looked at."""


def searched(model: cp_model.CpModel, seconds: float | None = None) -> Ints | None:
    """Values of all variables in a good solution of a model of linear constraints, if any is found.

    Args:
        model: linear constraints over one interval each, linear objective to be minimised.
        seconds: how long to look; without it nodes alone are counted, so runs repeat.
    """
    proto = model.proto
    copy = mathopt.Model()
    variables = [copy.add_integer_variable(lb=v.domain[0], ub=v.domain[1]) for v in proto.variables]
    for constraint in proto.constraints:
        row = copy.add_linear_constraint(
            lb=constraint.linear.domain[0], ub=constraint.linear.domain[1]
        )
        for variable, value in zip(constraint.linear.vars, constraint.linear.coeffs, strict=True):
            row.set_coefficient(variables[variable], value)
    for variable, value in zip(proto.objective.vars, proto.objective.coeffs, strict=True):
        copy.objective.set_linear_coefficient(variables[variable], value)
    limit = None if seconds is None else timedelta(seconds=seconds)
    parameters = mathopt.SolveParameters(node_limit=NODES, time_limit=limit)
    result = mathopt.solve(copy, mathopt.SolverType.HIGHS, params=parameters)
    if not result.has_primal_feasible_solution():
        return None
    values = np.rint(result.variable_values(variables)).astype(np.int64)
    return values if _holds(model, values) else None


def _holds(model: cp_model.CpModel, values: Ints) -> bool:
    """Whether whole values satisfy every constraint."""
    return all(
        c.linear.domain[0]
        <= int(values[list(c.linear.vars)] @ np.array(c.linear.coeffs))
        <= c.linear.domain[1]
        for c in model.proto.constraints
        if len(c.linear.vars)
    )
