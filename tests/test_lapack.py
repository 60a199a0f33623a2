"""Programs that call LAPACK, or BLAS that has no rules, against differences of the library, in both modes and all ways.

They need a library with `dpotrf_` (Debian: liblapack-dev or libopenblas-dev), and for LAPACKE's names liblapacke-dev.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import llgrad
from llgrad.errors import NoRuleError

SOURCE = Path(__file__).with_name("lapack") / "routines.c"


def libraries(symbol: str) -> list[str]:
    """Names of libraries with this function and BLAS; none if they are not here."""
    for names in (["openblas"], ["lapacke", "lapack", "blas"], ["lapack", "blas"]):
        found = [ctypes.util.find_library(name) for name in names]
        if all(found) and any(hasattr(ctypes.CDLL(name), symbol) for name in found):
            return names
    return []


LIBRARIES = libraries("LAPACKE_dgesv") or libraries("dpotrf_")
STYLES = 3 if libraries("LAPACKE_dgesv") else 1
needs_lapack = pytest.mark.skipif(not LIBRARIES, reason="LAPACK: no libopenblas or liblapack here")
ROUTINES = ["potrf", "potrs", "posv", "getrf", "getrs", "gesv", "trtrs", "getri", "potri"]
TRIANGLE = ("potrf", "potrs", "posv", "trtrs", "potri")


@pytest.fixture(scope="module")
def lib() -> llgrad.Library:
    return llgrad.load(SOURCE, libraries=LIBRARIES, flags=["-DFORTRAN_ONLY"] if STYLES == 1 else [])


def variants(name: str) -> list[tuple[int, int, int]]:
    up = (0, 1) if name in TRIANGLE else (0,)
    turned = (0, 1) if name in ("getrs", "trtrs") else (0,)
    return [(u, t, d) for u in up for t in turned for d in ((0, 1) if name == "trtrs" else (0,))]


@needs_lapack
@pytest.mark.parametrize("name", ROUTINES)
def test_routines(name: str, lib: llgrad.Library) -> None:
    """One block and several; forward against differences of the library's, and reverse against forward."""
    which = ROUTINES.index(name)
    grad, jvp = llgrad.value_and_grad(lib.program, wrt="v"), llgrad.jvp(lib.program, wrt="v")
    rng = np.random.default_rng(which)
    for n in (4, 37):
        v, u = rng.normal(size=n * n + 2 * n), rng.normal(size=n * n + 2 * n)
        for style in range(STYLES):
            for variant in variants(name):
                given = (n, which, style, *variant)
                value, slope = jvp(v, *given, tangents=u)
                again, gradient = grad(v, *given)
                near = [lib.program(v + h * u, *given) for h in (-2e-4, -1e-4, 1e-4, 2e-4)]
                difference = (near[0] - 8 * near[1] + 8 * near[2] - near[3]) / 12e-4
                np.testing.assert_allclose([value, again], lib.program(v, *given), rtol=1e-10)
                np.testing.assert_allclose(slope, difference, rtol=1e-6, atol=1e-7)
                np.testing.assert_allclose(gradient @ u, slope, rtol=1e-9)


ORTHOGONAL = ["geqrf", "orgqr", "ormqr", "gels"]


@pytest.fixture(scope="module")
def orthogonal() -> llgrad.Library:
    flags = ["-DFORTRAN_ONLY"] if STYLES == 1 else []
    return llgrad.load(SOURCE.with_name("orthogonal.c"), libraries=LIBRARIES, flags=flags)


def difference(f: Callable[..., float], v: np.ndarray, u: np.ndarray, given: tuple[int, ...]) -> float:
    near = [f(v + h * u, *given) for h in (-2e-4, -1e-4, 1e-4, 2e-4)]
    return (near[0] - 8 * near[1] + 8 * near[2] - near[3]) / 12e-4


