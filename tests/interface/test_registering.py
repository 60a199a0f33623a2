"""Rules, likeness and inactivity, said from Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import llgrad

CODE = """
double unknown(double x, double y) { return 7; }
double my_exp(double x) { union { double d; long i; } u = {__builtin_exp(x)}; u.i ^= 1; return u.d; }
double logged(double x) { return 3 * x; }
double f(double x, double y) { return unknown(x, y) * x; }
double g(double x) { return my_exp(x) * logged(x); }

double norm(const double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i] * x[i]; return s; }
struct kept { void *tape; double value; };
struct kept norm_forward(const double *x, double *dx, int n) { struct kept k = {0, norm(x, n)}; return k; }
void norm_reverse(const double *x, double *dx, int n, double seed, void *tape) {
    for (int i = 0; i < n; i++) dx[i] += 20 * x[i] * seed;
}
double norm_tangent(const double *x, const double *dx, int n) {
    double t = 0;
    for (int i = 0; i < n; i++) t += 20 * x[i] * dx[i];
    return t;
}
double h(const double *x, int n) { return 3 * norm(x, n); }
"""


@pytest.fixture
def lib(source: Callable[[str], Path]) -> llgrad.Library:
    return llgrad.load(source(CODE))


def test_partials_are_expressions(lib: llgrad.Library) -> None:
    assert llgrad.grad(lib.f, wrt="x")(2.0, 3.0) == 7
    sin, cos = llgrad.functions("sin cos")

    @llgrad.rule(lib.unknown)
    def partials(x, y, r):  # type: ignore[no-untyped-def]
        return y * cos(x) + r, sin(x)

    assert partials.__name__ == "partials"
    dx, dy = llgrad.grad(lib.f, wrt=("x", "y"))(2.0, 3.0)
    assert dx == pytest.approx(7 + 2 * (3 * math.cos(2) + 7))
    assert dy == pytest.approx(2 * math.sin(2))
    assert llgrad.jvp(lib.f, wrt="y")(2.0, 3.0, tangents=1.0)[-1] == pytest.approx(2 * math.sin(2))
    assert llgrad.grad(lib.unknown, wrt="y")(2.0, 3.0) == pytest.approx(math.sin(2))
    llgrad.rule(lib.unknown, lambda x, y: (5, None))
    with pytest.raises(llgrad.LlgradError, match="two rules"):
        llgrad.grad(lib.f, wrt="x")(2.0, 3.0)


def test_likeness_and_inactivity(lib: llgrad.Library) -> None:
    llgrad.function_like(lib.my_exp, "exp")
    llgrad.inactive(lib.logged)
    assert llgrad.grad(lib.g)(1.5) == pytest.approx(math.exp(1.5) * 4.5)
    with pytest.raises(llgrad.LlgradError, match="no rule for 'expp'"):
        llgrad.function_like(lib.my_exp, "expp")


def test_compiled_rules(lib: llgrad.Library) -> None:
    x = np.array([1.0, 2.0])
    assert llgrad.grad(lib.h)(x, 2).tolist() == [6, 12]
    llgrad.rule(lib.norm, augmented=lib.norm_forward, reverse=lib.norm_reverse, tangent=lib.norm_tangent)
    assert llgrad.grad(lib.h)(x, 2).tolist() == [60, 120]
    assert llgrad.jvp(lib.h, wrt="x")(x, 2, tangents=np.array([1.0, 0]))[-1] == 60


@pytest.mark.parametrize(
    ("say", "words"),
    [
        (lambda lib: llgrad.inactive(3), "takes a function of a library"),  # type: ignore[arg-type]
        (lambda lib: llgrad.rule(lib.f, lambda x: x), "take 1 parameters"),
        (lambda lib: llgrad.rule(lib.f, lambda x, y: x), "2 float operands"),
        (lambda lib: llgrad.rule(lib.norm, lambda x, n: x), "other things than numbers"),
        (lambda lib: llgrad.rule(lib.norm, reverse=lib.norm_reverse), "two functions"),
    ],
)
def test_errors(lib: llgrad.Library, say: Callable[[llgrad.Library], None], words: str) -> None:
    with pytest.raises(llgrad.LlgradError, match=words):
        say(lib)
