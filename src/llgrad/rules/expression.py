"""The small language in which derivative rules are written.

An `Expr` is an immutable tree over the operands and results of one operation. Trees are compared by
value, so `evaluate` computes an expression that occurs twice once, and emitted code is as small as the
formula. An `Algebra` says what a constant and an operation *are*: LLVM instructions, vectors of them, Python
numbers, mpmath numbers, text. Expressions know nothing of types: the format (float, double, …) is the algebra's.

Operations an algebra must know (`PRIMITIVES`), beside the functions that `library.symbol` names:
  float  fadd fsub fmul fdiv fneg (IEEE, no fast-math: x/0 is inf or nan)
  bool   oeq one olt ole ogt oge uno of two floats (LLVM's predicates); and, or, not
  any    select(condition, a, b): both arms are evaluated; it is not a branch
  int    iadd isub of two C ints (i32); fptosi: an integral float to a C int (constants: `integer(2)`)
  mixed  sitofp: an int of any width to the float format
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Protocol, TypeVar

from msgspec import Struct

from .constants import NAMED

T = TypeVar("T")

PRIMITIVES: dict[str, int] = {
    **dict.fromkeys(("fadd", "fsub", "fmul", "fdiv"), 2),
    **dict.fromkeys(("oeq", "one", "olt", "ole", "ogt", "oge", "uno", "and", "or"), 2),
    **dict.fromkeys(("iadd", "isub"), 2),
    **dict.fromkeys(("fneg", "not", "sitofp", "fptosi"), 1),
    "select": 3,
}
"""Operation -> number of operands; every other operation of an `Apply` is a function of `library.symbol`."""


class Expr(Struct, frozen=True):
    """An expression. Numbers mix in freely: `2 * x` means `Const(2) * x`. `==` compares the trees."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int | float | Fraction):
            raise _undecided()
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = Struct.__hash__

    def __bool__(self) -> bool:
        raise _undecided()

    def __add__(self, other: Term) -> Expr:
        return Apply("fadd", (self, term(other)))

    def __radd__(self, other: Term) -> Expr:
        return Apply("fadd", (term(other), self))

    def __sub__(self, other: Term) -> Expr:
        return Apply("fsub", (self, term(other)))

    def __rsub__(self, other: Term) -> Expr:
        return Apply("fsub", (term(other), self))

    def __mul__(self, other: Term) -> Expr:
        return Apply("fmul", (self, term(other)))

    def __rmul__(self, other: Term) -> Expr:
        return Apply("fmul", (term(other), self))

    def __truediv__(self, other: Term) -> Expr:
        return Apply("fdiv", (self, term(other)))

    def __rtruediv__(self, other: Term) -> Expr:
        return Apply("fdiv", (term(other), self))

    def __neg__(self) -> Expr:
        if isinstance(self, Apply) and self.op == "fneg":
            return self.args[0]
        return Apply("fneg", (self,))

    def operands(self) -> frozenset[int]:
        """The operands whose primal values are needed to evaluate this."""
        return frozenset(e.index for e in subexpressions(self) if isinstance(e, Operand))

    def results(self) -> frozenset[int]:
        """The results whose primal values are needed to evaluate this."""
        return frozenset(e.index for e in subexpressions(self) if isinstance(e, Result))

    def functions(self) -> frozenset[str]:
        """The functions this calls: the operations that are not primitive."""
        applied = {e.op for e in subexpressions(self) if isinstance(e, Apply)}
        return frozenset(applied - PRIMITIVES.keys())


def _undecided() -> TypeError:
    """The error for a Python branch in a formula: it would be decided once, before any value is known."""
    return TypeError("a formula has no value that Python could look at: it cannot branch by `if` or compare by `==`")


class Operand(Expr, frozen=True):
    """Operand `index` of the operation, counted as in `Rule.operands`."""

    index: int


class Result(Expr, frozen=True):
    """Result `index` of the operation, counted as in `Rule.results`."""

    index: int


class Const(Expr, frozen=True):
    """A float constant: an exact rational, or the name of an irrational in `constants.NAMED`."""

    value: Fraction | str

    def __post_init__(self) -> None:
        if isinstance(self.value, str) and self.value not in NAMED:
            raise KeyError(f"no constant is named {self.value!r}")


class Apply(Expr, frozen=True, cache_hash=True):
    """An operation applied to arguments; checked against `PRIMITIVES` where it is one."""

    op: str
    args: tuple[Expr, ...]

    def __post_init__(self) -> None:
        if PRIMITIVES.get(self.op, len(self.args)) != len(self.args):
            raise ValueError(f"{self.op} takes {PRIMITIVES[self.op]} operands, not {len(self.args)}")


Term = Expr | int | Fraction


def term(value: Term) -> Expr:
    """Read a Python number as the constant it is."""
    return value if isinstance(value, Expr) else Const(Fraction(value))


def function(op: str) -> Callable[..., Expr]:
    """The Python name of an operation: `sin = function("sin")`, then `sin(x)`."""

    def apply(*args: Term) -> Expr:
        return Apply(op, tuple(term(a) for a in args))

    return apply


def functions(names: str) -> list[Callable[..., Expr]]:
    """Several of them: `sin, cos = functions("sin cos")`."""
    return [function(name) for name in names.split()]


eq, ne, lt, le, gt, ge, unordered = functions("oeq one olt ole ogt oge uno")
both, either, negated, select = functions("and or not select")
iadd, isub, sitofp = functions("iadd isub sitofp")


def integer(value: int) -> Expr:
    """A C int constant, for the integer operands of `jn`, `powi`, `ldexp`."""
    return Apply("fptosi", (Const(Fraction(value)),))


def subexpressions(root: Expr) -> list[Expr]:
    """Every distinct subexpression once, arguments before what uses them."""
    found: dict[Expr, None] = {}

    def visit(expr: Expr) -> None:
        if expr in found:
            return
        if isinstance(expr, Apply):
            for arg in expr.args:
                visit(arg)
        found[expr] = None

    visit(root)
    return list(found)


class Algebra(Protocol[T]):
    """What expressions evaluate to."""

    def const(self, value: Fraction | str) -> T:
        """The float constant, rounded once to the algebra's format (`constants.exact` gives its value)."""

    def apply(self, op: str, args: Sequence[T]) -> T:
        """The operation `op` on values that this algebra made or was given."""


def evaluate(
    expr: Expr,
    operands: Sequence[T],
    results: Sequence[T],
    algebra: Algebra[T],
    memo: dict[Expr, T] | None = None,
) -> T:
    """The value of `expr`; equal subexpressions are computed once.

    Pass one `memo` to several calls with the same operands and results, and they share too: the partials
    (1/y, -(r·(1/y))) of a division then cost one division.
    """
    known = {} if memo is None else memo

    def value(e: Expr) -> T:
        if e not in known:
            known[e] = compute(e)
        return known[e]

    def compute(e: Expr) -> T:
        match e:
            case Operand(index):
                return operands[index]
            case Result(index):
                return results[index]
            case Const(constant):
                return algebra.const(constant)
            case Apply(op, args):
                return algebra.apply(op, [value(a) for a in args])
        raise TypeError(f"not an expression: {e!r}")

    return value(expr)
