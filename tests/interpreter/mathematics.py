"""Values of mathematical functions, in every format.

`compute(name, format, operands)` gives the results of the function that `rules.library` calls `name`. Functions that
are exact (floor, fmod, fma, ldexp, …) are computed exactly and rounded once. The others come from the C library of
this process in float and double, so that they agree with machine code to the last bit, and from mpmath in x86_fp80
and fp128 or where C has none. Complex functions use `cmath` in float and double, mpmath beyond (which knows no
signed zeros on branch cuts).
"""

from __future__ import annotations

import cmath
import ctypes
import importlib
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any

from interpreter.floats import DOUBLE, FLOAT, Format, Quad, divide, exact, is_finite, is_nan, sign_bit
from interpreter.scalar import remainder_value
from interpreter.undefined import POISON
from llgrad.errors import UnsupportedError

Results = tuple[Any, ...]


def compute(name: str, format: Format, operands: Sequence[Any]) -> Results:
    """The results of function `name`: floats as carriers of the format, integers signed, as operands are."""
    if name in _COMPLEX:
        return _complex(name, format, operands)
    if name in _EXACT:
        result = _EXACT[name](format, *operands)
        return result if isinstance(result, tuple) else (result,)
    if name in _TUPLES:
        return tuple(compute(part, format, operands)[0] for part in _TUPLES[name])
    if format not in (FLOAT, DOUBLE):
        return (_narrow(name, format, operands) if format.bits == 16 else _wide(name, format, operands),)
    native = _native(name, format)
    if native is not None:
        return (native(*operands),)
    return (format.make(_wide(name, DOUBLE, operands)),)


_TUPLES = {"sincos": ("sin", "cos"), "llvm.sincos": ("sin", "cos"), "llvm.sincospi": ("sinpi", "cospi")}


@cache
def _native(name: str, format: Format) -> Callable[..., Any] | None:
    """The C library's function of float or double."""
    symbol = name + ("f" if format is FLOAT else "")
    function = getattr(ctypes.CDLL(None), symbol, None) if name in _TRANSCENDENTAL else None
    if function is None:
        return None
    real = ctypes.c_float if format is FLOAT else ctypes.c_double
    arity = 2 if name in ("pow", "atan2", "hypot", "jn", "yn") else 1
    function.argtypes = [ctypes.c_int, real] if name in ("jn", "yn") else [real] * arity
    function.restype = real
    result: Callable[..., Any] = function
    return result


def _narrow(name: str, format: Format, operands: Sequence[Any]) -> Any:
    """half and bfloat compute in double."""
    return format.make(compute(name, DOUBLE, operands)[0])


# --- mpmath ----------------------------------------------------------------------------------------------------------

_WORDS = str.split
_SAME = frozenset(
    _WORDS(
        """sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp expm1 log log10 log1p sqrt hypot erf
        erfc atan2 sinpi cospi digamma"""
    )
)  # mpmath has them under the same name
_OTHERS: dict[str, Callable[..., Any]] = {
    "cbrt": lambda m, x: m.sign(x) * m.cbrt(abs(x)),
    "exp2": lambda m, x: m.power(2, x), "exp10": lambda m, x: m.power(10, x), "log2": lambda m, x: m.log(x, 2),
    "pow": lambda m, x, y: m.power(x, y), "tgamma": lambda m, x: m.gamma(x), "lgamma": lambda m, x: m.re(m.loggamma(x)),
    "j0": lambda m, x: m.besselj(0, x), "j1": lambda m, x: m.besselj(1, x), "jn": lambda m, n, x: m.besselj(n, x),
    "y0": lambda m, x: m.bessely(0, x), "y1": lambda m, x: m.bessely(1, x), "yn": lambda m, n, x: m.bessely(n, x),
}  # fmt: skip
_TRANSCENDENTAL = _SAME | _OTHERS.keys()


@cache
def _mpmath() -> Any:
    """mpmath, which only x86_fp80, fp128 and the rarer functions need: it comes with the test dependencies."""
    try:
        return importlib.import_module("mpmath")
    except ImportError:
        raise UnsupportedError("this function needs mpmath", fix="pip install mpmath") from None


def _function(name: str) -> Callable[..., Any]:
    if name.startswith("polygamma"):
        order = int(name.removeprefix("polygamma"))
        return lambda x: _mpmath().polygamma(order, x)
    if name not in _TRANSCENDENTAL:
        raise UnsupportedError(f"the interpreter has no values of the function {name}")
    function: Callable[..., Any] = getattr(_mpmath(), name) if name in _SAME else partial(_OTHERS[name], _mpmath())
    return function


