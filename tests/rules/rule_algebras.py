"""Algebras for the tests: expressions in mpmath numbers, and in Python floats with the machine's own libm."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import mpmath as mp

from llgrad.rules import special_functions
from llgrad.rules.constants import exact

NAMES = {"pi": mp.pi, "2/sqrt(pi)": lambda **_: 2 / mp.sqrt(mp.pi), "ln2": mp.ln2, "ln10": mp.ln10}


def divide(a: Any, b: Any) -> Any:
    """IEEE division: by zero too."""
    if b != 0:
        return a / b
    inf = type(b)("inf")
    negative = math.copysign(1, float(b)) < 0
    return a * inf if not negative else -(a * inf)


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "oeq": lambda a, b: a == b,
    "one": lambda a, b: a < b or a > b,
    "olt": lambda a, b: a < b,
    "ole": lambda a, b: a <= b,
    "ogt": lambda a, b: a > b,
    "oge": lambda a, b: a >= b,
    "uno": lambda a, b: a != a or b != b,
}

PRIMITIVES: dict[str, Callable[..., Any]] = {
    "fadd": lambda a, b: a + b,
    "fsub": lambda a, b: a - b,
    "fmul": lambda a, b: a * b,
    "fdiv": divide,
    "fneg": lambda a: -a,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
    "select": lambda c, a, b: a if c else b,
    "iadd": lambda a, b: a + b,
    "isub": lambda a, b: a - b,
    "fptosi": int,
    **COMPARE,
}


def round_even(x: mp.mpf) -> mp.mpf:
    return mp.nint(x)


def mp_log(x: mp.mpf) -> mp.mpf:
    if x == 0:
        return -mp.inf
    return mp.log(x) if x > 0 else mp.nan


def mp_power(x: mp.mpf, y: mp.mpf) -> mp.mpf:
    """C's pow in the real domain."""
    if x == 0:
        return mp.inf if y < 0 else mp.mpf(y == 0)
    if x < 0 and y != int(y):
        return mp.nan
    return x ** int(y) if x < 0 else x**y


def mp_exponent(x: mp.mpf) -> int:
    """C's ilogb."""
    return int(mp.frexp(x)[1]) - 1


MP_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(mp, name) for name in ["sin", "cos", "sinh", "cosh", "exp", "sqrt", "hypot", "atan2", "digamma"]},
    "exp2": lambda x: mp.mpf(2) ** x,
    "log": mp_log,
    "pow": mp_power,
    "powi": mp_power,
    "ldexp": lambda x, n: x * mp.mpf(2) ** n,
    "scalbln": lambda x, n: x * mp.mpf(2) ** n,
    "logb": lambda x: mp.mpf(mp_exponent(x)),
    "rint": round_even,
    "copysign": lambda x, y: abs(x) if y >= 0 else -abs(x),
    "j0": lambda x: mp.besselj(0, x),
    "j1": lambda x: mp.besselj(1, x),
    "jn": mp.besselj,
    "y0": lambda x: mp.bessely(0, x),
    "y1": lambda x: mp.bessely(1, x),
    "yn": mp.bessely,
    **{f"polygamma{n}": lambda x, n=n: mp.polygamma(n, x) for n in range(1, 6)},
}


class MpAlgebra:
    """Exact to the working precision of mpmath; its named constants are mpmath's, not ours."""

    def const(self, value: Fraction | str) -> mp.mpf:
        if isinstance(value, str):
            return mp.mpf(NAMES[value]())
        return mp.mpf(value.numerator) / value.denominator

    def apply(self, op: str, args: Sequence[Any]) -> Any:
        if op == "sitofp":
            return mp.mpf(args[0])
        return (PRIMITIVES.get(op) or MP_FUNCTIONS[op])(*args)


LIBM = ctypes.CDLL("libm.so.6")
INT_FIRST = {"jn", "yn"}
INT_SECOND = {"ldexp": ctypes.c_int, "scalbln": ctypes.c_long}


@cache
def machine(op: str) -> Callable[..., float]:
    """The function as generated code would call it: libm's, or our body compiled."""
    if op in special_functions.NAMES:
        return compiled(op)
    if op == "powi":
        return lambda x, n: machine("pow")(x, float(n))
    function = LIBM[op]
    function.restype = ctypes.c_double
    one = [ctypes.c_double]
    two = op in ("pow", "hypot", "copysign", "atan2")
    function.argtypes = (
        [ctypes.c_int, *one] if op in INT_FIRST else [*one, INT_SECOND[op]] if op in INT_SECOND else one * (1 + two)
    )
    return function


@cache
def engine(base: str, format: str) -> llvm.ExecutionEngine:
    """A body compiled, with a wrapper that takes and gives its number through pointers."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    name = special_functions.symbol(base, format)
    text = special_functions.body(base, format)
    text += f"""
define void @through(ptr %in, ptr %out) {{
  %x = load {format}, ptr %in
  %y = call {format} @{name}({format} %x)
  store {format} %y, ptr %out
  ret void
}}
"""
    module = llvm.parse_assembly(text)
    module.verify()
    jit = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine(opt=2))
    jit.finalize_object()
    return jit


@cache
def compiled(base: str) -> Callable[[float], float]:
    """A body in double as a Python function."""
    address = engine(base, "double").get_function_address(special_functions.symbol(base, "double"))
    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)


class FloatAlgebra:
    """IEEE doubles: what generated code computes."""

    def const(self, value: Fraction | str) -> float:
        return float(exact(value))

    def apply(self, op: str, args: Sequence[Any]) -> Any:
        if op == "sitofp":
            return float(args[0])
        if op in PRIMITIVES:
            return PRIMITIVES[op](*args)
        return machine(op)(*args)
