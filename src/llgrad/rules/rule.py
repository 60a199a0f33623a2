"""What a derivative rule is, and how one is written in a line.

A rule gives, for one operation with n operands and m results, the m × n partial derivatives as expressions over
operands and results. `None` is a statement, not a gap: the result does not depend on that operand, or only
through jumps. An operation without a rule is an error; it is never taken to be constant.

Conventions at points where there is no derivative
  kinks    A point where one-sided derivatives differ takes a value between them: fabs, copysign, hypot and cabs
           have derivative 0 at zero. Where two operands tie (fmax, fmin and kin) the first is taken;
           fdim at x = y takes 0, what its flat side has.
  jumps    floor, ceil, trunc, rint, round, logb and kin are piecewise constant: derivative 0 everywhere. The jump
           is not seen. fmod, remainder and frem count the whole quotient as constant; copysign does not
           depend on its sign operand; nextafter moves with its first operand only; modf and frexp likewise
           hold their integer result constant; pow(0, y) is constant in y >= 0.
  poles    Where the derivative is infinite or undefined the formula speaks as IEEE arithmetic gives it: sqrt at 0
           gives inf, log at 0 inf, cbrt at 0 inf, pow of a negative base with respect to the exponent nan, atan2
           and carg at the origin nan, asin at 1 inf.
  zeros    A tangent or adjoint that is zero because it is given so (the value is not used, is inactive, or was not
           chosen; a seed) contributes nothing where a partial is infinite or nan. A zero that arithmetic made (2*x
           at 0) meets it as IEEE arithmetic says: nan. With strong zeros that is zero, too, and so is a partial
           that is exactly zero beside an infinite tangent or adjoint. Given zeros are followed through values, calls
           (through pointers, too), and variables of the function's own. They are not followed through other memory
           (arrays, members of structs, parts of complex numbers at -O0, what pointers lead to), nor through structs
           that are returned: what a rule hands to another there, or what is used under a condition after it was stored
           there, is nan where it should be zero. So is an infinite value that is multiplied by a given zero.
  infinite operands and nan: what IEEE arithmetic makes of the formula.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from .expression import Expr, Operand, Result, term

Kind = Literal["float", "int", "pointer"]
Partial = Expr | None
_KINDS: dict[str, Kind] = {"f": "float", "i": "int", "p": "pointer"}


class Out(Struct, frozen=True):
    """Where a result is: returned (as a whole, or field `field` of a struct), or stored through pointer operand
    number `place`; and whether it is a float or an integer."""

    place: Literal["return"] | int
    kind: Literal["float", "int"]
    field: int | None = None


class Rule(Struct, frozen=True):
    """The partial derivatives of one operation; `partials[result][operand]`, `None` for "no dependence".

    Pointer operands are places for results; integer operands and results have no partials.
    """

    name: str
    operands: tuple[Kind, ...]
    results: tuple[Out, ...]
    partials: tuple[tuple[Partial, ...], ...]
    names: tuple[str, ...]
    """What the documentation calls operands and results, in that order."""

    @property
    def inactive(self) -> bool:
        """No result depends on any operand: the derivative is zero wherever there is one."""
        return all(partial is None for row in self.partials for partial in row)

    def depends_on(self, operand: int) -> bool:
        """Has a result a partial derivative by this operand? (`copysign` has none by its second.)"""
        return any(row[operand] is not None for row in self.partials)

    def functions(self) -> frozenset[str]:
        """The functions that the partials call."""
        found = (partial for row in self.partials for partial in row if partial is not None)
        return frozenset(f for partial in found for f in partial.functions())


Formula = Callable[..., object]
"""Gives an `Expr`, a number or None; a tuple of these; or a tuple of such tuples."""

RETURN = (Out("return", "float"),)
RETURN_INT = (Out("return", "int"),)
PAIR = (Out("return", "float", 0), Out("return", "float", 1))


def rule(name: str, formula: Formula, operands: str = "", results: tuple[Out, ...] = RETURN) -> Rule:
    """The rule `name` from a function of its operands (but pointers) and then its results.

    `operands` has a letter each: f(loat), i(nt), p(ointer); when empty, all parameters of `formula` but the
    results are floats. `formula` returns a row for each float result, of a partial for each float operand; a row
    of one and a table of one row may be written without the tuple.
    """
    parameters = formula.__code__.co_varnames[: formula.__code__.co_argcount]
    kinds = tuple(_KINDS[letter] for letter in operands or "f" * (len(parameters) - len(results)))
    values: list[Expr] = [Operand(i) for i, kind in enumerate(kinds) if kind != "pointer"]
    values += [Result(i) for i in range(len(results))]
    table = _table(formula(*values), sum(out.kind == "float" for out in results))
    rows = iter(table)
    partials = tuple(
        _spread(next(rows), kinds, name) if out.kind == "float" else (None,) * len(kinds) for out in results
    )
    return Rule(name, kinds, results, partials, _names(kinds, parameters))


def flat(name: str, operands: str = "f", results: tuple[Out, ...] = RETURN) -> Rule:
    """A rule that says: piecewise constant, derivative zero."""
    kinds = tuple(_KINDS[letter] for letter in operands)
    parameters = tuple("xyzwuv"[: len(kinds)]) + tuple("rst"[: len(results)])
    return Rule(name, kinds, results, ((None,) * len(kinds),) * len(results), _names(kinds, parameters))


def _table(value: object, rows: int) -> list[tuple[Partial, ...]]:
    """Partials as rows of tuples, whatever was left out in writing them."""
    items = value if isinstance(value, tuple) else (value,)
    table = list(items) if rows > 1 else [items]
    if len(table) != rows:
        raise ValueError(f"{rows} results need {rows} rows of partials, not {len(table)}")
    return [tuple(_partial(p) for p in (row if isinstance(row, tuple) else (row,))) for row in table]


def _partial(value: object) -> Partial:
    match value:
        case None | Expr():
            return value
        case int() | Fraction():
            return term(value)
    raise TypeError(f"not a partial derivative: {value!r}")


def _spread(row: tuple[Partial, ...], kinds: tuple[Kind, ...], name: str) -> tuple[Partial, ...]:
    """A partial for each operand from one for each float operand."""
    if len(row) != kinds.count("float"):
        raise ValueError(f"{name}: {kinds.count('float')} float operands, but {len(row)} partials")
    rest = iter(row)
    return tuple(next(rest) if kind == "float" else None for kind in kinds)


def _names(kinds: tuple[Kind, ...], parameters: tuple[str, ...]) -> tuple[str, ...]:
    """The formula's own parameter names; pointers, which it does not see, are p, q."""
    rest, pointers = iter(parameters), iter("pqst")
    operands = [next(pointers) if kind == "pointer" else next(rest) for kind in kinds]
    return (*operands, *rest)
