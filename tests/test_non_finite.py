"""`nan="trace"`: the line that is named is the one in which the derivative stops being finite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import llgrad

CODE = r"""
#include <math.h>
double norm(const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] * x[i];
    return sqrt(s);                                                /* norm */
}
__attribute__((noinline)) static double root(double x) {
    return pow(x, 0.5);                                            /* called */
}
double through(double x, double y) { return root(x) * y + x; }
void memory(const double *x, int n, double *y) {
    double kept[8] = {0};
    for (int i = 0; i < n; i++) kept[i] = x[i] - 1;
    for (int i = 0; i < n; i++) y[i] = 1 / kept[i];                /* memory */
    for (int i = 0; i < n; i++) y[i] = y[i] * 2;
}
float single(const float *x, int n) {
    float s = 0;
    for (int i = 0; i < n; i++)
        s += x[i] > 2 ? logf(x[i] - 3) : x[i];                     /* single */
    return s;
}
double unused(double x) { return sqrt(x) * 0.0 + x; }
double grows(double x) {
    double y = exp(x);
    return y * y;                                                  /* grows */
}
"""
AT = {name: n for n, line in enumerate(CODE.splitlines(), 1) if (name := line.partition("/* ")[2].partition(" */")[0])}
ZEROS, ONES = np.zeros(3), np.ones(3)
TRACE: Any = {"nan": "trace"}


@pytest.fixture(scope="module", params=(0, 2))
def lib(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> llgrad.Library:
    path = tmp_path_factory.mktemp("finite") / "code.c"
    path.write_text(CODE)
    return llgrad.load(path, optimize=request.param)


FOUND: dict[str, tuple[Callable[[llgrad.Library], Any], str]] = {
    "norm": (lambda lib: llgrad.grad(lib.norm, **TRACE)(ZEROS, 3), "norm"),
    "norm forward": (lambda lib: llgrad.jvp(lib.norm, **TRACE)(ZEROS, 3, tangents=ONES), "norm"),
    "norm rows": (lambda lib: llgrad.jacobian(lib.norm, **TRACE)(ZEROS, 3), "norm"),
    "called": (lambda lib: llgrad.value_and_grad(lib.through, **TRACE)(0.0, 1.0), "called"),
    "called forward": (lambda lib: llgrad.jvp(lib.through, **TRACE)(0.0, 1.0, tangents=(1.0, 0.0)), "called"),
    "memory": (lambda lib: llgrad.vjp(lib.memory, "x", "y", **TRACE)(ONES, 3, ONES.copy(), seed=ONES), "memory"),
    "memory forward": (lambda lib: llgrad.jvp(lib.memory, "x", "y", **TRACE)(ONES, 3, ONES.copy(), tangents=ONES),
                       "memory"),
    "single": (lambda lib: llgrad.grad(lib.single, **TRACE)(np.array([1, 3, 5], np.float32), 3), "single"),
    "grows": (lambda lib: llgrad.grad(lib.grows, **TRACE)(500.0), "grows"),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_the_line_in_which_it_arises_is_named(lib: llgrad.Library, name: str) -> None:
    call, mark = FOUND[name]
    with pytest.raises(llgrad.NonFiniteError, match="is not finite") as caught:
        call(lib)
    if name == "grows":  # exp(500) is finite: its square and the adjoint beside it are not
        assert "and the function itself gives one" in str(caught.value)
        assert caught.value.span is not None and caught.value.span.line in (AT[mark], AT[mark] - 1)
        return
    assert caught.value.span is not None and caught.value.span.line == AT[mark]
    assert isinstance(caught.value, FloatingPointError)


def test_what_is_finite_is_as_it_was(lib: llgrad.Library) -> None:
    df = llgrad.value_and_grad(lib.norm, **TRACE)
    with pytest.raises(llgrad.NonFiniteError):
        df(ZEROS, 3)
    value, found = df(2 * ONES, 3)
    assert value == np.sqrt(12)
    np.testing.assert_allclose(found, 2 * ONES / value)
    assert llgrad.grad(lib.unused, seed=1.0, **TRACE)(4.0) == 1.0
    y = np.array([2.0, 3, 4])
    same, pulled = llgrad.vjp(lib.memory, "x", "y", **TRACE)(y, 3, ONES.copy(), seed=ONES)
    np.testing.assert_allclose(same, 2 / (y - 1))
    np.testing.assert_allclose(pulled, -2 / (y - 1) ** 2)


def test_wrong_requests(lib: llgrad.Library) -> None:
    wrong: Any = {"nan": "find"}
    with pytest.raises(llgrad.ArgumentError, match="nan='find'"):
        llgrad.grad(lib.norm, **wrong)
    with pytest.raises(llgrad.ArgumentError, match="for first derivatives"):
        llgrad.hvp(lib.norm, **TRACE)
