"""Expressions: building, evaluating, what they need; constants and their spelling in LLVM."""

from __future__ import annotations

import struct
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from rule_algebras import NAMES, FloatAlgebra

from llgrad.rules import Apply, Const, Operand, Result, evaluate, exact, literal
from llgrad.rules.constants import NAMED
from llgrad.rules.expression import function, integer, select, subexpressions
from llgrad.rules.rule import rule

X, Y, R = Operand(0), Operand(1), Result(0)
SIN = function("sin")


class Counting(FloatAlgebra):
    """Counts what is computed."""

    def __init__(self) -> None:
        self.operations: list[str] = []

    def apply(self, op: str, args: object) -> object:
        self.operations.append(op)
        return super().apply(op, args)  # type: ignore[arg-type]


def test_operators() -> None:
    assert Apply("fadd", (Apply("fmul", (Const(Fraction(2)), X)), Const(Fraction(1)))) == 2 * X + 1
    assert Apply("fneg", (Apply("fsub", (Apply("fdiv", (X, Const(Fraction(2)))), Y)),)) == -(X / 2 - Y)
    assert 1 - X != X - 1
    assert hash(SIN(X) * Y) == hash(SIN(Operand(0)) * Operand(1))


def test_evaluate() -> None:
    value = evaluate((X - 2 * Y) / R + Fraction(1, 4), [7.0, 2.0], [-4.0], FloatAlgebra())
    assert value == -0.5
    assert evaluate(select(function("olt")(X, Y), X, Y), [3.0, 2.0], [], FloatAlgebra()) == 2.0
    assert evaluate(integer(2), [], [], FloatAlgebra()) == 2


def test_common_subexpressions_are_computed_once() -> None:
    algebra = Counting()
    memo: dict[object, float] = {}
    first, second = 1 / Y, -(R * (1 / Y))
    evaluate(first, [3.0, 2.0], [1.5], algebra, memo)  # type: ignore[arg-type]
    assert evaluate(second, [3.0, 2.0], [1.5], algebra, memo) == -0.75  # type: ignore[arg-type]
    assert algebra.operations == ["fdiv", "fmul", "fneg"]


def test_needs() -> None:
    expr = SIN(Operand(3)) * Result(1) + Operand(0)
    assert expr.operands() == {0, 3} and expr.results() == {1} and expr.functions() == {"sin"}
    assert (R * 2).operands() == frozenset()
    assert subexpressions(SIN(X) + SIN(X)) == [X, SIN(X), SIN(X) + SIN(X)]


def test_mistakes_are_refused() -> None:
    with pytest.raises(KeyError):
        Const("tau")
    with pytest.raises(ValueError, match="fadd takes 2"):
        Apply("fadd", (X,))
    with pytest.raises(ValueError, match="2 float operands, but 1"):
        rule("wrong", lambda x, y, r: x)
    with pytest.raises(ValueError, match="1 rows|2 results need 2"):
        rule("wrong", lambda x, r, s: (x, x, x), "f", (rule("f", lambda x, r: x).results * 2))
    with pytest.raises(TypeError):
        rule("wrong", lambda x, r: 0.5)


def test_shared_trees_stay_cheap() -> None:
    """Doubling 200 times: 2**200 nodes as a tree, 201 as values."""
    expr = X + 0
    for _ in range(200):
        expr = expr + expr
    assert evaluate(expr, [1.0], [], FloatAlgebra()) == 2.0**200


@pytest.mark.parametrize("name", NAMED)
def test_named_constants(name: str) -> None:
    with mp.workdps(80):
        want = mp.mpf(NAMES[name]())
        assert abs(mp.mpf(NAMED[name]) - want) < mp.mpf(10) ** -62
        assert exact(name) == Fraction(NAMED[name])


NUMBERS = [0, 1, -1, 3, Fraction(1, 3), Fraction(-22, 7), Fraction(1, 10**40), Fraction(10**38), Fraction(5, 10**324)]
NUMBERS += [Fraction(2) ** -1074, Fraction(2) ** -1022 - Fraction(2) ** -1080, Fraction(2) ** 1024 - 1, 10**400]


@pytest.mark.parametrize("number", NUMBERS)
def test_double_and_float(number: Fraction) -> None:
    def nearest(x: Fraction) -> float:
        try:
            return float(Fraction(x))
        except OverflowError:
            return float("inf")

    assert literal(Fraction(number), "double") == f"0x{struct.unpack('<Q', struct.pack('<d', nearest(number)))[0]:016X}"


@pytest.mark.parametrize("number", [1, -1, Fraction(1, 3), Fraction(1, 10**40), Fraction(3, 2**149), 10**39])
def test_float_is_written_as_double(number: Fraction) -> None:
    with np.errstate(over="ignore"):
        want = float(np.float32(float(Fraction(number))))
    assert literal(Fraction(number), "float") == f"0x{struct.unpack('<Q', struct.pack('<d', want))[0]:016X}"


def test_other_formats() -> None:
    assert literal(Fraction(1, 3), "half") == f"0xH{np.float16(1 / 3).view(np.uint16):04X}"
    assert literal(Fraction(1), "bfloat") == "0xR3F80"
    assert literal(Fraction(-1, 3), "bfloat") == "0xRBEAB"
    assert literal(Fraction(1), "fp128") == "0xL00000000000000003FFF000000000000"
    third = np.longdouble(1) / np.longdouble(3)
    assert literal(Fraction(1, 3), "x86_fp80") == f"0xK{int.from_bytes(third.tobytes()[:10], 'little'):020X}"
    assert literal(Fraction(0), "x86_fp80") == "0xK" + 20 * "0"
    assert literal("pi", "fp128") == "0xL8469898CC51701B84000921FB54442D1"
