"""Patterns, sparse Jacobians and Hessians against dense ones; colourings against their definitions; the probe."""

from __future__ import annotations

import contextlib
import pickle
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import harness
import numpy as np
import pytest
import scipy.sparse
from cases import FOLDER, Program, read_program
from msgspec.structs import replace
from sandbox import isolated

import llgrad
from llgrad.api import colouring, sparse
from llgrad.api.colouring import Pattern
from llgrad.api.sparsity import Inputs, pattern, sets_of
from llgrad.autodiff.requests.request import Mode, Request
from llgrad.errors import ArgumentError, UnsupportedError
from llgrad.signature import Pointer

C = """
#include <math.h>
#include <string.h>
void chain(const double *x, int n, double *y) {
    for (int i = 0; i < n; i++) y[i] = x[i] * x[i] + (i ? sin(x[i - 1]) : 0) + (i + 1 < n ? x[i + 1] * x[i] : 0);
}
void arrow(const double *x, int n, double *y) {
    y[0] = 0;
    for (int i = 1; i < n; i++) { y[0] += x[i] * x[0]; y[i] = exp(x[i]) * x[0]; }
}
void blocks(const double *a, const float *b, double c, int n, double *y) {
    for (int i = 0; i < n; i++) y[i] = a[i] * b[n - 1 - i] + c * c;
}
void narrow(const double *x, int n, double *y) {
    for (int i = 0; i < n; i++) { float f = (float)x[i]; y[i] = f * f + x[(i + 1) % n]; }
}
void singles(const float *x, int n, float *y) {
    for (int i = 0; i < n; i++) y[i] = x[i] * x[(i * 7 + 3) % n];
}
void branches(const double *x, int n, double *y) {
    for (int i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] * x[i] : x[(i + 1) % n];
}
void in_place(double *x, int n) {
    for (int i = 1; i < n; i++) x[i] = x[i] * x[i] + 0.5 * x[i - 1];
}
void kinks(const double *x, int n, double *y) {
    for (int i = 0; i + 1 < n; i++) y[i] = fmax(x[i], x[i + 1]) * fabs(x[i]);
    y[n - 1] = floor(x[0]) + 0 * x[1];
}
void counts(const double *x, int n, double *y) {
    static int calls;
    calls++;
    for (int i = 0; i < n; i++) y[i] = x[(i + calls) % n];
}
void high_word(const double *x, int n, double *y) {
    for (int i = 0; i < n; i++) {
        unsigned long long bits;
        memcpy(&bits, &x[i], 8);
        bits &= 0xFFFFFFFF00000000;
        memcpy(&y[i], &bits, 8);
    }
}
double rosenbrock(const double *x, int n) {
    double s = 0;
    for (int i = 0; i + 1 < n; i++) {
        double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
        s += 100 * a * a + b * b;
    }
    return s;
}
void both(const double *x, const double *p, int n, double *y) {
    for (int i = 0; i < n; i++) y[i] = x[i] * x[i] * p[0] + sin(x[i] * x[(i + 1) % n]) + p[1] * p[1] * p[0];
}
"""
CPP = """
#include <array>
#include <cmath>
#include <vector>
extern "C" void chain(const double *x, int n, double *y) {
    std::vector<std::array<double, 2>> kept(n);
    for (int i = 0; i < n; i++) kept[i] = {x[i], std::sin(x[i])};
    for (int i = 0; i < n; i++) {
        y[i] = kept[i][0] * kept[i][0];
        if (i) y[i] += kept[i - 1][1];
        if (i + 1 < n) y[i] += kept[i + 1][0] * kept[i][0];
    }
}
"""
FORTRAN = """
subroutine chain(x, n, y)
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  real(8), intent(out) :: y(n)
  integer :: i
  y = x * x
  y(2:n) = y(2:n) + sin(x(1:n-1))
  do i = 1, n - 1
    y(i) = y(i) + x(i + 1) * x(i)
  end do
end subroutine
"""


def load(folder: Path, name: str, text: str, **options: Any) -> llgrad.Library:
    path = folder / name
    path.write_text(text)
    return llgrad.load(path, **options)


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> llgrad.Library:
    return load(tmp_path_factory.mktemp("sparse"), "code.c", C)


def places(matrix: Any) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in np.argwhere(matrix.toarray())]


X = np.random.default_rng(3).uniform(0.3, 1.3, 70)


# --- patterns


