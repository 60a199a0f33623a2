"""Rules of the C99/C11 mathematical library and of glibc's additions to it, in real numbers.

Partials use results where that is cheaper, and forms that neither cancel nor overflow where the function does
not. `digamma` and `polygamma1` … are ours (`special_functions`): libm has no derivative of `lgamma`.
Abramowitz & Stegun (AS), NIST DLMF; conventions at kinks and jumps: `rule`.
"""

from __future__ import annotations

from fractions import Fraction

from .expression import (
    Const,
    Expr,
    both,
    either,
    eq,
    function,
    functions,
    ge,
    iadd,
    integer,
    isub,
    le,
    select,
    unordered,
)
from .rule import RETURN_INT, Out, Rule, flat, rule
from .scalar import power_of_two, quotient

sin, cos, sinh, cosh, exp, exp2, log, pow, sqrt, hypot, copysign = functions(
    "sin cos sinh cosh exp exp2 log pow sqrt hypot copysign"
)
j0, j1, jn, y0, y1, yn, digamma, logb, scalbln = functions("j0 j1 jn y0 y1 yn digamma logb scalbln")
half = Const(Fraction(1, 2))
LN2, LN10, TWO_OVER_SQRT_PI = Const("ln2"), Const("ln10"), Const("2/sqrt(pi)")

HIGHEST_POLYGAMMA = 5
"""polygamma1 (trigamma) … polygamma5: enough for four differentiations of digamma, one more than is promised."""


def sign(x: Expr) -> Expr:
    """-1 or 1, and 0 at zero of either sign."""
    return select(eq(x, 0), 0, copysign(1, x))


def of_radius(x: Expr, r: Expr) -> Expr:
    """x/r, the slope of r = hypot(x, ·); 0 at the origin."""
    return select(eq(r, 0), 0, x / r)


def power_base(x: Expr, y: Expr) -> Expr:
    """d pow(x, y)/dx: exact at x = 0 and for negative x; 0 for y = 0, where pow(0, -1) is infinite."""
    return select(eq(y, 0), 0, y * pow(x, y - 1))


def power_exponent(x: Expr, y: Expr, r: Expr) -> Expr:
    """d pow(x, y)/dy: 0 for x = 0 <= y, where 0·log(0) is nan."""
    return select(both(eq(x, 0), ge(y, 0)), 0, r * log(x))


def chosen(first: Expr) -> tuple[Expr, Expr]:
    """The slopes of a choice between two operands, of which `first` says that it fell on the first."""
    return select(first, 1, 0), select(first, 0, 1)


def number_or(better: Expr, y: Expr) -> Expr:
    """Whether a minimum or maximum that ignores nan is its first operand."""
    return either(better, unordered(y, y))


def nan_or(better: Expr, x: Expr) -> Expr:
    """Whether a minimum or maximum that propagates nan is its first operand."""
    return either(better, unordered(x, x))


def polygamma(order: int) -> Rule:
    """The rule of the polygamma function of an order: it is the derivative of the one below (AS 6.4.1)."""
    following = function(f"polygamma{order + 1}")
    return rule(f"polygamma{order}", lambda x, r: following(x))


ELEMENTARY: tuple[Rule, ...] = (
    rule("exp", lambda x, r: r),
    rule("exp2", lambda x, r: r * LN2),
    rule("exp10", lambda x, r: r * LN10),
    rule("expm1", lambda x, r: exp(x)),
    rule("log", lambda x, r: 1 / x),
    rule("log2", lambda x, r: 1 / (x * LN2)),
    rule("log10", lambda x, r: 1 / (x * LN10)),
    rule("log1p", lambda x, r: 1 / (1 + x)),
    rule("pow", lambda x, y, r: (power_base(x, y), power_exponent(x, y, r))),
    rule("sqrt", lambda x, r: half / r),
    rule("cbrt", lambda x, r: 1 / (3 * (r * r))),
    rule("hypot", lambda x, y, r: (of_radius(x, r), of_radius(y, r))),
    rule("fma", lambda x, y, z, r: (y, x, 1)),
)

