"""How a signature is written in its language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llgrad.signature.types import Complex, CType, Pointer, Struct, Void

if TYPE_CHECKING:
    from llgrad.signature.signature import Signature

Parameters = Sequence[tuple[str, CType]]


def spelled(language: str, name: str, parameters: Parameters, result: CType) -> str:
    """The declaration of a function, for people."""
    match language:
        case "Rust" | "Zig":
            inside = ", ".join(f"{p}: {t}" for p, t in parameters)
            if language == "Zig":
                return f"fn {name}({inside}) {result}"
            return f"fn {name}({inside})" + ("" if isinstance(result, Void) else f" -> {result}")
        case "Fortran":
            inside = ", ".join(_fortran(p, t) for p, t in parameters)
            return f"subroutine {name}({inside})" if isinstance(result, Void) else f"{result} function {name}({inside})"
        case "D":
            return f"{result} {name}({', '.join(f'{t} {p}' for p, t in parameters)})"
        case "MLIR":
            inside = ", ".join(f"%{p}: {t}" for p, t in parameters)
            return f"func.func @{name}({inside})" + ("" if isinstance(result, Void) else f" -> {result}")
        case "Julia":
            returned = "Nothing" if isinstance(result, Void) else str(result)
            return f"{name}({', '.join(f'{p}::{t}' for p, t in parameters)})::{returned}"
        case "Python":
            returned = "None" if isinstance(result, Void) else str(result)
            return f"{name}({', '.join(f'{p}: {t}' for p, t in parameters)}) -> {returned}"
    inside = ", ".join(t.declare(p) for p, t in parameters) or "void"
    return result.declare(f"{name}({inside})")


def by_pointers(s: Signature) -> str:
    """A function in C that takes and returns by pointers what another takes and returns by value.

    `pair f(pair p, double x)` -> `void f_(const pair *p, double x, pair *result) { *result = f(*p, x); }`. Empty where
    nothing is passed by value, or where the wrapper would be none of C.
    """
    values = [isinstance(p.type, Struct | Complex) for p in s.parameters]
    returned = isinstance(s.result, Struct | Complex)
    named = all(t.name for t in (s.result, *(p.type for p in s.parameters)) if isinstance(t, Struct))
    if s.language not in ("C", "C++") or not named or not (any(values) or returned):
        return ""
    passed = [Pointer(p.type, const=True) if v else p.type for p, v in zip(s.parameters, values, strict=True)]
    inside = [t.declare(p.name) for p, t in zip(s.parameters, passed, strict=True)]
    inside += [Pointer(s.result).declare("result")] if returned else []
    call = f"{s.name}({', '.join('*' * v + p.name for p, v in zip(s.parameters, values, strict=True))})"
    does = f"*result = {call};" if returned else f"{call};" if isinstance(s.result, Void) else f"return {call};"
    head = (Void() if returned else s.result).declare(f"{s.name}_({', '.join(inside)})")
    return f"add a function that takes it by a pointer: {head} {{ {does} }}"


def _fortran(name: str, t: CType) -> str:
    """`real(kind=8) :: a(:,:)`"""
    base, dimension, shape = str(t).partition(", dimension")
    return f"{base} :: {name}{shape}"
