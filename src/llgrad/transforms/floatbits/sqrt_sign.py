"""A square root is never below zero: `fabs(sqrt(x))`, which LLVM makes of `pow(x, 0.5)`, is that root plus zero.

    %r = call double @llvm.sqrt.f64(double %x)         →      %r = call double @llvm.sqrt.f64(double %x)
    %a = call double @llvm.fabs.f64(double %r)                %a = fadd double %r, 0.0

LLVM clears the sign for the root of -0.0 alone, which is -0.0, and so does the sum. The absolute value has derivative 0
at zero, where the power has an infinite slope.
"""

from __future__ import annotations

from llgrad.ir.build import zero
from llgrad.ir.module import Module
from llgrad.ir.rewrite import calls
from llgrad.ir.types import FloatType
from llgrad.ir.values import AnyValue, Binary, Call, Function, put_instead

ABSOLUTE = "llvm.fabs."


def rooted(module: Module) -> bool:
    """Make absolute values of square roots sums with zero."""
    known = any(_is_root(f) for f in module.functions)
    found = [c for c in calls(module, ABSOLUTE) if _is_of_root(c)] if known else []
    for c in found:
        new = Binary("fadd", c.type, [c.arguments[0], zero(c.type)], c.name)
        new.metadata = c.metadata
        put_instead(c, new)
    return bool(found)


def _is_of_root(c: Call) -> bool:
    v: AnyValue = c.arguments[0]
    return isinstance(c.type, FloatType) and isinstance(v, Call) and _is_root(v.called_function)


def _is_root(f: Function | None) -> bool:
    return f is not None and (f.name.startswith("llvm.sqrt.") or f.name in ("sqrt", "sqrtf", "sqrtl"))