@pytest.mark.parametrize("n", [1, 2, 61, 2000])
def test_a_band_is_found_exactly(lib: llgrad.Library, n: int) -> None:
    x, y = np.linspace(0.1, 1, n), np.full(n, np.nan)
    found = llgrad.sparsity(lib.chain, wrt="x", of="y")(x, n, y)
    band = scipy.sparse.diags_array([np.ones(n - abs(k)) for k in (-1, 0, 1) if n > abs(k)],
                                    offsets=[k for k in (-1, 0, 1) if n > abs(k)])  # fmt: skip
    assert places(found) == places(band)
    expected = np.full(n, np.nan)
    lib.chain(x, n, expected)
    np.testing.assert_array_equal(y, expected)


def test_a_full_row_and_a_full_column(lib: llgrad.Library) -> None:
    n = 1100  # more than two sweeps tell apart
    found = llgrad.sparsity(lib.arrow, wrt="x", of="y")(np.ones(n), n, np.zeros(n)).toarray()
    expected = np.eye(n, dtype=bool)
    expected[0], expected[:, 0] = True, True
    assert (found == expected).all()


def test_what_has_a_zero_slope_counts_and_what_has_none_does_not(lib: llgrad.Library) -> None:
    found = llgrad.sparsity(lib.kinks, wrt="x", of="y")(np.array([0.0, 2.0, 1.0]), 3, np.zeros(3)).toarray()
    assert found.tolist() == [[True, True, False], [False, True, True], [False, True, False]]


def test_casts_to_a_narrower_format_lose_nothing(lib: llgrad.Library) -> None:
    n = 70
    found = llgrad.sparsity(lib.narrow, wrt="x", of="y")(X, n, np.zeros(n)).toarray()
    expected = np.eye(n, dtype=bool) | np.roll(np.eye(n, dtype=bool), 1, axis=1)
    assert (found >= expected).all() and found.sum() < 2 * expected.sum()


def test_floats(lib: llgrad.Library) -> None:
    n = 70
    x, y = X.astype(np.float32), np.zeros(n, np.float32)
    found = llgrad.sparse_jacobian(lib.singles, wrt="x", of="y")(x, n, y)
    np.testing.assert_array_equal(found.toarray(), llgrad.jacobian(lib.singles, wrt="x", of="y")(x, n, y))
    assert found.dtype == np.float32 and found.nnz <= 2 * n


def test_fast_math(tmp_path: Path) -> None:
    lib = load(tmp_path, "code.c", C, flags=["-ffast-math", "-march=native"])
    n = 70
    found = llgrad.sparsity(lib.chain, wrt="x", of="y")(X, n, np.zeros(n))
    assert found.nnz == 3 * n - 2


def test_parts_of_bits_are_refused(lib: llgrad.Library) -> None:
    with pytest.raises(UnsupportedError):
        llgrad.sparsity(lib.high_word, wrt="x", of="y")(X[:3].copy(), 3, np.zeros(3))


RULED = """
__attribute__((noinline)) double g(double x) { return x * x; }
double dg(double x, double dx) { return 2 * x * dx; }
void f(const double *x, int n, double *y) { for (int i = 0; i < n; i++) y[i] = g(x[i]); }
"""


def test_rules_in_code_are_refused(tmp_path: Path) -> None:
    lib = load(tmp_path, "rule.c", RULED)
    llgrad.rule(lib.g, tangent=lib.dg)
    with pytest.raises(UnsupportedError, match="no pattern"):
        llgrad.sparsity(lib.f, wrt="x", of="y")(X[:3].copy(), 3, np.zeros(3))
    found = llgrad.sparse_jacobian(lib.f, wrt="x", of="y", mode="forward", sparsity=np.eye(3))
    np.testing.assert_allclose(found(X[:3].copy(), 3, np.zeros(3)).toarray(), np.diag(2 * X[:3]))
    wrong = llgrad.sparse_jacobian(lib.f, wrt="x", of="y", mode="forward", sparsity=np.eye(3, k=1))
    with pytest.raises(ArgumentError, match="lacks entries"):
        wrong(X[:3].copy(), 3, np.zeros(3))


def test_of_a_hessian(lib: llgrad.Library) -> None:
    n = 700
    found = llgrad.sparsity(lib.rosenbrock, wrt="x", order=2)(np.ones(n), n)
    assert found.nnz == 3 * n - 2 and (found != found.T).nnz == 0


