"""Libraries and derivatives from Python: results, signatures, bad input of all kinds, threads, the cache, isolation."""

from __future__ import annotations

import ctypes
import math
import os
import pydoc
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import llgrad
from llgrad import errors
from llgrad.execution import cache

Source = Callable[..., Path]
ROOT = Path(__file__).parents[1]
CODE = """
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
double cube(double x) { return x * x * x; }
double quad(const double *x, const double *a, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += a[i] * x[i] * x[i];
    return s;
}
void scaled(int n, const double *x, double scale, double *tmp, double *out) {
    for (int i = 0; i < n; i++) tmp[i] = x[i] * scale;
    *out = 0;
    for (int i = 0; i < n; i++) *out += tmp[i] * tmp[i];
}
void waves(const double *x, int n, double *y) { for (int i = 0; i < n; i++) y[i] = sin(x[i]) * x[0]; }
void inplace(double *x, int n) { for (int i = 0; i < n; i++) x[i] = x[i] * x[i]; }
double plain(double *x, double *w, double *work, double *unused, double k, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) work[i] = k * x[i] * x[i];
    for (int i = 0; i < n; i++) s += w[i] * work[i];
    return s;
}
float single(const float *x, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i] * x[i]; return s; }
long double extended(long double x) { return x * x; }
_Float16 halved(_Float16 x) { return x * x; }
double chaos(double x, long n) {
    double y = x;
    for (long i = 0; i < n; i++) { y = y * y + x; if (y > 1e300) y = 0.5; }
    return y;
}
double restricted(double *restrict a, const double *restrict b) { a[0] = b[0]; return a[0]; }
void rows(double (*m)[3], int n) { for (int i = 0; i < n; i++) m[i][2] = 1; }
int8_t small(int8_t a, uint16_t b, bool c) { return c ? a : (int8_t)b; }
unsigned back(unsigned x) { return x; }
int64_t wide(int64_t x) { return x; }
typedef struct { double a, b; } pair;
pair by_value(double x) { pair p = {x, x}; return p; }
double takes_pair(pair p) { return p.a; }
double many(int n, ...) { return n; }
double list(double **rows, int n) { return rows[0][0] * n; }
"""


@pytest.fixture(scope="session")
def lib(tmp_path_factory: pytest.TempPathFactory) -> llgrad.Library:
    path = tmp_path_factory.mktemp("lib") / "code.c"
    path.write_text(CODE)
    return llgrad.load(path)


# --- functions --------------------------------------------------------------------------------------------------------


def test_signatures_are_shown(lib: llgrad.Library) -> None:
    assert repr(lib.quad) == "<foreign function double quad(const double *x, const double *a, int n)>"
    assert "double quad(const double *x, const double *a, int n);" in pydoc.render_doc(lib.quad)
    assert "x: C-contiguous array of float64, read" in (lib.quad.__doc__ or "")
    assert [p for p in lib.quad.__signature__.parameters] == ["x", "a", "n"]
    assert "quad" in dir(lib) and "double cube(double x)" in repr(lib)
    assert lib.quad is lib["quad"]


def test_calls(lib: llgrad.Library) -> None:
    x = np.arange(4.0)
    assert lib.quad(x, np.ones(4), 4) == 14.0
    assert lib.quad(x, n=4, a=np.ones(4)) == 14.0
    assert lib.inplace(x, 4) is None and x.tolist() == [0, 1, 4, 9]
    assert lib.quad(np.zeros(0), np.zeros(0), 0) == 0.0
    assert math.isnan(lib.cube(math.nan))
    assert lib.cube(np.float32(2)) == lib.cube(2) == lib.cube(np.array(2.0)) == 8.0
    assert lib.single(np.ones(3, np.float32), np.int64(3)) == 3.0
    assert lib.extended(np.longdouble(1) / 3) == (np.longdouble(1) / 3) ** 2
    assert (lib.small(-5, 7, True), lib.small(-5, 200, False)) == (-5, -56)
    assert lib.back(2**32 - 1) == 2**32 - 1 and lib.wide(-(2**63)) == -(2**63)
    m = np.zeros((2, 3))
    lib.rows(m, 2)
    assert m[:, 2].tolist() == [1, 1]


