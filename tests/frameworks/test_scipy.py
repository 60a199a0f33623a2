"""SciPy's optimisers and integrators on compiled code, to convergence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, optimize

import llgrad
import llgrad.scipy
from llgrad.errors import ForeignError, UnknownNameError
from llgrad.foreign import ForeignShapeError, ForeignTypeError

BA = Path(__file__).parents[2] / "examples" / "adbench" / "ba.c"


def test_rosenbrock_is_minimised(lib: llgrad.Library) -> None:
    problem = llgrad.scipy.objective(lib.rosenbrock)
    start = np.array([-1.2, 1.0, -1.2, 1.0, 0.5])
    assert optimize.check_grad(problem.fun, problem.jac, start) < 1e-4
    for method in ("BFGS", "L-BFGS-B", "CG"):
        found = optimize.minimize(problem.fun, start, jac=problem.jac, method=method, options={"gtol": 1e-8})
        np.testing.assert_allclose(found.x, 1, atol=1e-5)


def test_second_derivatives(lib: llgrad.Library) -> None:
    """Newton's methods on the matrix and on products with it; of several outputs, weighted."""
    problem = llgrad.scipy.objective(lib.rosenbrock)
    start = np.array([1.3, 0.7, 0.8, 1.9, 1.2])
    np.testing.assert_allclose(problem.hess(start), optimize.rosen_hess(start), rtol=1e-12)
    along = np.arange(5.0)
    np.testing.assert_allclose(problem.hessp(start, along), optimize.rosen_hess(start) @ along, rtol=1e-12)
    for method, how in (("trust-exact", {"hess": problem.hess}), ("Newton-CG", {"hessp": problem.hessp})):
        found = optimize.minimize(problem.fun, start, jac=problem.jac, method=method, **how)
        np.testing.assert_allclose(found.x, 1, atol=1e-3)
    waves, weights = llgrad.scipy.objective(lib.waves), np.array([0.5, -1.0, 2.0])
    x, step = np.array([0.3, 0.2, 0.7]), 1e-6 * np.eye(3)
    rows = [(waves.vjp(x + h, weights) - waves.vjp(x - h, weights)) / 2e-6 for h in step]
    np.testing.assert_allclose(waves.hess(x, weights), rows, atol=1e-7)
    bound = optimize.NonlinearConstraint(waves.fun, 0.0, 0.5, jac=waves.jac, hess=waves.hess)
    small = llgrad.scipy.objective(lib.rosenbrock)
    found = optimize.minimize(
        small.fun, x, jac=small.jac, hess=small.hess, method="trust-constr", constraints=[bound]
    )
    assert np.all(waves.fun(found.x) < 0.5 + 1e-6) and found.optimality < 1e-4
    both = llgrad.scipy.objective(lib.energy, ("x", "k"), {"a": np.ones(3), "x": x, "k": 0.5})
    at, h = both.pack(x, 0.5), 1e-6 * np.eye(4)
    np.testing.assert_allclose(both.hess(at), [(both.jac(at + d) - both.jac(at - d)) / 2e-6 for d in h], atol=1e-6)
    with pytest.raises(ForeignTypeError, match="second derivatives of which"):
        waves.hess(x)


def test_a_scalar_with_other_inputs_given(lib: llgrad.Library) -> None:
    a = np.arange(1.0, 5.0)
    problem = llgrad.scipy.objective(lib.energy, wrt="x", given={"a": a, "k": 0.5})
    x = np.array([0.3, 0.2, 0.1, 0.7])
    expected = 3 * a * x**2 + 0.25 * (np.roll(x, 1) + np.roll(x, -1))
    np.testing.assert_allclose(problem.jac(x), expected, rtol=1e-13)
    assert problem.jvp(x, np.ones(4)) == pytest.approx(expected.sum())
    both = llgrad.scipy.objective(lib.energy, wrt=("x", "k"), given={"a": a, "x": x, "k": 0.5})
    at = both.pack(x, 0.5)
    np.testing.assert_allclose(both.jac(at), [*expected, x @ np.roll(x, -1)], rtol=1e-13)
    assert [p.shape for p in both.unpack(at)] == [(4,), ()]


