"""How a signature is written in its language."""

from __future__ import annotations

from collections.abc import Sequence

from llgrad.signature.types import CType, Void

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


def _fortran(name: str, t: CType) -> str:
    """`real(kind=8) :: a(:,:)`"""
    base, dimension, shape = str(t).partition(", dimension")
    return f"{base} :: {name}{shape}"