BAD_CALLS: list[tuple[str, Callable[[Any], Any], type, str]] = [
    ("count", lambda lib: lib.cube(1.0, 2.0), errors.ArgumentError, "takes 1 arguments, not 2"),
    ("missing", lambda lib: lib.quad(np.ones(2), n=2), errors.ArgumentError, "no argument for a"),
    ("unknown", lambda lib: lib.cube(1.0, y=2.0), errors.ArgumentError, "no free parameter y"),
    ("dtype", lambda lib: lib.inplace(np.ones(3, np.float32), 3), errors.ArgumentError, "float32, not np.float64"),
    ("order", lambda lib: lib.inplace(np.ones(3, ">f8"), 3), errors.ArgumentError, "dtype >f8"),
    ("layout", lambda lib: lib.inplace(np.ones((3, 3)).T[:, :2], 3), errors.ArgumentError, "not C-contiguous"),
    ("readonly", lambda lib: lib.inplace(np.broadcast_to(np.ones(3), (1, 3)), 3), errors.ArgumentError, "read-only"),
    ("function", lambda lib: lib.inplace(abs, 1), errors.ArgumentError, "cannot be a Python function"),
    ("list", lambda lib: lib.inplace([1.0], 1), errors.ArgumentError, "must be a NumPy array"),
    ("too large", lambda lib: lib.cube(10**400), errors.ArgumentError, "larger than any float"),
    ("string", lambda lib: lib.cube("1"), errors.ArgumentError, "must be a number"),
    ("complex", lambda lib: lib.cube(1j), errors.ArgumentError, "must be a number"),
    ("array for a number", lambda lib: lib.cube(np.ones(1)), errors.ArgumentError, "must be a number"),
    ("float for an int", lambda lib: lib.quad(np.ones(1), np.ones(1), 1.0), errors.ArgumentError, "must be an integer"),
    ("range", lambda lib: lib.quad(np.ones(1), np.ones(1), 2**31), errors.ArgumentError, "out of range"),
    ("negative", lambda lib: lib.back(-1), errors.ArgumentError, "0 to 4294967295"),
    ("bool", lambda lib: lib.small(1, 1, 2), errors.ArgumentError, "out of range"),
    ("size", lambda lib: lib.rows(np.ones(4), 1), errors.ArgumentError, "whole groups of 3"),
    ("restrict", lambda lib: (lambda x: lib.restricted(x, x))(np.ones(1)), errors.ArgumentError, "share memory"),
    ("attribute", lambda lib: lib.qadu, AttributeError, "defines no function"),
    ("name", lambda lib: lib.qadu, errors.UnknownNameError, "did you mean quad"),
    ("struct result", lambda lib: lib.by_value(1.0), errors.UnsupportedError, "returns pair by value"),
    ("struct", lambda lib: lib.takes_pair(1.0), errors.UnsupportedError, "cannot be called"),
    ("variadic", lambda lib: lib.many(1), errors.UnsupportedError, "variable number"),
]


@pytest.mark.parametrize(("call", "kind", "words"), [b[1:] for b in BAD_CALLS], ids=[b[0] for b in BAD_CALLS])
def test_bad_calls(lib: llgrad.Library, call: Callable[[Any], Any], kind: type, words: str) -> None:
    with pytest.raises(kind) as caught:
        call(lib)
    assert words in str(caught.value)


# --- derivatives ------------------------------------------------------------------------------------------------------


def test_gradient_of_a_result(lib: llgrad.Library) -> None:
    assert llgrad.grad(lib.cube)(2.0) == 12.0
    assert llgrad.value_and_grad(lib.cube, wrt="x")(2.0) == (8.0, 12.0)
    assert llgrad.value_and_grad(lib.cube, wrt=("x",))(2.0, seed=2.0) == (8.0, (24.0,))
    x, a = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    value, gradient = llgrad.value_and_grad(lib.quad, wrt="x")(x, a, 2)
    assert value == 23.0 and gradient.tolist() == [6.0, 20.0]
    da, dx = llgrad.grad(lib.quad, wrt=("a", 0))(x, a, 2)
    assert da.tolist() == [1.0, 4.0] and dx.tolist() == [6.0, 20.0]
    assert [g.tolist() for g in llgrad.grad(lib.quad)(x, a, 2)] == [[6.0, 20.0], [1.0, 4.0]]
    assert llgrad.grad(lib.quad, wrt=-3)(x.reshape(1, 2), a, 2).shape == (1, 2)


def test_gradient_of_an_output(lib: llgrad.Library) -> None:
    df = llgrad.value_and_grad(lib.scaled, wrt=("x", "scale"), of="out")
    x, tmp, out = np.arange(3.0), np.full(3, 9.0), np.full(1, 9.0)
    value, (dx, dscale) = df(3, x, 2.0, tmp, out)
    assert (value, dscale, dx.tolist()) == (20.0, 20.0, [0.0, 8.0, 16.0])
    assert out.tolist() == [20.0] and tmp.tolist() == [0.0, 2.0, 4.0]
    assert df(3, x, 2.0, tmp, out)[1][0].tolist() == [0.0, 8.0, 16.0]


def test_vjp_and_jvp_are_adjoint(lib: llgrad.Library) -> None:
    rng = np.random.default_rng(1)
    x, v, w = rng.normal(size=(3, 5))
    value, back = llgrad.vjp(lib.waves, wrt="x", of="y")(x, 5, np.zeros(5), seed=w)
    same, forth = llgrad.jvp(lib.waves, wrt="x", of="y")(x, 5, np.zeros(5), tangents=v)
    assert np.allclose(value, np.sin(x) * x[0], rtol=1e-14) and (value == same).all()
    assert w @ forth == pytest.approx(v @ back, rel=1e-13)
    assert llgrad.jvp(lib.cube)(2.0, tangents=0.5) == (8.0, 6.0)
    _, (tangent) = llgrad.jvp(lib.scaled, wrt=("x", "scale"), of="out")(
        3, np.arange(3.0), 2.0, np.zeros(3), np.zeros(1), tangents=(np.ones(3), 1.0)
    )
    assert tangent == 24.0 + 20.0


