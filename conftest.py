"""Names that the examples in docstrings may use without importing them."""

import importlib

import numpy as np
import pytest

_HOMES = {"planner_models": "planner_models.job", "planner": "planner.spec.problem"}


@pytest.fixture(autouse=True)
def _names_of_examples(
    request: pytest.FixtureRequest, doctest_namespace: dict[str, object]
) -> None:
    """numpy, the job or problem, and the public names of the package an example stands in.

    The module's own names come first; the namespace is one for the whole session, so what the last
    example was given is taken away.
    """
    doctest_namespace.clear()
    if not isinstance(request.node, pytest.DoctestItem):
        return
    own = request.node.dtest.globs
    package = own["__name__"].rpartition(".")[0]
    homes = {_HOMES.get(package.partition(".")[0]), package if "." in package else None}
    public = {"np": np}
    for home in sorted(filter(None, homes)):
        public |= vars(importlib.import_module(home))
    doctest_namespace.update(
        {n: value for n, value in public.items() if n not in own and not n.startswith("_")}
    )
