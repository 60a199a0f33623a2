"""Numba: derivatives of `@njit` functions as they are."""

from __future__ import annotations

import math
import random
import types
import warnings
from collections import namedtuple

import numpy as np
import pytest
from core import differences

import llgrad
from llgrad.errors import ArgumentError, CompilerError, ForeignError, NoRuleError, UnsupportedError
from llgrad.execution.passing import zeros
from llgrad.numba import copied

numba = pytest.importorskip("numba", reason="there is no Numba: pip install numba")
jitclass = pytest.importorskip("numba.experimental").jitclass
List = pytest.importorskip("numba.typed").List
Dict = pytest.importorskip("numba.typed").Dict
X = np.linspace(0.2, 1.1, 6)


@numba.njit
def square(v):
    return v * v


@numba.njit
def loss(x, k):
    y = np.empty(len(x))
    for i in range(len(x)):
        y[i] = np.sin(x[i]) * k + square(x[i])
    return y.sum() / k + np.dot(x, y[::-1].copy())


@numba.njit
def slices(x):
    table = np.outer(x, x)[1:, ::2]
    return np.sum(table * table) + table.max() + x[-1]


@numba.njit
def library(x):
    """What Numba's own library makes lists and views for."""
    return np.sum(np.where(x > 0.7, x * x, np.exp(x))) + np.sum(x.reshape(2, 3).T[1] ** 3)


@numba.njit
def lists(x):
    grown = [x[0]]
    for v in x:
        grown.append(v * v)
    return max([np.sin(v) for v in grown]) + grown[3] * grown.pop() * len(grown)


@numba.njit
def sorting(x):
    """Blocks of floats and of indices are freed in one place."""
    order = np.argsort(x)
    return np.sort(x)[2] ** 2 + x[order[1]] * 3


@numba.njit
def flags(x):
    positive = [v > 0.5 for v in x]
    return x.sum() if positive[0] else 0.0


@numba.njit
def products(a, x):
    return np.sum((a @ a.T) @ x) + np.sum(a.T @ (a @ x)) + x.mean()


@numba.njit
def complex_products(x, y):
    """All of BLAS's products, of complex numbers, with matrices in both orders."""
    a, b = np.outer(x, y + 2j), np.outer(y * 1j, x) + np.eye(len(x))
    u, w, m = a @ x, b.T @ (y + 0j), a @ b + a.T @ b
    return (m * m).real.sum() + u.imag.sum() * np.dot(w, u).real + np.vdot(w, u).imag + (w.real**2).sum()


@numba.njit
def cholesky(a):
    return np.linalg.cholesky(a @ a.T + np.eye(3)).sum()


@numba.njit
def systems(a):
    b = a + 4 * np.eye(3)
    return np.linalg.solve(b, a[0]).sum() + np.linalg.inv(b)[1, 2] + np.linalg.det(b) / 9 + np.linalg.norm(a[1])


@numba.njit
def decompositions(a):
    """What does not depend on the signs of vectors."""
    q, r = np.linalg.qr(a[:, :2].copy())
    u, s, v = np.linalg.svd(a[:2].copy(), False)
    return (q[2] * r[0]).sum() + u[0, 0] ** 2 * s[1] + v[1, 2] ** 2 + np.linalg.norm(a, 2)


@numba.njit
def solved(a):
    """The pseudo-inverse is a product of conjugates."""
    x, residue, _, s = np.linalg.lstsq(a[:, :2].copy(), a[:, 2].copy())
    return x[0] * x[1] + residue[0] + s[0] + (np.linalg.pinv(a[:2].copy()) ** 2).sum()


@numba.njit
def spectrum(a):
    """Diagonal where it is differentiated: no angle is there, but its derivative is."""
    w, v = np.linalg.eigh(a)
    return w[0] * w[1] + v[1, 2] * v[2, 2]


@numba.njit
def modes(a):
    """The values come in LAPACK's order, the vectors with its signs."""
    w, v = np.linalg.eig(a)
    return np.sum(w.real * np.arange(1, len(w) + 1)) + np.sum(v.real[:, 0] ** 3) + np.sum(v.real[1] * v.real[0])


_geev = pytest.importorskip("numba.np.linalg")._LAPACK().numba_ez_rgeev(numba.float64)