@needs_lapack
@pytest.mark.parametrize("name", ORTHOGONAL)
def test_orthogonal(name: str, orthogonal: llgrad.Library) -> None:
    """Tall, square and wide matrices, of one block and several."""
    which, f = ORTHOGONAL.index(name), orthogonal.program
    grad, jvp = llgrad.value_and_grad(f, wrt="v"), llgrad.jvp(f, wrt="v")
    rng = np.random.default_rng(which)
    for m, n in [(6, 4), (5, 5), (41, 36), *([(4, 7)] if name != "orgqr" else [])]:
        v, u = rng.normal(size=m * n + 2 * max(m, n)), rng.normal(size=m * n + 2 * max(m, n))
        for style in range(STYLES):
            for turned in (0, 1) if name in ("ormqr", "gels") else (0,):
                for right in (0, 1) if name == "ormqr" else (0,):
                    given = (m, n, which, style, turned, right)
                    (value, slope), (again, gradient) = jvp(v, *given, tangents=u), grad(v, *given)
                    np.testing.assert_allclose([value, again], f(v, *given), rtol=1e-9)
                    np.testing.assert_allclose(slope, difference(f, v, u, given), rtol=1e-6, atol=1e-6)
                    np.testing.assert_allclose(gradient @ u, slope, rtol=1e-8)


@needs_lapack
def test_least_squares_of_a_triangle(orthogonal: llgrad.Library) -> None:
    """The library reflects nothing there; the solution depends on what is zero below the diagonal all the same."""
    f, n = orthogonal.triangular, 4
    rng = np.random.default_rng(3)
    v = rng.normal(size=n * n + n)
    v[: n * n] = (np.triu(rng.normal(size=(n, n))) + 3 * np.eye(n)).ravel(order="F")
    gradient = llgrad.grad(f, wrt="v")(v, n)
    hvp = llgrad.hvp(f, wrt="v")
    for k in range(n * n + n):
        u = np.eye(n * n + n)[k]
        np.testing.assert_allclose(gradient[k], difference(f, v, u, (n,)), rtol=1e-7, atol=1e-9)
    u = rng.normal(size=n * n + n)
    second = (llgrad.grad(f, wrt="v")(v + 1e-5 * u, n) - llgrad.grad(f, wrt="v")(v - 1e-5 * u, n)) / 2e-5
    np.testing.assert_allclose(hvp(v, n, u), second, rtol=1e-6, atol=1e-7)


@pytest.fixture(scope="module")
def spectrum() -> llgrad.Library:
    flags = ["-DFORTRAN_ONLY"] if STYLES == 1 else []
    return llgrad.load(SOURCE.with_name("spectrum.c"), libraries=LIBRARIES, flags=flags)


@needs_lapack
@pytest.mark.parametrize("conquer", [0, 1])
def test_spectrum(conquer: int, spectrum: llgrad.Library) -> None:
    f = spectrum.program
    grad, jvp = llgrad.value_and_grad(f, wrt="v"), llgrad.jvp(f, wrt="v")
    rng = np.random.default_rng(conquer)
    for n in (1, 5, 12):
        v, u = rng.normal(size=n * n) + 2 * np.diag(np.arange(n)).ravel(), rng.normal(size=n * n)
        for style in range(STYLES):
            for vectors, up in np.ndindex(2, 2):
                given = (n, conquer, style, vectors, up)
                (value, slope), (again, gradient) = jvp(v, *given, tangents=u), grad(v, *given)
                np.testing.assert_allclose([value, again], f(v, *given), rtol=1e-9)
                np.testing.assert_allclose(slope, difference(f, v, u, given), rtol=1e-6, atol=1e-6)
                np.testing.assert_allclose(gradient @ u, slope, rtol=1e-8)


@needs_lapack
def test_second_derivatives_of_a_spectrum(spectrum: llgrad.Library) -> None:
    f, n = spectrum.program, 4
    rng = np.random.default_rng(5)
    v, u = rng.normal(size=n * n) + 2 * np.diag(np.arange(n)).ravel(), rng.normal(size=n * n)
    for vectors in (0, 1):
        given, df = (n, 0, 0, vectors, 1), llgrad.grad(f, wrt="v")
        second = (df(v + 1e-5 * u, *given) - df(v - 1e-5 * u, *given)) / 2e-5
        np.testing.assert_allclose(llgrad.hvp(f, wrt="v")(v, *given, u), second, rtol=1e-6, atol=1e-6)


