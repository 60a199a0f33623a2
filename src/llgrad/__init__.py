"""llgrad differentiates compiled code: gradients of C and C++ functions, called from NumPy.

    lib = llgrad.load("gmm.c")
    df = llgrad.value_and_grad(lib.gmm_objective, wrt=("alphas", "means", "icf"), of="err")
    err, (d_alphas, d_means, d_icf) = df(d, k, n, alphas, means, icf, x, wishart, err)

Everything is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llgrad.api.check import check_grads
    from llgrad.api.derivatives import Derivative, grad, jvp, value_and_grad, vjp
    from llgrad.api.implicit import fixed_point, implicit
    from llgrad.api.jacobian import jacobian
    from llgrad.api.registering import function_like, functions, inactive, rule
    from llgrad.api.second_order import hessian, hvp
    from llgrad.api.sparse import sparse_hessian, sparse_jacobian
    from llgrad.api.sparsity import sparsity
    from llgrad.api.vmap import vmap
    from llgrad.errors import (
        ActivityError,
        ArgumentError,
        CheckpointError,
        CompilerError,
        ForeignError,
        InternalError,
        KindError,
        LlgradError,
        LlgradWarning,
        MissingSourceError,
        NonFiniteError,
        NoRuleError,
        ParseError,
        SeedError,
        SolveError,
        SourceError,
        UnknownNameError,
        UnsupportedError,
        VerifyError,
    )
    from llgrad.execution.library import ForeignFunction, Library, load

__version__ = "0.1.0"
__all__ = [
    "ActivityError", "ArgumentError", "CheckpointError", "CompilerError", "Derivative", "ForeignError",
    "ForeignFunction", "InternalError", "KindError", "Library", "LlgradError", "LlgradWarning", "MissingSourceError",
    "NoRuleError", "NonFiniteError", "ParseError", "SeedError", "SolveError", "SourceError", "UnknownNameError",
    "UnsupportedError", "VerifyError", "__version__", "check_grads", "fixed_point", "function_like", "functions",
    "grad", "hessian", "hvp", "implicit", "inactive", "jacobian", "jvp", "load", "rule", "sparse_hessian",
    "sparse_jacobian", "sparsity", "value_and_grad", "vjp", "vmap",
]  # fmt: skip
_PLACES = {
    "Derivative": "api.derivatives", "grad": "api.derivatives", "jvp": "api.derivatives",
    "value_and_grad": "api.derivatives", "vjp": "api.derivatives",
    "check_grads": "api.check",
    "jacobian": "api.jacobian",
    "implicit": "api.implicit", "fixed_point": "api.implicit",
    "hessian": "api.second_order", "hvp": "api.second_order",
    "sparse_hessian": "api.sparse", "sparse_jacobian": "api.sparse", "sparsity": "api.sparsity",
    "vmap": "api.vmap",
    "rule": "api.registering", "inactive": "api.registering", "function_like": "api.registering",
    "functions": "api.registering",
    "ForeignFunction": "execution.library", "Library": "execution.library", "load": "execution.library",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    place = "errors" if name in __all__ and name not in _PLACES else _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'llgrad' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"llgrad.{place}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