@numba.njit
def pairs(a):
    """Complex pairs, as LAPACK returns them (`np.linalg.eig` of real matrices has none before NumPy 2.5)."""
    n = len(a)
    c, re, im, none, v = a.T.copy(), np.empty(n), np.empty(n), np.empty(1), np.empty((n, n))
    info = _geev(ord("d"), ord("N"), ord("V"), n, c.ctypes, n, re.ctypes, im.ctypes, none.ctypes, 1, v.ctypes, n)
    values = np.sum(re * np.arange(n)) + np.sum(np.abs(im) ** 3)
    return values + np.sum(v[1] * v[2] * np.arange(n)) + np.sum(v**3) + c.size + none.size + info


@numba.njit
def determinant(a):
    return np.log(np.linalg.eigvalsh(a)).sum()


@numba.njit
def at_three(x):
    if x == 3.0:
        return x * x
    return 0.0


@numba.njit
def uses_equality(x):
    return at_three(x) + x


module = types.ModuleType("module")
module.at_three = at_three
TABLE = (square, at_three)


@numba.njit
def of_a_module(x):
    return module.at_three(x) + x


@numba.njit
def of_a_tuple(x):
    return TABLE[1](x) + x


def implemented(x):
    """What the user teaches Numba, and Numba compiles as its own."""
    return at_three.py_func(x)


@numba.extending.overload(implemented)
def _implemented(x):
    return at_three.py_func


@numba.njit
def of_an_extension(x):
    return implemented(x) + x


@numba.njit
def power(x, n):
    return x * power(x, n - 1) if n > 0 else 1.0


@numba.njit
def chebyshev(n, x):
    """Called with a literal, it calls itself with other types; once compiled for the user, too."""
    return 1.0 + 0 * x if n == 0 else x if n == 1 else 2 * x * chebyshev(n - 1, x) - chebyshev(n - 2, x)


@numba.njit
def fifth(x):
    return chebyshev(5, x)


@numba.stencil
def smoothed(a):
    return 0.25 * (a[-1] + 2 * a[0] * a[0] + a[1])


@numba.njit
def stencils(x):
    return (smoothed(x) ** 2).sum() + math.gamma(x[0])


@numba.njit
def fill(x, out):
    out[:] = np.exp(x) * 2


@numba.njit
def checked(x):
    if x < 0:
        raise ValueError("negative")
    return np.sqrt(x)


@numba.njit
def undefined(x):
    return nonesuch(x)  # noqa: F821


@numba.njit
def pair(x):
    return x, x


Spring = namedtuple("Spring", "k m drag")


@numba.njit
def swing(spring, x, n):
    v = e = 0.0
    for i in range(n):
        v -= 0.01 * (spring.k / spring.m * x + spring.drag[i % 3] * v)
        x += 0.01 * v
        e += x * x
    return e


@numba.njit
def softmax(x):
    e = np.exp(x)
    return e / e.sum()


@numba.njit
def several(x, k):
    return np.sum(x * k), x * k * k, 3


@numba.njit
def weighted(x, weights=None):
    return np.sum(x * x) if weights is None else np.sum(weights * x * x)


@numba.njit
def twice(f, x):
    return f(f(x))


@numba.vectorize
def bent(r, d):
    return r * r if abs(r) <= d else d * abs(r)


@numba.guvectorize(["(f8[:], f8[:], f8[:])"], "(n),(n)->()")
def inner(a, b, out):
    out[0] = 0
    for i in range(a.shape[0]):
        out[0] += a[i] * b[i]


@jitclass([("k", numba.float64), ("w", numba.float64[:])])
class Model:
    def __init__(self, k, w):
        self.k, self.w = k, w

    def run(self, x):
        return (x * self.w).sum() * self.k


PARTICLE = np.dtype([("m", "f8"), ("p", "f8", 3), ("k", "i8")])


@numba.njit
def objects(model, forces, particles, x):
    """An instance that changes, a dictionary, records."""
    model.k *= x[1]
    s = model.run(x)
    for q in particles:
        s += q.m * forces[q.k] * q.p[1] ** 2
    return s


@numba.njit
def by_name(parameters, x):
    return (parameters["w"] @ x * parameters["b"][0, 0]).sum()


@numba.njit
def heavier(particles, k):
    made = particles.copy()
    for n in range(len(made)):
        made[n].m *= k * made[n].k
    return made