def test_matrices_are_of_one_run(tmp_path: Path) -> None:
    path = tmp_path / "code.c"
    path.write_text(
        "static double kept;\n"
        "void f(const double *x, int n, double *y) { kept++; for (int i = 0; i < n; i++) y[i] = kept * x[i] * x[i]; }\n"
        "double g(const double *x, int n) { kept++; return kept * x[0] * x[n - 1]; }\n"
    )
    lib, x = llgrad.load(path), np.ones(3)
    for made in (llgrad.scipy.objective(lib.f).jac, llgrad.scipy.objective(lib.g).hess):
        with pytest.raises(ForeignError, match="gives another value each time that it runs"):
            made(x)


def test_variables_come_in_the_order_that_they_are_named_in(lib: llgrad.Library) -> None:
    x, a = np.array([0.3, 0.2, 0.1]), np.array([1.0, 2.0, 3.0])
    given = {"k": 0.5, "x": x, "a": a}
    one = llgrad.scipy.objective(lib.energy, wrt=("x", "a"), given=given)
    other = llgrad.scipy.objective(lib.energy, wrt=("a", "x"), given=given)
    at, back = one.pack(x, a), other.pack(a, x)
    assert other.names == ("a", "x") and one.fun(at) == other.fun(back) == llgrad.scipy.objective(
        lib.energy, wrt="x", given={"k": 0.5, "a": a}
    ).fun(x)
    np.testing.assert_allclose(np.roll(one.jac(at), 3), other.jac(back))
    np.testing.assert_allclose(np.roll(one.hess(at), (3, 3), (0, 1)), other.hess(back))
    np.testing.assert_allclose(np.roll(one.hessp(at, at), 3), other.hessp(back, back))
    assert one.jvp(at, at) == pytest.approx(other.jvp(back, back), rel=1e-14)
    with pytest.raises(ForeignTypeError, match="names an input twice"):
        llgrad.scipy.objective(lib.energy, wrt=("a", "a"), given=given)


