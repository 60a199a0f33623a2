"""Numbers that are rounded by adding a large constant and taking it off again have no derivative.

    r = (x + C) - C      →      r = llgrad.ignore.double((x + C) - C)

where C is a power of two, or one and a half, beyond what the format tells fractions of well (2^40 in doubles), and may
have the sign of `x`: `x` as a multiple of C's last digit. Exponentials and sines of numerical libraries begin so. It is
a step, like `rint`, though each operation by itself has the derivative of a sum: in x - ((x + C) - C) both would
cancel to a silent zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llgrad.ir.module import Module
from llgrad.ir.rewrite import after, local_names, uses_as_operand
from llgrad.ir.types import FloatType, Type, scalar
from llgrad.ir.values import (
    AnyValue,
    Binary,
    Call,
    ConstAggregate,
    ConstFloat,
    Function,
    Select,
)
from llgrad.transforms.guard.inactive_identity import ignoring

Shape = tuple[Any, ...]
_FORMATS = {"float": (8, 23, 22), "double": (11, 52, 40)}  # bits of exponent and fraction, and the least exponent
# what all large constants begin with, as LLVM prints them (all floats as doubles)
_LARGE = tuple(f"0x{sign}{digit}" for sign in "4C" for digit in "1234567")
_LARGE += ("4.194304e+06", "6.291456e+06", "8.388608e+06")
_ADDS = " = fadd ", " = fsub "


def with_steps(module: Module) -> bool:
    """Mark what is rounded so."""
    named = [f"@{v.name}" for v in module.variables if v.constant and _has_large(getattr(v.pending, "text", ""))]

    def may_round(body: str) -> bool:
        return any(word in body for word in _ADDS) and (_has_large(body) or any(name in body for name in named))

    return any([_marked(module, f) for f in module.concerned(may_round)])


def may_have_steps(text: str) -> bool:
    """May a program's text, or a function's, round so? This is quick to say."""
    return any(word in text for word in _ADDS) and _has_large(text)


def _has_large(text: str) -> bool:
    return any(word in text for word in _LARGE) and ("0" * 12 in text or "e+06" in text)


def _marked(module: Module, f: Function) -> bool:
    steps = [i for i in f.instructions() if isinstance(i, Binary) and _is_step(i)]
    names = local_names(f)
    for i in steps:
        users, b = list(i.users), after(i, names)
        call = b.call(ignoring(module, i.type), [i], i.name)
        for user in users:
            for n in uses_as_operand(user, i):
                user.set_operand(n, call)
    return bool(steps)


def _is_step(i: Binary) -> bool:
    """Does `i` take off a large constant that its operand has added?"""
    return any(_added(t, i.type, shape) for t, shape in _terms(i, i.type, off=True))


def _added(v: AnyValue, t: Type, shape: Shape) -> bool:
    """Is `v` a sum, or a product and a sum, with that constant?"""
    if isinstance(v, Call):
        f = v.called_function
        fused = f is not None and (f.name.startswith(("llvm.fma.", "llvm.fmuladd.")) or f.name in ("fma", "fmaf"))
        return fused and _shape(v.arguments[2], t) == shape
    return isinstance(v, Binary) and any(other == shape for _, other in _terms(v, t))


def _terms(i: Binary, t: Type, *, off: bool = False) -> Iterator[tuple[AnyValue, Shape]]:
    """The other operand, and the large constant that `i` adds, or takes `off`."""
    pairs = [(i.lhs, i.rhs)] if i.opcode == "fsub" else [(i.lhs, i.rhs), (i.rhs, i.lhs)] if i.opcode == "fadd" else []
    for v, c in pairs:
        if (shape := _shape(c, t, negative=(i.opcode == "fsub") != off)) is not None:
            yield v, shape


def _shape(c: AnyValue, t: Type, *, negative: bool = False) -> Shape | None:
    """A large constant, or what is one whatever is chosen, or its opposite: equal for what is the same."""
    match c:
        case ConstFloat() | ConstAggregate():
            bits = _bits(c)
            large = bits is not None and _is_large(bits, t)
            return tuple(n ^ _sign(t) if negative else n for n in bits) if bits is not None and large else None
        case Select(condition, if_true, if_false):
            left, right = _shape(if_true, t, negative=negative), _shape(if_false, t, negative=negative)
            return None if left is None or right is None else (id(condition), left, right)
        case Call() if (f := c.called_function) is not None and f.name.startswith(("llvm.copysign.", "copysign")):
            return None if _shape(c.arguments[0], t) is None else (id(c), negative)
    return None


def _bits(c: AnyValue) -> tuple[int, ...] | None:
    match c:
        case ConstFloat(bits=n):
            return (n,)
        case ConstAggregate(elements=elements) if all(isinstance(e, ConstFloat) for e in elements):
            return tuple(e.bits for e in elements if isinstance(e, ConstFloat))
    return None


def _sign(t: Type) -> int:
    exponent, fraction, _ = _format(t)
    return 1 << exponent + fraction


def _is_large(lanes: tuple[int, ...], t: Type) -> bool:
    exponent, fraction, least = _format(t)
    bias, half = (1 << exponent - 1) - 1, 1 << fraction - 1
    magnitudes = [bits & _sign(t) - 1 for bits in lanes]
    return all(least + bias <= m >> fraction < 2 * bias + 1 and not m & half - 1 for m in magnitudes)


def _format(t: Type) -> tuple[int, int, int]:
    element = scalar(t)
    assert isinstance(element, FloatType)
    return _FORMATS.get(element.name, (0, 1, 1))