def test_other_float_types_and_in_place(lib: llgrad.Library) -> None:
    gradient = llgrad.grad(lib.single)(np.array([1, 2], np.float32), 2)
    assert gradient.dtype == np.float32 and gradient.tolist() == [2, 4]
    third = np.longdouble(1) / 3
    assert llgrad.grad(lib.extended)(third) == 2 * third
    assert llgrad.grad(lib.extended)(third, seed=third) == llgrad.jvp(lib.extended)(third, tangents=third)[1]
    assert llgrad.grad(lib.extended)(third, seed=third) == 2 * third * third
    assert llgrad.value_and_grad(lib.halved)(300.0) == (math.inf, 600.0)
    assert llgrad.grad(lib.halved)(1e6) == math.inf == llgrad.grad(lib.halved)(1.0, seed=1e6)  # as C converts it
    x = np.array([2.0, 3.0])
    value, gradient = llgrad.vjp(lib.inplace, wrt="x", of="x")(x, 2, seed=np.array([1.0, 10.0]))
    assert value.tolist() == [4.0, 9.0] and gradient.tolist() == [4.0, 60.0]


def test_nan_and_empty_pass_through(lib: llgrad.Library) -> None:
    x = np.array([1.0, math.nan])
    gradient = llgrad.grad(lib.quad, wrt="x")(x, np.ones(2), 2)
    assert gradient[0] == 2.0 and math.isnan(gradient[1])
    assert llgrad.grad(lib.quad, wrt="x")(np.zeros(0), np.zeros(0), 0).shape == (0,)
    assert llgrad.vjp(lib.waves, wrt="x", of="y")(np.zeros(0), 0, np.zeros(0), seed=np.zeros(0))[1].shape == (0,)


def test_arrays_that_are_only_read_may_overlap(lib: llgrad.Library) -> None:
    df = llgrad.value_and_grad(lib.quad, wrt=("x", "a"))
    x = np.array([2.0, 3.0])
    value, (dx, da) = df(x, x, 2)
    assert value == 35.0 and dx.tolist() == [8.0, 18.0] and da.tolist() == [4.0, 9.0]
    assert df(x, x.copy(), 2)[1][0].tolist() == [8.0, 18.0]


def test_default_inputs_are_what_is_only_read_whatever_is_declared(lib: llgrad.Library) -> None:
    x, w, k = np.array([2.0, 3.0]), np.array([5.0, 7.0]), 0.5
    dx, dw, dk = llgrad.grad(lib.plain)(x, w, np.zeros(2), np.zeros(2), k, 2)
    assert dx.tolist() == [10.0, 21.0] and dw.tolist() == [2.0, 4.5] and dk == 83.0
    of_waves = llgrad.vjp(lib.waves, of="y")(x, 2, np.zeros(2), seed=np.ones(2))[1]
    assert np.allclose(of_waves, [np.sin(2) + np.sin(3) + 2 * np.cos(2), 2 * np.cos(3)])


def test_what_a_derivative_tells(lib: llgrad.Library) -> None:
    df = llgrad.value_and_grad(lib.chaos, wrt="x")
    df(0.1, 1000)
    assert df.tape_bytes >= 1000
    assert df.compile_seconds > 0 and "define" in df.ir and "chaos" in repr(df) and df.plan
    assert "double chaos" in (df.__doc__ or "")


BAD_REQUESTS: list[tuple[str, Callable[[Any], Any], type, str]] = [
    (
        "no function",
        lambda lib: llgrad.grad(cast(Any, math.sin)),
        errors.ArgumentError,
        "takes a function of a library",
    ),
    ("name", lambda lib: llgrad.grad(lib.quad, wrt="xs"), errors.UnknownNameError, "parameter 'xs'"),
    ("near name", lambda lib: llgrad.grad(lib.scaled, wrt="scal", of="out"), errors.UnknownNameError, "mean scale"),
    ("position", lambda lib: llgrad.grad(lib.quad, wrt=3), errors.ArgumentError, "wrt=3 is no position"),
    ("integer", lambda lib: llgrad.grad(lib.quad, wrt="n"), errors.ArgumentError, "holds no floats"),
    ("twice", lambda lib: llgrad.grad(lib.quad, wrt=("x", 0)), errors.ArgumentError, "twice"),
    ("empty", lambda lib: llgrad.grad(lib.quad, wrt=()), errors.ArgumentError, "wrt is empty"),
    ("void", lambda lib: llgrad.grad(lib.scaled, wrt="x"), errors.ArgumentError, "of='out'"),
    ("const of", lambda lib: llgrad.grad(lib.waves, wrt="x", of="x"), errors.ArgumentError, "no output"),
    ("scalar of", lambda lib: llgrad.grad(lib.waves, wrt="x", of="n"), errors.ArgumentError, "no output"),
    ("option", lambda lib: cast(Any, llgrad.grad)(lib.quad, isolate=True), TypeError, "grad takes no option 'isolate'"),
    ("option", lambda lib: cast(Any, llgrad.grad)(lib.quad, argnum=0), TypeError, "wrt names the parameters"),
    ("struct", lambda lib: llgrad.grad(lib.takes_pair), errors.UnsupportedError, "by value"),
]