@needs_lapack
def test_equal_eigenvalues(spectrum: llgrad.Library) -> None:
    """Symmetric functions of them have first derivatives; where vectors are asked for, nothing has."""
    a = np.diag([2.0, 2, 2, 3])
    df = llgrad.grad(spectrum.exponentials, wrt="v")
    gradient = df(a.ravel(), 4, 0).reshape(4, 4)
    np.testing.assert_allclose(np.triu(gradient + gradient.T) / 2, np.diag(np.exp([2, 2, 2, 3])), atol=1e-12)
    for vectors in (1, 2):
        assert np.isnan(df(a.ravel(), 4, vectors)).any()
    assert np.isnan(llgrad.hvp(spectrum.exponentials, wrt="v")(a.ravel(), 4, 0, np.ones(16))).any()


NORMS = ["lange", "lansy", "lantr", "langb", "lansb", "gecon", "trcon", "pocon", "trtri"]


@pytest.fixture(scope="module")
def norms() -> llgrad.Library:
    flags = ["-DFORTRAN_ONLY"] if STYLES == 1 else []
    return llgrad.load(SOURCE.with_name("norms.c"), libraries=LIBRARIES, flags=flags)


@needs_lapack
@pytest.mark.parametrize("name", NORMS)
def test_norms(name: str, norms: llgrad.Library) -> None:
    """All norms, of either triangle: derivatives of the element, column or row that is the largest."""
    which, f, n = NORMS.index(name), norms.program, 6
    grad, jvp = llgrad.value_and_grad(f, wrt="v"), llgrad.jvp(f, wrt="v")
    rng = np.random.default_rng(which)
    v, u = rng.normal(size=n * n) + 2 * np.eye(n).ravel(), rng.normal(size=n * n)
    for style in range(STYLES) if name in ("lange", "lansy", "gecon", "pocon", "trtri") else (0,):
        for kind in (1, 2) if name in ("gecon", "trcon") else (1,) if name in ("pocon", "trtri") else range(4):
            for up in (0,) if name in ("lange", "langb", "gecon") else (0, 1):
                for unit in (0, 1) if name in ("lantr", "trcon", "trtri") else (0,):
                    given = (n, which, style, kind, up, unit)
                    (value, slope), (again, gradient) = jvp(v, *given, tangents=u), grad(v, *given)
                    np.testing.assert_allclose([value, again], f(v, *given), rtol=1e-11)
                    np.testing.assert_allclose(slope, difference(f, v, u, given), rtol=1e-7, atol=1e-8)
                    np.testing.assert_allclose(gradient @ u, slope, rtol=1e-9)


@needs_lapack
def test_second_derivatives_of_norms(norms: llgrad.Library) -> None:
    n, f = 5, norms.program
    rng = np.random.default_rng(9)
    v, u = rng.normal(size=n * n) + 2 * np.eye(n).ravel(), rng.normal(size=n * n)
    for which, kind in ((0, 3), (5, 1), (6, 2), (7, 1), (8, 1)):
        given, df = (n, which, 0, kind, 1, 0), llgrad.grad(f, wrt="v")
        second = (df(v + 1e-5 * u, *given) - df(v - 1e-5 * u, *given)) / 2e-5
        np.testing.assert_allclose(llgrad.hvp(f, wrt="v")(v, *given, u), second, rtol=1e-6, atol=1e-7)


@pytest.fixture(scope="module")
def ranks() -> llgrad.Library:
    flags = ["-DFORTRAN_ONLY"] if STYLES == 1 else []
    return llgrad.load(SOURCE.with_name("ranks.c"), libraries=LIBRARIES, flags=flags)


