"""Functions that derivatives need and no library has: digamma and the polygamma functions.

Each body is an `Expr` of x, hence free of branches and vectorisable, and written out as LLVM IR
in the format asked for. Method (AS 6.3, 6.4; DLMF 5.15), psi_0 = digamma, psi_n its n-th derivative:
  x < 1/2           reflection: psi_n(x) = (-1)**n psi_n(1 - x) - pi d^n/dx^n cot(pi x)
  x >= 1/2          recurrence: psi_n(x) = psi_n(x + N) - (-1)**n n! sum 1/(x + k)**(n+1), k < N
  x + N             the asymptotic series in Bernoulli numbers
  near 1.4616…      digamma's positive zero: its Taylor series there, so that the relative error is small too
Accurate to some ulp (tests: 16 for digamma, where it is below 1/2 and not near its positive zero of 1/2; 6 more an
order); near digamma's negative zeros the absolute, not the relative, error is small.
At the poles 0, -1, -2, …: infinite. The functions of `float` compute in double.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import comb, factorial

from msgspec import Struct

from llgrad.errors import UnsupportedError

from .constants import FORMATS, literal
from .expression import Const, Expr, Operand, both, evaluate, functions, gt, lt, select, term
from .libm import HIGHEST_POLYGAMMA, cos, log, sin

(rint,) = functions("rint")
PI = Const("pi")
HALF = Fraction(1, 2)

NAMES: tuple[str, ...] = ("digamma", *(f"polygamma{n}" for n in range(1, HIGHEST_POLYGAMMA + 1)))
"""The functions that have a body here, all of one float operand."""

ATTRIBUTES = "nounwind willreturn memory(none)"
FORMATS_WITH_BODY = ("float", "double", "x86_fp80")

ROOT = Fraction("1.46163214496836234126265954232572132846819620400644635129599")
TAYLOR: tuple[Fraction, ...] = tuple(
    Fraction(digits)
    for digits in (
        "0.96767224544762117042744476171",
        "-0.442763168983592106092865281853",
        "0.258499760955651010624401385701",
        "-0.163942705442406527504251292747",
        "0.107824050691262365757182948867",
        "-0.0721995612564547109261217836051",
        "0.0488042881641431072250925255079",
        "-0.0331611264748473592922583984045",
        "0.0225976482322181046596248251178",
        "-0.0154247659049489591388003168412",
        "0.0105387916166121753881240498824",
        "-0.0072045343863568682409704743704",
        "0.00492678139572985344635426640268",
        "-0.00336980165543932808279285672353",
        "0.00230512632673492783693838028298",
        "-0.00157693677143019725927093497173",
        "0.00107882520191629658069191777474",
        "-0.000738070938996005129566047389379",
        "0.000504953265834602035177398177463",
        "-0.000345468025106307699555567970882",
        "0.000236356015640270527923696023274",
        "-0.000161706220919748034493583060366",
        "0.000110633727687474109040871629082",
        "-0.0000756917958219506591923770868263",
        "0.000051785757952220808689932677941",
        "-0.000035430070947659606315698816746",
        "0.0000242400661186013176526830665433",
        "-0.0000165842422718541333752425448432",
        "0.0000113463845846638498067015630942",
    )
)
"""psi_0^(k)(ROOT)/k! for k = 1, 2, …"""


class Effort(Struct, frozen=True):
    """For a format of `precision` bits: how far the recurrence shifts, how many terms the two series have."""

    precision: int
    shift: int
    asymptotic: int
    taylor: int


EFFORTS = {"double": Effort(53, 12, 11, 23), "x86_fp80": Effort(64, 16, 13, 28)}


def symbol(base: str, format: str) -> str:
    """The linker's name of a body: "llgrad.digamma.f64"."""
    return f"llgrad.{base}.{FORMATS[format].suffix}"


@cache
def body(base: str, format: str) -> str:
    """LLVM IR that defines `@llgrad.<base>.<suffix>`, complete with the declarations it needs.

    Two bodies repeat declarations: parse each as a module and link, or keep one of each `declare` line.
    Raises UnsupportedError for a function or format that has none.
    """
    if base not in NAMES or format not in FORMATS_WITH_BODY:
        raise UnsupportedError(
            f"no body of {base} in format {format}",
            cause=f"bodies exist of {', '.join(NAMES)} in {', '.join(FORMATS_WITH_BODY)}",
        )
    inner = "double" if format == "float" else format
    writer = _Text(inner)
    argument = "%x"
    if inner != format:
        argument = writer.line(f"fpext {format} %x to {inner}")
    result = evaluate(formula(base, inner), [argument], [], writer)
    if inner != format:
        result = writer.line(f"fptrunc {inner} {result} to {format}")
    head = f"define linkonce_odr {format} @{symbol(base, format)}({format} %x) {ATTRIBUTES} {{"
    return "\n".join([*writer.declarations(), "", head, *writer.lines, f"  ret {format} {result}", "}", ""])


