"""Hessians and their products with vectors, from Python: closed forms, finite differences of gradients, symmetry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import llgrad
from llgrad import errors
from llgrad.autodiff.requests.request import Request
from llgrad.programs import derivatives

CODE = """
#include <math.h>
#include <stdlib.h>
#include <string.h>
double quadratic(const double *x, const double *a, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) s += x[i] * a[i * n + j] * x[j];
    return s;
}
double rosenbrock(const double *x, int n) {
    double s = 0;
    for (int i = 0; i + 1 < n; i++) s += 100 * pow(x[i + 1] - x[i] * x[i], 2) + pow(1 - x[i], 2);
    return s;
}
void energy(const double *p, double k, int n, double *work, double *e) {
    for (int i = 0; i < n; i++) work[i] = exp(-k * p[i]) * p[(i + 1) % n];
    *e = 0;
    for (int i = 0; i < n; i++) *e += work[i] * work[i];
}
double scalars(double x, double y, double z) { return sin(x * y) * exp(z) / (1 + x * x); }
double special(double x) { return lgamma(x) + erf(x) * cbrt(x) + tgamma(x); }
long double wide(long double x) { return x * expl(x); }
double steps(const double *x, int n) {
    double *u = malloc(n * sizeof(double)), s = 0;
    for (int i = 0; i < n; i++) u[i] = x[i];
    int k = 0;
    while (u[0] < 10 && k++ < 40) {
        for (int i = 0; i < n; i++) u[i] = u[i] + 0.1 * sin(u[(i + 1) % n]) + 0.05;
        s += u[k % n] * u[k % n];
    }
    free(u);
    return s;
}
void pair(const double *x, double *y) { y[0] = x[0] * x[0] * x[1]; y[1] = x[1] * x[1] * x[1]; }
static double __attribute__((noinline)) part(const double *p, int i) { return p[i] * p[i] * p[0]; }
double chosen(const double *x, const double *t, int n, int which) {
    const double *p = which & 1 ? x : t;
    double s = 0, *w = malloc(n * sizeof *w);
    memcpy(w, which & 2 ? x : t, n * sizeof *w);
    for (int i = 0; i < n; i++) {
        s += p[i] * p[i] * x[i] * w[i] + part(p, i) * part(x, i);
        p = p == x ? t : x;
    }
    free(w);
    return s;
}
__attribute__((noinline)) static void pick(const double *a, int n, double *w) {
    for (int i = 0; i < n; i++) w[i] = a[i] > 0.5 ? 1 : 0.5;
}
void *__enzyme_inactivefn[] = {(void *)pick};
__attribute__((noinline)) static void apply(const double *a, int n, double *x) {
    for (int i = 0; i < n; i++) x[i] = sin(a[i]) * x[i] + (i ? x[i - 1] * x[i - 1] : 0);
}
double filled(const double *a, int n) {
    double *w = malloc(n * sizeof *w), s = 0;
    pick(a, n, w);
    apply(a, n, w);
    apply(a, n, w);
    for (int i = 0; i < n; i++) s += w[i] * w[i];
    free(w);
    return s;
}
"""


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> llgrad.Library:
    path = Path(tmp_path_factory.mktemp("second"), "code.c")
    path.write_text(CODE)
    return llgrad.load(path)


@pytest.mark.parametrize("n", [0, 1, 3, 13])
def test_quadratic(lib: llgrad.Library, n: int) -> None:
    rng = np.random.default_rng(n)
    x, a, v = rng.normal(size=n), rng.normal(size=(n, n)), rng.normal(size=n)
    np.testing.assert_allclose(llgrad.hessian(lib.quadratic, wrt="x")(x, a, n), a + a.T, rtol=1e-14)
    np.testing.assert_allclose(llgrad.hvp(lib.quadratic, wrt="x")(x, a, n, v), (a + a.T) @ v, rtol=1e-12)


@pytest.mark.parametrize("name", ["rosenbrock", "steps"])
def test_against_differences_of_the_gradient(lib: llgrad.Library, name: str) -> None:
    f, n = lib[name], 6
    x = np.random.default_rng(1).uniform(0.3, 1.2, n)
    h = llgrad.hessian(f)(x, n)
    gradient = llgrad.grad(f)
    step = 1e-5
    columns = [(gradient(x + step * e, n) - gradient(x - step * e, n)) / (2 * step) for e in np.eye(n)]
    np.testing.assert_allclose(h, np.array(columns).T, rtol=1e-6, atol=1e-6 * np.abs(h).max())
    np.testing.assert_allclose(h, h.T, rtol=1e-11, atol=1e-12 * np.abs(h).max())


@pytest.mark.parametrize("optimize", [0, 2])
def test_memory_that_only_an_inactive_function_fills(tmp_path: Path, optimize: int) -> None:
    """Its tangents lie on the tape, where an earlier call left others."""
    path = tmp_path / "code.c"
    path.write_text(CODE)
    f, n, step = llgrad.load(path, optimize=optimize).filled, 6, 1e-6
    gradient, product = llgrad.grad(f), llgrad.hvp(f)
    for x, v in np.random.default_rng(7).uniform(0.1, 1, (4, 2, n)):
        want = (gradient(x + step * v, n) - gradient(x - step * v, n)) / (2 * step)
        np.testing.assert_allclose(product(x, n, v), want, rtol=1e-7, atol=1e-8 * np.abs(want).max())


def test_several_parameters_and_an_output_in_memory(lib: llgrad.Library) -> None:
    n, k = 4, 0.3
    p, v, w = np.random.default_rng(2).normal(size=(3, n))
    work, e = np.zeros(n), np.zeros(1)
    (pp, pk), (kp, kk) = llgrad.hessian(lib.energy, wrt=("p", "k"), of="e")(p, k, n, work, e)
    np.testing.assert_allclose(pp, pp.T, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(pk, kp, rtol=1e-12, atol=1e-13)
    u = np.exp(-2 * k * p) * np.roll(p, -1) ** 2
    np.testing.assert_allclose(kk, np.sum(4 * p * p * u), rtol=1e-12)
    dp, dk = llgrad.hvp(lib.energy, wrt=("p", "k"), of="e")(p, k, n, work, e, (v, 0.7))
    np.testing.assert_allclose(dp, pp @ v + pk * 0.7, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(dk, kp @ v + kk * 0.7, rtol=1e-12)
    np.testing.assert_allclose(e, u.sum(), rtol=1e-14)


def test_scalars(lib: llgrad.Library) -> None:
    at = (0.7, -0.4, 0.3)
    h = np.array(llgrad.hessian(lib.scalars)(*at), dtype=float)

    def f(x, y, z):  # type: ignore[no-untyped-def]
        return mpmath.sin(x * y) * mpmath.exp(z) / (1 + x * x)

    orders = np.eye(3, dtype=int)
    truth = [[float(mpmath.diff(f, at, tuple(a + b))) for a in orders] for b in orders]
    np.testing.assert_allclose(h, truth, rtol=1e-10)


def test_special_functions(lib: llgrad.Library) -> None:
    x = 1.7
    found = llgrad.hessian(lib.special)(x)
    truth = mpmath.diff(lambda t: mpmath.loggamma(t) + mpmath.erf(t) * mpmath.cbrt(t) + mpmath.gamma(t), x, 2)
    assert float(found) == pytest.approx(float(truth), rel=1e-12)
    wide = llgrad.hvp(lib.wide)(np.longdouble(1) / 3, 2.0)
    assert abs(wide - 2 * (np.longdouble(1) / 3 + 2) * np.exp(np.longdouble(1) / 3)) < 1e-17


def test_weights_of_outputs(lib: llgrad.Library) -> None:
    x, y = np.array([2.0, 3.0]), np.zeros(2)
    h = llgrad.hessian(lib.pair, wrt="x", of="y")(x, y, seed=[1.0, 10.0])
    np.testing.assert_allclose(h, [[6, 4], [4, 180]])


def test_runtime_activity(lib: llgrad.Library) -> None:
    """Arrays that are constant and arrays that are active meet in one pointer."""
    rng = np.random.default_rng(4)
    x, t = rng.normal(size=5), rng.normal(size=5)
    with pytest.raises(errors.ActivityError):
        llgrad.hvp(lib.chosen, wrt="x")(x, t, 5, 0, x)
    second = llgrad.hessian(lib.chosen, wrt="x", runtime_activity=True)
    first = llgrad.grad(lib.chosen, wrt="x", runtime_activity=True)
    for which in range(4):
        steps = [(first(x + e, t, 5, which) - first(x - e, t, 5, which)) / 2e-5 for e in np.eye(5) * 1e-5]
        np.testing.assert_allclose(second(x, t, 5, which), steps, atol=1e-8)


def test_refusals(lib: llgrad.Library) -> None:
    with pytest.raises(errors.ArgumentError, match="direction"):
        llgrad.hvp(lib.rosenbrock)()
    with pytest.raises(errors.ArgumentError, match="shape"):
        llgrad.hvp(lib.rosenbrock)(np.ones(3), 3, np.ones(4))
    with pytest.raises(errors.ArgumentError, match="2 elements"):
        llgrad.hessian(lib.pair, wrt="x", of="y")(np.ones(2), np.zeros(2))
    with pytest.raises(errors.ArgumentError, match="hessian"):
        llgrad.grad(llgrad.grad(lib.scalars))  # type: ignore[arg-type]


def test_what_is_refused_of_a_derivative_names_where_its_function_is(
    lib: llgrad.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    derived = derivatives.derived

    def refused(text: str, requests: list[Request], *options: Any) -> object:
        if requests[0].function != "rosenbrock":
            raise errors.UnsupportedError("refused")
        return derived(text, requests, *options)

    monkeypatch.setattr(derivatives, "derived", refused)
    with pytest.raises(errors.UnsupportedError, match=r"code\.c:10: refused"):
        llgrad.hvp(lib.rosenbrock, strong_zero=True)(np.ones(2), 2, np.ones(2))
