"""Every rule against mpmath: exactly, in mpmath's numbers, and numerically, in the machine's doubles."""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath as mp
import msgspec
import pytest
from rule_algebras import FloatAlgebra, MpAlgebra
from rule_references import DOMAINS, INTEGER_RESULT, REAL, REFERENCES

from llgrad.rules import evaluate
from llgrad.rules.library import FUNCTIONS, INSTRUCTIONS
from llgrad.rules.rule import Rule

ALL = INSTRUCTIONS | FUNCTIONS
POINTS = 200


def values(rule: Rule, point: Sequence[Any]) -> tuple[Any, ...]:
    """All results at a point."""
    found = REFERENCES[rule.name](*point)
    return found if isinstance(found, tuple) else (found,)


def difference(rule: Rule, result: int, position: int, point: Sequence[Any]) -> mp.mpf:
    """The central difference quotient in operand `position` (of those that are not pointers)."""
    at = mp.mpf(point[position])
    step = abs(at) * mp.mpf(10) ** -15 if at else mp.mpf(10) ** -15
    moved = [[*point[:position], at + sign * step, *point[position + 1 :]] for sign in (1, -1)]
    high, low = (values(rule, p)[result] for p in moved)
    return (high - low) / (2 * step)


def digits(point: Sequence[Any]) -> int:
    """Enough decimal digits that differences of the extreme operands are seen."""
    return 50 + 2 * max(int(abs(math.log10(abs(x)))) if x else 0 for x in point)


def sample(rule: Rule) -> list[list[Any]]:
    kinds = [kind for kind in rule.operands if kind != "pointer"]
    draw = random.Random(zlib.crc32(rule.name.encode()))
    samplers = DOMAINS.get(rule.name, (REAL,) * len(kinds))
    return [[s(draw) for s, _ in zip(samplers, kinds, strict=False)] for _ in range(POINTS)]


def positions(rule: Rule) -> list[tuple[int, int]]:
    """(operand, position among the values of a point) of the float operands."""
    order = [i for i, kind in enumerate(rule.operands) if kind != "pointer"]
    return [(i, p) for p, i in enumerate(order) if rule.operands[i] == "float"]


def spread(rule: Rule, point: Sequence[Any]) -> list[Any]:
    """A point as operands, with None for pointers."""
    rest = iter(point)
    return [None if kind == "pointer" else next(rest) for kind in rule.operands]


def machine_range(want: mp.mpf) -> bool:
    return bool(want == 0 or mp.mpf("1e-300") < abs(want) < mp.mpf("1e300"))


@pytest.mark.parametrize("name", [n for n in ALL if n not in INTEGER_RESULT])
def test_partials(name: str) -> None:
    rule = ALL[name]
    for point in sample(rule):
        with mp.workdps(digits(point)):
            check(rule, point)


def check(rule: Rule, point: Sequence[Any]) -> None:
    exact = [mp.mpf(x) if isinstance(x, float) else x for x in point]
    results = values(rule, exact)
    rounded = [float(r) if isinstance(r, mp.mpf) else r for r in results]
    for j, out in enumerate(rule.results):
        if out.kind != "float":
            continue
        for i, position in positions(rule):
            want = difference(rule, j, position, exact)
            partial = rule.partials[j][i]
            if partial is None:
                assert abs(want) <= mp.mpf("1e-30"), (point, i, j)
                continue
            got = evaluate(partial, spread(rule, exact), results, MpAlgebra())
            assert abs(got - want) <= mp.mpf("1e-18") * (abs(want) + abs(results[j])), (point, i, j, got, want)
            if machine_range(want) and all(machine_range(r) for r in results):
                number = evaluate(partial, spread(rule, point), rounded, FloatAlgebra())
                scale = 1e-10 * abs(want) + 4e-14 * min(1, abs(results[j]) + abs(want))
                assert abs(number - want) <= scale, (point, i, j, number, want)


def test_power_of_negative_base() -> None:
    """pow and powi with whole exponents: the slope in the base is exact on both sides of zero."""
    draw = random.Random(5)
    for name in ("pow", "powi"):
        partial = ALL[name].partials[0][0]
        assert partial is not None
        for _ in range(POINTS):
            x, n = -(10 ** draw.uniform(-8, 1)), draw.randint(-9, 9)
            y = float(n) if name == "pow" else n
            got = evaluate(partial, [x, y], [x**n], FloatAlgebra())
            with mp.workdps(50):
                want = difference(ALL[name], 0, 0, [x, y])
            assert got == pytest.approx(float(want), rel=1e-13), (name, x, y)


@pytest.mark.parametrize("name", ["sin", "pow", "fmod", "jn", "cpow", "fabs"])
def test_a_wrong_partial_is_noticed(name: str) -> None:
    """Off by one part in a million."""
    rule = ALL[name]
    first = tuple(None if p is None else p * Fraction(1_000_001, 1_000_000) for p in rule.partials[0])
    wrong = msgspec.structs.replace(rule, partials=(first, *rule.partials[1:]))
    with pytest.raises(AssertionError), mp.workdps(50):
        for point in sample(rule)[:20]:
            check(wrong, point)


def test_no_rule_is_untested() -> None:
    """Every rule has a reference here, or is listed as having an integer for a result."""
    assert ALL.keys() == REFERENCES.keys() | set(INTEGER_RESULT)
    for name in INTEGER_RESULT:
        assert ALL[name].inactive
        assert all(out.kind == "int" for out in ALL[name].results)


inf, nan = math.inf, math.nan