@pytest.mark.parametrize(("call", "kind", "words"), [b[1:] for b in BAD_REQUESTS], ids=[b[0] for b in BAD_REQUESTS])
def test_bad_requests(lib: llgrad.Library, call: Callable[[Any], Any], kind: type, words: str) -> None:
    with pytest.raises(kind) as caught:
        call(lib)
    assert words in str(caught.value)


def test_bad_arguments_of_derivatives(lib: llgrad.Library) -> None:
    df = llgrad.grad(lib.waves, wrt="x", of="y")
    x = np.ones(4)
    with pytest.raises(errors.ArgumentError, match="gradient is of one number"):
        df(x, 4, np.zeros(4))
    with pytest.raises(errors.ArgumentError, match=r"shape \(3,\), not \(4,\)"):
        df(x, 4, np.zeros(4), seed=np.ones(3))
    with pytest.raises(errors.ArgumentError, match="'x' and 'y' of waves share memory"):
        df(x, 4, x, seed=x)
    with pytest.raises(errors.ArgumentError, match="the seed of y is complex"):
        df(x, 4, np.zeros(4), seed=np.ones(4) * 1j)
    with pytest.raises(errors.ArgumentError, match="seed is complex"):
        llgrad.grad(lib.cube)(1.0, seed=np.complex128(1j))
    with pytest.raises(errors.ArgumentError, match="the tangent of x is complex"):
        llgrad.jvp(lib.cube)(1.0, tangents=np.array(1j))
    both = np.ones(8)
    with pytest.raises(errors.ArgumentError, match="share memory"):
        df(both[:5], 4, both[4:], seed=np.ones(4))
    assert df(both[:4], 4, both[4:], seed=np.ones(4)).shape == (4,)
    push = llgrad.jvp(lib.waves, wrt=("x",), of="y")
    with pytest.raises(errors.ArgumentError, match="needs tangents"):
        push(x, 4, np.zeros(4))
    with pytest.raises(errors.ArgumentError, match="tangents must be 1 values"):
        push(x, 4, np.zeros(4), tangents=x)


POINTERS = """
double swapped(double **rows, const double *x, int n) {
    for (int k = 0; k < 3; k++) {
        double *from = rows[0], *to = rows[1];
        for (int i = 0; i < n; i++) to[i] = from[i] * x[i];
        rows[0] = to, rows[1] = from;
    }
    double sum = 0;
    for (int i = 0; i < n; i++) sum += rows[0][i];
    return sum;
}
double into(double *const *rows, const double *x, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) rows[i % 2][i] = x[i] * x[i];
    for (int i = 0; i < n; i++) sum += rows[i % 2][i] * x[i];
    return sum;
}
double deep(const double *const *const *p) { return p[0][0][0] * p[1][0][1]; }
"""


def test_pointers_to_pointers(source: Source) -> None:
    lib = llgrad.load(source(POINTERS))
    x, rows = np.arange(1.0, 4), np.array([[1.0, 2, 3], [0, 0, 0]])
    assert "rows: list of C-contiguous arrays of float64, read and written" in (lib.swapped.__doc__ or "")
    value, (by_rows, by_x) = llgrad.value_and_grad(lib.swapped, wrt=("rows", "x"))(rows.copy(), x, 3)
    assert value == 98 and by_rows.tolist() == [[1, 8, 27], [0, 0, 0]] and by_x.tolist() == [3, 24, 81]
    assert llgrad.jvp(lib.swapped, wrt="x")(list(rows.copy()), x, 3, tangents=np.ones(3)) == (98, 108)
    assert llgrad.grad(lib.into, wrt="x")([np.zeros(3), np.zeros(3)], x, 3).tolist() == [3, 12, 27]
    a, b = np.array([2.0, 0]), np.array([0, 3.0])
    (first,), (second,) = llgrad.grad(lib.deep, wrt="p")([[a], [b]])
    assert first.tolist() == [3, 0] and second.tolist() == [0, 2]
    assert [g.tolist() for (g,) in llgrad.hvp(lib.deep, wrt="p")([[a], [b]], [[a], [b]])] == [[3, 0], [0, 2]]


@pytest.mark.parametrize(("rows", "words"), [
    (np.ones(3), "must be a list of arrays"),
    ([1.0, 2.0], r"'rows\[0\]' of into must be a NumPy array"),
    ([np.ones(3, "f4")] * 2, "dtype float32"),
    ([np.ones(3)] * 2, "share memory"),
])  # fmt: skip
def test_bad_pointers_to_pointers(source: Source, rows: Any, words: str) -> None:
    lib = llgrad.load(source(POINTERS))
    with pytest.raises(errors.ArgumentError, match=words):
        llgrad.grad(lib.into, wrt="x")(rows, np.ones(3), 3)