def formula(base: str, format: str) -> Expr:
    """The body as an expression of operand 0, with the effort that `format` needs."""
    order, effort = NAMES.index(base), EFFORTS[format]
    x: Expr = Operand(0)
    z = select(lt(x, HALF), 1 - x, x)
    right = _shifted(order, z, effort)
    value = select(lt(x, HALF), _sign(order) * right - _cotangent(order, x), right)
    if order > 0:
        return value
    near = both(gt(x, Fraction(6, 5)), lt(x, Fraction(7, 4)))
    return select(near, _near_root(x, effort), value)


def _sign(order: int) -> int:
    return -1 if order % 2 else 1


def _shifted(order: int, z: Expr, effort: Effort) -> Expr:
    """psi_n(z) for z >= 1/2: smallest terms first."""
    series = _asymptotic(order, z + effort.shift, effort.asymptotic)
    terms = [_power(1 / (z + k), order + 1) for k in range(effort.shift)]
    total = terms[-1]
    for item in reversed(terms[:-1]):
        total = total + item
    return series - _sign(order) * factorial(order) * total


def _asymptotic(order: int, z: Expr, count: int) -> Expr:
    """psi_n(z) for large z (AS 6.3.18, 6.4.11): a polynomial in 1/z**2 by Horner's rule."""
    inverse = 1 / z
    square = inverse * inverse
    coefficients = [
        bernoulli(2 * k) * Fraction(factorial(2 * k + order - 1), factorial(2 * k)) for k in range(1, count + 1)
    ]
    tail = _horner(coefficients, square) * square
    if order == 0:
        return log(z) - (HALF * inverse + tail)
    leading = factorial(order - 1) + Fraction(factorial(order), 2) * inverse + tail
    return -_sign(order) * (_power(inverse, order) * leading)


def _near_root(x: Expr, effort: Effort) -> Expr:
    """digamma by its Taylor series. The root is split in two numbers of the format: x minus the first is exact."""
    scale = 2 ** (effort.precision - 1)
    high = Fraction(round(ROOT * scale), scale)
    delta = (x - high) - (ROOT - high)
    return delta * _horner(TAYLOR[: effort.taylor], delta)


def _cotangent(order: int, x: Expr) -> Expr:
    """pi d^n/dx^n cot(pi x): a polynomial in c = cot(pi x), as c' = -pi(1 + c**2)."""
    reduced = PI * (x - rint(x))
    c = cos(reduced) / sin(reduced)
    zero = Fraction(0)
    polynomial = [zero, Fraction(1)]
    for _ in range(order):
        slope = [k * a for k, a in enumerate(polynomial)][1:]
        polynomial = [-a - b for a, b in zip([*slope, zero, zero], [zero, zero, *slope], strict=True)]
    return _power(PI, order + 1) * _horner(polynomial, c)


def _horner(coefficients: Sequence[Fraction], x: Expr) -> Expr:
    total = term(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        product = total * x
        total = coefficient + product if coefficient else product
    return total


def _power(x: Expr, exponent: int) -> Expr:
    result = x
    for _ in range(exponent - 1):
        result = result * x
    return result


@cache
def bernoulli(n: int) -> Fraction:
    """The Bernoulli number B_n, with B_1 = -1/2."""
    if n == 0:
        return Fraction(1)
    total = sum((comb(n + 1, k) * bernoulli(k) for k in range(n)), Fraction(0))
    return total / -(n + 1)


class _Text:
    """The algebra that writes LLVM instructions of one format and numbers their values."""

    def __init__(self, format: str) -> None:
        self.format = format
        self.lines: list[str] = []
        self.called: dict[str, int] = {}

    def line(self, instruction: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def const(self, value: Fraction | str) -> str:
        return literal(value, self.format)

    def apply(self, op: str, args: Sequence[str]) -> str:
        match op, list(args):
            case (("fadd" | "fsub" | "fmul" | "fdiv"), [a, b]):
                return self.line(f"{op} {self.format} {a}, {b}")
            case "fneg", [a]:
                return self.line(f"fneg {self.format} {a}")
            case (("olt" | "ogt"), [a, b]):
                return self.line(f"fcmp {op} {self.format} {a}, {b}")
            case "and", [a, b]:
                return self.line(f"and i1 {a}, {b}")
            case "select", [c, a, b]:
                return self.line(f"select i1 {c}, {self.format} {a}, {self.format} {b}")
        self.called[op] = len(args)
        operands = ", ".join(f"{self.format} {a}" for a in args)
        return self.line(f"call {self.format} @{self._intrinsic(op)}({operands})")

    def _intrinsic(self, op: str) -> str:
        return f"llvm.{op}.{FORMATS[self.format].suffix}"

    def declarations(self) -> list[str]:
        return [
            f"declare {self.format} @{self._intrinsic(op)}({', '.join([self.format] * count)})"
            for op, count in self.called.items()
        ]
