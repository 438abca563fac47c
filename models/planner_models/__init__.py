"""Integer formulations of rank placement: integers in, integers out.

Each module is one formulation and opens with its sets, data, variables, constraints and objective.
The package knows nothing of GPUs, files or trainers; `planner.solver` is its only caller.
"""
