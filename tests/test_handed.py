"""Values kept once: those that iterations hand on, and recurrences run once for several loops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from full.switches import switched

import llgrad

CODE = """
#include <math.h>
void counted(int n, const double *p, double *out) {
    double a = p[0], b = p[1], sum = 0;
    for (int i = 0; i < n; i++) {
        double c = sin(a + 0.1 * b), d = exp(-p[2] * a * b);
        sum += c * c * d + a * b * d;
        a = c, b = d;
    }
    out[0] = sum + a, out[1] = b * a;
}
void nested(int n, const double *p, double *out) {
    double sum = 0, last = 1;
    for (int j = 0; j < 5; j++) {
        double a = p[0] + j, b = last * p[1];
        for (int i = 0; i < n; i++) {
            double c = sin(a + 0.1 * b), d = exp(-p[2] * a * b);
            sum += c * c * d + a * b * d;
            a = c, b = d;
        }
        last = sin(a) * b + p[2];
    }
    out[0] = sum, out[1] = last;
}
void open_ended(int n, const double *p, double *out) {
    double a = p[0], b = p[1], sum = 0, t = 0;
    while (t < 0.01 * n - 0.005) {
        double c = sin(a + 0.1 * b), d = exp(-p[2] * a * b);
        sum += c * c * d + a * b * d;
        if (sum > 1e9) break;
        a = c, b = d, t += 0.01 + 1e-9 * (a > 100);
    }
    out[0] = sum + a * a, out[1] = a * b;
}
void stages(int n, const double *p, double *out) {
    double sum = 0;
    for (int stage = 1; stage < 5; stage++) {
        double c = cos(p[0] * stage), s = sin(p[1] * stage);
        for (int i = 0; i < n; i++) {
            double u = p[2], v = 0.5;
            for (int k = 0; k < (i * 7) % 11; k++) {
                double w = u * c - v * s;
                sum += u * u * v * p[k % 3];
                v = u * s + v * c, u = w;
            }
        }
    }
    out[0] = sum, out[1] = sum * p[0];
}
"""
LENGTHS = {
    "counted": (0, 1, 2, 65, 300), "nested": (0, 1, 40), "open_ended": (0, 1, 63, 64, 65, 130), "stages": (0, 1, 20),
}  # fmt: skip
SAID = {"stages": ("once for all of", "no_replays_kept")}
P = np.array([0.5, 0.25, 0.9])


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> llgrad.Library:
    path = Path(tmp_path_factory.mktemp("handed"), "code.c")
    path.write_text(CODE)
    return llgrad.load(path)


@pytest.mark.parametrize("name", LENGTHS)
def test_derivatives(lib: llgrad.Library, name: str) -> None:
    function = getattr(lib, name)
    reverse, forward = (llgrad.jacobian(function, wrt="p", of="out", mode=mode) for mode in ("reverse", "forward"))
    said, switch = SAID.get(name, ("handed on", "no_handing"))
    assert said in llgrad.vjp(function, wrt="p", of="out").plan
    with switched(switch):
        assert said not in llgrad.vjp(function, wrt="p", of="out").plan
    hvp = llgrad.hvp(function, wrt="p", of="out")
    v, seed, h = np.array([1.0, -0.5, 2.0]), np.array([1.0, 2.0]), 1e-5
    for n in LENGTHS[name]:
        found = reverse(n, P, np.zeros(2))
        np.testing.assert_allclose(found, forward(n, P, np.zeros(2)), rtol=1e-11, atol=1e-14)
        ahead, behind = (forward(n, P + x * v, np.zeros(2)) for x in (h, -h))
        again = hvp(n, P, np.zeros(2), v, seed=seed)
        np.testing.assert_allclose(again, seed @ (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-7)