def test_bundle_adjustment_converges() -> None:
    """Cameras and points are found again from what they project to, by the matrix and without it."""
    from examples.adbench.instances import random_ba

    ba = random_ba(3, 30, 90, seed=2)
    lib = llgrad.load(BA)
    obs = np.stack([np.repeat(np.arange(3), 30), np.tile(np.arange(30), 3)], axis=1).astype(np.int32)
    weights, count = np.ones(90), {"n": ("cams", 0), "m": ("X", 0), "p": "w"}
    out = {"reproj_err": ("p", 2), "w_err": ("p",)}
    given = {"cams": ba.cams, "X": ba.points, "w": weights, "obs": obs, "feats": np.zeros((90, 2))}
    errors = llgrad.scipy.objective(lib.ba_objective, wrt=("cams", "X"), given=given, out=out, counts=count)
    true = errors.pack(ba.cams, ba.points)
    given["feats"] = np.ascontiguousarray(errors.fun(true)[:180].reshape(90, 2))
    errors = llgrad.scipy.objective(lib.ba_objective, wrt=("cams", "X"), given=given, out=out, counts=count)
    start = true * (1 + 0.001 * np.random.default_rng(0).normal(size=true.size))
    matrix = errors.jac(start)
    along = np.random.default_rng(1).normal(size=true.size)
    np.testing.assert_allclose(errors.operator(start) @ along, matrix @ along, rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(errors.operator(start).T @ errors.fun(start), matrix.T @ errors.fun(start), rtol=1e-9)
    step = 1e-6 * along
    np.testing.assert_allclose(
        (errors.fun(start + step) - errors.fun(start - step)) / 2e-6, matrix @ along, rtol=1e-4, atol=1e-3
    )
    scale = np.abs(start) + 1e-2
    found = optimize.least_squares(errors.fun, start, jac=errors.jac, x_scale=scale, tr_solver="exact", max_nfev=12)
    assert np.sum(found.fun[:180] ** 2) < 1e-4 * np.sum(errors.fun(start)[:180] ** 2)


def test_least_squares_on_a_whole_instance() -> None:
    """ADBench's bundle adjustment: 23,867 unknowns, 63,686 residuals, no matrix."""
    from examples.adbench.instances import read_ba

    ba, out = read_ba(), {"reproj_err": ("p", 2), "w_err": ("p",)}
    given = {"cams": ba.cams, "X": ba.points, "w": ba.weights, "obs": ba.obs, "feats": ba.feats}
    count = {"n": ("cams", 0), "m": ("X", 0), "p": "w"}
    errors = llgrad.scipy.objective(llgrad.load(BA).ba_objective, ("cams", "X"), given, out=out, counts=count)
    start = errors.pack(ba.cams, ba.points)
    found = optimize.least_squares(errors.fun, start, jac=errors.operator, tr_solver="lsmr", max_nfev=10)
    reprojection = 2 * len(ba.obs)
    assert np.sum(errors.fun(start)[:reprojection] ** 2) > 100
    assert np.sum(found.fun[:reprojection] ** 2) < 1e-6


def test_a_stiff_equation_is_integrated(lib: llgrad.Library) -> None:
    """Robertson's kinetics: the Jacobian is exact, and the end is the known one."""
    system = llgrad.scipy.equation(lib.kinetics)
    y = np.array([0.9, 2e-5, 0.1])
    expected = [[-0.04, 1e4 * y[2], 1e4 * y[1]], [0.04, -1e4 * y[2] - 6e7 * y[1], -1e4 * y[1]], [0, 6e7 * y[1], 0]]
    np.testing.assert_allclose(system.jac(0.0, y), expected, rtol=1e-13)
    for method in ("Radau", "BDF"):
        options = {"jac": system.jac, "method": method, "rtol": 1e-8, "atol": 1e-10}
        found = integrate.solve_ivp(system.fun, (0, 40), [1.0, 0, 0], **options)
        np.testing.assert_allclose(found.y[:, -1], [0.7158271, 9.1855e-6, 0.2841637], rtol=1e-4)


def test_errors(lib: llgrad.Library) -> None:
    with pytest.raises(UnknownNameError, match="no input z"):
        llgrad.scipy.objective(lib.energy, wrt="z")
    with pytest.raises(ForeignTypeError, match="nothing is given for a, k"):
        llgrad.scipy.objective(lib.energy, wrt="x")
    with pytest.raises(ForeignTypeError, match="of which shapes"):
        llgrad.scipy.objective(lib.energy, wrt=("x", "a"), given={"k": 1.0})
    with pytest.raises(ForeignTypeError, match="has dtype float32, not float64"):
        llgrad.scipy.objective(lib.energy, wrt="x", given={"a": np.zeros(3, np.float32), "k": 1.0})
    with pytest.raises(ForeignShapeError, match="which array"):
        llgrad.scipy.objective(lib.energy, wrt="x", given={"a": np.zeros(3), "k": 1.0}).fun(np.zeros(2))
    with pytest.raises(ForeignShapeError, match="2 weights for 1"):
        llgrad.scipy.objective(lib.rosenbrock).vjp(np.zeros(3), np.ones(2))
    for product in (llgrad.scipy.objective(lib.rosenbrock).hessp, llgrad.scipy.objective(lib.rosenbrock).jvp):
        with pytest.raises(ForeignShapeError, match="a direction has 2 elements, not 3"):
            product(np.zeros(3), np.ones(2))
        with pytest.raises(ForeignTypeError, match="holds complex128"):
            product(np.zeros(3), 1j * np.ones(3))
    with pytest.raises(ForeignTypeError, match="holds complex128"):
        llgrad.scipy.objective(lib.rosenbrock).jac(1j * np.ones(3))


def test_numbers_need_no_shape(tmp_path: Path) -> None:
    path = tmp_path / "himmelblau.c"
    path.write_text(
        "double f(double x, double y) { double a = x * x + y - 11, b = x + y * y - 7; return a * a + b * b; }"
    )
    problem = llgrad.scipy.objective(llgrad.load(path).f)
    found = optimize.minimize(problem.fun, [1.0, 1.0], jac=problem.jac, hess=problem.hess, method="trust-exact")
    np.testing.assert_allclose(found.x, [3, 2], atol=1e-6)


def test_the_example_adjusts() -> None:
    from examples.frameworks import bundle

    before, after, costs = bundle.adjust(6)
    assert after.mean() < 0.05 * before.mean() and costs[0] == pytest.approx(before.mean())
