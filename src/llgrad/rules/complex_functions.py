"""Rules of the complex mathematical library, as real operations on real and imaginary parts.

A complex operand is two float operands, a complex result two fields of the returned struct (how each is
passed is `library.Entry.shape`). For holomorphic w = f(z), f' = p + iq, the Cauchy-Riemann equations
give all four partials: du/dx = dv/dy = p, dv/dx = -du/dy = q. Rules are written with the complex f'.
On branch cuts f' is that of the side that the result lies on, signed zeros included, since it is taken from the result.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from .expression import Expr, Term, both, either, eq, functions, gt, select, term
from .libm import LN10, cos, cosh, hypot, log, of_radius, sin, sinh
from .rule import PAIR, Rule, rule

(atan2,) = functions("atan2")


class Complex(Struct, frozen=True):
    """A complex expression; numbers mix in as real ones."""

    re: Expr
    im: Expr

    def __add__(self, other: ComplexTerm) -> Complex:
        w = complex_term(other)
        return Complex(self.re + w.re, self.im + w.im)

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def __sub__(self, other: ComplexTerm) -> Complex:
        w = complex_term(other)
        return Complex(self.re - w.re, self.im - w.im)

    def __rsub__(self, other: ComplexTerm) -> Complex:
        return complex_term(other) - self

    def __mul__(self, w: Complex) -> Complex:
        return Complex(self.re * w.re - self.im * w.im, self.re * w.im + self.im * w.re)

    def __truediv__(self, w: Complex) -> Complex:
        return self * inverse(w)


ComplexTerm = Complex | int


def complex_term(value: ComplexTerm) -> Complex:
    """Read a number as a complex expression."""
    return value if isinstance(value, Complex) else Complex(term(value), term(0))


def scaled(factor: Term, z: Complex) -> Complex:
    """A real multiple."""
    return Complex(factor * z.re, factor * z.im)


def times_i(z: Complex) -> Complex:
    """i*z."""
    return Complex(-z.im, z.re)


def inverse(z: Complex) -> Complex:
    """1/z, without overflow of |z|**2."""
    size = hypot(z.re, z.im)
    return Complex((z.re / size) / size, -((z.im / size) / size))


def square(z: Complex) -> Complex:
    """z*z; the real part as a product, which does not cancel where |re| is near |im|."""
    return Complex((z.re - z.im) * (z.re + z.im), 2 * (z.re * z.im))


def one_minus_square(z: Complex) -> Complex:
    """1 - z*z = (1 - z)(1 + z), which does not cancel near ±1."""
    return (1 - z) * (z + 1)


def sine(z: Complex) -> Complex:
    """sin(z) (AS 4.3.55)."""
    return Complex(sin(z.re) * cosh(z.im), cos(z.re) * sinh(z.im))


def cosine(z: Complex) -> Complex:
    """cos(z) (AS 4.3.56)."""
    return Complex(cos(z.re) * cosh(z.im), -(sin(z.re) * sinh(z.im)))


def hyperbolic_sine(z: Complex) -> Complex:
    """sinh(z) (AS 4.5.49)."""
    return Complex(sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im))


def hyperbolic_cosine(z: Complex) -> Complex:
    """cosh(z) (AS 4.5.50)."""
    return Complex(cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im))


def logarithm(z: Complex) -> Complex:
    """log(z), principal branch."""
    return Complex(log(hypot(z.re, z.im)), atan2(z.im, z.re))


def power_base(z: Complex, w: Complex, r: Complex) -> Complex:
    """d z**w/dz = w·r/z; at z = 0 it is 1 for w = 1 and 0 for re(w) > 1."""
    general = w * r / z
    origin = both(eq(z.re, 0), eq(z.im, 0))
    linear = both(origin, both(eq(w.re, 1), eq(w.im, 0)))
    zero = both(origin, gt(w.re, 1))
    return Complex(
        select(linear, 1, select(zero, 0, general.re)),
        select(either(linear, zero), 0, general.im),
    )


def power_exponent(z: Complex, w: Complex, r: Complex) -> Complex:
    """d z**w/dw = r·log(z); at z = 0 it is 0 for re(w) > 0."""
    general = r * logarithm(z)
    zero = both(both(eq(z.re, 0), eq(z.im, 0)), gt(w.re, 0))
    return Complex(select(zero, 0, general.re), select(zero, 0, general.im))


def holomorphic(name: str, derivative: Callable[[Complex, Complex], Complex]) -> Rule:
    """A rule for w = f(z) from f' as a function of z and w."""

    def table(x: Expr, y: Expr, u: Expr, v: Expr) -> tuple[tuple[Expr, ...], ...]:
        slope = derivative(Complex(x, y), Complex(u, v))
        return (slope.re, -slope.im), (slope.im, slope.re)

    return rule(name, table, results=PAIR)


def holomorphic2(name: str, derivatives: Callable[[Complex, Complex, Complex], tuple[Complex, Complex]]) -> Rule:
    """A rule for r = f(z, w) from (df/dz, df/dw) as functions of z, w and r."""

    def table(a: Expr, b: Expr, c: Expr, d: Expr, u: Expr, v: Expr) -> tuple[tuple[Expr, ...], ...]:
        first, second = derivatives(Complex(a, b), Complex(c, d), Complex(u, v))
        return (first.re, -first.im, second.re, -second.im), (first.im, first.re, second.im, second.re)

    return rule(name, table, results=PAIR)


RULES: tuple[Rule, ...] = (
    holomorphic("cexp", lambda z, w: w),
    holomorphic("clog", lambda z, w: inverse(z)),
    holomorphic("clog10", lambda z, w: scaled(1 / LN10, inverse(z))),
    holomorphic("csqrt", lambda z, w: inverse(scaled(2, w))),
    holomorphic("csin", lambda z, w: cosine(z)),
    holomorphic("ccos", lambda z, w: -sine(z)),
    holomorphic("ctan", lambda z, w: square(w) + 1),
    holomorphic("csinh", lambda z, w: hyperbolic_cosine(z)),
    holomorphic("ccosh", lambda z, w: hyperbolic_sine(z)),
    holomorphic("ctanh", lambda z, w: one_minus_square(w)),
    holomorphic("casin", lambda z, w: inverse(cosine(w))),
    holomorphic("cacos", lambda z, w: -inverse(sine(w))),
    holomorphic("catan", lambda z, w: inverse(one_minus_square(times_i(z)))),
    holomorphic("casinh", lambda z, w: inverse(hyperbolic_cosine(w))),
    holomorphic("cacosh", lambda z, w: inverse(hyperbolic_sine(w))),
    holomorphic("catanh", lambda z, w: inverse(one_minus_square(z))),
    holomorphic2("cpow", lambda z, w, r: (power_base(z, w, r), power_exponent(z, w, r))),
    holomorphic2("cmul", lambda z, w, r: (w, z)),
    holomorphic2("cdiv", lambda z, w, r: (inverse(w), -(r * inverse(w)))),
    rule("cabs", lambda x, y, r: (of_radius(x, r), of_radius(y, r))),
    rule("carg", lambda x, y, r: (inverse(Complex(x, y)).im, inverse(Complex(x, y)).re)),
    rule("creal", lambda x, y, r: (1, None)),
    rule("cimag", lambda x, y, r: (None, 1)),
    rule("conj", lambda x, y, u, v: ((1, None), (None, -1)), results=PAIR),
    rule("cproj", lambda x, y, u, v: ((1, None), (None, 1)), results=PAIR),
)