@numba.njit
def ufuncs_and_classes(x):
    out = np.zeros(2)
    inner(x.reshape(2, 3), x[:3], out)
    return bent(x, 0.5).sum() * out[1] + Model(x[0], x * 2).run(x)


@numba.njit
def powers(z, zs):
    return abs(np.sum(zs * np.exp(z)) + z**3) ** 2


@numba.njit
def total(values, k):
    s = 0.0
    for n, v in enumerate(values):
        s += v * v * k * n
    return s


@numba.njit
def growing(x):
    pairs = [(v, i) for i, v in enumerate(x)]
    pairs.append((x[0] * x[1], 9))
    s = 0.0
    for v, k in pairs:
        s = s * 0.5 + v * k
    arrays = List()
    for i in range(6):
        arrays.append(x * i)
    arrays.pop(2)
    return s + arrays[1].sum() * arrays[3][2]


@numba.njit
def ranked(x):
    """Pairs of a number and where it stood: the integers are only moved and compared."""
    pairs = [(x[i], i) for i in range(3)]
    pairs.sort()
    return pairs[1][0] ** 2 + pairs[2][0]


@numba.njit
def dictionaries(x):
    """One that grows past its first table, loses entries and gets them again; one of arrays; one by text."""
    d = {}
    for i in range(40):
        d[i * 7] = x[i % 6] * i
    for i in range(0, 40, 3):
        del d[i * 7]
    d[9 * 7] = x[0] * x[1]
    s = d.pop(7) * d.setdefault(5, x[3]) + d.get(14, 0.0) * d.get(15, 2.0) + d.popitem()[1] ** 2
    for k, v in d.items():
        s = s * 0.9 + v * v * k
    arrays = {1: x, 2: x * x}
    arrays[1] = arrays[1] * arrays[2]
    return s + sum([v.sum() for v in arrays.values()]) * len(arrays)


@numba.njit
def named(x):
    d = {"a": x[0], "bc": x[1]}
    d["d"] = d["a"] * d["bc"]
    return d["d"] ** 2 + len(d)


def test_arrays_calls_and_scalars() -> None:
    value, (dx, dk) = llgrad.value_and_grad(loss)(X, 2.0)
    truth = differences(lambda v: loss(*v), [X, 2.0])
    assert value == pytest.approx(loss(X, 2.0), rel=1e-14)
    np.testing.assert_allclose(dx, truth[0], rtol=1e-8)
    np.testing.assert_allclose(dk, truth[1], rtol=1e-8)


def test_names_and_wrt() -> None:
    df = llgrad.grad(loss, wrt="k")
    assert df(x=X, k=2.0) == df(X, 2.0)
    with pytest.raises(ArgumentError, match="missing"):
        df(X)