def test_runs_that_differ_are_an_error(lib: llgrad.Library) -> None:
    with pytest.raises(llgrad.ForeignError, match="another value"):
        llgrad.sparsity(lib.counts, wrt="x", of="y")(np.arange(1000.0), 1000, np.zeros(1000))


# --- every program of a sample: a set is empty only where the derivative is zero


SAMPLE = ("cholesky", "binary_tree", "bubble_sort", "complex_functions", "adaptive_simpson", "bit_fields")  # fmt: skip


def uncovered(program: Program, level: int, patch: pytest.MonkeyPatch) -> list[str]:
    """Where forward mode finds a derivative and sets find none."""
    patch.setattr(harness, "MODES", (Mode.FORWARD,))
    plain = harness.request
    found = []
    for sets in (False, True):
        patch.setattr(harness, "_LAST", {})
        patch.setattr(harness, "request", lambda p, m, sets=sets: replace(plain(p, m), sets=sets))
        built = harness.build(harness.compiled([program.path]), [program], level)
        if built.errors:
            raise next(iter(built.errors.values()))
        found.append(harness.jacobian(built, program, Mode.FORWARD, program.point)[0])
    return [str(at) for at in np.argwhere((found[0] != 0) & (found[1] == 0))]


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", SAMPLE)
def test_sets_lose_no_derivative(name: str, level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isolated(uncovered, read_program(FOLDER / f"{name}.c"), level, monkeypatch) == []


# --- Jacobians


@pytest.mark.parametrize("mode", [None, "forward", "reverse"])
@pytest.mark.parametrize("name", ["chain", "arrow", "branches", "kinks"])
def test_jacobian(lib: llgrad.Library, name: str, mode: str | None) -> None:
    n, f = 23, lib[name]
    x = X[:n] - 0.7
    y, z = np.full(n, np.nan), np.full(n, np.nan)
    found = llgrad.sparse_jacobian(f, wrt="x", of="y", mode=mode)(x, n, y)
    assert isinstance(found, scipy.sparse.csr_array)
    np.testing.assert_allclose(found.toarray(), llgrad.jacobian(f, wrt="x", of="y")(x, n, z), rtol=1e-14)
    np.testing.assert_array_equal(y, z)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name, text", [("a.c", C), ("a.cpp", CPP), ("a.f90", FORTRAN)])
def test_languages(tmp_path: Path, name: str, text: str, level: int) -> None:
    if name.endswith("90") and not any(map(shutil.which, ("flang", "flang-22", "flang-new"))):
        pytest.skip("no flang")
    lib, n = load(tmp_path, name, text, optimize=level), 40
    x, y = X[:n].copy(), np.zeros(n)
    given = [x, n, y] if len(lib.chain.signature.parameters) == 3 else [x, y]
    found = llgrad.sparse_jacobian(lib.chain, wrt="x", of="y")(*given)
    expected = np.diag(2 * x + np.append(x[1:], 0)) + np.diag(np.cos(x[:-1]), -1) + np.diag(x[:-1], 1)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-14)
    assert found.nnz == 3 * n - 2


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_several_parameters_and_numbers(lib: llgrad.Library, mode: str) -> None:
    n = 11
    a, b, c, y = X[:n].copy(), X[20 : 20 + n].astype(np.float32), 0.7, np.zeros(n)
    found = llgrad.sparse_jacobian(lib.blocks, wrt=("a", "b", "c"), of="y", mode=mode)(a, b, c, n, y)
    dense = llgrad.jacobian(lib.blocks, wrt=("a", "b", "c"), of="y")(a, b, c, n, y)
    expected = np.concatenate([d.reshape(n, -1) for d in dense], axis=1)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-6)
    assert found.nnz == 3 * n


def test_a_long_gradient(lib: llgrad.Library) -> None:
    """One row is one reverse sweep; nobody colours a million columns of it."""
    n = 200_000
    x = np.linspace(0.5, 1.5, n)
    found = llgrad.sparse_jacobian(lib.rosenbrock, wrt="x")(x, n)
    np.testing.assert_array_equal(found.toarray()[0], llgrad.grad(lib.rosenbrock, wrt="x")(x, n))