def test_one_direction_where_pointers_are_in_memory(source: Source) -> None:
    lib = llgrad.load(source(POINTERS))
    with pytest.raises(errors.ArgumentError, match="is a list of arrays"):
        llgrad.jacobian(lib.deep, wrt="p")([[np.ones(2)], [np.ones(2)]])
    with pytest.raises(errors.UnsupportedError, match="a direction a call"):
        llgrad.jacobian(lib.into, wrt="x")([np.zeros(3), np.zeros(3)], np.ones(3), 3)
    with pytest.raises(errors.UnsupportedError, match="addresses of this process"):
        _ = llgrad.load(source(POINTERS), isolate=True).deep([[np.ones(2)], [np.ones(2)]])


def test_bad_sources(source: Source) -> None:
    with pytest.raises(errors.ArgumentError, match="None is no path"):
        llgrad.load(None)
    with pytest.raises(errors.SourceError, match="no file"):
        llgrad.load("missing.c")
    with pytest.raises(errors.CompilerError, match="use of undeclared identifier 'y'"):
        llgrad.load(source("double f(double x) { return y; }"))
    with pytest.raises(errors.SourceError, match="unknown language"):
        llgrad.load(source("", "code.xyz"))
    with pytest.raises(errors.ParseError, match="cannot read") as caught:
        llgrad.load([source("double g(double x) { return x; }", "a.c"), path := source("nonsense", "code.ll")])
    assert str(caught.value.span) == str(path) and caught.value.cause.startswith("1:1: ") and caught.value.fix
    with pytest.raises(errors.VerifyError, match="cannot be linked"):
        llgrad.load([source("int f(void) { return 1; }", "a.c"), source("int f(void) { return 2; }", "b.c")])
    with pytest.raises(errors.ArgumentError, match="optimize=7"):
        llgrad.load(source("int f(void) { return 1; }"), optimize=7)
    with pytest.raises(errors.ForeignError, match="nowhere"):
        llgrad.load(source("double g(double); double f(double x) { return g(x); }")).f(1.0)
    with pytest.raises(errors.UnsupportedError):  # no rule, or no shadow for what it may write
        llgrad.grad(llgrad.load(source("double nowhere(double); double f(double x) { return nowhere(x); }")).f)


def test_ir_without_debug_info(source: Source) -> None:
    lib = llgrad.load(source("""
define double @dot(ptr %x, ptr %1, i32 %n) {
  %a = load double, ptr %x
  %b = load double, ptr %1
  %c = fmul double %a, %b
  ret double %c
}
""", "dot.ll"))  # fmt: skip
    assert repr(lib.dot) == "<foreign function double dot(void *x, void *arg1, int32_t n)>"
    x, y = np.array([2.0]), np.array([3.0])
    assert lib.dot(x, y, 1) == 6.0
    assert [g.tolist() for g in llgrad.grad(lib.dot, wrt=("x", "arg1"))(x, y, 1)] == [[3.0], [2.0]]
    with pytest.raises(errors.ArgumentError, match="no derivative"):
        llgrad.grad(lib.dot, wrt="x")(np.array([2]), y, 1)


SLICE = """
define double @f(ptr %x, i64 %n) {
entry:
  %i = alloca i64, align 8
  %s = alloca double, align 8
  store i64 0, ptr %i, align 8
  store double 0.0, ptr %s, align 8
  %head = insertvalue { ptr, i64 } poison, ptr %x, 0
  %slice = insertvalue { ptr, i64 } %head, i64 %n, 1
  br label %loop
loop:
  %at = load i64, ptr %i, align 8
  %count = extractvalue { ptr, i64 } %slice, 1
  %more = icmp ult i64 %at, %count
  br i1 %more, label %body, label %end
body:
  %data = extractvalue { ptr, i64 } %slice, 0
  %p = getelementptr inbounds double, ptr %data, i64 %at
  %v = load double, ptr %p, align 8
  %square = fmul double %v, %v
  %so = load double, ptr %s, align 8
  %sum = fadd double %so, %square
  store double %sum, ptr %s, align 8
  %next = add nuw i64 %at, 1
  store i64 %next, ptr %i, align 8
  br label %loop
end:
  %r = load double, ptr %s, align 8
  ret double %r
}
"""


@pytest.mark.parametrize("level", [0, 1, 2])
def test_pointers_in_aggregates_that_a_loop_takes_apart(source: Source, level: int) -> None:
    gradient = llgrad.grad(llgrad.load(source(SLICE, "slice.ll"), optimize=level).f, wrt=0)
    assert gradient(np.array([1.0, 2.0, 3.0]), 3).tolist() == [2.0, 4.0, 6.0]


NOTHING_FOUND = """
define double @f(ptr %x, i32 %which) {
entry:
  %c = icmp eq i32 %which, 0
  br i1 %c, label %none, label %some
some:
  %v = load double, ptr %x
  %first = insertvalue { ptr, double } { ptr null, double poison }, ptr %x, 0
  %both = insertvalue { ptr, double } %first, double %v, 1
  br label %join
none:
  br label %join
join:
  %p = phi { ptr, double } [ %both, %some ], [ { ptr null, double 3.0 }, %none ]
  %where = extractvalue { ptr, double } %p, 0
  %value = extractvalue { ptr, double } %p, 1
  %empty = icmp eq ptr %where, null
  br i1 %empty, label %end, label %read
read:
  %next = getelementptr double, ptr %where, i64 1
  %w = load double, ptr %next
  br label %end
end:
  %r = phi double [ 1.0, %join ], [ %w, %read ]
  %s = fmul double %r, %value
  ret double %s
}
"""


