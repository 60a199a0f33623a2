"""A network's loss, an integrator, and a Cholesky solve, as Numba users write them: NumPy inside `@njit`."""

import numpy as np
from numba import njit


@njit
def network(x, w1, b1, w2, target):
    """`(w2 . tanh(W1 x + b1) - target)**2`"""
    hidden = np.tanh(w1 @ x + b1)
    return (np.dot(w2, hidden) - target) ** 2


@njit
def slope(y, k, out):
    n = len(y)
    for i in range(n):
        out[i] = y[i - 1] - 2 * y[i] + y[(i + 1) % n] - k * y[i] ** 3


@njit
def integrate(start, k, dt, steps):
    """The energy of a ring of cells after some steps of Heun's method."""
    n = len(start)
    y, mid, a, b = start.copy(), np.empty(n), np.empty(n), np.empty(n)
    for _ in range(steps):
        slope(y, k, a)
        for i in range(n):
            mid[i] = y[i] + dt * a[i]
        slope(mid, k, b)
        for i in range(n):
            y[i] += 0.5 * dt * (a[i] + b[i])
    return np.sum(y**2)


@njit
def solve(a, b):
    """`b . A**-1 b + log det A` of a symmetric positive definite A, by its Cholesky factor."""
    n = len(b)
    factor, z, value = np.zeros((n, n)), np.empty(n), 0.0
    for j in range(n):
        for i in range(j, n):
            s = a[i, j]
            for k in range(j):
                s -= factor[i, k] * factor[j, k]
            if i == j and s <= 0:
                raise ValueError("the matrix is not positive definite")
            factor[i, j] = np.sqrt(s) if i == j else s / factor[j, j]
    for i in range(n):
        z[i] = (b[i] - np.dot(factor[i, :i], z[:i])) / factor[i, i]
        value += 2 * np.log(factor[i, i])
    return value + np.dot(z, z)
