"""What every rule's function is, in mpmath, and where it is tried.

Written from the definitions of the functions, not from their derivatives: the derivatives are taken by
differences in high precision.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import mpmath as mp
from rule_algebras import mp_exponent, mp_power

Sampler = Callable[[random.Random], Any]


def toward_zero(x: mp.mpf) -> mp.mpf:
    return mp.floor(x) if x >= 0 else mp.ceil(x)


def away(x: mp.mpf) -> mp.mpf:
    """C's round: halves away from zero."""
    return mp.floor(x + mp.mpf("0.5")) if x >= 0 else mp.ceil(x - mp.mpf("0.5"))


def remainder_by(rounding: Callable[[mp.mpf], mp.mpf]) -> Callable[..., mp.mpf]:
    return lambda x, y: x - rounding(x / y) * y


def mantissa(x: mp.mpf) -> tuple[mp.mpf, int]:
    m, e = mp.frexp(x)
    return m, int(e)


def complexly(function: Callable[..., Any]) -> Callable[..., tuple[mp.mpf, mp.mpf]]:
    """A complex function as one of parts."""

    def parts(*xs: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
        value = function(*(mp.mpc(a, b) for a, b in zip(xs[::2], xs[1::2], strict=True)))
        return mp.re(value), mp.im(value)

    return parts


def named(names: str) -> dict[str, Callable[..., Any]]:
    return {name: getattr(mp, name) for name in names.split()}


GREATER: Callable[..., Any] = lambda x, y: max(x, y)  # noqa: E731
LESS: Callable[..., Any] = lambda x, y: min(x, y)  # noqa: E731
TOWARD = 2 ** -mp.mpf(60)

REFERENCES: dict[str, Callable[..., Any]] = {
    **named("sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp expm1 log log1p sqrt hypot atan2"),
    **named("erf erfc digamma fabs floor ceil"),
    "fneg": lambda x: -x,
    "fadd": lambda x, y: x + y,
    "fsub": lambda x, y: x - y,
    "fmul": lambda x, y: x * y,
    "fdiv": lambda x, y: x / y,
    "frem": remainder_by(toward_zero),
    "fmod": remainder_by(toward_zero),
    "remainder": remainder_by(mp.nint),
    "remquo": lambda x, y: (x - mp.nint(x / y) * y, int(mp.nint(x / y)) % 8),
    "fma": lambda x, y, z: x * y + z,
    "fmuladd": lambda x, y, z: x * y + z,
    "canonicalize": lambda x: x,
    "arithmetic.fence": lambda x: x,
    "powi": mp_power,
    "pow": mp_power,
    "exp2": lambda x: mp.mpf(2) ** x,
    "exp10": lambda x: mp.mpf(10) ** x,
    "log2": lambda x: mp.log(x, 2),
    "log10": mp.log10,
    "cbrt": lambda x: mp.cbrt(x) if x >= 0 else -mp.cbrt(-x),
    "sincos": lambda x: (mp.sin(x), mp.cos(x)),
    "llvm.sincos": lambda x: (mp.sin(x), mp.cos(x)),
    "llvm.sincospi": lambda x: (mp.sinpi(x), mp.cospi(x)),
    "modf": lambda x: (x - toward_zero(x), toward_zero(x)),
    "llvm.modf": lambda x: (x - toward_zero(x), toward_zero(x)),
    "frexp": mantissa,
    "llvm.frexp": mantissa,
    "tgamma": mp.gamma,
    "lgamma": lambda x: mp.log(abs(mp.gamma(x))),
    "lgamma_r": lambda x: (mp.log(abs(mp.gamma(x))), 1),
    **{f"polygamma{n}": lambda x, n=n: mp.polygamma(n, x) for n in range(1, 5)},
    "j0": lambda x: mp.besselj(0, x),
    "j1": lambda x: mp.besselj(1, x),
    "jn": mp.besselj,
    "y0": lambda x: mp.bessely(0, x),
    "y1": lambda x: mp.bessely(1, x),
    "yn": mp.bessely,
    "copysign": lambda x, y: abs(x) if y >= 0 else -abs(x),
    "fdim": lambda x, y: x - y if x > y else mp.mpf(0),
    **dict.fromkeys(("fmax", "fmaximum", "fmaximum_num"), GREATER),
    **dict.fromkeys(("fmin", "fminimum", "fminimum_num"), LESS),
    **dict.fromkeys(("ldexp", "scalbn", "scalbln"), lambda x, n: x * mp.mpf(2) ** n),
    "scalb": lambda x, y: x * mp.mpf(2) ** mp.nint(y),
    "significand": lambda x: x / mp.mpf(2) ** mp_exponent(x),
    **dict.fromkeys(("nextafter", "nexttoward"), lambda x, y: x + mp.sign(y - x) * TOWARD),
    "trunc": toward_zero,
    "rint": mp.nint,
    "nearbyint": mp.nint,
    "roundeven": mp.nint,
    "round": away,
    "logb": lambda x: mp.mpf(mp_exponent(x)),
    **{f"c{name}": complexly(getattr(mp, name)) for name in ["exp", "log", "sqrt", "sin", "cos", "tan", "sinh"]},
    **{f"c{name}": complexly(getattr(mp, name)) for name in ["cosh", "tanh", "asin", "acos", "atan", "asinh"]},
    **{f"c{name}": complexly(getattr(mp, name)) for name in ["acosh", "atanh"]},
    "clog10": complexly(mp.log10),
    "cpow": complexly(lambda z, w: mp.exp(w * mp.log(z))),
    "cmul": complexly(lambda z, w: z * w),
    "cdiv": complexly(lambda z, w: z / w),
    "conj": complexly(mp.conj),
    "cproj": complexly(lambda z: z),
    "cabs": lambda x, y: abs(mp.mpc(x, y)),
    "carg": lambda x, y: mp.arg(mp.mpc(x, y)),
    "creal": lambda x, y: x,
    "cimag": lambda x, y: y,
}
"""Rule -> its function: of one float result its value, else a tuple of all results."""


def uniform(low: float, high: float) -> Sampler:
    return lambda draw: draw.uniform(low, high)


def magnitudes(low: float, high: float, signed: bool = True) -> Sampler:
    """Log-uniform, powers of ten."""
    return lambda draw: 10.0 ** draw.uniform(low, high) * (draw.choice([-1, 1]) if signed else 1)


def mixed(*samplers: Sampler) -> Sampler:
    return lambda draw: draw.choice(samplers)(draw)


def integers(low: int, high: int) -> Sampler:
    return lambda draw: draw.randint(low, high)


REAL = mixed(uniform(-8, 8), magnitudes(-8, 1))
ANY = mixed(uniform(-8, 8), magnitudes(-100, 100), magnitudes(-323, -300))
POSITIVE = mixed(uniform(0.01, 8), magnitudes(-8, 1, signed=False))
NORMAL = mixed(uniform(-8, 8), magnitudes(-100, 100))
ANY_POSITIVE = mixed(uniform(0.01, 8), magnitudes(-100, 100, signed=False), magnitudes(-323, -300, signed=False))
UNIT = mixed(uniform(-1, 1), magnitudes(-8, -0.001))
CUT = uniform(-2, 2)
AWAY_FROM_POLES = mixed(uniform(0.05, 12), lambda draw: draw.randint(-6, -1) + draw.uniform(0.1, 0.9))

DOMAINS: dict[str, tuple[Sampler, ...]] = {
    **{name: (ANY, ANY) for name in ["fadd", "fsub", "fmul", "hypot", "copysign", "fdim"]},
    **{name: (ANY, ANY) for name in ["fmax", "fmin", "fmaximum", "fminimum", "fmaximum_num", "fminimum_num"]},
    "nextafter": (ANY, ANY),
    **{name: (ANY,) for name in ["fneg", "fabs", "cbrt", "canonicalize", "arithmetic.fence"]},
    "fdiv": (ANY, NORMAL),
    **{name: (NORMAL,) for name in ("frexp", "llvm.frexp", "significand")},
    **{name: (ANY_POSITIVE,) for name in ["log", "log2", "log10", "sqrt"]},
    "log1p": (uniform(-0.99, 8),),
    "acosh": (mixed(uniform(1.001, 8), magnitudes(0.1, 12, signed=False)),),
    **{name: (UNIT,) for name in ["asin", "acos", "atanh"]},
    **{name: (AWAY_FROM_POLES,) for name in ["tgamma", "lgamma", "lgamma_r", "digamma"]},
    **{f"polygamma{n}": (AWAY_FROM_POLES,) for n in range(1, 5)},
    **{name: (POSITIVE,) for name in ("y0", "y1")},
    "jn": (integers(-4, 6), REAL),
    "yn": (integers(-4, 6), POSITIVE),
    "powi": (REAL, integers(-7, 7)),
    **{name: (ANY, integers(-60, 60)) for name in ("ldexp", "scalbn", "scalbln")},
    "pow": (POSITIVE, uniform(-8, 8)),
    "scalb": (ANY, lambda draw: float(draw.randint(-20, 20))),
    **{name: (CUT, CUT) for name in ["clog", "csqrt", "casin", "cacos", "catan", "casinh", "cacosh", "catanh"]},
    "clog10": (CUT, CUT),
    **{name: (CUT, CUT) for name in ["cexp", "csin", "ccos", "ctan", "csinh", "ccosh", "ctanh", "conj", "cproj"]},
    **{name: (CUT,) * 4 for name in ("cpow", "cmul", "cdiv")},
}
"""Rule -> a sampler for each operand that is not a pointer; `REAL` for all where it is not listed."""

INTEGER_RESULT = ["is.fpclass", "fptosi.sat", "fptoui.sat", "lround", "llround", "lrint", "llrint", "ilogb"]
"""Rules whose only result is an integer: there is nothing to differentiate."""
