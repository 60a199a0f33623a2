"""Numba: `np.linalg` of complex matrices."""

from __future__ import annotations

import numpy as np
import pytest
from core import differences

import llgrad

numba = pytest.importorskip("numba", reason="there is no Numba: pip install numba")
A = np.random.default_rng(1).normal(size=(3, 3)) + 3 * np.eye(3)


@numba.njit
def systems(a):
    z = a + 1j * a.T
    return np.abs(np.linalg.solve(z, z[0])).sum() + np.linalg.solve(z, z.T)[0, 1].imag


@numba.njit
def inverses(a):
    z = a + 1j * a.T
    sign, size = np.linalg.slogdet(z)
    return np.linalg.inv(z)[0, 1].real + np.linalg.det(z).imag + sign.real * size + np.linalg.norm(z[0])


@numba.njit
def cholesky(a):
    """The other triangle is not read."""
    z = a + 1j * a.T
    h = z @ np.conj(z.T) + np.eye(3)
    h[0, 1] = 7.0
    root = np.linalg.cholesky(h)
    return np.abs(root).sum() + (root * root).imag.sum()


@numba.njit
def hermitian(a):
    z = a + 1j * a.T
    h = z @ np.conj(z.T)
    w, v = np.linalg.eigh(h)
    return w[0] * w[1] + np.abs(v[0, 1]) ** 2 + (v[0, 0] * np.conj(v[1, 0])).imag + np.log(np.linalg.eigvalsh(h)).sum()


@numba.njit
def modes(a):
    """The largest element of a vector is real, as LAPACK has it."""
    z = a + 1j * a.T
    w, v = np.linalg.eig(z)
    return (w * w * w).sum().real + v[0].imag.sum() + v[1].real.sum() + np.abs(np.linalg.eigvals(z)).sum()


@numba.njit
def orthogonal(a):
    """Signs are LAPACK's."""
    z = a + 1j * a.T
    q, r = np.linalg.qr(z)
    p, s = np.linalg.qr(z[:, :2].copy())
    return r[0, 1].imag + r[2, 2].real + q[0, 0].imag * q[2, 2].real + (p[1] * s[0]).imag.sum()


@numba.njit
def singular(a):
    z = a + 1j * a.T
    u, s, v = np.linalg.svd(z[:2].copy(), False)
    return s[0] * s[1] + (u[0, 0] * v[0, 2]).imag + np.abs(v[1, 1]) + np.linalg.norm(z, 2)


@numba.njit
def least(a):
    z = a + 1j * a.T
    x, residue, _, s = np.linalg.lstsq(z[:, :2].copy(), z[:, 2].copy())
    return x[0].imag * x[1].real + residue[0] + s[0] + np.abs(np.linalg.pinv(z)).sum()


@pytest.mark.parametrize(
    "function", [cholesky, hermitian, *(pytest.param(f, marks=pytest.mark.full) for f in (
        systems, inverses, modes, orthogonal, singular, least
    ))]
)  # fmt: skip
def test_complex_matrices(function) -> None:
    truth = differences(lambda v: function(*v), [A])[0]
    value, gradient = llgrad.value_and_grad(function)(A)
    assert value == pytest.approx(function(A), rel=1e-12)
    np.testing.assert_allclose(gradient, truth, rtol=1e-6, atol=1e-7)
    _, slope = llgrad.jvp(function)(A, tangents=A)
    assert slope == pytest.approx((gradient * A).sum(), rel=1e-10)


@numba.njit
def single(a):
    z = a + 1j * a.T
    w, v = np.linalg.eigh(z @ np.conj(z.T))
    return w[0] + np.abs(v[0, 1]) + np.linalg.det(z).real


@pytest.mark.full
def test_complex_numbers_of_half_the_length() -> None:
    a = A.astype(np.float32)
    np.testing.assert_allclose(llgrad.grad(single)(a), llgrad.grad(single)(A), rtol=2e-4, atol=2e-4)


@pytest.mark.full
def test_rotations_by_no_angle() -> None:
    """A diagonal matrix has vectors whose derivatives are known."""

    @numba.njit
    def turned(x):
        h = np.diag(np.array([1.0, 2.0, 4.0])) + 0j
        h[1, 0] = x * 1j
        return np.linalg.eigh(h)[1][1, 0].imag

    assert llgrad.grad(turned)(0.0) == pytest.approx(-1.0)
