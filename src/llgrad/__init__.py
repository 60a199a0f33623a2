"""llgrad differentiates compiled code: gradients of C and C++ functions, called from NumPy.

    lib = llgrad.load("gmm.c")
    df = llgrad.value_and_grad(lib.gmm_objective, wrt=("alphas", "means", "icf"), of="err")
    err, (d_alphas, d_means, d_icf) = df(d, k, n, alphas, means, icf, x, wishart, err)

Everything is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llgrad.api import Derivative, grad, jvp, value_and_grad, vjp
    from llgrad.batches import vmap
    from llgrad.dense import jacobian
    from llgrad.errors import LlgradError
    from llgrad.library import ForeignFunction, Library, load
    from llgrad.registering import function_like, functions, inactive, rule
    from llgrad.second import hessian, hvp

__version__ = "0.1.0"
__all__ = [
    "Derivative", "ForeignFunction", "Library", "LlgradError", "__version__", "function_like", "functions", "grad",
    "hessian", "hvp", "inactive", "jacobian", "jvp", "load", "rule", "value_and_grad", "vjp", "vmap",
]  # fmt: skip
_PLACES = {
    "Derivative": "api", "grad": "api", "jvp": "api", "value_and_grad": "api", "vjp": "api", "jacobian": "dense",
    "hessian": "second", "hvp": "second", "vmap": "batches",
    "LlgradError": "errors",
    "rule": "registering", "inactive": "registering", "function_like": "registering", "functions": "registering",
    "ForeignFunction": "library", "Library": "library", "load": "library",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'llgrad' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"llgrad.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES])