@needs_lapack
@pytest.mark.parametrize(("m", "n"), [(6, 4), (5, 5), (4, 6), (40, 36)])
@pytest.mark.parametrize("r", [0, 2, 3])
def test_least_squares_of_any_rank(r: int, m: int, n: int, ranks: llgrad.Library) -> None:
    f = ranks.program
    grad, jvp = llgrad.value_and_grad(f, wrt="v"), llgrad.jvp(f, wrt="v")
    size = (r * (m + n) if r else m * n) + 2 * m
    v, u = np.random.default_rng(m + n).normal(size=(2, size))
    for style in range(STYLES):
        given: tuple[Any, ...] = (m, n, r, style, 1, 1e-9)
        (value, slope), (again, gradient) = jvp(v, *given, tangents=u), grad(v, *given)
        np.testing.assert_allclose([value, again], f(v, *given), rtol=1e-8)
        np.testing.assert_allclose(slope, difference(f, v, u, given), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(gradient @ u, slope, rtol=1e-7)


@needs_lapack
@pytest.mark.full
def test_least_squares_by_gelss() -> None:
    lib = llgrad.load(SOURCE.with_name("ranks.c"), libraries=LIBRARIES, flags=["-DGELSS", "-DFORTRAN_ONLY"])
    grad = llgrad.grad(lib.program, wrt="v")
    for r, m, n in ((0, 6, 4), (0, 3, 5), (2, 5, 4)):
        v, u = np.random.default_rng(m + n).normal(size=(2, (r * (m + n) if r else m * n) + 2 * m))
        given: tuple[Any, ...] = (m, n, r, 0, 1, 1e-9)
        np.testing.assert_allclose(grad(v, *given) @ u, difference(lib.program, v, u, given), rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def indefinite() -> llgrad.Library:
    flags = ["-DFORTRAN_ONLY"] if STYLES == 1 else []
    return llgrad.load(SOURCE.with_name("indefinite.c"), libraries=LIBRARIES, flags=flags)


@needs_lapack
@pytest.mark.parametrize("up", [0, 1])
@pytest.mark.parametrize("which", range(4), ids=["sytrf", "sytrs", "sysv", "sytri"])
def test_indefinite(which: int, up: int, indefinite: llgrad.Library) -> None:
    """Blocks of one and of two, in several orders; the values, pivots included, are the library's."""
    f = indefinite.program
    grad, jvp = llgrad.value_and_grad(f, wrt="v"), llgrad.jvp(f, wrt="v")
    for n, seed in ((5, 1), (5, 2), (8, 3), (70, 4)):
        v, u = np.random.default_rng(seed).normal(size=(2, n * n + 2 * n))
        for style in range(STYLES if n < 9 else 1):
            given = (n, which, style, up)
            (value, slope), (again, gradient) = jvp(v, *given, tangents=u), grad(v, *given)
            np.testing.assert_allclose([value, again], f(v, *given), rtol=1e-7)
            np.testing.assert_allclose(gradient @ u, slope, rtol=1e-7)
            if n < 9:
                h = 1e-5
                near = [f(v + k * h * u, *given) for k in (-2, -1, 1, 2)]
                np.testing.assert_allclose(slope, (near[0] - 8 * near[1] + 8 * near[2] - near[3]) / (12 * h), rtol=1e-5)


@needs_lapack
@pytest.mark.parametrize("up", [0, 1])
def test_indefinite_and_singular(up: int, indefinite: llgrad.Library) -> None:
    v = np.array([2.0, 3.0])
    value, gradient = llgrad.value_and_grad(indefinite.singular, wrt="v")(v, up)
    assert value == indefinite.singular(v, up)
    np.testing.assert_allclose(gradient, [3, 2])


@pytest.fixture(scope="module")
def hermitian() -> llgrad.Library:
    flags = ["-DFORTRAN_ONLY"] if STYLES == 1 else []
    return llgrad.load(SOURCE.with_name("hermitian.c"), libraries=LIBRARIES, flags=flags)


@needs_lapack
@pytest.mark.parametrize("up", [0, 1])
@pytest.mark.parametrize("vectors", [0, 1, 2])
def test_hermitian(vectors: int, up: int, hermitian: llgrad.Library) -> None:
    """Values alone; what does not depend on the phases of vectors; vectors with the library's phases."""
    f = hermitian.program
    grad, jvp = llgrad.value_and_grad(f, wrt="v"), llgrad.jvp(f, wrt="v")
    for n in (1, 2, 5):
        v, u = np.random.default_rng(n).normal(size=(2, 2 * n * n))
        for style in range(STYLES):
            given = (n, style, up, style % 2, vectors)
            (value, slope), (again, gradient) = jvp(v, *given, tangents=u), grad(v, *given)
            np.testing.assert_allclose([value, again], f(v, *given), rtol=1e-9)
            np.testing.assert_allclose(slope, difference(f, v, u, given), rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(gradient @ u, slope, rtol=1e-8)


@needs_lapack
def test_hermitian_with_equal_values(hermitian: llgrad.Library) -> None:
    """A vector of several has no derivative."""
    v = np.concatenate([np.eye(2).ravel(), np.zeros(4)])
    assert not np.isfinite(llgrad.grad(hermitian.program, wrt="v")(v, 2, 0, 1, 0, 2)).all()


@needs_lapack
def test_least_squares_further(ranks: llgrad.Library) -> None:
    """Second derivatives; what is cut off and no rounding has no derivative that is a number."""
    f, m, n, r = ranks.program, 5, 4, 2
    v, u = np.random.default_rng(4).normal(size=(2, r * (m + n) + 2 * m))
    given, df = (m, n, r, 0, 1, 1e-9), llgrad.grad(f, wrt="v")
    second = (df(v + 1e-5 * u, *given) - df(v - 1e-5 * u, *given)) / 2e-5
    largest = abs(second).max()
    np.testing.assert_allclose(llgrad.hvp(f, wrt="v")(v, *given, u), second, rtol=1e-5, atol=1e-6 * largest)
    whole = np.random.default_rng(5).normal(size=m * n + 2 * m)
    assert np.isnan(df(whole, m, n, 0, 0, 0, 0.9)).any()


@pytest.fixture(scope="module")
def singular() -> llgrad.Library:
    flags = ["-DFORTRAN_ONLY"] if STYLES == 1 else []
    return llgrad.load(SOURCE.with_name("singular.c"), libraries=LIBRARIES, flags=flags)


@needs_lapack
@pytest.mark.parametrize(("m", "n"), [(5, 5), (7, 4), (4, 7), (33, 20), (1, 3), (3, 1)])
@pytest.mark.parametrize("which", [0, 1])
def test_singular_values(which: int, m: int, n: int, singular: llgrad.Library) -> None:
    """All jobs; vectors without values (job A, not square) have no derivative that is a number."""
    f = singular.program
    grad, jvp = llgrad.value_and_grad(f, wrt="v"), llgrad.jvp(f, wrt="v")
    v, u = np.random.default_rng(m + n).normal(size=(2, m * n))
    for style in range(STYLES):
        for kind in (0, 1, 2, 6) if which else range(6):
            given = (m, n, which, style, kind)
            (value, slope), (again, gradient) = jvp(v, *given, tangents=u), grad(v, *given)
            np.testing.assert_allclose([value, again], f(v, *given), rtol=1e-9)
            np.testing.assert_allclose(slope, 10 * difference(f, v, u / 10, given), rtol=1e-5, atol=1e-5)
            if kind != 1 or m == n:
                np.testing.assert_allclose(gradient @ u, slope, rtol=1e-7)
            else:
                assert np.isnan(gradient).any()


@needs_lapack
def test_singular_values_further(singular: llgrad.Library) -> None:
    """Second derivatives, of vectors too; the sum of values that are equal; and a matrix of rank 1."""
    f, u = singular.program, np.random.default_rng(4).normal(size=20)
    df = llgrad.grad(f, wrt="v")
    for m, n, kind in ((5, 4, 2), (4, 4, 0), (5, 4, 0), (4, 5, 0)):
        v, way, given = np.random.default_rng(kind).normal(size=m * n), u[: m * n], (m, n, 1, 0, kind)
        second = (df(v + 1e-5 * way, *given) - df(v - 1e-5 * way, *given)) / 2e-5
        largest = abs(second).max()
        np.testing.assert_allclose(llgrad.hvp(f, wrt="v")(v, *given, way), second, rtol=1e-5, atol=1e-6 * largest)
    equal = df(np.eye(3).ravel(), 3, 3, 0, 0, 2)  # the order of equal values does not show in the trace
    np.testing.assert_allclose(equal.reshape(3, 3).trace(), np.sin([1, 2, 3]).sum(), rtol=1e-10)
    assert np.isnan(df(np.eye(3).ravel(), 3, 3, 0, 0, 0)).any()
    left, right = np.random.default_rng(8).normal(size=(2, 5))
    first = df(np.outer(left, right[:3]).ravel("F"), 5, 3, 0, 0, 2)  # the greatest value's part is exact
    size = np.linalg.norm(left) * np.linalg.norm(right[:3])
    vector = np.outer(left, right[:3])
    np.testing.assert_allclose((first.reshape(3, 5).T * vector).sum(), np.sin(1) * size, rtol=1e-8)


@pytest.fixture(scope="module")
def general() -> llgrad.Library:
    flags = ["-DFORTRAN_ONLY"] if STYLES == 1 else []
    return llgrad.load(SOURCE.with_name("general.c"), libraries=LIBRARIES, flags=flags)


@needs_lapack
@pytest.mark.parametrize("n", [1, 2, 3, 6, 20])
@pytest.mark.parametrize(("lefts", "rights"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_eigenvalues_of_any_matrix(lefts: int, rights: int, n: int, general: llgrad.Library) -> None:
    """Real values and complex ones."""
    f = general.program
    grad, jvp = llgrad.value_and_grad(f, wrt="v"), llgrad.jvp(f, wrt="v")
    kinds = set()
    for seed in range(3):
        v, u = np.random.default_rng(seed).normal(size=(2, n * n))
        kinds |= set(np.sign(abs(np.linalg.eigvals(v.reshape(n, n)).imag)))
        for style in range(STYLES):
            given = (n, style, lefts, rights)
            (value, slope), (again, gradient) = jvp(v, *given, tangents=u), grad(v, *given)
            np.testing.assert_allclose([value, again], f(v, *given), rtol=1e-9)
            np.testing.assert_allclose(slope, 10 * difference(f, v, u / 10, given), rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(gradient @ u, slope, rtol=1e-7)
    assert n < 3 or kinds == {0, 1}


@needs_lapack
def test_eigenvalues_of_any_matrix_further(general: llgrad.Library) -> None:
    """Second derivatives, of vectors too; what equal values have."""
    f, n = general.program, 4
    df = llgrad.grad(f, wrt="v")
    for seed in range(2):
        v, u = np.random.default_rng(seed).normal(size=(2, n * n))
        for given in ((n, 0, 0, 0), (n, 0, 1, 1)):
            second = (df(v + 1e-5 * u, *given) - df(v - 1e-5 * u, *given)) / 2e-5
            largest = abs(second).max()
            np.testing.assert_allclose(llgrad.hvp(f, wrt="v")(v, *given, u), second, rtol=1e-5, atol=1e-6 * largest)
    equal = df(np.eye(n).ravel(), n, 0, 0, 0)
    np.testing.assert_allclose(equal.reshape(n, n).trace(), np.sin(np.arange(1, n + 1)).sum(), rtol=1e-10)
    assert np.isnan(df(np.eye(n).ravel(), n, 0, 0, 1)).any()


BANDED = ["gbtrf", "gbtrs", "gbsv", "pbtrf", "pbtrs", "pbsv", "gtsv", "ptsv", "gbcon"]


@pytest.fixture(scope="module")
def banded() -> llgrad.Library:
    return llgrad.load(SOURCE.with_name("banded.c"), libraries=LIBRARIES)


@needs_lapack
@pytest.mark.parametrize("name", BANDED)
def test_banded(name: str, banded: llgrad.Library) -> None:
    """Of matrices whose rows are exchanged, in all ways that the routine knows."""
    which, f = BANDED.index(name), banded.program
    grad, jvp = llgrad.value_and_grad(f, wrt="v"), llgrad.jvp(f, wrt="v")
    rng = np.random.default_rng(which)
    for n in (1, 2, 7):
        v, u = rng.normal(size=7 * n), rng.normal(size=7 * n)
        for up in (0, 1) if name[0] == "p" else (0,):
            for turned in (0, 1) if name in ("gbtrs", "gbcon") else (0,):
                given = (n, which, up, turned)
                (value, slope), (again, gradient) = jvp(v, *given, tangents=u), grad(v, *given)
                np.testing.assert_allclose([value, again], f(v, *given), rtol=1e-9)
                np.testing.assert_allclose(slope, difference(f, v, u, given), rtol=1e-5, atol=1e-6)
                np.testing.assert_allclose(gradient @ u, slope, rtol=1e-8, atol=1e-14)


@pytest.fixture(scope="module")
def expert() -> llgrad.Library:
    return llgrad.load(SOURCE.with_name("expert.c"), libraries=LIBRARIES)


@needs_lapack
@pytest.mark.parametrize(("which", "turned", "up"), [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 0, 1), (2, 0, 0), (2, 1, 0)])
@pytest.mark.parametrize("again", [0, 1])
def test_expert_drivers(which: int, turned: int, up: int, again: int, expert: llgrad.Library) -> None:
    """`again`: by the factors of a first call."""
    f, n, given = expert.program, 6, (6, which, turned, up, again)
    grad, jvp = llgrad.value_and_grad(f, wrt="v"), llgrad.jvp(f, wrt="v")
    v, u = np.random.default_rng(which).normal(size=(2, n * n + 2 * n))
    (value, slope), (again_value, gradient) = jvp(v, *given, tangents=u), grad(v, *given)
    np.testing.assert_allclose([value, again_value], f(v, *given), rtol=1e-9)
    np.testing.assert_allclose(slope, difference(f, v, u, given), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gradient @ u, slope, rtol=1e-8)


@needs_lapack
def test_second_derivatives_of_banded(banded: llgrad.Library) -> None:
    n, f = 5, banded.program
    v, u = np.random.default_rng(9).normal(size=(2, 7 * n))
    for which in (1, 4, 6, 7):
        given, df = (n, which, 0, 0), llgrad.grad(f, wrt="v")
        second = (df(v + 1e-5 * u, *given) - df(v - 1e-5 * u, *given)) / 2e-5
        largest = abs(second).max()
        np.testing.assert_allclose(llgrad.hvp(f, wrt="v")(v, *given, u), second, rtol=1e-5, atol=1e-6 * largest)


FACTORS = ["potrf", "potrs", "posv", "getrf", "getrs", "gesv"]


@pytest.fixture(scope="module")
def factors() -> llgrad.Library:
    flags = ["-DFORTRAN_ONLY"] if STYLES == 1 else []
    return llgrad.load(SOURCE.with_name("complex_factors.c"), libraries=LIBRARIES, flags=flags)


@needs_lapack
@pytest.mark.parametrize("name", FACTORS)
def test_complex_factors(name: str, factors: llgrad.Library) -> None:
    which, f, n = FACTORS.index(name), factors.program, 4
    grad, jvp = llgrad.value_and_grad(f, wrt="v"), llgrad.jvp(f, wrt="v")
    rng = np.random.default_rng(which)
    v, u = rng.normal(size=2 * n * n + 4 * n), rng.normal(size=2 * n * n + 4 * n)
    for style in range(STYLES):
        for up in (0, 1) if name[0] == "p" else (0,):
            for trans in (0, 1, 2) if name == "getrs" else (0,):
                given = (n, which, style, up, trans)
                (value, slope), (again, gradient) = jvp(v, *given, tangents=u), grad(v, *given)
                np.testing.assert_allclose([value, again], f(v, *given), rtol=1e-10)
                np.testing.assert_allclose(slope, difference(f, v, u, given), rtol=1e-6, atol=1e-7)
                np.testing.assert_allclose(gradient @ u, slope, rtol=1e-9)


BLAS = [
    "gbmv", "sbmv", "spmv", "spr", "spr2", "tbmv", "tbsv", "tpmv", "tpsv", "dotu", "dotc", "axpy", "scal", "dscal",
    "copy", "swap", "nrm2", "asum", "gemv", "geru", "gerc", "gemm",
]  # fmt: skip
needs_blas = pytest.mark.skipif(not libraries("cblas_zgemm"), reason="BLAS: no library with cblas_zgemm here")


@pytest.fixture(scope="module")
def loops() -> llgrad.Library:
    return llgrad.load(SOURCE.with_name("loops.c"), libraries=libraries("cblas_zgemm"))


@needs_blas
@pytest.mark.parametrize("name", BLAS)
def test_loops(name: str, loops: llgrad.Library) -> None:
    """Band and packed matrices and complex numbers, which are loops in derivatives."""
    which = BLAS.index(name)
    grad, jvp = llgrad.value_and_grad(loops.program, wrt="v"), llgrad.jvp(loops.program, wrt="v")
    rng = np.random.default_rng(which)
    v, u = rng.uniform(0.5, 1, 164), rng.normal(size=164)
    backwards = 1 if name in ("nrm2", "asum", "scal", "dscal") else -2
    for style in range(3):
        for n, (up, unit, trans) in enumerate(np.ndindex(2, 2, 3)):
            given = (which, style, up, trans, unit, (1, backwards)[n % 2], (2, -1, 1)[n % 3])
            (value, slope), (again, gradient) = jvp(v, *given, tangents=u), grad(v, *given)
            near = [loops.program(v + h * u, *given) for h in (-2e-4, -1e-4, 1e-4, 2e-4)]
            difference = (near[0] - 8 * near[1] + 8 * near[2] - near[3]) / 12e-4
            np.testing.assert_allclose([value, again], loops.program(v, *given), rtol=1e-11)
            np.testing.assert_allclose(slope, difference, rtol=1e-7, atol=1e-7)
            np.testing.assert_allclose(gradient @ u, slope, rtol=1e-10)


@needs_lapack
def test_matrices_without_factors(lib: llgrad.Library) -> None:
    """`info` is the library's, and what was written until then is."""
    a = np.array([1.0, 2, 2, 4])
    told, info = np.zeros(2, np.int32), np.zeros(2, np.int32)
    f, own = np.zeros(4), np.zeros(4)
    lib.singular(a, f, 2, told)
    _, gradient = llgrad.value_and_grad(lib.singular, wrt="a")(a, own, 2, info)
    assert list(info) == list(told) and info.all()
    np.testing.assert_allclose(own, f, atol=1e-14)
    np.testing.assert_allclose(gradient, [1, 1, 0, 0])  # 2 sqrt(1)


def test_other_integers_are_refused(source: Callable[..., Path]) -> None:
    lib = llgrad.load(
        source("""
long LAPACKE_dpotrf(long, char, long, double *, long);
double f(double *a, long n) { LAPACKE_dpotrf(102, 'L', n, a, n); return a[0]; }
""")
    )
    with pytest.raises(NoRuleError, match="LAPACKE_dpotrf"):
        llgrad.grad(lib.f, wrt="a")


@needs_lapack
def test_inquiries(source: Callable[..., Path]) -> None:
    """What is asked of the library beside numbers has no derivative, and needs none."""
    path = source("""
        typedef const int *I;
        int ilaenv_(I, const char *, const char *, I, I, I, I, long, long);
        int lsame_(const char *, const char *, long, long);
        double dlamch_(const char *, long);
        double f(const double *x, int n) {
            int one = 1, m1 = -1;
            int block = ilaenv_(&one, "DGETRF", " ", &n, &n, &m1, &m1, 6, 1);
            double s = 0, tiny = dlamch_("Epsilon", 7);
            for (int i = 0; i < n; i++) s += x[i] * x[i] / (1 + tiny);
            return s * (block > 0) * (lsame_("u", "U", 1, 1) ? 2 : 1);
        }
    """)
    f, x = llgrad.load(path, libraries=LIBRARIES).f, np.array([1.0, 2, 3])
    np.testing.assert_allclose(llgrad.grad(f, wrt="x")(x, 3), 4 * x, rtol=1e-12)
    np.testing.assert_allclose(llgrad.jvp(f, wrt="x")(x, 3, tangents=np.ones(3))[1], 24, rtol=1e-12)