def test_a_few_long_rows_are_found_in_reverse(lib: llgrad.Library) -> None:
    n = 300
    made = llgrad.sparse_jacobian(lib.arrow, wrt="x", of="y")
    for scale in (1.0, 0.5):
        x, y = scale * np.linspace(0.1, 1, n), np.zeros(n)
        found = made(x, n, y)
        np.testing.assert_allclose(found.toarray(), llgrad.jacobian(lib.arrow, wrt="x", of="y")(x, n, y), rtol=1e-14)
        assert found.nnz == 3 * n - 2
    (kept,) = made._made.values()
    assert kept.long is not None and (kept.colouring.count, kept.long.made.colouring.count) == (2, 1)
    lacking = found.copy().tolil()
    lacking[0, 7] = 0
    with pytest.raises(ArgumentError, match="lacks entries"):
        llgrad.sparse_jacobian(lib.arrow, wrt="x", of="y", sparsity=lacking.tocsr())(x, n, y)


def test_what_is_not_sparse_is_refused(lib: llgrad.Library) -> None:
    n = 70_000
    rows = np.concatenate([np.zeros(n, np.int32), np.arange(n, dtype=np.int32)])
    items = np.concatenate([np.arange(n, dtype=np.int32), np.zeros(n, np.int32)])
    full = Pattern.at((n, n), rows, items).matrix()
    with pytest.raises(ArgumentError, match="not sparse"):
        llgrad.sparse_jacobian(lib.arrow, wrt="x", of="y", sparsity=full, mode="forward")(np.ones(n), n, np.zeros(n))


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_in_place_again_and_again(lib: llgrad.Library, mode: str) -> None:
    """What is written is also read: each sweep of each call begins with what the call was given."""
    n = 13
    made = llgrad.sparse_jacobian(lib.in_place, wrt="x", of="x", mode=mode)
    for scale in (1.0, 0.3):
        x, z = scale * X[:n], scale * X[:n]
        found = made(x, n)
        np.testing.assert_allclose(found.toarray(), llgrad.jacobian(lib.in_place, wrt="x", of="x")(z, n), rtol=1e-13)
        np.testing.assert_array_equal(x, z)