EDGES: list[tuple[str, tuple[Any, ...], tuple[Any, ...], tuple[float | None, ...]]] = [
    # rule, operands, results, partials of result 0
    ("pow", (0.0, 2.0), (0.0,), (0.0, 0.0)),
    ("pow", (0.0, 1.0), (0.0,), (1.0, 0.0)),
    ("pow", (-0.0, 3.0), (-0.0,), (0.0, 0.0)),
    ("pow", (0.0, 0.5), (0.0,), (inf, 0.0)),
    ("pow", (0.0, 0.0), (1.0,), (0.0, 0.0)),
    ("pow", (5.0, 0.0), (1.0,), (0.0, math.log(5.0))),
    ("pow", (-2.0, 3.0), (-8.0,), (12.0, nan)),
    ("pow", (-2.0, 0.0), (1.0,), (0.0, nan)),
    ("pow", (-2.0, -1.0), (-0.5,), (-0.25, nan)),
    ("powi", (0.0, 0), (1.0,), (0.0, None)),
    ("powi", (0.0, 1), (0.0,), (1.0, None)),
    ("powi", (-3.0, 2), (9.0,), (-6.0, None)),
    ("fabs", (0.0,), (0.0,), (0.0,)),
    ("fabs", (-0.0,), (0.0,), (0.0,)),
    ("fabs", (-inf,), (inf,), (-1.0,)),
    ("fabs", (-5e-324,), (5e-324,), (-1.0,)),
    ("copysign", (0.0, -1.0), (-0.0,), (0.0, None)),
    ("copysign", (2.0, -0.0), (-2.0,), (-1.0, None)),
    ("fmax", (1.0, 1.0), (1.0,), (1.0, 0.0)),
    ("fmax", (nan, 2.0), (2.0,), (0.0, 1.0)),
    ("fmax", (2.0, nan), (2.0,), (1.0, 0.0)),
    ("fmin", (1.0, 1.0), (1.0,), (1.0, 0.0)),
    ("fmin", (nan, 2.0), (2.0,), (0.0, 1.0)),
    ("fmaximum", (nan, 2.0), (nan,), (1.0, 0.0)),
    ("fmaximum", (2.0, nan), (nan,), (0.0, 1.0)),
    ("fminimum", (2.0, nan), (nan,), (0.0, 1.0)),
    ("fminimum", (nan, 2.0), (nan,), (1.0, 0.0)),
    ("fmaximum_num", (nan, 2.0), (2.0,), (0.0, 1.0)),
    ("fminimum_num", (-inf, 2.0), (-inf,), (1.0, 0.0)),
    ("fdim", (1.0, 1.0), (0.0,), (0.0, 0.0)),
    ("sqrt", (0.0,), (0.0,), (inf,)),
    ("sqrt", (-1.0,), (nan,), (nan,)),
    ("sqrt", (inf,), (inf,), (0.0,)),
    ("cbrt", (0.0,), (0.0,), (inf,)),
    ("hypot", (0.0, 0.0), (0.0,), (0.0, 0.0)),
    ("hypot", (3e200, 4e200), (5e200,), (0.6, 0.8)),
    ("atan2", (1e-200, 1e-200), (math.pi / 4,), (5e199, -5e199)),
    ("atan2", (0.0, 0.0), (0.0,), (nan, nan)),
    ("cabs", (0.0, 0.0), (0.0,), (0.0, 0.0)),
    ("log", (0.0,), (-inf,), (inf,)),
    ("exp", (-inf,), (0.0,), (0.0,)),
    ("exp", (inf,), (inf,), (inf,)),
    ("expm1", (-50.0,), (-1.0,), (math.exp(-50),)),
    ("asin", (1.0,), (math.pi / 2,), (inf,)),
    ("acos", (-1.0,), (math.pi,), (-inf,)),
    ("acosh", (1.0,), (0.0,), (inf,)),
    ("atanh", (1.0,), (inf,), (inf,)),
    ("asinh", (1e200,), (461.2,), (1e-200,)),
    ("tanh", (inf,), (1.0,), (0.0,)),
    ("atan", (inf,), (math.pi / 2,), (0.0,)),
    ("fmod", (5.0, inf), (5.0,), (1.0, 0.0)),
    ("fmod", (math.nextafter(3 * 0.1, 0), 0.1), (math.fmod(math.nextafter(3 * 0.1, 0), 0.1),), (1.0, -2.0)),
    ("frexp", (8.0, None), (0.5, 4), (0.0625, None)),
    ("frexp", (0.0, None), (0.0, 0), (1.0, None)),
    ("j1", (0.0,), (0.0,), (0.5,)),
    ("lgamma", (1.0,), (0.0,), (-0.5772156649015329,)),
    ("erf", (inf,), (1.0,), (0.0,)),
    ("fdiv", (1.0, 0.0), (inf,), (inf, -inf)),
    ("cpow", (0.0, 0.0, 2.0, 0.0), (0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
    ("cpow", (0.0, 0.0, 1.0, 0.0), (0.0, 0.0), (1.0, 0.0, 0.0, 0.0)),
    ("cdiv", (1.0, 0.0, 1e200, 0.0), (1e-200, 0.0), (1e-200, 0.0, 0.0, 0.0)),
    ("csqrt", (-4.0, -0.0), (0.0, -2.0), (0.0, -0.25)),
]


@pytest.mark.parametrize(("name", "operands", "results", "wanted"), EDGES)
def test_edges(
    name: str, operands: tuple[Any, ...], results: tuple[Any, ...], wanted: tuple[float | None, ...]
) -> None:
    """The written convention at kinks, jumps, poles and infinities."""
    for partial, want in zip(ALL[name].partials[0], wanted, strict=True):
        if want is None or partial is None:
            assert want is None and partial is None
            continue
        got = evaluate(partial, operands, results, FloatAlgebra())
        assert got == pytest.approx(want, rel=1e-12, abs=1e-300, nan_ok=True)
