"""Jacobians, and batches of seeds and tangents, against single sweeps and closed forms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import llgrad
from llgrad import errors

CODE = """
#include <math.h>
double norm(const double *x, double scale, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += scale * x[i] * x[i];
    return s;
}
void mix(const double *a, const float *b, double c, int n, int m, double *y) {
    for (int j = 0; j < m; j++) {
        y[j] = 0;
        for (int i = 0; i < n; i++) y[j] += sin(a[i] * (j + 1)) * b[j] + c * a[i];
    }
}
void in_place(double *x, int n) {
    for (int i = 1; i < n; i++) x[i] = x[i] * x[i - 1];
}
double chosen(const double *x, const double *table, int n, int which) {
    const double *p = which ? x : table;
    double s = 0;
    for (int i = 0; i < n; i++) s += p[i] * p[i];
    return s;
}
void roots(const double *x, double *y, int n) { for (int i = 0; i < n; i++) y[i] = sqrt(x[i]); }
long double wide(long double x, long double y) { return x * y * y; }
"""


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> llgrad.Library:
    path = Path(tmp_path_factory.mktemp("dense"), "code.c")
    path.write_text(CODE)
    return llgrad.load(path)


@pytest.mark.parametrize("mode", [None, "forward", "reverse"])
@pytest.mark.parametrize("n, m", [(3, 2), (1, 1), (11, 3), (2, 19), (0, 2), (2, 0)])
def test_jacobian(lib: llgrad.Library, mode: str | None, n: int, m: int) -> None:
    rng = np.random.default_rng(n)
    a, b, c, y = rng.normal(size=n), rng.normal(size=m).astype(np.float32), 0.7, np.full(m, np.nan)
    da, db, dc = llgrad.jacobian(lib.mix, wrt=("a", "b", "c"), of="y", mode=mode)(a, b, c, n, m, y)
    j = np.arange(1, m + 1)
    inner = np.outer(j, a)
    np.testing.assert_allclose(da, np.cos(inner) * (j * b)[:, None] + c, rtol=1e-12)
    np.testing.assert_allclose(db, np.diag(np.sin(inner).sum(1)), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(dc, np.full(m, a.sum()), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(y, np.sin(inner).sum(1) * b + c * a.sum(), rtol=1e-12)
    assert (da.shape, db.shape, dc.shape) == ((m, n), (m, m), (m,))


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_jacobian_of_what_is_written_in_place(lib: llgrad.Library, mode: str) -> None:
    start = np.random.default_rng(0).uniform(0.5, 1.5, 12)
    x = start.copy()
    found = llgrad.jacobian(lib.in_place, wrt="x", of="x", mode=mode)(x, 12)
    np.testing.assert_allclose(x, np.cumprod(start), rtol=1e-14)  # the function ran once, whatever the sweeps
    np.testing.assert_allclose(found, np.tril(np.outer(np.cumprod(start), 1 / start)), rtol=1e-12)


def test_jacobian_of_a_returned_number(lib: llgrad.Library) -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    dx, dscale = llgrad.jacobian(lib.norm, wrt=("x", "scale"))(x, 0.5, 4)
    assert dx.tolist() == x.tolist() and dscale == 30.0
    dx = llgrad.jacobian(lib.norm, wrt="x", mode="forward")(x, scale=0.5, n=4)
    assert dx.tolist() == x.tolist()
    assert [float(v) for v in llgrad.jacobian(lib.wide, wrt=(0, 1))(2.0, 3.0)] == [9.0, 12.0]


def test_jacobian_names(lib: llgrad.Library) -> None:
    with pytest.raises(errors.ArgumentError, match="neither"):
        llgrad.jacobian(lib.norm, mode="both")
    with pytest.raises(errors.ArgumentError, match="None"):
        llgrad.jacobian(lib.norm, wrt="x")(None, 1.0, 0)
    with pytest.raises(errors.ArgumentError, match="no output"):
        llgrad.jacobian(lib.mix, wrt="a", of="b")


def test_batches_are_single_calls(lib: llgrad.Library) -> None:
    rng = np.random.default_rng(2)
    a, b, y = rng.normal(size=4), rng.normal(size=3).astype(np.float32), np.zeros(3)
    args = a, b, 0.3, 4, 3, y
    push = llgrad.jvp(lib.mix, wrt=("a", "c"), of="y")
    ta, tc = rng.normal(size=(11, 4)), rng.normal(size=11)
    value, tangents = push(*args, tangents=(ta, tc))
    each = [push(*args, tangents=(ta[k], tc[k])) for k in range(11)]
    np.testing.assert_array_equal(value, each[0][0])
    np.testing.assert_allclose(tangents, [t for _, t in each], rtol=1e-14)
    pull = llgrad.vjp(lib.mix, wrt=("a", "c"), of="y")
    seeds = rng.normal(size=(5, 3))
    value, (da, dc) = pull(*args, seed=seeds)
    ones = [pull(*args, seed=s) for s in seeds]
    np.testing.assert_allclose(da, [g[0] for _, g in ones], rtol=1e-14)
    np.testing.assert_allclose(dc, [g[1] for _, g in ones], rtol=1e-14)


def test_batches_of_numbers(lib: llgrad.Library) -> None:
    x = np.array([1.0, 2.0])
    assert llgrad.vjp(lib.norm, wrt="x")(x, 1.0, 2, seed=np.array([1.0, 3.0]))[1].tolist() == [[2.0, 4.0], [6.0, 12.0]]
    assert llgrad.jvp(lib.norm, wrt="scale")(x, 1.0, 2, tangents=np.array([1.0, 2.0]))[1].tolist() == [5.0, 10.0]
    with pytest.raises(errors.ArgumentError, match="shape"):
        llgrad.jvp(lib.norm, wrt=("x", "scale"))(x, 1.0, 2, tangents=(np.ones((3, 2)), np.ones(2)))


def test_options(lib: llgrad.Library) -> None:
    x, table, root = np.array([0.0, 2.0]), np.array([3.0, 4.0]), np.zeros(2)
    with pytest.raises(errors.ActivityError, match="runtime activity"):
        llgrad.grad(lib.chosen, wrt="x")
    for which, expected in (1, [0.0, 4.0]), (0, [0.0, 0.0]):
        assert llgrad.grad(lib.chosen, wrt="x", runtime_activity=True)(x, table, 2, which).tolist() == expected
        found = llgrad.jacobian(lib.chosen, wrt="x", mode="forward", runtime_activity=True)(x, table, 2, which)
        assert found.tolist() == expected
    pull = llgrad.vjp(lib.roots, wrt="x", of="y", strong_zero=True)
    assert pull(x, root, 2, seed=np.array([0.0, 1.0]))[1].tolist() == [0.0, 0.5 / np.sqrt(2.0)]
    push = llgrad.jvp(lib.roots, wrt="x", of="y", strong_zero=True)
    assert push(x, root, 2, tangents=np.array([0.0, 1.0]))[1].tolist() == [0.0, 0.5 / np.sqrt(2.0)]


def test_matrices_are_of_one_run(tmp_path: Path) -> None:
    """What keeps something from run to run has no Jacobian in several runs; what has work arrays there has one."""
    path = tmp_path / "code.c"
    path.write_text("""
        static double kept, work[64];
        void counts(const double *x, int n, double *y) {
            kept++;
            for (int i = 0; i < n; i++) y[i] = kept * x[i] * x[i];
        }
        double sum(const double *x, int n) {
            double s = 0;
            kept++;
            for (int i = 0; i < n; i++) s += kept * x[i] * x[i];
            return s;
        }
        double pair(double a, double b) { kept++; return kept * a * a * b; }
        void works(const double *x, int n, double *y) {
            for (int i = 0; i < n; i++) work[i] = x[i] * x[i];
            for (int i = 0; i < n; i++) y[i] = work[i] * work[n - 1 - i];
        }
    """)
    lib, x, y = llgrad.load(path), np.linspace(0.5, 1.5, 20), np.zeros(20)
    ways: tuple[Callable[[], object], ...] = (
        lambda: llgrad.jacobian(lib.counts, wrt="x", of="y", mode="forward")(x, 20, y),
        lambda: llgrad.jacobian(lib.counts, wrt="x", of="y", mode="reverse")(x, 20, y),
        lambda: llgrad.vjp(lib.counts, wrt="x", of="y")(x, 20, y, seed=np.eye(20)),
        lambda: llgrad.hessian(lib.sum)(x, 20),
        lambda: llgrad.hessian(lib.pair)(1.0, 1.0),
    )
    for made in ways:
        with pytest.raises(errors.ForeignError, match="gives another value each time that it runs"):
            made()
    assert (llgrad.jacobian(lib.counts, wrt="x", of="y")(x[:8], 8, y[:8]).diagonal() / x[:8] % 2 == 0).all()  # one run
    found = llgrad.jacobian(lib.works, wrt="x", of="y")(x, 20, y)
    np.testing.assert_allclose(found.sum(0), 4 * x * (x * x)[::-1])
    found = llgrad.hessian(lib.works, wrt="x", of="y")(x, 20, y, seed=np.ones(20))
    np.testing.assert_allclose(found.diagonal(), 4 * (x * x)[::-1])
