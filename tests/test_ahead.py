"""Recurrences that compute ahead what they need of libm, or are run again: the same derivatives for any length."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import llgrad

CODE = """
#include <math.h>
void pendulum(int steps, const double *p, double *out) {
    double angle = p[0], speed = p[1], h = 1e-2;
    for (int i = 0; i < steps; i++) {
        double force = -p[2] * sin(angle) - p[3] * speed;
        angle += h * speed;
        speed += h * force;
    }
    out[0] = angle * angle, out[1] = angle * speed;
}
double turned(int n, const double *x) {
    double sum = 0;
    for (int t = 0; t < n - 4; t++)
        for (int i = 1; i < n; i++) {
            double w = x[0], c = cos(x[i]);
            unsigned r = i + t;
            for (int k = 0; k < i; k++) {
                sum += w * w * x[k] * x[k] * (1 + (r >> 30));
                w = w * c + 0.5;
                r = r * 1664525u + 1013904223u;
            }
        }
    return sum;
}
"""
STEPS = (0, 1, 63, 64, 65, 129, 1000)
P = np.array([0.5, 0.25, 0.9, 0.1])


@pytest.fixture(scope="module")
def libs(tmp_path_factory: pytest.TempPathFactory) -> list[llgrad.Library]:
    path = Path(tmp_path_factory.mktemp("ahead"), "code.c")
    path.write_text(CODE)
    return [llgrad.load(path, vector_math=on) for on in (False, True)]


def test_steps(libs: list[llgrad.Library]) -> None:
    plain, vector = (llgrad.jacobian(lib.pendulum, wrt="p", of="out", mode="reverse") for lib in libs)
    forward = llgrad.jacobian(libs[0].pendulum, wrt="p", of="out", mode="forward")
    for steps in STEPS:
        found = vector(steps, P, np.zeros(2))
        np.testing.assert_allclose(found, plain(steps, P, np.zeros(2)), rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(found, forward(steps, P, np.zeros(2)), rtol=1e-11, atol=1e-14)


def test_plan(libs: list[llgrad.Library]) -> None:
    plans = [llgrad.vjp(lib.pendulum, wrt="p", of="out").plan for lib in libs]
    assert ["computed ahead in strips" in plan for plan in plans] == [False, True]


def test_second_derivative(libs: list[llgrad.Library]) -> None:
    v, seed = np.array([1.0, 0.0, 0.5, 0.0]), np.array([1.0, 2.0])
    found = [llgrad.hvp(lib.pendulum, wrt="p", of="out")(70, P, np.zeros(2), v, seed=seed) for lib in libs]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10)


def test_what_is_run_again(libs: list[llgrad.Library]) -> None:
    x, v = np.linspace(0.3, 0.9, 7), np.linspace(1, -1, 7)
    both = llgrad.value_and_grad(libs[0].turned, wrt="x")
    assert "run again" in both.plan
    tangent = llgrad.jvp(libs[0].turned, wrt="x")
    np.testing.assert_allclose(both(7, x)[1] @ v, tangent(7, x, tangents=v)[1], rtol=1e-12)
    found = llgrad.hvp(libs[0].turned, wrt="x")(7, x, v)
    h = 1e-5
    expected = (both(7, x + h * v)[1] - both(7, x - h * v)[1]) / (2 * h)
    np.testing.assert_allclose(found, expected, rtol=1e-7)
