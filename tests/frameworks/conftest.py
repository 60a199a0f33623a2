"""C functions that the tests of all frameworks call."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import llgrad

sys.path.insert(0, str(Path(__file__).parents[2]))  # `examples`, however pytest is started

CODE = r"""
#include <math.h>
#include <stddef.h>
void f(float *inp, size_t n, float *out) { for (size_t i = 0; i < n; i++) out[i] = inp[i] * inp[i] * sinf(inp[i]); }
void waves(const double *x, int n, double *y) { for (int i = 0; i < n; i++) y[i] = sin(x[i]) * x[i] * x[n - 1 - i]; }
double energy(const double *x, const double *a, int n, double k) {
    double s = 0;
    for (int i = 0; i < n; i++) s += a[i] * x[i] * x[i] * x[i] + k * k * x[i] * x[(i + 1) % n];
    return s;
}
double rosenbrock(const double *x, int n) {
    double s = 0;
    for (int i = 0; i + 1 < n; i++)
        s += 100 * (x[i + 1] - x[i] * x[i]) * (x[i + 1] - x[i] * x[i]) + (1 - x[i]) * (1 - x[i]);
    return s;
}
void layer(int rows, int columns, const double *w, const double *x, double *y) {
    for (int i = 0; i < rows; i++) {
        y[i] = 0;
        for (int j = 0; j < columns; j++) y[i] += w[i * columns + j] * x[j];
        y[i] = tanh(y[i]);
    }
}
double square(double x) { return x * x; }
double blend(double x, double y, const double *t, const int *at, int n, double *sums) {
    double s = 0;
    for (int i = 0; i < n; i++) { sums[i] = t[at[i]] * x + y; s += sums[i] * sums[i]; }
    return s;
}
void relax(double *u, int n, double rate) { for (int i = 1; i < n; i++) u[i] += rate * u[i - 1] * u[i]; }
double staged(const double *x, int n, double *tmp) {
    for (int i = 0; i < n; i++) tmp[i] = exp(0.3 * x[i]);
    double s = 0;
    for (int i = 0; i < n; i++) s += tmp[i] * tmp[n - 1 - i];
    return s;
}
double product(const double *x, const double *y, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}
void kinetics(double t, const double *y, int n, double *dy) {
    (void)n;
    dy[0] = -0.04 * y[0] + 1e4 * y[1] * y[2] + 0 * t;
    dy[2] = 3e7 * y[1] * y[1];
    dy[1] = -dy[0] - dy[2];
}
static double total;
double stateful(const double *x, int n) { total = 0; for (int i = 0; i < n; i++) total += x[i] * x[i]; return total; }
void point(double x, double *y) { *y = x; }
int status(const double *x, int n) { return x[0] > n; }
void nothing(const double *x, int n) { (void)x; (void)n; }
void accumulate(const double *x, int n, double *y) { for (int i = 0; i < n; i++) y[i] += x[i] * x[i]; }
void resize(const double *x, int n, int m, double *y) { for (int i = 0; i < m; i++) y[i] = x[i % n] * i; }
void softmax(const double *x, int n, double *y) {
    double s = 0;
    for (int i = 0; i < n; i++) { y[i] = exp(x[i]); s += y[i]; }
    for (int i = 0; i < n; i++) y[i] /= s;
}
void products(const double *w, const double *x, int n, double *y) {
    for (int i = 0; i < n; i++) y[i] = 0;
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[i] += w[i * n + j] * x[j];
}
void mean(const double *x, int n, double *y) {
    for (int i = 0; i < n; i++) y[i] = 0;
    for (int k = 1; k < 4; k++) for (int i = 0; i < n; i++) y[i] += k * x[i] * x[i];
    for (int i = 0; i < n; i++) y[i] *= 1.0 / 3;
}
void wide(const double *x, int n, double *y) { for (int i = 0; i < 2 * n; i++) y[i] = x[i / 2]; }
void three(const double *x, int n, double *y) { for (int i = 0; i < 3; i++) y[i] = n * x[i]; }
void begun(const double *x, int n, double *y) { y[0] = 0; for (int i = 0; i < n; i++) y[i] = 2 * x[i]; }
void put(const double *x, const int *at, int n, double *y) { for (int i = 0; i < n; i++) y[at[i]] = x[i] * x[i]; }
double fourth(const double *x, const double *t, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] * t[3];
    return s;
}
double tangle(const double *x, int n) {
    double y = x[0];
    __asm__("addsd %1, %0" : "+x"(y) : "x"(x[n - 1]));
    return y;
}
"""


@pytest.fixture(scope="session")
def source_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("foreign") / "test.c"
    path.write_text(CODE)
    return path


@pytest.fixture(scope="session")
def lib(source_file: Path) -> llgrad.Library:
    return llgrad.load(source_file)
