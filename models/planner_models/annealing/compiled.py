"""The compiled twin of `kernel`: the same source, run through numba where that is installed.

numba is imported only when a search asks for it. Compiling takes seconds once; the result is kept
beside the sources or, where those are read-only, in numba's cache of the user, or not at all.
"""

import importlib.util
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from planner_models.annealing import kernel as interpreted


@cache
def best_kernel() -> ModuleType:
    """The compiled kernel, or the interpreted one where numba is missing or fails."""
    try:
        return _compiled()
    except ImportError:
        return interpreted


def _compiled() -> ModuleType:
    """A second copy of the kernel's module, every function of it compiled when first called."""
    import numba  # noqa: PLC0415  costs 0.2 s and is needed here alone

    spec = importlib.util.find_spec(interpreted.__name__)
    assert spec is not None
    assert spec.loader is not None
    twin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(twin)
    for name, function in vars(interpreted).items():
        if isinstance(function, FunctionType):
            setattr(twin, name, _jitted(numba, getattr(twin, name), outermost=name == "run"))
    return twin


def _jitted(numba: Any, function: FunctionType, *, outermost: bool) -> Any:
    """One function compiled; all but the outermost only ever become part of their callers.

    `_nrt=False` leaves out the counting of references to arrays, which made every access to a
    member of `Tables` an atomic increment and the loop seventeen times slower; nothing is allocated
    in the kernel, so nothing needs counting. Leaving out wrappers halves the time to compile.
    """
    options = {"nogil": True, "error_model": "numpy", "_nrt": False}
    if not outermost:
        inner = {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        return numba.njit(**options, **inner)(function)
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no writable place for a cache
        return numba.njit(**options)(function)