@numba.njit
def halved(x, k):
    return x.sum() * (k / 2 if k > 0 else k // 2) + 0 * x[0] ** 2


def test_types_of_arguments_are_told_apart() -> None:
    """From call to call, also where Numba is not asked again."""
    df, fixed = llgrad.grad(halved, wrt="x"), X.copy()
    fixed.flags.writeable = False
    for _ in range(2):
        for k in (3, 3.0, np.float32(3), np.int32(3), 2**63 + 2, True):
            np.testing.assert_allclose(df(X, k), float(k) / 2)
        for x in (X.astype(np.float32), fixed, X[::-1]):
            found = df(x, -3)
            assert found.dtype == x.dtype and (found == -2).all()
    with pytest.raises(ArgumentError, match="k"):
        df(X)


def test_layouts() -> None:
    df = llgrad.grad(loss, wrt="x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # np.dot is slower on strided arrays
        for view in (X[::-1], X[::2], np.stack([X, X]).T[:, 1]):
            np.testing.assert_allclose(df(view, 2.0), df(view.copy(), 2.0), rtol=1e-14)


def test_elements_that_share_memory_are_refused() -> None:
    for view in (np.broadcast_to(X[:1], 3), np.lib.stride_tricks.sliding_window_view(X, 2)):
        with pytest.raises(ArgumentError, match="share memory"):
            zeros(view)
    for view in (X[::-2], np.ones((4, 6)).T[::2, ::-1], np.ones((2, 1, 3))[:, :, ::2], np.ones((0, 3))[:, ::2]):
        assert zeros(view).strides == view.strides


@numba.njit
def tables(x):
    """Subscripts of several dimensions may raise an exception with arguments, in several of Numba's modules."""
    t = np.zeros((2, 3, 2))
    for i in range(12):
        t[i // 6, (i // 2) % 3, i % 2] = x[i % 6] * i
    return t.sum(axis=2)[1, 1] + t.reshape(4, 3)[1].sum()


def test_lists_that_grow() -> None:
    np.testing.assert_allclose(llgrad.grad(lists)(X), differences(lambda v: lists(*v), [X])[0], rtol=1e-8)


@pytest.mark.parametrize("function", [dictionaries, pytest.param(named, marks=pytest.mark.full)])
def test_dictionaries(function) -> None:
    np.testing.assert_allclose(llgrad.grad(function)(X), differences(lambda v: function(*v), [X])[0], rtol=1e-7)


@pytest.mark.full
@pytest.mark.parametrize("function", [slices, library, tables, sorting])
def test_slicing(function) -> None:
    np.testing.assert_allclose(llgrad.grad(function)(X), differences(lambda v: function(*v), [X])[0], rtol=1e-7)


@pytest.mark.parametrize("order", ["C", pytest.param("F", marks=pytest.mark.full)])
def test_matrix_products(order: str) -> None:
    a = np.asarray(np.random.default_rng(3).uniform(size=(4, 3)), order=order)
    b = a[:, :3][:3]
    found = llgrad.grad(products, wrt=("a", "x"))(np.asarray(b, order=order), X[:3])
    truth = differences(lambda v: products(np.asarray(v[0], order=order), v[1]), [b, X[:3]])
    for ours, difference in zip(found, truth, strict=True):
        np.testing.assert_allclose(ours, difference, rtol=1e-7)


@pytest.mark.parametrize("function", [cholesky, pytest.param(systems, marks=pytest.mark.full)])
def test_linear_algebra(function) -> None:
    """LAPACK has bodies; rows are exchanged for pivots."""
    a = np.random.default_rng(8).uniform(size=(3, 3))
    a[0, 0] = -4.1
    truth = differences(lambda v: function(*v), [a])[0]
    np.testing.assert_allclose(llgrad.grad(function)(a), truth, rtol=1e-6, atol=1e-8)


@pytest.mark.full
@pytest.mark.parametrize("function", [decompositions, solved])
def test_decompositions(function) -> None:
    a = np.random.default_rng(5).uniform(size=(3, 3))
    truth = differences(lambda v: function(*v), [a])[0]
    np.testing.assert_allclose(llgrad.grad(function)(a), truth, rtol=1e-6, atol=1e-8)


def test_products_of_complex_numbers() -> None:
    x, y = X[:3] - 0.3j * X[1:4], X[2:5].copy()
    dx, dy = llgrad.grad(complex_products)(x, y)
    np.testing.assert_allclose(dy, differences(lambda v: complex_products(x, *v), [y])[0], rtol=1e-7)
    parts = differences(lambda v: complex_products(v[0] + 1j * v[1], y), [x.real.copy(), x.imag.copy()])
    np.testing.assert_allclose(dx, parts[0] + 1j * parts[1], rtol=1e-7)


def test_eigenvalues() -> None:
    """LAPACK reads the lower triangle."""
    derivative, a = llgrad.grad(spectrum), np.diag([1.0, 2.0, 4.0])
    np.testing.assert_allclose(derivative(a), [[2, 0, 0], [0, 1, 0], [0, 0.5, 0]], atol=1e-14)
    change = (derivative(a + 1e-5) - derivative(a - 1e-5)) / 2e-5
    np.testing.assert_allclose(llgrad.hvp(spectrum)(a, np.ones((3, 3))), change, atol=1e-7)


@pytest.mark.parametrize(("function", "symmetric"), [(modes, True), (pairs, False)])
def test_eigenvalues_of_any_matrix(function, symmetric: bool) -> None:
    """Those of a symmetric matrix that is changed a little are real; of this one, two are a pair."""
    a = np.random.default_rng(2).normal(size=(4, 4))
    assert np.iscomplex(np.linalg.eigvals(a)).sum() == 2
    a = a @ a.T + 0.1 * np.triu(a) if symmetric else a
    truth = differences(lambda v: function(*v), [a])[0]
    value, derivative = llgrad.value_and_grad(function)(a)
    assert value == pytest.approx(function(a), rel=1e-13)
    np.testing.assert_allclose(derivative, truth, rtol=1e-6, atol=1e-7)
    way, step = np.ones((4, 4)) + np.eye(4), 1e-5
    change = [llgrad.grad(function)(a + s * way) for s in (step, -step)]
    np.testing.assert_allclose(llgrad.hvp(function)(a, way), (change[0] - change[1]) / (2 * step), rtol=1e-5, atol=1e-6)


@pytest.mark.full
def test_equal_eigenvalues() -> None:
    np.testing.assert_allclose(llgrad.grad(determinant)(2 * np.eye(3)), np.eye(3) / 2, atol=1e-14)


@pytest.mark.parametrize("function", [uses_equality, of_a_module, of_a_tuple, of_an_extension])
def test_equality_in_a_callee_that_was_compiled_before(function) -> None:
    """Numba's own optimiser would put the constant in; what is differentiated was not optimised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # functions in a tuple are "experimental"
        assert function(3.0) == 12.0
        assert llgrad.grad(function)(3.0) == 7.0
        assert function(3.0) == 12.0


def test_recursion() -> None:
    assert llgrad.grad(power, wrt="x")(3.0, 4) == pytest.approx(108.0)
    for _ in range(2):
        assert llgrad.grad(fifth)(0.3) == pytest.approx(80 * 0.3**4 - 60 * 0.3**2 + 5)
        assert fifth(0.3) == pytest.approx(16 * 0.3**5 - 20 * 0.3**3 + 5 * 0.3)


def test_stencils() -> None:
    np.testing.assert_allclose(llgrad.grad(stencils)(X), differences(lambda v: stencils(*v), [X])[0], rtol=1e-7)


def test_outputs() -> None:
    out = np.zeros(6)
    value, dx = llgrad.vjp(fill, wrt="x", of="out")(X, out, seed=np.ones(6))
    np.testing.assert_allclose(value, 2 * np.exp(X), rtol=1e-14)
    np.testing.assert_allclose(dx, 2 * np.exp(X), rtol=1e-14)


def test_forward_mode() -> None:
    value, tangent = llgrad.jvp(loss, wrt="x")(X, 2.0, tangents=np.ones(6))
    np.testing.assert_allclose(tangent, llgrad.grad(loss, wrt="x")(X, 2.0).sum(), rtol=1e-12)


def test_exceptions() -> None:
    df = llgrad.grad(checked)
    assert df(4.0) == 0.25
    with pytest.raises(ForeignError, match="raised ValueError: negative"):
        df(-1.0)
    assert df(4.0) == 0.25


def test_the_users_functions_stay_as_they_are() -> None:
    llgrad.grad(loss)(X, 2.0)
    before = len(square.signatures)
    assert llgrad.grad(square)(np.float32(3.0)) == 6.0
    assert len(square.signatures) == before


def test_named_tuples() -> None:
    spring = Spring(2.0, 1.5, X[:3])
    (dk, dm, drag), dx = llgrad.grad(swing)(spring, 1.0, 50)
    truth = differences(lambda v: swing(Spring(*v[:3]), v[3], 50), [*spring, 1.0])
    for found, difference in zip((dk, dm, drag, dx), truth, strict=True):
        np.testing.assert_allclose(found, difference, rtol=1e-6)
    assert llgrad.grad(swing, wrt="spring.k")(spring, 1.0, 50) == pytest.approx(dk)
    product = llgrad.hvp(swing, wrt="spring")(spring, 1.0, 50, Spring(1.0, 0.0, None))
    change = [llgrad.grad(swing, wrt="spring")(spring._replace(k=2 + h), 1.0, 50).m for h in (1e-5, -1e-5)]
    assert product.m == pytest.approx((change[0] - change[1]) / 2e-5, rel=1e-5)


def test_results_that_are_arrays() -> None:
    s = softmax(X)
    truth = np.diag(s) - np.outer(s, s)
    value, gradient = llgrad.vjp(softmax)(X, seed=X)
    np.testing.assert_allclose(value, s, rtol=1e-14)
    np.testing.assert_allclose(gradient, X @ truth, atol=1e-14)
    np.testing.assert_allclose(llgrad.jacobian(softmax, mode="forward")(X), truth, atol=1e-14)
    with pytest.raises(ArgumentError, match="returns 6 floats"):
        llgrad.grad(softmax)(X)


def test_results_that_are_tuples() -> None:
    (total, array, n), (dx, dk) = llgrad.vjp(several)(X, 2.0, seed=(1.0, None, None))
    assert n == 3 and total == pytest.approx(2 * X.sum())
    np.testing.assert_allclose(array, 4 * X)
    np.testing.assert_allclose(dx, 2.0)
    assert dk == pytest.approx(X.sum())
    _, (slope, tangent, none) = llgrad.jvp(several, wrt="k")(X, 2.0, tangents=1.0)
    assert none is None and slope == pytest.approx(X.sum())
    np.testing.assert_allclose(tangent, 4 * X)


def test_the_run_that_tells_shapes_has_memory_of_its_own() -> None:
    given = (X, [1.0, 2.0], List([X, X * 2]), None, 3)
    made = copied(given)
    made[0][0] = made[2][0][1] = made[1][0] = 9.0
    assert X[0] != 9.0 and given[1] == [1.0, 2.0] and given[2][0][1] == X[1]


def test_none_and_functions_as_arguments() -> None:
    df = llgrad.grad(weighted, wrt="x")
    np.testing.assert_allclose(df(X), 2 * X)
    np.testing.assert_allclose(df(X, X), 2 * X * X)
    assert llgrad.grad(twice)(square, 3.0) == pytest.approx(4 * 27)


@pytest.mark.full
def test_ufuncs_and_classes() -> None:
    truth = differences(lambda v: ufuncs_and_classes(*v), [X])[0]
    np.testing.assert_allclose(llgrad.grad(ufuncs_and_classes)(X), truth, rtol=1e-7)


def test_complex_arguments() -> None:
    """By the real part plus i times that by the imaginary part."""
    z, zs = 0.3 + 0.4j, X[:3] + 1j * X[3:]
    dz, dzs = llgrad.grad(powers)(z, zs)
    by_z = [differences(lambda v, u=u: powers(z + u * v[0], zs), [0.0])[0] for u in (1, 1j)]
    by_zs = [differences(lambda v, u=u: powers(z, zs + u * v[0]), [np.zeros(3)])[0] for u in (1, 1j)]
    np.testing.assert_allclose(dz, by_z[0] + 1j * by_z[1], rtol=1e-6)
    np.testing.assert_allclose(dzs, by_zs[0] + 1j * by_zs[1], rtol=1e-6)


def test_lists_as_arguments() -> None:
    values, dk = llgrad.grad(total)([0.5, 1.5, 2.5], 2.0)
    assert values == pytest.approx([0.0, 6.0, 20.0]) and dk == pytest.approx(0.5**2 * 0 + 1.5**2 + 2 * 2.5**2)


def particles() -> np.ndarray:
    made = np.zeros(2, PARTICLE)
    made["m"], made["p"], made["k"] = X[:2], X.reshape(2, 3), [7, 3]
    return made


def test_objects_as_arguments() -> None:
    model, forces, given = Model(1.5, X * 2), Dict(), particles()
    forces[3], forces[7] = 0.5, 2.5
    dm, df, dp = llgrad.grad(objects, wrt=("model", "forces", "particles"))(model, forces, given, X)
    assert dm.k == pytest.approx(X[1] * (X * X * 2).sum()) and model.k == 1.5
    np.testing.assert_allclose(dm.w, X * X[1] * 1.5)
    assert df == pytest.approx({3: X[1] * X[4] ** 2, 7: X[0] * X[1] ** 2})
    np.testing.assert_allclose(dp["m"], [2.5 * X[1] ** 2, 0.5 * X[4] ** 2])
    np.testing.assert_allclose(dp["p"][:, 1], [5 * X[0] * X[1], X[1] * X[4]])
    assert not dp["p"][:, ::2].any() and not dp["k"].any()


@pytest.mark.full
def test_dictionaries_of_arrays_by_name_as_arguments() -> None:
    parameters = Dict()
    parameters["w"], parameters["b"] = np.ones((2, 6)), np.full((2, 1), 3.0)
    found, dx = llgrad.grad(by_name)(parameters, X)
    np.testing.assert_allclose(found["w"], 3 * np.stack([X, X]))
    np.testing.assert_allclose(found["b"], [[2 * X.sum()], [0.0]])
    np.testing.assert_allclose(dx, 6.0)


@pytest.mark.full
def test_records_as_results() -> None:
    given = particles()
    value, (dp, dk) = llgrad.vjp(heavier)(given, 2.0, seed=given)
    np.testing.assert_allclose(value["m"], given["m"] * 2 * given["k"])
    np.testing.assert_allclose(dp["m"], given["m"] * 2 * given["k"])
    np.testing.assert_allclose(dp["p"], given["p"])
    assert dk == pytest.approx((given["m"] ** 2 * given["k"]).sum())


@pytest.mark.full
def test_typed_lists_as_arguments() -> None:
    values, _ = llgrad.grad(total)(List([0.5, 1.5]), 2.0)
    assert values == pytest.approx([0.0, 6.0])


@numba.njit
def moved(x):
    """Elements of lists are moved both ways, where they are overlapping stretches."""
    values, best = [v for v in x], [(x[i], i) for i in range(len(x))]
    values[1:3] = [x[0] * x[1], x[2], x[3]]
    values[0:2] = [x[4]]
    values[::2] = [v * 2 for v in values[::2]]
    best.sort(key=lambda pair: -pair[0])
    best[1:3] = [(x[0], 7)]
    total = best[0][0] * best[1][1] + best[2][0]
    for i, v in enumerate(values):
        total += v * (i + 1)
    return total


def test_lists_whose_elements_are_moved() -> None:
    truth = differences(lambda v: moved(*v), [X])[0]
    np.testing.assert_allclose(llgrad.grad(moved)(X), truth, rtol=1e-7)


@pytest.mark.full
@pytest.mark.parametrize("function", [growing, flags, ranked])
def test_lists_of_tuples_of_arrays_and_of_flags(function) -> None:
    truth = differences(lambda v: function(*v), [X])[0]
    np.testing.assert_allclose(llgrad.grad(function)(X), truth, rtol=1e-7)


@numba.njit
def starred(pair):
    first, *rest = pair
    return first


@numba.njit
def shortened(x):
    values = List()
    for v in x:
        values.append(v * v)
    del values[1:3]
    return values[1]


@numba.njit
def seeded(n):
    np.random.seed(n)
    random.seed(n)


@numba.njit
def drawn(x):
    z = np.random.standard_normal(4)
    np.random.shuffle(x)
    return np.exp(x[np.random.randint(0, 3)] * z).sum() + np.random.normal(x[0], x[1]) * random.random()


def test_random_numbers_are_those_that_the_function_draws() -> None:
    """From the generators of Numba, which another function has seeded."""
    x = np.array([0.3, 0.7, 0.9])

    def value(at: np.ndarray) -> float:
        seeded(4)
        return float(drawn(at.copy()))

    seeded(4)
    found, gradient = llgrad.value_and_grad(drawn)(x.copy())
    assert found == value(x)
    np.testing.assert_allclose(gradient, differences(lambda at: value(at[0]), [x])[0], rtol=1e-6)


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"Generator.*\n.*\n.*np\.random\.seed"):
        llgrad.grad(square)(np.random.default_rng(1))
    with pytest.raises(NoRuleError, match="no derivative for the call of numba_list_delete_slice") as refused:
        llgrad.grad(shortened)(X)
    assert refused.value.span and refused.value.span.line == shortened.py_func.__code__.co_firstlineno
    with pytest.raises(ArgumentError, match="returns 2 floats"):
        llgrad.grad(pair)(1.0)
    with pytest.raises(UnsupportedError, match="cannot be passed"):
        llgrad.grad(loss)({1: 2.0}, 2.0)
    with pytest.raises(UnsupportedError, match="no numbers"):
        llgrad.grad(loss)(np.zeros(2, [("m", "f8"), ("name", "U4")]), 2.0)
    with pytest.raises(ArgumentError, match="no parameter 'q'"):
        llgrad.grad(swing, wrt="q")(Spring(2.0, 1.5, X[:3]), 1.0, 5)
    for function, argument in ((undefined, 1.0), (starred, (1.0, 2.0))):
        with pytest.raises(CompilerError, match=f"Numba cannot compile {function.__name__}"):
            llgrad.grad(function)(argument)
