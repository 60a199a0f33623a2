"""Tangents of calls: the rules table, evaluated in numbers.

An active call gives each float result the tangent Σ partial·tangent over its active operands. A partial that is
`None` says "no dependence"; a result without any partial is not active. Partials of half, bfloat and float calls are
computed in double.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from interpreter.floats import DOUBLE, Dual, Format, divide, primal
from interpreter.mathematics import compute
from interpreter.undefined import POISON
from llgrad.rules import constants
from llgrad.rules.expression import Expr, evaluate
from llgrad.rules.rule import Rule

_PRIMITIVES: dict[str, Callable[..., Any]] = {
    "fadd": operator.add, "fsub": operator.sub, "fmul": operator.mul, "fdiv": divide, "fneg": operator.neg,
    "oeq": lambda a, b: bool(a == b), "one": lambda a, b: bool(a < b or a > b),
    "uno": lambda a, b: bool(a != a or b != b),
    "olt": operator.lt, "ole": operator.le, "ogt": operator.gt, "oge": operator.ge,
    "and": lambda a, b: a and b, "or": lambda a, b: a or b, "not": operator.not_,
    "iadd": operator.add, "isub": operator.sub, "select": lambda c, a, b: a if c else b, "fptosi": int,
}  # fmt: skip


class NumberAlgebra:
    """Python numbers: the carrier of one format, signed ints, bools."""

    def __init__(self, format: Format) -> None:
        self.format = DOUBLE if format.bits < 64 else format
        self._constants: dict[Fraction | str, Any] = {}

    def const(self, value: Fraction | str) -> Any:
        known = self._constants.get(value)
        if known is None:
            known = self._constants[value] = self.format.make(constants.exact(value))
        return known

    def apply(self, op: str, args: Sequence[Any]) -> Any:
        if op == "sitofp":
            return self.format.make(args[0])
        if op in _PRIMITIVES:
            return _PRIMITIVES[op](*args)
        return compute(op, self.format, args)[0]


@cache
def _algebra(format: Format) -> NumberAlgebra:
    return NumberAlgebra(format)


def apply(rule: Rule, format: Format, operands: Sequence[Any]) -> list[Any]:
    """All results of a call of the rule's function.

    `operands` are as in `rule.operands`, None for pointers; integers are signed.
    """
    if any(x is POISON for x in operands):
        return [POISON] * len(rule.results)
    given = [primal(x) for x in operands]
    values = compute(rule.name, format, [x for x, kind in zip(given, rule.operands, strict=True) if kind != "pointer"])
    active = [i for i, x in enumerate(operands) if x.__class__ is Dual]
    if not active:
        return list(values)
    memo: dict[Expr, Any] = {}
    return [
        _result(rule, k, format, value, values, operands, given, active, memo) if out.kind == "float" else value
        for k, (out, value) in enumerate(zip(rule.results, values, strict=True))
    ]


def _result(
    rule: Rule, k: int, format: Format, value: Any, values: Sequence[Any], operands: Sequence[Any],
    given: Sequence[Any], active: Sequence[int], memo: dict[Expr, Any],
) -> Any:  # fmt: skip
    """Result number k, with its tangent."""
    algebra = _algebra(format)
    total = None
    for i in active:
        partial = rule.partials[k][i]
        if partial is None:
            continue
        term = evaluate(partial, given, values, algebra, memo) * operands[i].tangent
        total = term if total is None else total + term
    return value if total is None else Dual(value, total, format)
