"""A network's loss, an integrator, and a Cholesky solve, as Numba users write them: NumPy inside `@njit`."""

import numpy as np
from numba import njit


@njit
def network(x, w1, b1, w2, target):
    """`(w2 . tanh(W1 x + b1) - target)**2`"""
    hidden = np.tanh(w1 @ x + b1)
    return (np.dot(w2, hidden) - target) ** 2


@njit
def slope(y, k):
    n = len(y)
    out = np.empty_like(y)
    for i in range(n):
        out[i] = y[i - 1] - 2 * y[i] + y[(i + 1) % n] - k * y[i] ** 3
    return out


@njit
def integrate(start, k, dt, steps):
    """The energy of a ring of cells after some steps of Heun's method."""
    y = start.copy()
    for _ in range(steps):
        a = slope(y, k)
        b = slope(y + dt * a, k)
        y += 0.5 * dt * (a + b)
    return np.sum(y**2)


@njit
def solve(a, b):
    """`b . A**-1 b + log det A` of a symmetric positive definite A, by its Cholesky factor."""
    n = len(b)
    factor = np.zeros((n, n))
    for j in range(n):
        for i in range(j, n):
            s = a[i, j] - np.sum(factor[i, :j] * factor[j, :j])
            if i == j and s <= 0:
                raise ValueError("the matrix is not positive definite")
            factor[i, j] = np.sqrt(s) if i == j else s / factor[j, j]
    z = np.zeros(n)
    for i in range(n):
        z[i] = (b[i] - np.sum(factor[i, :i] * z[:i])) / factor[i, i]
    return np.sum(z * z) + 2 * np.sum(np.log(np.diag(factor)))
