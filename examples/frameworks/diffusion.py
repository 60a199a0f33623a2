"""SciPy: reaction and diffusion in C, with sparse Jacobians whose pattern nobody wrote down.

Newton's method, `least_squares` and an implicit integrator (`solve_ivp`, BDF) take them as they are.
`python -m examples.frameworks.diffusion`
"""

from __future__ import annotations

import time

import numpy as np
from scipy import integrate, optimize, sparse

import llgrad
from examples.frameworks.common import HERE, axes, save


def steady(lib, side, scale):
    """The solution of Bratu's equation by least squares; evaluations of the residual."""
    jac = llgrad.sparse_jacobian(lib.bratu, wrt="u", of="r")

    def residual(u):
        r = np.empty_like(u)
        lib.bratu(side, side, u, scale, r)
        return r

    found = optimize.least_squares(
        residual, np.zeros(side * side), jac=lambda u: jac(side, side, u, scale, np.empty_like(u)), tr_solver="lsmr",
        xtol=1e-12, ftol=1e-12, gtol=1e-10,
    )  # fmt: skip
    return found.x.reshape(side, side), np.abs(found.fun).max(), found.nfev


def newton(lib, side, scale):
    """The same by Newton's method with a sparse factorisation: the residual after each step."""
    jac = llgrad.sparse_jacobian(lib.bratu, wrt="u", of="r")
    u, r, left = np.zeros(side * side), np.empty(side * side), []
    for _ in range(6):
        matrix = jac(side, side, u, scale, r)  # r: the residual
        left.append(np.abs(r).max())
        u -= sparse.linalg.spsolve(matrix.tocsc(), r)
    return u.reshape(side, side), left


def waves(lib, side, until):
    """Two species of the Brusselator, from noise: a step of BDF solves with the sparse Jacobian."""
    jac = llgrad.sparse_jacobian(lib.brusselator, wrt="u", of="speed")

    def speed(t, u):
        made = np.empty_like(u)
        lib.brusselator(side, side, u, 0.05, made)
        return made

    start = np.random.default_rng(0).uniform(0.9, 1.1, 2 * side * side) * np.tile([1.0, 3.4], side * side)
    return integrate.solve_ivp(
        speed, (0, until), start, method="BDF", jac=lambda t, u: jac(side, side, u, 0.05, np.empty_like(u)), rtol=1e-5
    )


def main():
    lib = llgrad.load(HERE / "diffusion.c")
    u, left = newton(lib, 200, 6 / 201**2)
    print(f"Newton, {u.size:,} unknowns: residuals {', '.join(f'{x:.1e}' for x in left)}")
    _, error, evaluations = steady(lib, 60, 6 / 61**2)
    print(f"least_squares, 3,600 unknowns: residual {error:.1e} after {evaluations} evaluations")
    begun = time.perf_counter()
    found = waves(lib, 60, 12.0)
    seconds = time.perf_counter() - begun
    print(f"solve_ivp, 7,200 unknowns: {found.t.size} steps, {found.njev} Jacobians, {seconds:.1f} s")
    figure, ((one, two),) = axes(2)
    one.imshow(u)
    one.set(title="Bratu, 40,000 unknowns")
    two.imshow(found.y[::2, -1].reshape(60, 60))
    two.set(title="Brusselator, first species")
    save(figure, "diffusion")


if __name__ == "__main__":
    main()
