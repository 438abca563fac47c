"""Names that the examples in docstrings may use without importing them."""

import importlib
import inspect

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _names_of_examples(
    request: pytest.FixtureRequest, doctest_namespace: dict[str, object]
) -> None:
    """numpy, and the public names of the package an example's module belongs to."""
    doctest_namespace["np"] = np
    if not isinstance(request.node, pytest.DoctestItem):
        return
    package, _, _ = request.node.name.partition(".")
    homes = {"planner_models": ["planner_models.job"], "planner": ["planner.spec.problem"]}
    module = request.node.dtest.globs["__name__"]
    parent = module.rpartition(".")[0]
    for name in [*homes.get(package, []), *([parent] if parent.count(".") else [])]:
        public = importlib.import_module(name)
        doctest_namespace.update(
            {
                n: v
                for n, v in vars(public).items()
                if not n.startswith("_") and not inspect.ismodule(v)
            }
        )