@pytest.mark.parametrize("level", [0, 1, 2])
def test_constants_that_hold_a_pointer_and_a_float(source: Source, level: int) -> None:
    gradient = llgrad.value_and_grad(llgrad.load(source(NOTHING_FOUND, "pair.ll"), optimize=level).f, wrt="x")
    x = np.array([3.0, 5.0])
    for which, (value, slopes) in {1: (15.0, [5.0, 3.0]), 0: (3.0, [0.0, 0.0])}.items():
        got, slope = gradient(x, which)
        assert got == value and slope.tolist() == slopes


def test_two_names_of_one_function(source: Source) -> None:
    lib = llgrad.load(source("""
        double square(double x) { return x * x; }
        double twice(double x) __attribute__((alias("square")));
    """))  # fmt: skip
    assert lib.square(3.0) == lib.twice(3.0) == 9.0
    assert llgrad.grad(lib.twice)(3.0) == llgrad.grad(lib.square)(3.0) == 6.0


def test_constructors_of_one_code(source: Source) -> None:
    """Complete objects and bases have one constructor under two names."""
    lib = llgrad.load(source("""
        struct Scale { double by; Scale(); };
        Scale::Scale() : by(2) {}
        extern "C" double scaled(double x) { Scale s; return s.by * x * x; }
    """, "code.cpp"))  # fmt: skip
    assert lib.scaled(3.0) == 18.0 and llgrad.grad(lib.scaled)(3.0) == 12.0


def test_code_that_asks_for_the_processor(source: Source) -> None:
    lib = llgrad.load(source('double f(double x) { return __builtin_cpu_supports("sse2") ? x * x : x; }'))
    assert lib.f(3.0) == 9.0 and llgrad.grad(lib.f)(3.0) == 6.0