TRIGONOMETRIC: tuple[Rule, ...] = (
    rule("sin", lambda x, r: cos(x)),
    rule("cos", lambda x, r: -sin(x)),
    rule("tan", lambda x, r: 1 + r * r),
    rule("asin", lambda x, r: 1 / sqrt((1 - x) * (1 + x))),
    rule("acos", lambda x, r: -1 / sqrt((1 - x) * (1 + x))),
    rule("atan", lambda x, r: 1 / (1 + x * x)),
    rule("atan2", lambda y, x, r: ((x / hypot(x, y)) / hypot(x, y), -((y / hypot(x, y)) / hypot(x, y)))),
    rule("sinh", lambda x, r: cosh(x)),
    rule("cosh", lambda x, r: sinh(x)),
    rule("tanh", lambda x, r: (1 - r) * (1 + r)),
    rule("asinh", lambda x, r: 1 / hypot(1, x)),
    rule("acosh", lambda x, r: 1 / (sqrt(x - 1) * sqrt(x + 1))),
    rule("atanh", lambda x, r: 1 / ((1 - x) * (1 + x))),
    rule("sincos", lambda x, s, c: (c, -s), "fpp", (Out(1, "float"), Out(2, "float"))),
)

SPECIAL: tuple[Rule, ...] = (
    rule("erf", lambda x, r: TWO_OVER_SQRT_PI * exp(-(x * x))),
    rule("erfc", lambda x, r: -(TWO_OVER_SQRT_PI * exp(-(x * x)))),
    rule("tgamma", lambda x, r: r * digamma(x)),
    rule("lgamma", lambda x, r: digamma(x)),
    rule("lgamma_r", lambda x, r, s: digamma(x), "fp", (Out("return", "float"), Out(1, "int"))),
    rule("digamma", lambda x, r: function("polygamma1")(x)),
    *(polygamma(n) for n in range(1, HIGHEST_POLYGAMMA)),
    # Bessel functions: AS 9.1.27, 9.1.28. Not j0 - j1/x, whose own derivatives cancel near 0.
    rule("j0", lambda x, r: -j1(x)),
    rule("j1", lambda x, r: half * (j0(x) - jn(integer(2), x))),
    rule("jn", lambda n, x, r: half * (jn(isub(n, integer(1)), x) - jn(iadd(n, integer(1)), x)), "if"),
    rule("y0", lambda x, r: -y1(x)),
    rule("y1", lambda x, r: half * (y0(x) - yn(integer(2), x))),
    rule("yn", lambda n, x, r: half * (yn(isub(n, integer(1)), x) - yn(iadd(n, integer(1)), x)), "if"),
)

CHOICES: tuple[Rule, ...] = (
    rule("fabs", lambda x, r: sign(x)),
    rule("copysign", lambda x, y, r: (sign(x) * copysign(1, y), None)),
    rule("fdim", lambda x, y, r: (select(le(x, y), 0, 1), select(le(x, y), 0, -1))),
    rule("fmax", lambda x, y, r: chosen(number_or(ge(x, y), y))),
    rule("fmin", lambda x, y, r: chosen(number_or(le(x, y), y))),
    rule("fmaximum", lambda x, y, r: chosen(nan_or(ge(x, y), x))),
    rule("fminimum", lambda x, y, r: chosen(nan_or(le(x, y), x))),
    rule("fmaximum_num", lambda x, y, r: chosen(number_or(ge(x, y), y))),
    rule("fminimum_num", lambda x, y, r: chosen(number_or(le(x, y), y))),
)

PARTS: tuple[Rule, ...] = (
    rule("fmod", lambda x, y, r: (1, -quotient(x, y, r))),
    rule("remainder", lambda x, y, r: (1, -quotient(x, y, r))),
    rule(
        "remquo", lambda x, y, r, n: (1, -quotient(x, y, r)), "ffp", (Out("return", "float"), Out(2, "int"))
    ),  # n holds the low bits of the quotient only
    rule("modf", lambda x, f, n: (1, None), "fp", (Out("return", "float"), Out(1, "float"))),
    rule(
        "frexp",
        lambda x, m, e: power_of_two(isub(integer(0), e)),
        "fp",
        (Out("return", "float"), Out(1, "int")),
    ),
    rule("ldexp", lambda x, n, r: power_of_two(n), "fi"),
    rule("scalbn", lambda x, n, r: power_of_two(n), "fi"),
    rule("scalbln", lambda x, n, r: scalbln(1, n), "fi"),
    rule("scalb", lambda x, y, r: (exp2(y), None)),
    rule("significand", lambda x, r: exp2(-logb(x))),
    rule("nextafter", lambda x, y, r: (1, None)),
    rule("nexttoward", lambda x, y, r: (1, None)),
)

FLAT: tuple[Rule, ...] = (
    *(flat(name) for name in ["floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven", "logb"]),
    *(flat(name, results=RETURN_INT) for name in ["lround", "llround", "lrint", "llrint", "ilogb"]),
)

RULES: tuple[Rule, ...] = ELEMENTARY + TRIGONOMETRIC + SPECIAL + CHOICES + PARTS + FLAT
