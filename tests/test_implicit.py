"""Implicit functions and fixed points: derivatives against closed forms and differences of converged solvers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import llgrad

DOCUMENT = Path(__file__).parents[1] / "docs" / "implicit.md"
CODE = r"""
#include <math.h>
double kepler(double E, double e, double M) { return E - e * sin(E) - M; }
void residual(const double *u, const double *p, int n, double k, double *r)
{
    for (int i = 0; i < n; i++) {
        double left = i > 0 ? u[i - 1] : 0.0, right = i + 1 < n ? u[i + 1] : 0.0;
        r[i] = 3 * u[i] - left - right + k * u[i] * u[i] * u[i] - p[i] * p[(i + 1) % n];
    }
}
void single(const float *u, const float *p, int n, float *r) {
    for (int i = 0; i < n; i++) r[i] = u[i] * u[i] - p[i];
}
/* 3 u - left - right + k u^3 = p, by Gauss-Seidel with Newton's method in each row */
int solve(const double *p, int n, double k, double *u)
{
    int sweeps = 0;
    double worst = 1;
    for (int i = 0; i < n; i++) u[i] = 0;
    for (; sweeps < 500 && worst > 1e-15; sweeps++) {
        worst = 0;
        for (int i = 0; i < n; i++) {
            double left = i > 0 ? u[i - 1] : 0.0, right = i + 1 < n ? u[i + 1] : 0.0;
            double r = 3 * u[i] - left - right + k * u[i] * u[i] * u[i] - p[i] * p[(i + 1) % n];
            double step = r / (3 + 3 * k * u[i] * u[i]);
            u[i] -= step;
            worst = fmax(worst, fabs(step));
        }
    }
    return sweeps;
}
void step(const double *u, const double *w, const double *x, int n, double *out)
{
    for (int i = 0; i < n; i++) {
        double s = x[i];
        for (int j = 0; j < n; j++) s += w[i * n + j] * u[j];
        out[i] = tanh(s);
    }
}
void pair(const double *a, double b, const double *p, double *r, double *s) {
    r[0] = a[0] * a[0] + b - p[0];
    r[1] = a[1] - b * a[0];
    s[0] = b * b * b + a[1] - p[1];
}
double singular(double u, double p) { return (u - p) * (u - p); }
void neumann(const double *u, const double *p, int n, double *r) {
    for (int i = 0; i < n; i++) {
        double left = i > 0 ? u[i - 1] : u[i], right = i + 1 < n ? u[i + 1] : u[i];
        r[i] = 2 * u[i] - left - right - p[i];
    }
}
void expand(const double *u, const double *p, int n, double *out) {
    for (int i = 0; i < n; i++) out[i] = 3 * u[i] + p[i];
}
"""
RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> llgrad.Library:
    path = tmp_path_factory.mktemp("implicit") / "code.c"
    path.write_text(CODE)
    return llgrad.load(path)


def newton(lib: llgrad.Library, **more: Any) -> Any:
    """A solver in Python, with a guess that has no derivative."""
    slope = llgrad.jacobian(lib.residual, wrt="u")

    @llgrad.implicit(residual=lib.residual, unknown="u", **more)
    def solver(p: Any, k: float, guess: Any = None) -> Any:
        u = np.zeros_like(p) if guess is None else guess.copy()
        for _ in range(30):
            u -= np.linalg.solve(slope(u, p, k), lib.residual(u, p, k))
        return u

    return solver


def slopes(f: Callable[..., Any], along: Callable[[float], tuple[Any, ...]]) -> Any:
    """The derivative of f along a curve, by differences of order 6."""
    h = 2e-3
    one, two, three = (np.asarray(f(*along(n * h))) - np.asarray(f(*along(-n * h))) for n in (1, 2, 3))
    return (45 * one - 9 * two + three) / (60 * h)


N = 7
P, DP, W = RNG.uniform(1, 2, N), RNG.normal(size=N), RNG.normal(size=N)
K, DK = 0.5, 0.3
METHODS = ("dense", "gmres", "bicgstab")


@pytest.mark.parametrize("method", METHODS)
def test_all_derivatives_of_a_solver(lib: llgrad.Library, method: str) -> None:
    f = newton(lib, method=method)
    wanted = slopes(f, lambda t: (P + t * DP, K + t * DK))
    u, found = llgrad.jvp(f)(P, K, tangents=(DP, DK))
    np.testing.assert_array_equal(u, f(P, K))
    np.testing.assert_allclose(found, wanted, rtol=1e-8)
    _, (by_p, by_k) = llgrad.vjp(f)(P, K, seed=W)
    assert by_p @ DP + by_k * DK == pytest.approx(W @ wanted, rel=1e-8)
    jac = llgrad.jacobian(f, wrt="p")(P, K)
    np.testing.assert_allclose(jac @ DP, llgrad.jvp(f, wrt="p")(P, K, tangents=DP)[1], rtol=1e-8)
    gradient = llgrad.grad(f, seed=W)
    bent = slopes(lambda p, k: np.append(*gradient(p, k)), lambda t: (P + t * DP, K + t * DK))
    found_p, found_k = llgrad.hvp(f, seed=W)(P, K, (DP, DK))
    np.testing.assert_allclose(np.append(found_p, found_k), bent, rtol=1e-7)
    (pp, pk), (kp, kk) = llgrad.hessian(f, seed=W)(P, K)
    np.testing.assert_allclose(pp @ DP + pk * DK, found_p, rtol=1e-7)
    assert kp @ DP + kk * DK == pytest.approx(found_k, rel=1e-7)


def test_a_solver_that_is_compiled(lib: llgrad.Library) -> None:
    f = llgrad.implicit(residual=lib.residual, unknown="u")(lib.solve)
    g = newton(lib)
    np.testing.assert_allclose(f(P, K), g(P, K), rtol=1e-12)
    for kind in (llgrad.value_and_grad, llgrad.vjp):
        (u, found), (_, wanted) = kind(f)(P, K, seed=W), kind(g)(P, K, seed=W)
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-10)
    u, found, sweeps = llgrad.jvp(f, wrt="k", has_aux=True)(P, N, K, np.zeros(N), tangents=1.0)
    assert 10 < sweeps < 500
    np.testing.assert_allclose(found, llgrad.jvp(g, wrt="k")(P, K, tangents=1.0)[1], rtol=1e-10)


def test_matrix_free_and_with_a_factorisation_of_ones_own(lib: llgrad.Library) -> None:
    n, calls = 400, []
    p = RNG.uniform(1, 2, n)
    rows = np.eye(n) * 3 - np.eye(n, k=1) - np.eye(n, k=-1)

    def exact(b: Any, u: Any, k: float) -> Any:
        calls.append("exact")
        return np.linalg.solve(rows + np.diag(3 * k * u**2), b)

    def rough(b: Any) -> Any:
        calls.append("rough")
        return b / 4

    w = RNG.normal(size=n)
    found = []
    for more in ({}, {"solve_transposed": exact}, {"solve_transposed": rough}, {"method": "dense"}):
        f = llgrad.implicit(residual=lib.residual, unknown="u", **more)(lib.solve)
        found.append(llgrad.grad(f, wrt="p", seed=w)(p, K))
    for g in found[1:]:
        np.testing.assert_allclose(g, found[0], rtol=1e-7, atol=1e-9)
    assert calls.count("exact") == 1 and calls.count("rough") > 2


def test_a_seed_may_be_a_function_of_the_value_and_directions_a_batch(lib: llgrad.Library) -> None:
    f = newton(lib)
    u, found = llgrad.vjp(f)(P, K, seed=lambda u: 2 * u)
    np.testing.assert_array_equal(found[0], llgrad.vjp(f)(P, K, seed=2 * u)[1][0])
    jac = llgrad.jacobian(f, wrt="p")(P, K)
    np.testing.assert_allclose(llgrad.vjp(f, wrt="p")(P, K, seed=np.eye(N))[1], jac, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(llgrad.jvp(f, wrt="p")(P, K, tangents=np.eye(N))[1].T, jac, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(llgrad.jvp(f)(P, K, tangents={"p": DP})[1], jac @ DP, rtol=1e-9)
    one = llgrad.hvp(f, wrt="p", seed=W)
    np.testing.assert_allclose(one(P, K, tangents=np.stack([DP, W]))[1], one(P, K, W), rtol=1e-9)


def test_several_unknowns(lib: llgrad.Library) -> None:
    @llgrad.implicit(residual=lib.pair, unknown=("a", "b"), of=("r", "s"))
    def solver(p: Any) -> Any:
        a, b = np.array([1.0, 1.0]), 1.0
        for _ in range(50):
            r = np.array([a[0] ** 2 + b - p[0], a[1] - b * a[0], b**3 + a[1] - p[1]])
            d = np.linalg.solve([[2 * a[0], 0, 1], [-b, 1, -a[0]], [0, 1, 3 * b * b]], r)
            a, b = a - d[:2], b - d[2]
        return a, b

    p, dp = np.array([3.0, 2.5]), np.array([1.0, -2.0])
    wanted = slopes(lambda p: np.append(*solver(p)), lambda t: (p + t * dp,))
    (a, b), (da, db) = llgrad.jvp(solver)(p, tangents=dp)
    np.testing.assert_allclose(np.append(da, db), wanted, rtol=1e-8)
    seed = (np.array([1.0, -1.0]), 2.0)
    _, by_p = llgrad.vjp(solver)(p, seed=seed)
    assert by_p @ dp == pytest.approx(np.append(*seed) @ wanted, rel=1e-8)
    np.testing.assert_allclose(llgrad.vjp(solver)(p, seed={"b": 2.0})[1] @ dp, 2 * wanted[2], rtol=1e-8)
    by_a, by_b = llgrad.jacobian(solver)(p)
    np.testing.assert_allclose(np.vstack([by_a, by_b]) @ dp, wanted, rtol=1e-8)


@pytest.mark.parametrize("method", (None, "gmres", "dense"))
def test_fixed_points(lib: llgrad.Library, method: str | None) -> None:
    n = 5

    @llgrad.fixed_point(step=lib.step, unknown="u", method=method, given={"n": lambda x: len(x)})
    def f(w: Any, x: Any) -> Any:
        u, out = np.zeros(n), np.zeros(n)
        for _ in range(300):
            lib.step(u, w, x, n, out)
            u[:] = out
        return u

    rng = np.random.default_rng(5)
    w, x, dw, dx = 0.25 * rng.normal(size=(n, n)), rng.normal(size=n), rng.normal(size=(n, n)), rng.normal(size=n)
    wanted = slopes(f, lambda t: (w + t * dw, x + t * dx))
    np.testing.assert_allclose(llgrad.jvp(f)(w, x, tangents=(dw, dx))[1], wanted, rtol=1e-7)
    seed = rng.normal(size=n)
    _, (by_w, by_x) = llgrad.vjp(f)(w, x, seed=seed)
    assert np.sum(by_w * dw) + by_x @ dx == pytest.approx(seed @ wanted, rel=1e-7)
    bent = slopes(llgrad.grad(f, wrt="x", seed=seed), lambda t: (w, x + t * dx))
    np.testing.assert_allclose(llgrad.hvp(f, wrt="x", seed=seed)(w, x, dx), bent, rtol=1e-7)


def test_floats(lib: llgrad.Library) -> None:
    f = llgrad.implicit(residual=lib.single, unknown="u")(lambda p: np.sqrt(p))
    p = np.array([1, 4, 9], np.float32)
    u, by_p = llgrad.vjp(f)(p, seed=np.ones(3))
    assert u.dtype == by_p.dtype == np.float32
    np.testing.assert_allclose(by_p, 0.5 / np.sqrt(p), rtol=1e-5)


def kepler(lib: llgrad.Library, E: Callable[[float, float], Any], **more: Any) -> Any:
    @llgrad.implicit(residual=lib.kepler, unknown="E", **more)
    def f(e: float, M: float) -> Any:
        return E(e, M)

    return f


def singular(p: float) -> float:
    return p


def line(p: Any) -> Any:
    u = np.zeros_like(p)
    for i in range(1, len(p)):
        u[i] = u[i - 1] - np.sum(p[:i])
    return u


BALANCED = np.sin(2 * np.pi * (np.arange(100) + 0.5) / 100)
WRONG: dict[str, tuple[Callable[[llgrad.Library], Any], type[Exception], str]] = {
    "no root": (lambda lib: llgrad.grad(kepler(lib, lambda e, M: 2.0))(0.3, 1.0), llgrad.SolveError, "is no root"),
    "half a root": (lambda lib: llgrad.grad(kepler(lib, lambda e, M: 0.51))(0.0, 0.5), llgrad.SolveError, "is no root"),
    "nan": (lambda lib: llgrad.grad(kepler(lib, lambda e, M: np.nan))(0.3, 1.0), llgrad.SolveError, "is not finite"),
    "singular": (
        lambda lib: llgrad.grad(llgrad.implicit(residual=lib.singular, unknown="u")(singular))(1.0),
        llgrad.SolveError, "is singular",
    ),
    "no unique solution": (
        lambda lib: llgrad.vjp(llgrad.implicit(residual=lib.neumann, unknown="u", given={"n": 100})(line))(
            BALANCED, seed=np.eye(100)[3]
        ),
        llgrad.SolveError, "was not solved to 1e-10: relative residuals are bicgstab .*, gmres",
    ),
    "no contraction": (
        lambda lib: llgrad.vjp(llgrad.fixed_point(step=lib.expand, unknown="u", method="iterate")(lambda p: -p / 2))(
            np.ones(3), seed=np.ones(3)
        ), llgrad.SolveError, "iterate",
    ),
    "a wrong factorisation": (
        lambda lib: llgrad.vjp(newton(lib, solve_transposed=lambda b: 0 * b, iterations=2))(P, K, seed=W),
        llgrad.SolveError, "solve= 1.0e.00",
    ),
    "seed": (lambda lib: llgrad.vjp(newton(lib))(P, K), llgrad.ArgumentError, "has 7 elements"),
    "shape": (lambda lib: llgrad.vjp(newton(lib))(P, K, seed=W[:2]), llgrad.ArgumentError, "shape"),
    "inactive": (lambda lib: llgrad.vjp(newton(lib), wrt="guess"), llgrad.ArgumentError, "has no derivative"),
    "unknown": (lambda lib: llgrad.vjp(newton(lib), wrt="u"), llgrad.ArgumentError, "no parameter of the solver"),
    "of": (lambda lib: llgrad.vjp(newton(lib), of="r"), llgrad.ArgumentError, "takes no of"),
    "option": (lambda lib: llgrad.vjp(newton(lib), strict=True), llgrad.ArgumentError, "takes no strict"),
    "method": (lambda lib: newton(lib, method="iterate"), llgrad.ArgumentError, "no method here"),
    "size": (
        lambda lib: llgrad.vjp(llgrad.implicit(residual=lib.residual, unknown="u")(lambda p, k: P[:3]))(P, K),
        llgrad.ArgumentError, "u has 3, p has 7 elements",
    ),
    "call": (lambda lib: newton(lib)(P), llgrad.ArgumentError, "missing a required argument"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_nothing_wrong_is_returned(lib: llgrad.Library, name: str) -> None:
    wrong, kind, words = WRONG[name]
    with pytest.raises(kind, match=words):
        wrong(lib)


def test_tolerances_of_roots(lib: llgrad.Library) -> None:
    def rough(e: float, M: float) -> float:
        return float(M + 1e-4)

    loose = llgrad.value_and_grad(kepler(lib, rough, rtol=1e-3), wrt="M")(0.0, 1.0)
    assert loose == (1.0001, pytest.approx(1.0))
    assert llgrad.grad(kepler(lib, rough, atol=1e-3), wrt="M")(0.0, 0.0) == pytest.approx(1.0)
    with pytest.raises(llgrad.SolveError, match="Newton's method would move it by 1.0e-04"):
        llgrad.grad(kepler(lib, rough))(0.0, 1.0)


def test_examples_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scipy = pytest.importorskip("scipy.linalg")
    assert scipy
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(c|python)\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)[1:]
    (line,) = re.findall(r"# (double kepler.*)", DOCUMENT.read_text())
    Path("kepler.c").write_text(f"#include <math.h>\n{line}\n")
    names: dict[str, Any] = {"llgrad": llgrad, "np": np, "scipy": __import__("scipy")}
    for language, text in blocks:
        if language == "c":
            Path(re.findall(r"/\* (\w+\.c):", text)[0]).write_text(text)
        else:
            exec(text, names)
    assert len(blocks) == 5