def test_no_compiler(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLGRAD_CLANG", "no-such-compiler")
    with pytest.raises(errors.CompilerError, match="not a program"):
        llgrad.load(source("double f(double x) { return x; }"))


# --- C++ --------------------------------------------------------------------------------------------------------------


def test_cpp(source: Source) -> None:
    lib = llgrad.load(source("""
        #include <stdexcept>
        namespace shapes { double area(double r) { return r * r; } }
        double over(double x) { return x; }
        double over(float x) { return x; }
        extern "C" double picky(double x) { if (x > 1) throw std::runtime_error("no"); return x * x; }
        __attribute__((noinline)) static double inner(double x) { if (x > 1) throw 3; return x * x; }
        double outer(double x) { return inner(x) * x; }
    """, "code.cpp"))  # fmt: skip
    assert lib.area(3.0) == 9.0 and llgrad.grad(lib.area)(3.0) == 6.0
    with pytest.raises(errors.UnknownNameError, match="overloaded") as caught:
        lib.over(1.0)
    assert 'lib["_Z4overd"]' in str(caught.value)
    assert lib["_Z4overd"](2.0) == 2.0
    assert lib.picky(0.5) == 0.25
    for _ in range(3):
        with pytest.raises(errors.ForeignError, match=r"C\+\+ exception") as thrown:
            lib.picky(2.0)
        assert thrown.value.cause == "std::runtime_error: no"
    assert lib.picky(0.5) == 0.25
    for function in (lib.picky, lib.outer):
        df = llgrad.grad(function)
        with pytest.raises(errors.ForeignError, match=r"C\+\+ exception") as thrown:
            df(2.0)
        assert thrown.value.cause == ("std::runtime_error: no" if function is lib.picky else "int")
        assert df(0.5) == pytest.approx(1.0 if function is lib.picky else 0.75)


class MemoryInfo(ctypes.Structure):
    """glibc's `struct mallinfo2`: ten numbers, of which `used` are bytes that are allocated."""

    _fields_ = [("others", ctypes.c_size_t * 7), ("used", ctypes.c_size_t), ("rest", ctypes.c_size_t * 2)]


def memory_in_use() -> int:
    info = ctypes.CDLL(None).mallinfo2
    info.restype = MemoryInfo
    return int(info().used)


def test_a_thrown_exception_leaves_no_memory_behind(source: Source) -> None:
    lib = llgrad.load(source("""
        #include <memory>
        #include <stdexcept>
        #include <vector>
        __attribute__((noinline)) static double last(const std::vector<double> &v) {
            std::vector<double> squares(v);
            for (double &s : squares) s *= s;
            if (squares.back() > 1) throw std::runtime_error("large");
            return squares.back() * v[0];
        }
        double f(double x, int n) {
            double sum = 0;
            { std::vector<double> before(n, x); for (double &b : before) sum += b *= x; }
            std::vector<double> v(n, x);
            std::unique_ptr<double[]> twice(new double[n]);
            for (int i = 0; i < n; i++) twice[i] = 2 * v[i] * sum;
            return last(v) * twice[n - 1];
        }
    """, "code.cpp"))  # fmt: skip
    df = llgrad.grad(lib.f)
    h = 1e-6
    assert df(0.5, 3) == pytest.approx((lib.f(0.5 + h, 3) - lib.f(0.5 - h, 3)) / (2 * h))

    def throw(times: int) -> None:
        for _ in range(times):
            with pytest.raises(errors.ForeignError, match=r"C\+\+ exception"):
                df(2.0, 1000)

    throw(5)
    before = memory_in_use()
    throw(50)
    assert memory_in_use() - before < 200_000  # of 50 times 5 to 10 blocks of 8,000 bytes
    assert df(0.5, 3) > 0


# --- failure, threads, isolation --------------------------------------------------------------------------------------


def test_a_tape_too_large_is_an_exception(lib: llgrad.Library) -> None:
    df = llgrad.value_and_grad(lib.chaos, wrt="x")
    good = df(0.1, 100)
    for _ in range(3):
        with pytest.raises(errors.ForeignError, match="more memory than there is"):
            df(0.1, 2**45)
        assert df(0.1, 100) == good


def test_an_arena_of_single_blocks_gives_the_same(lib: llgrad.Library, source: Source, tmp_path: Path) -> None:
    """What sanitizers run (decision 11)."""
    path = source(CODE)
    code = f"import llgrad; print(repr(llgrad.value_and_grad(llgrad.load({str(path)!r}).chaos, wrt='x')(0.1, 3000)))"
    expected = repr(llgrad.value_and_grad(lib.chaos, wrt="x")(0.1, 3000))
    assert python(code, tmp_path / "cache", LLGRAD_ARENA="malloc").strip() == expected


def test_threads(lib: llgrad.Library) -> None:
    df = llgrad.value_and_grad(lib.chaos, wrt="x")
    points = np.linspace(0.01, 0.2, 8)
    expected = [df(x, 3000) for x in points]
    found: dict[int, list[Any]] = {}

    def work(n: int) -> None:
        found[n] = [df(points[n], 3000) for _ in range(50)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(points))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(found[n] == [expected[n]] * 50 for n in range(len(points)))


def test_derivatives_outlive_their_library(source: Source) -> None:
    df = llgrad.grad(llgrad.load(source("double f(double x) { return x * x; }")).f)
    assert df(3.0) == 6.0


def test_isolation(source: Source) -> None:
    lib = llgrad.load(source("""
        #include <stdlib.h>
        static int count;
        int bump(void) { return ++count; }
        double crash(double x) { *(volatile int *)0 = 1; return x; }
        double leave(double x) { exit(3); }
        double quad(const double *x, int n) {
            double s = count;
            for (int i = 0; i < n; i++) s += x[i] * x[i];
            return s;
        }
        void fill(double *x, int n, double v) { for (int i = 0; i < n; i++) x[i] = v; }
        double chaos(double x, long n) { double y = x; for (long i = 0; i < n; i++) y = y * y + x; return y; }
    """), isolate=True)  # fmt: skip
    x = np.zeros(3)
    lib.fill(x, 3, 2.0)
    assert x.tolist() == [2.0, 2.0, 2.0] and (lib.bump(), lib.bump()) == (1, 2)
    assert llgrad.value_and_grad(lib.quad)(x, 3)[0] == 14.0  # the derivative shares `count`
    with pytest.raises(errors.ForeignError, match="SIGSEGV"):
        lib.crash(1.0)
    with pytest.raises(errors.ForeignError, match="status 3"):
        lib.leave(1.0)
    assert lib.bump() == 1 and llgrad.grad(lib.quad)(x, 3).tolist() == [4.0, 4.0, 4.0]
    df = llgrad.grad(lib.chaos)
    with pytest.raises(errors.ForeignError, match="more memory"):
        df(0.1, 2**45)
    assert df(0.1, 2) == pytest.approx(1 + 2 * (0.1 + 0.01) * (1 + 0.2), rel=1e-12) and df.tape_bytes > 0


# --- the cache --------------------------------------------------------------------------------------------------------


def python(code: str, folder: Path, **environment: str) -> str:
    """What a fresh Python prints."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "LLGRAD_CACHE": str(folder), **environment}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


_USED = """
import numpy, llgrad, llgrad.api.derivatives, llgrad.execution.library, llgrad.llvm, sys
lib = llgrad.load({path!r})
df = llgrad.value_and_grad(lib.f)
heavy = [m for m in ("pipeline", "ir.parse", "frontends", "autodiff.derivation") if "llgrad." + m in sys.modules]
print(df(2.0), heavy)
"""


def test_a_second_process_compiles_nothing(source: Source, tmp_path: Path) -> None:
    """Nothing that compiles is even imported."""
    header = source("#define POWER x * x\n", "power.h")
    path = source('#include "power.h"\ndouble f(double x) { return POWER; }')
    code = _USED.format(path=str(path))
    assert "pipeline" in python(code, tmp_path / "cache")
    assert python(code, tmp_path / "cache") == "(4.0, 4.0) []\n"
    header.write_text("#define POWER x * x * x\n")
    assert python(code, tmp_path / "cache").startswith("(8.0, 12.0)")
    assert python(code, tmp_path / "cache", CPATH=str(tmp_path)).startswith("(8.0, 12.0)")


def test_processes_share_the_cache(source: Source, tmp_path: Path) -> None:
    path = source("double f(double x) { return x * x; }")
    code = _USED.format(path=str(path))
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "LLGRAD_CACHE": str(tmp_path / "cache")}
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    assert all(p.communicate()[0].startswith("(4.0, 4.0)") and p.returncode == 0 for p in running)
    entries = [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]
    assert len(entries) >= 4 and not [p for p in entries if p.name.startswith(".new")]
    for entry in entries:  # damage of every kind counts as missing
        data = entry.read_bytes()
        entry.write_bytes(data[: len(data) // 2] if entry.name < "8" else data[:-1] + bytes([data[-1] ^ 1]))
    assert python(code, tmp_path / "cache").startswith("(4.0, 4.0)")


def test_what_changes_while_the_cache_is_lost_is_not_what_was_loaded(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLGRAD_CACHE", str(tmp_path / "cache"))
    path = source("double f(double x) { return x * x; }")
    assert llgrad.load(path).f(3.0) == 9.0
    for text, cause in (("", None), ("double f(double x) { return x; }", "changed since it was loaded")):
        lib = llgrad.load(path)  # from the cache, the program not yet
        shutil.rmtree(tmp_path / "cache")
        if cause is None:
            assert llgrad.grad(lib.f)(3.0) == 6.0  # compiled again
            continue
        path.write_text(text)
        with pytest.raises(errors.SourceError, match=cause):
            llgrad.grad(lib.f)(3.0)


def test_files_that_flags_name_are_part_of_what_is_kept(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLGRAD_CACHE", str(tmp_path / "cache"))
    path = source("#ifndef K\n#define K 1\n#endif\ndouble f(double x) { return K * x * x; }")
    flags = tmp_path / "flags"
    for k in (2, 3):
        flags.write_text(f"-DK={k}")
        assert llgrad.grad(llgrad.load(path, flags=[f"@{flags}"]).f)(1.0) == 2 * k
        assert llgrad.grad(llgrad.load(path, flags={"c": [f"@{flags}"]}).f)(1.0) == 2 * k


def test_cache_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLGRAD_CACHE", str(tmp_path))
    name = cache.key("a", "b")
    assert name != cache.key("ab", "") and cache.get(name) is None
    cache.put(name, {"one": b"1", "none": b""})
    assert cache.get(name) == {"one": b"1", "none": b""}
    cache.put(name, {"two": b"22"})
    assert cache.get(name) == {"two": b"22"}
    for n in range(4):
        cache.put(cache.key(str(n)), {"x": bytes(1000)})
        os.utime(tmp_path / cache.key(str(n))[:2] / cache.key(str(n)), (n, n))
    cache.prune(2500)
    assert [cache.get(cache.key(str(n))) is not None for n in range(4)] == [False, False, True, True]
    assert cache.get(name) == {"two": b"22"}
    monkeypatch.setenv("LLGRAD_CACHE", "off")
    assert cache.get(name) is None
    cache.put(name, {"x": b""})


def test_imports_are_lazy() -> None:
    """`import llgrad` brings in neither NumPy nor LLVM, and few modules."""
    code = """import sys
before = len(sys.modules)
import llgrad
print(len(sys.modules) - before, [m for m in ("numpy", "llvmlite", "msgspec") if m in sys.modules])"""
    modules, heavy = python(code, Path("unused")).split(" ", 1)
    assert heavy == "[]\n" and int(modules) < 100


# Hooks for errors, which another program sets: how one is declared, how it is called, what is done with its result.
HOOKS = {
    "in a struct": ("struct host { int version; int (*complain)(int, const char *, ...); }; struct host *front;",
                    "front->complain(3, \"%g\", p[1]);"),
    "in a variable": ("int (*complain)(int, const char *, ...);", "if (complain) complain(3, \"%g %g\", p[0], p[1]);"),
    "behind two": ("struct table { void (*say)(const char *, ...); }; struct host { struct table *t; } *front;",
                   "if (front) front->t->say(\"%g\", p[1]);"),
    "whose result counts": ("double (*mend)(int, ...);", "if (mend) return mend(2, p[0], p[1]);"),
}  # fmt: skip


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("hook", HOOKS)
def test_variadic_hooks_that_others_set(hook: str, level: int, source: Source) -> None:
    declared, called = HOOKS[hook]
    path = source(f"""
        {declared}
        static int prepare(const double *p, double *g) {{
            if (p[1] <= 0) {{ {called} return 1; }}
            *g = 1 / p[1];
            return 0;
        }}
        double power(const double *p) {{ double g; return prepare(p, &g) ? -1 : p[0] * p[0] * g; }}
    """)
    lib = llgrad.load(path, optimize=level)
    np.testing.assert_allclose(llgrad.grad(lib.power)(np.array([3.0, 2.0])), [3, -2.25], rtol=1e-14)
    value, slope = llgrad.jvp(lib.power)(np.array([3.0, 2.0]), tangents=np.array([1.0, 0.0]))
    assert (value, slope) == pytest.approx((4.5, 3), rel=1e-14)
