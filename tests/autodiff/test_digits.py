"""Floats made of the digits of converted numbers: they follow the number, so that a derivative of zero is an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import llgrad
from llgrad.errors import KindError, UnsupportedError

HEAD = """
#include <math.h>
#include <stdint.h>
#include <string.h>
#define APART __attribute__((noinline)) static
"""
SUM = "double f(const double *x, int n) {{ double s = 0; for (int i = 0; i < n; i++) s += {}; return s; }}"
FOLLOWING = {
    "64 bits": "static double e(double x) { int64_t b = 6497320848556798.0 * x + 4606985713057410560.0; double d;"
    " memcpy(&d, &b, 8); return d; }" + SUM.format("e(x[i])"),
    "the upper half": "static double e(double x) { union { double d; int i[2]; } u; u.i[0] = 0;"
    " u.i[1] = 1512775 * x + 1072632447; return u.d; }" + SUM.format("e(x[i])"),
    "shifted by a half": "static double e(double x) { int64_t b = (int64_t)(1512775 * x + 1072632447) << 32; double d;"
    " memcpy(&d, &b, 8); return d; }" + SUM.format("e(x[i])"),
    "a power": "static double p(double a, double b) { union { double d; int x[2]; } u = {a};"
    " u.x[1] = (int)(b * (u.x[1] - 1072632447) + 1072632447); u.x[0] = 0; return u.d; }" + SUM.format("p(x[i], 2.5)"),
    "clamped, in functions": "APART int bits(float x) { int b = 12102203 * x + 1064866805; return b < 0 ? 0 : b; }"
    " APART float taken(int b) { float v; memcpy(&v, &b, 4); return v; }" + SUM.format("taken(bits(x[i]))"),
    "rounded by the library": "static float e(float x) { int b = lrintf(12102203 * x) + 1064866805; float v;"
    " memcpy(&v, &b, 4); return v; }" + SUM.format("e(x[i])"),
    "an array": "APART void put(float *y, const double *x, int n) {"
    " for (int i = 0; i < n; i++) { int b = 12102203 * x[i] + 1064866805; memcpy(y + i, &b, 4); } }"
    " double f(const double *x, int n) { float y[8]; double s = 0; put(y, x, n);"
    " for (int i = 0; i < n; i++) s += y[i]; return s; }",
    "an array that is copied": "double f(const double *x, int n) { int b[8]; float y[8]; double s = 0;"
    " for (int i = 0; i < n; i++) b[i] = 12102203 * x[i] + 1064866805;"
    " memcpy(y, b, n * 4); for (int i = 0; i < n; i++) s += y[i]; return s; }",
    "lanes": "typedef float floats __attribute__((vector_size(16))); typedef int ints __attribute__((vector_size(16)));"
    " double f(const double *x, int n) { double s = 0; for (int i = 0; i + 3 < n; i += 4) {"
    " floats v = {x[i], x[i + 1], x[i + 2], x[i + 3]};"
    " floats e = (floats)(__builtin_convertvector(v * 12102203, ints) + 1064866805);"
    " s += e[0] + 2 * e[1] + e[2] * e[3]; } return s; }",
}  # fmt: skip
OUTPUTS = {
    "a union": "union { int i; float f; } v; v.i = 12102203 * x[i] + 1064866805; y[i] = v.f;",
    "a copy": "int b = 12102203 * x[i] + 1064866805; memcpy(y + i, &b, 4);",
}
STEPS = {
    "an exponent": "static double e(double x) { double k = floor(x * M_LOG2E + 0.5), r = x - k * M_LN2, s;"
    " int64_t b = ((int64_t)k + 1023) << 52; memcpy(&s, &b, 8); return s * (1 + r * (1 + r / 2 * (1 + r / 3))); }"
    + SUM.format("e(x[i])"),
    "an exponent in the upper half": "static double e(double x) { double k = floor(x * M_LOG2E + 0.5),"
    " r = x - k * M_LN2; union { double d; int i[2]; } u; u.i[0] = 0; u.i[1] = ((int)k + 1023) << 20;"
    " return u.d * (1 + r * (1 + r / 2)); }" + SUM.format("e(x[i])"),
    "one variable": "static float e(float x) { int k = 1.44f * x; float s; k = (k + 127) << 23; memcpy(&s, &k, 4);"
    " return s * x; }" + SUM.format("e(x[i])"),
    "noise": "static float noise(double x) { uint32_t h = (uint32_t)x * 2654435769u, b; h ^= h >> 15; h *= 2246822519u;"
    " b = h >> 9 | 0x3f800000; float v; memcpy(&v, &b, 4); return v - 1; }" + SUM.format("noise(x[i]) * x[i] * x[i]"),
    "a tag": "struct value { int tag; union { double d; long i; } u; };"
    " double f(const double *x, int n) { struct value v[8]; double s = 0; for (int k = 0; k < n; k++) {"
    " struct value t; memset(&t, 0, sizeof t); if (k % 2) { t.tag = 1; t.u.d = x[k] * x[k]; }"
    " else { t.tag = 0; t.u.i = (long)(x[k] * 2); } v[k] = t; }"
    " for (int k = 0; k < n; k++) if (v[k].tag) s += v[k].u.d; else s += x[v[k].u.i % n]; return s; }",
}  # fmt: skip


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("name", FOLLOWING)
def test_floats_that_follow_a_converted_number_are_errors(source: Callable[..., Path], name: str, level: int) -> None:
    """Schraudolph's exponential, Ankerl's power: their derivatives were zero."""
    lib = llgrad.load(source(HEAD + FOLLOWING[name]), optimize=level)
    x = np.linspace(1.1, 2.3, 8)
    assert abs(lib.f(x + 1e-2, 8) - lib.f(x - 1e-2, 8)) > 1e-2  # no step function, at this distance
    asks: tuple[Callable[[], object], ...] = (
        lambda: llgrad.grad(lib.f, wrt="x")(x, 8),
        lambda: llgrad.jvp(lib.f, wrt="x")(x, 8, tangents=x),
    )
    for ask in asks:
        with pytest.raises((UnsupportedError, KindError)):
            ask()


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("name", OUTPUTS)
def test_they_are_errors_where_the_caller_reads_them(source: Callable[..., Path], name: str, level: int) -> None:
    loop = f"for (int i = 0; i < n; i++) {{ {OUTPUTS[name]} }}"
    text = HEAD + f"void f(const float *x, float *y, int n) {{ {loop} }}"
    lib = llgrad.load(source(text), optimize=level)
    x, y = np.linspace(1.1, 2.3, 8, dtype=np.float32), np.zeros(8, np.float32)
    with pytest.raises(UnsupportedError, match="digits of a number"):
        llgrad.jacobian(lib.f, wrt="x", of="y")(x, y, 8)


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("name", STEPS)
def test_steps_and_tags_are_none(source: Callable[..., Path], name: str, level: int) -> None:
    """Exponents and hashes jump as the number does; a tag says what is a number."""
    lib = llgrad.load(source(HEAD + STEPS[name]), optimize=level)
    x, h = np.linspace(1.1, 2.3, 8) + 0.013, 1e-3
    differences = [(lib.f(x + h * e, 8) - lib.f(x - h * e, 8)) / (2 * h) for e in np.eye(8)]
    np.testing.assert_allclose(llgrad.grad(lib.f, wrt="x")(x, 8), differences, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("level", [0, 2])
def test_numbers_read_from_declared_floats_are_errors(source: Callable[..., Path], level: int) -> None:
    """The upper half of a double is a logarithm, nearly; nothing but the declaration says that it is one's."""
    lib = llgrad.load(source("double f(const double *x) { return ((const int *)x)[1] * 0x1p-20; }"), optimize=level)
    with pytest.raises(KindError):
        llgrad.grad(lib.f, wrt="x")(np.array([1.3]))