def _mp(x: Any) -> Any:
    """An mpmath number of the same value."""
    mpf = _mpmath().mpf
    if isinstance(x, int):
        return mpf(x)
    if not is_finite(x):
        return mpf(float(x))
    value = exact(x)
    return mpf(value.numerator) / value.denominator


def _from_mp(value: Any, format: Format) -> Any:
    """A real mpmath number rounded to a format."""
    if not _mpmath().isfinite(value):
        return format.make(float(value))
    man, exp = value.man_exp  # of the absolute value
    exp = max(-100_000, min(100_000, int(exp)))  # beyond: infinite or zero in every format
    magnitude = Fraction(int(man)) * Fraction(2) ** exp
    return format.make(-magnitude if value < 0 else magnitude)


def _wide(name: str, format: Format, operands: Sequence[Any]) -> Any:
    """Through mpmath; what it does not know (signed zeros, NaN, poles) comes from double."""
    m = _mpmath()
    with m.workprec(2 * format.precision + 60):
        try:
            value = _function(name)(*map(_mp, operands))
        except (ValueError, ZeroDivisionError, TypeError):
            value = m.nan
        if isinstance(value, m.mpc) or m.isnan(value):
            return _exact_edge(name, format, operands)
        result = _from_mp(value, format)
    edgy = result == 0 or not is_finite(result) or any(not isinstance(x, int) and x == 0 for x in operands)
    if not edgy:
        return result
    edge = _edge(name, format, operands)
    if is_nan(edge) or result == 0 or not is_finite(result):
        return edge if edge == 0 or not is_finite(edge) else result
    return result if sign_bit(result) == sign_bit(edge) else -result


def _exact_edge(name: str, format: Format, operands: Sequence[Any]) -> Any:
    """The edge where double knows it exactly: zeros, infinities, NaN."""
    edge = _edge(name, format, operands)
    if edge != 0 and is_finite(edge) and edge not in (1, -1):
        raise UnsupportedError(f"the interpreter has no {name} of these operands in {format}")
    return edge


def _edge(name: str, format: Format, operands: Sequence[Any]) -> Any:
    native = _native(name, DOUBLE)
    if native is None:
        return format.make(math.nan)
    value = native(*(x if isinstance(x, int) else float(x) for x in operands))
    return format.make(value)


# --- exact functions -------------------------------------------------------------------------------------------------


def _integral(round_to: Callable[[Fraction], int]) -> Callable[..., Any]:
    """Rounding to an integral float; zeros keep the sign."""

    def apply(format: Format, x: Any) -> Any:
        if not is_finite(x) or x == 0:
            return x
        whole = round_to(exact(x))
        return format.make(whole) if whole else format.decode(int(sign_bit(x)) << (format.bits - 1))

    return apply


def _to_int(round_to: Callable[[Fraction], int]) -> Callable[..., Any]:
    """lround and kin: poison where the integer does not fit 64 bits."""

    def apply(format: Format, x: Any) -> Any:
        if not is_finite(x) or not -(1 << 63) <= round_to(exact(x)) < 1 << 63:
            return POISON
        return round_to(exact(x))

    return apply


def _half_away(x: Fraction) -> int:
    whole = math.floor(abs(x) + Fraction(1, 2))
    return -whole if x < 0 else whole


def _sample(x: Any) -> float:
    if isinstance(x, Quad):
        return x.sample()
    return float(x) if x == 0 or not is_finite(x) else (1.0 if x > 0 else -1.0)


def fused(format: Format, x: Any, y: Any, z: Any) -> Any:
    """x*y + z, rounded once."""
    if is_finite(x) and is_finite(y) and is_finite(z):
        total = exact(x) * exact(y) + exact(z)
        if total:
            return format.decode(format.exact_bits(total))
    return format.make(_sample(x) * _sample(y) + _sample(z))


def _fmuladd(format: Format, x: Any, y: Any, z: Any) -> Any:
    """Unfused: LLVM allows both; code for a machine without FMA rounds twice."""
    return format.round(format.round(x * y) + z)


def _copysign(format: Format, x: Any, y: Any) -> Any:
    return x if sign_bit(x) == sign_bit(y) else -x


def _fabs(format: Format, x: Any) -> Any:
    return -x if sign_bit(x) else x