def test_other_shapes_and_kept_results(lib: llgrad.Library) -> None:
    made = llgrad.sparse_jacobian(lib.chain, wrt="x", of="y")
    first = made(X[:5].copy(), 5, np.zeros(5))
    kept = first.toarray()
    assert made(X[:9].copy(), 9, np.zeros(9)).shape == (9, 9)
    made(2 * X[:5], 5, np.zeros(5))
    np.testing.assert_array_equal(first.toarray(), kept)
    x = np.zeros(5)
    expected = llgrad.jacobian(lib.chain, wrt="x", of="y")(x, 5, np.zeros(5))
    found = made(x, 5, np.zeros(5))
    with contextlib.suppress(ValueError):
        found.eliminate_zeros()  # in its own memory, or not at all
    np.testing.assert_array_equal(made(x, 5, np.zeros(5)).toarray(), expected)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_threads(lib: llgrad.Library, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    """Sweeps at once give what sweeps one after the other do, also of what is written and read."""
    monkeypatch.setattr(sparse, "WORTH_THREADS", -1.0)
    n = 40
    one, many = (
        llgrad.sparse_jacobian(lib.in_place, wrt="x", of="x", mode=mode, sparsity=np.ones((n, n)), threads=t)
        for t in (1, 3)
    )
    for scale in (1.0, 0.9, 0.8):
        x, z = scale * X[:n], scale * X[:n]
        np.testing.assert_array_equal(many(x, n).toarray(), one(z, n).toarray())
        np.testing.assert_array_equal(x, z)
    h = llgrad.sparse_hessian(lib.rosenbrock, wrt="x", sparsity=np.ones((n, n)), threads=3)
    for scale in (1.0, 0.9):
        dense = llgrad.hessian(lib.rosenbrock, wrt="x")(scale * X[:n], n)
        np.testing.assert_allclose(h(scale * X[:n], n).toarray(), dense, rtol=1e-13)
    (kept,) = many._made.values()
    assert kept.sweeps.copies and len(kept.sweeps.chunks) % 3 == 0


def test_pickling(lib: llgrad.Library) -> None:
    made = pickle.loads(pickle.dumps(llgrad.sparse_jacobian(lib.chain, wrt="x", of="y")))
    assert made(X[:9].copy(), 9, np.zeros(9)).nnz == 25


def test_few_shapes_are_kept(lib: llgrad.Library) -> None:
    made = llgrad.sparse_jacobian(lib.chain, wrt="x", of="y")
    for n in (*range(2, 14), 2):
        assert made(X[:n].copy(), n, np.zeros(n)).shape == (n, n)
    assert len(made._made) == 8


def test_nothing_to_do(lib: llgrad.Library) -> None:
    assert llgrad.sparse_jacobian(lib.chain, wrt="x", of="y")(np.zeros(0), 0, np.zeros(0)).shape == (0, 0)


# --- the probe


def test_other_branches_are_found_again(lib: llgrad.Library) -> None:
    n = 12
    made = llgrad.sparse_jacobian(lib.branches, wrt="x", of="y")
    x, y = X[:n].copy(), np.zeros(n)
    assert made(x, n, y).nnz == n
    x[3] = -1
    found = made(x, n, y)
    np.testing.assert_allclose(found.toarray(), llgrad.jacobian(lib.branches, wrt="x", of="y")(x, n, y))
    assert (found[[3], [4]] == 1).all() and found.nnz == n + 1


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_wrong_pattern_is_an_error(lib: llgrad.Library, mode: str) -> None:
    n = 12
    x, y = X[:n].copy(), np.zeros(n)
    lacking = llgrad.sparsity(lib.chain, wrt="x", of="y")(x, n, y).toarray()
    lacking[5, 6] = False
    made = llgrad.sparse_jacobian(lib.chain, wrt="x", of="y", mode=mode, sparsity=lacking)
    with pytest.raises(ArgumentError, match="lacks entries"):
        made(x, n, y)
    silent = llgrad.sparse_jacobian(lib.chain, wrt="x", of="y", mode=mode, sparsity=lacking, probe=False)
    assert silent(x, n, y).shape == (n, n)
    with pytest.raises(ArgumentError, match="shape"):
        llgrad.sparse_jacobian(lib.chain, wrt="x", of="y", sparsity=np.eye(3))(x, n, y)


def test_a_pattern_that_is_too_large_is_right(lib: llgrad.Library) -> None:
    n = 12
    x, y = X[:n].copy(), np.zeros(n)
    found = llgrad.sparse_jacobian(lib.chain, wrt="x", of="y", sparsity=np.ones((n, n)))(x, n, y)
    np.testing.assert_allclose(found.toarray(), llgrad.jacobian(lib.chain, wrt="x", of="y")(x, n, y))
    assert found.nnz == n * n


def test_floats_inside_are_no_wrong_pattern(lib: llgrad.Library) -> None:
    """The probe differs by the rounding of floats; sets prove that the pattern lacks nothing."""
    n = 70
    made = llgrad.sparse_jacobian(lib.narrow, wrt="x", of="y")
    found = made(X, n, np.zeros(n))
    np.testing.assert_allclose(found.toarray(), llgrad.jacobian(lib.narrow, wrt="x", of="y")(X, n, np.zeros(n)))
    given = llgrad.sparse_jacobian(lib.narrow, wrt="x", of="y", sparsity=found)
    np.testing.assert_array_equal(given(X, n, np.zeros(n)).toarray(), found.toarray())


def test_a_given_pattern_is_left_as_it_was(lib: llgrad.Library) -> None:
    """Its entries may stand in any order, and more than once; they count whatever their values are."""
    n = 4
    items, starts = np.array([1, 0, 2, 0, 1, 1, 2, 3, 1, 3, 2, 2]), np.array([0, 2, 6, 9, 12])
    given = scipy.sparse.csr_array((np.tile([1.0, -1.0], 6), items.copy(), starts.copy()), shape=(n, n))
    found = llgrad.sparse_jacobian(lib.chain, wrt="x", of="y", sparsity=given)(X[:n].copy(), n, np.zeros(n))
    np.testing.assert_array_equal(given.indices, items)
    np.testing.assert_array_equal(given.indptr, starts)
    assert found.nnz == 10
    np.testing.assert_allclose(
        found.toarray(), llgrad.jacobian(lib.chain, wrt="x", of="y")(X[:n].copy(), n, np.zeros(n)), rtol=1e-14
    )


# --- Hessians


def test_hessian(lib: llgrad.Library) -> None:
    n = 31
    made = llgrad.sparse_hessian(lib.rosenbrock, wrt="x")
    for scale in (1.0, 2.0):
        found = made(scale * X[:n], n)
        dense = llgrad.hessian(lib.rosenbrock, wrt="x")(scale * X[:n], n)
        np.testing.assert_allclose(found.toarray(), dense, rtol=1e-13)
        assert found.nnz == 3 * n - 2


def test_hessian_of_a_lagrangian(lib: llgrad.Library) -> None:
    """Two parameters, full rows and columns, and weights."""
    n = 9
    x, p, y, weights = X[:n].copy(), np.array([0.3, 0.8]), np.zeros(n), X[20 : 20 + n].copy()
    found = llgrad.sparse_hessian(lib.both, wrt=("x", "p"), of="y")(x, p, n, y, seed=weights)
    dense = llgrad.hessian(lib.both, wrt=("x", "p"), of="y")(x, p, n, y, seed=weights)
    np.testing.assert_allclose(found.toarray(), np.block([list(row) for row in dense]), rtol=1e-12, atol=1e-15)
    assert found.nnz < (n + 2) ** 2


@pytest.mark.parametrize("name", ["explicit_stack", "float_double_casts", "released_at_once"])
def test_sets_go_through_the_code_of_gradients(name: str) -> None:
    """Tapes, stacks, casts and memory of the program's own: all second derivatives have a place."""
    f = llgrad.load(FOLDER / f"{name}.c")[name]
    found, dense = (
        make(f, wrt="x")(*(X[:6].copy() if isinstance(p.type, Pointer) else 6 for p in f.signature.parameters))
        for make in (llgrad.sparse_hessian, llgrad.hessian)
    )
    np.testing.assert_allclose(found.toarray(), dense, rtol=1e-9, atol=1e-9 * np.abs(dense).max())
    assert dense.any()


def test_a_wrong_pattern_of_a_hessian(lib: llgrad.Library) -> None:
    n = 8
    made = llgrad.sparse_hessian(lib.rosenbrock, wrt="x", sparsity=np.eye(n))
    with pytest.raises(ArgumentError, match="lacks entries"):
        made(X[:n].copy(), n)


# --- colourings


def grid(n: int) -> Any:
    line = scipy.sparse.diags_array([np.ones(n - 1), np.ones(n), np.ones(n - 1)], offsets=[-1, 0, 1])
    return scipy.sparse.kronsum(line, line)


def sampled(seed: int, shape: tuple[int, int], density: float) -> Pattern:
    return Pattern.of(scipy.sparse.random_array(shape, density=density, rng=np.random.default_rng(seed)))


def rows_of(p: Pattern) -> Sequence[Sequence[int]]:
    return [p.items[a:b].tolist() for a, b in zip(p.starts, p.starts[1:], strict=False)]


@pytest.mark.parametrize("p", [Pattern.of(grid(12)), sampled(1, (40, 60), 0.05), sampled(2, (60, 40), 0.2)])
def test_columns_of_one_colour_share_no_row(p: Pattern) -> None:
    count, colours = colouring.fewest_columns(p)
    assert set(colours) == set(range(count))
    for row in rows_of(p):
        assert len(set(colours[row])) == len(row)
    assert colouring.by_columns(p, (count, colours)).count == count


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_a_star_colouring_has_no_path_of_two_colours(seed: int | None) -> None:
    p = Pattern.of(grid(9))
    if seed is not None:
        half = sampled(seed, (40, 40), 0.06)
        p = half.joined(half.transposed)
    count, colours = colouring.star(p)
    rows = rows_of(p)
    for a, row in enumerate(rows):
        for b in row:
            assert a == b or colours[a] != colours[b]
            for c in rows[b]:
                for d in rows[c]:
                    if len({a, b, c, d}) == 4:
                        assert len({int(colours[v]) for v in (a, b, c, d)}) > 2
    assert count <= colouring.fewest_columns(p)[0]


def test_a_wrong_colouring_is_seen() -> None:
    p = Pattern.of(grid(5))
    with pytest.raises(llgrad.InternalError, match="hides"):
        colouring.by_columns(p, (2, (np.arange(25) % 2).astype(np.int32)))


def test_a_pattern_takes_few_sweeps(lib: llgrad.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are cut by what is known of them: sweeps grow with the logarithm of the inputs."""
    sets = sets_of(lib.chain, "x", "y", 1, {})
    runs: list[int] = []
    once = sets.propagated

    def counted(inputs: Inputs, given: Sequence[Any], seed: Any) -> Any:
        runs.append(len(given))
        return once(inputs, given, seed)

    monkeypatch.setattr(sets, "propagated", counted)
    n = 20000
    assert len(pattern(sets, lib.chain.values((np.ones(n), n, np.zeros(n)), {})).items) == 3 * n - 2
    assert runs == [8, 8]


def test_it_asks_for_sets(lib: llgrad.Library) -> None:
    made: Request = sets_of(lib.chain, "x", "y", 1, {}).request_for(True)
    assert made.sets and made.name.endswith("db")
