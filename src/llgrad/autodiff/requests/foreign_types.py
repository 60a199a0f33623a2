"""Types whose floats have no derivatives that can be written: scalable vectors, `ppc_fp128`, target types."""

from __future__ import annotations

from llgrad.errors import Span, UnsupportedError
from llgrad.ir.types import ArrayType, FloatType, StructType, TargetType, Type, VectorType


def is_foreign(t: Type) -> bool:
    """Are there floats in a type whose derivatives cannot be written?"""
    match t:
        case VectorType(element, _, scalable):
            return scalable and isinstance(element, FloatType) or is_foreign(element)
        case ArrayType(element):
            return is_foreign(element)
        case StructType(fields):
            return any(map(is_foreign, fields or ()))
    return isinstance(t, TargetType) or (isinstance(t, FloatType) and t.name == "ppc_fp128")


def foreign(t: Type, span: Span | None) -> UnsupportedError:
    """The refusal of an active value of such a type."""
    return UnsupportedError(
        f"no derivative for values of type {t}", span=span,
        cause="they are of another machine, or of a size that is not known when it is compiled",
        fix="compile for this machine, without scalable vectors",
    )