def _choice(maximum: bool, numbers: bool, zeros: bool) -> Callable[..., Any]:
    """A minimum or maximum: whether it prefers numbers to NaN, and whether -0 is below +0 in it."""

    def apply(format: Format, x: Any, y: Any) -> Any:
        if is_nan(x) or is_nan(y):
            if numbers:
                return y if is_nan(x) else x
            return format.make(math.nan)
        if zeros and x == 0 and y == 0:
            return x if sign_bit(x) != maximum else y
        return x if (x >= y if maximum else x <= y) else y

    return apply


def _fdim(format: Format, x: Any, y: Any) -> Any:
    if is_nan(x) or is_nan(y):
        return format.make(math.nan)
    return format.round(x - y) if x > y else format.decode(0)


def _scale(format: Format, x: Any, n: Any) -> Any:
    if not is_finite(x) or x == 0:
        return x
    n = max(-70000, min(70000, int(n)))
    return format.decode(format.exact_bits(exact(x) * Fraction(2) ** n) | int(sign_bit(x)) << (format.bits - 1))


def _scalb(format: Format, x: Any, y: Any) -> Any:
    if is_nan(x) or is_nan(y) or (is_finite(y) and exact(y).denominator != 1):
        return format.make(math.nan)
    if not is_finite(y):
        return x * y if y > 0 else divide(x, -y)
    return _scale(format, x, exact(y))


def _exponent(x: Any) -> int:
    """floor(log2|x|) of a finite number that is not zero."""
    value = abs(exact(x))
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if value >= Fraction(2) ** guess else guess - 1


def _logb(format: Format, x: Any) -> Any:
    if x == 0:
        return format.make(-math.inf)
    return format.make(_exponent(x)) if is_finite(x) else _fabs(format, x)


def _ilogb(format: Format, x: Any) -> int:
    if x == 0 or is_nan(x):
        return -(1 << 31)
    return _exponent(x) if is_finite(x) else (1 << 31) - 1


def _frexp(format: Format, x: Any) -> tuple[Any, int]:
    if not is_finite(x) or x == 0:
        return x, 0
    power = _exponent(x) + 1
    return _scale(format, x, -power), power


def _significand(format: Format, x: Any) -> Any:
    return _scale(format, x, -_exponent(x)) if is_finite(x) and x != 0 else x


def _modf(format: Format, x: Any) -> tuple[Any, Any]:
    whole = _integral(math.trunc)(format, x)
    if not is_finite(x):
        return (x if is_nan(x) else _copysign(format, format.decode(0), x)), whole
    return _copysign(format, format.make(exact(x) - exact(whole)), x), whole


def _remquo(format: Format, x: Any, y: Any) -> tuple[Any, int]:
    if is_nan(x) or is_nan(y) or not is_finite(x) or y == 0:
        return format.make(math.nan), 0
    if not is_finite(y):
        return x, 0
    quotient = round(exact(x) / exact(y))
    rest = exact(x) - quotient * exact(y)
    value = format.make(rest) if rest else _copysign(format, format.decode(0), x)
    return value, (abs(quotient) & 7) * (1 if quotient >= 0 else -1)


def _lgamma_r(format: Format, x: Any) -> tuple[Any, int]:
    negative = sign_bit(x) if x == 0 else is_finite(x) and x < 0 and math.floor(exact(x)) % 2 == 1
    return compute("lgamma", format, [x])[0], -1 if negative else 1


def _powi(format: Format, x: Any, n: int) -> Any:
    """Repeated squaring, as compiler-rt does it."""
    result, rest = format.make(1), abs(n)
    while True:
        if rest & 1:
            result = format.round(result * x)
        rest >>= 1
        if not rest:
            return format.round(divide(format.make(1), result)) if n < 0 else result
        x = format.round(x * x)


def _nextafter(format: Format, x: Any, y: Any) -> Any:
    if is_nan(x) or is_nan(y):
        return format.make(math.nan)
    if x == y:
        return format.make(y)
    smallest = Fraction(2) ** format.lowest
    if x == 0:
        return format.make(smallest if y > 0 else -smallest)
    if not is_finite(x):
        largest = (Fraction(2) ** format.precision - 1) * Fraction(2) ** (format.lowest + (1 << format.exponent) - 3)
        return format.make(largest if x > 0 else -largest)
    grows = (y > x) == (x > 0)
    power = _exponent(x)
    boundary = abs(exact(x)) == Fraction(2) ** power
    step = Fraction(2) ** max(format.lowest, power - format.precision + 1 - int(boundary and not grows))
    moved = abs(exact(x)) + (step if grows else -step)
    bits = format.exact_bits(moved) | int(sign_bit(x)) << (format.bits - 1)
    return format.decode(bits)


_EXACT: dict[str, Callable[..., Any]] = {
    "fma": fused, "fmuladd": _fmuladd, "fabs": _fabs, "copysign": _copysign, "fdim": _fdim,
    "canonicalize": lambda format, x: x, "arithmetic.fence": lambda format, x: x,
    "floor": _integral(math.floor), "ceil": _integral(math.ceil), "trunc": _integral(math.trunc),
    **dict.fromkeys(("rint", "nearbyint", "roundeven"), _integral(round)), "round": _integral(_half_away),
    **dict.fromkeys(("lrint", "llrint"), _to_int(round)), **dict.fromkeys(("lround", "llround"), _to_int(_half_away)),
    "fmax": _choice(True, True, False), "fmin": _choice(False, True, False),
    "fmaximum": _choice(True, False, True), "fminimum": _choice(False, False, True),
    "fmaximum_num": _choice(True, True, True), "fminimum_num": _choice(False, True, True),
    "fmod": lambda format, x, y: remainder_value(x, y), "remainder": lambda format, x, y: _remquo(format, x, y)[0],
    "remquo": _remquo, "modf": _modf, "llvm.modf": _modf, "frexp": _frexp, "llvm.frexp": _frexp,
    **dict.fromkeys(("ldexp", "scalbn", "scalbln"), _scale), "scalb": _scalb, "significand": _significand,
    "logb": _logb, "ilogb": _ilogb, "lgamma_r": _lgamma_r, "powi": _powi,
    **dict.fromkeys(("nextafter", "nexttoward"), _nextafter),
}  # fmt: skip


# --- complex functions -----------------------------------------------------------------------------------------------

_NAMED = frozenset(
    _WORDS("cexp clog clog10 csqrt csin ccos ctan csinh ccosh ctanh casin cacos catan casinh cacosh catanh")
)
_SIMPLE: dict[str, Callable[..., Any]] = {
    "cabs": lambda f, x, y: compute("hypot", f, [x, y])[0],
    "carg": lambda f, x, y: compute("atan2", f, [y, x])[0],
    "creal": lambda f, x, y: x,
    "cimag": lambda f, x, y: y,
    "conj": lambda f, x, y: (x, -y),
    "cproj": lambda f, x, y: (x, y)
    if is_finite(x) and is_finite(y) or not (x in (math.inf, -math.inf) or y in (math.inf, -math.inf))
    else (f.make(math.inf), _copysign(f, f.decode(0), y)),
    "cmul": lambda f, a, b, c, d: (
        f.round(f.round(a * c) - f.round(b * d)),
        f.round(f.round(a * d) + f.round(b * c)),
    ),
}
_COMPLEX = frozenset(["cpow", "cdiv", *_SIMPLE, *_NAMED])


def _complex(name: str, format: Format, operands: Sequence[Any]) -> Results:
    if name in _SIMPLE:
        result = _SIMPLE[name](format, *operands)
        return result if isinstance(result, tuple) else (result,)
    if format.bits <= 64:
        value = _complex_double(name, operands)
        return format.make(value.real), format.make(value.imag)
    m = _mpmath()
    with m.workprec(2 * format.precision + 60):
        numbers = [m.mpc(_mp(x), _mp(y)) for x, y in zip(operands[::2], operands[1::2], strict=True)]
        functions: dict[str, Callable[..., Any]] = {"cpow": m.power, "cdiv": lambda a, b: a / b}
        wide = (functions.get(name) or getattr(m, name[1:]))(*numbers)
        return _from_mp(m.re(wide), format), _from_mp(m.im(wide), format)


def _complex_double(name: str, operands: Sequence[Any]) -> complex:
    numbers = [complex(x, y) for x, y in zip(operands[::2], operands[1::2], strict=True)]
    try:
        if name == "cdiv":
            return numbers[0] / numbers[1]
        if name == "cpow":
            return numbers[0] ** numbers[1]
        value: complex = getattr(cmath, name[1:])(numbers[0])
        return value
    except (ValueError, OverflowError, ZeroDivisionError):
        return complex(math.nan, math.nan)
