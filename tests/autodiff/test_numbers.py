"""Floats that are taken for numbers: what is one by a tag has no derivative, what is a float is an error as it runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import llgrad
from llgrad.errors import ForeignError, KindError, UnsupportedError

HEAD = "#include <string.h>\nstruct value { int tag; union { double d; long i; int n; } u; };\n"
GUILTY = {
    "whole": "t.u.d = x[k]; } else { t.tag = 0; t.u.i = k + 2; } s += 1e-18 * t.u.i",
    "a part": "t.u.d = x[k]; } else { t.tag = 0; t.u.n = k + 2; } s += 1e-9 * t.u.n",
}  # fmt: skip


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("name", GUILTY)
def test_floats_that_are_read_as_numbers_are_errors(source: Callable[..., Path], name: str, level: int) -> None:
    """The program forgets to ask the tag: never a silent zero."""
    lib = llgrad.load(
        source(
            HEAD
            + f"""
    double f(const double *x, int n) {{
        struct value v[8];
        double s = x[0];
        for (int k = 0; k < n; k++) {{ struct value t; memset(&t, 0, sizeof t);
            if (k % 2) {{ t.tag = 1; {GUILTY[name]}; v[k] = t; }}
        for (int k = 0; k < n; k++) if (v[k].tag) s += v[k].u.d;
        return s;
    }}
    """
        ),
        optimize=level,
    )
    x, tangent = np.linspace(1.1, 2.3, 6), np.ones(6)
    if (name, level) == ("in a register", 2):  # a constant mask: the same float to fewer digits
        np.testing.assert_allclose(llgrad.grad(lib.f, wrt="x")(x, 6), 4 * x - 4 * x**3, rtol=1e-5)
        slope = llgrad.jvp(lib.f, wrt="x")(x, 6, tangents=tangent)[1]
        assert slope == pytest.approx((4 * x - 4 * x**3).sum(), rel=1e-5)
        return
    assert _is_loud(lambda: llgrad.jvp(lib.f, wrt="x")(x, 6, tangents=tangent)[1])
    assert _is_loud(lambda: llgrad.grad(lib.f, wrt="x")(x, 6))


TORN = {
    "in memory": """
__attribute__((noinline)) static void put(double *y, int n) {
    for (int i = 0; i < n; i++) ((unsigned *)(y + i))[1] = 1u << 30;
}
double f(const double *x, int n) {
    double y[8], s = 0;
    for (int i = 0; i < n; i++) y[i] = x[i] * x[i];
    put(y, n);
    for (int i = 0; i < n; i++) s += y[i];
    return s;
}
""",
    "copied there": """
__attribute__((noinline)) static void put(double *y, const int *k, int n) {
    for (int i = 0; i < n; i++) memcpy((char *)(y + i) + 4, k, 4);
}
double f(const double *x, int n) {
    double y[8], s = 0;
    int k = 1 << 30;
    for (int i = 0; i < n; i++) y[i] = x[i] * x[i];
    put(y, &k, n);
    for (int i = 0; i < n; i++) s += y[i];
    return s;
}
""",
    "in single precision": """
__attribute__((noinline)) static void put(float *y, int n) {
    for (int i = 0; i < n; i++) ((unsigned short *)(y + i))[1] = 1u << 14;
}
double f(const double *x, int n) {
    float y[8], s = 0;
    for (int i = 0; i < n; i++) y[i] = x[i] * x[i];
    put(y, n);
    for (int i = 0; i < n; i++) s += y[i];
    return s;
}
""",
    "in a register": """
double f(const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        union { double d; unsigned w[2]; } u = {x[i] * x[i]};
        u.w[0] = 0;
        s += u.d + (x[i] - u.d) * (x[i] + u.d);
    }
    return s;
}
""",
}  # fmt: skip


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", TORN)
def test_floats_that_numbers_change_a_part_of_are_errors(source: Callable[..., Path], name: str, level: int) -> None:
    """A double whose exponent is set, or whose lower half is cleared, is an error, or that to fewer digits."""
    lib = llgrad.load(source("#include <string.h>\n" + TORN[name]), optimize=level, flags=["-fno-strict-aliasing"])
    x, tangent = np.linspace(1.1, 2.3, 6), np.ones(6)
    if (name, level) == ("in a register", 2):  # a constant mask: the same float to fewer digits
        np.testing.assert_allclose(llgrad.grad(lib.f, wrt="x")(x, 6), 4 * x - 4 * x**3, rtol=1e-5)
        slope = llgrad.jvp(lib.f, wrt="x")(x, 6, tangents=tangent)[1]
        assert slope == pytest.approx((4 * x - 4 * x**3).sum(), rel=1e-5)
        return
    assert _is_loud(lambda: llgrad.jvp(lib.f, wrt="x")(x, 6, tangents=tangent)[1])
    assert _is_loud(lambda: llgrad.grad(lib.f, wrt="x")(x, 6))


APART = "#include <stdlib.h>\n#include <string.h>\n#define APART __attribute__((noinline)) static\n"
LOOP = """
double f(const double *x, int n) {
    double s = 0, *y = malloc(n * sizeof *y);
    for (int i = 0; i < n; i++) y[i] = x[i] * x[i];
    %s
    for (int i = 0; i < n; i++) s += y[i] * (i + 1);
    free(y);
    return s;
}
"""
CHANGED = {
    "the exponent of an element": "APART void up(long *p, int k) { *p += (long)k << 52; }"
    + LOOP % "for (int i = 0; i < n; i++) up((long *)(y + i), 2);",
    "elements exchanged by xor": "APART void swap(unsigned long *a, unsigned long *b) { *a ^= *b; *b ^= *a; *a ^= *b; }"
    + LOOP % "swap((unsigned long *)y, (unsigned long *)(y + 3));",
    "all bytes of an array": "APART void mix(unsigned char *w, int n) { for (int i = 0; i < n; i++) w[i] ^= 90; }"
    + LOOP % "mix((unsigned char *)y, 8 * n); mix((unsigned char *)y, 8 * n);",
    "the exponent of a float": """
APART void up(int *p, int k) { *p += k << 23; }
double f(const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) { float t = x[i]; up((int *)&t, 2); s += t * t; }
    return s;
}
""",
    "bytes in another order": """
double f(const double *x, int n) {
    unsigned long *w = malloc(n * sizeof *w);
    double s = 0;
    for (int i = 0; i < n; i++) { double t = x[i] * x[i]; memcpy(w + i, &t, 8); w[i] = __builtin_bswap64(w[i]); }
    for (int i = 0; i < n; i++) { unsigned long b = __builtin_bswap64(w[i]); double t; memcpy(&t, &b, 8); s += t; }
    free(w);
    return s;
}
""",
    "hexadecimal digits": """
APART void print(char *o, const void *p, int n) {
    const unsigned char *b = p;
    for (int i = 0; i < 2 * n; i++) o[i] = "0123456789abcdef"[i % 2 ? b[i / 2] & 15 : b[i / 2] >> 4];
}
static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }
APART void parse(void *p, const char *o, int n) {
    unsigned char *b = p;
    for (int i = 0; i < n; i++) b[i] = digit(o[2 * i]) << 4 | digit(o[2 * i + 1]);
}
double f(const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) { char h[16]; double t = x[i] * x[i], u; print(h, &t, 8); parse(&u, h, 8); s += u * i; }
    return s;
}
""",
    "upper halves kept": """
APART unsigned short packed(float v) { unsigned b; memcpy(&b, &v, 4); return b >> 16; }
APART float unpacked(unsigned short h) { unsigned b = (unsigned)h << 16; float v; memcpy(&v, &b, 4); return v; }
double f(const double *x, int n) {
    unsigned short *y = malloc(n * sizeof *y);
    double s = 0;
    for (int i = 0; i < n; i++) y[i] = packed(x[i] * x[i]);
    for (int i = 0; i < n; i++) s += unpacked(y[i]) * (i + 1);
    free(y);
    return s;
}
""",
}  # fmt: skip


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", CHANGED)
def test_bits_that_other_functions_change_are_errors(source: Callable[..., Path], name: str, level: int) -> None:
    """That a function calls what its pointer leads to an integer proves nothing of its caller's floats."""
    lib = llgrad.load(source(APART + CHANGED[name]), optimize=level, flags=["-fno-strict-aliasing"])
    x, tangent = np.linspace(1.1, 2.3, 6), np.ones(6)
    if (name, level) == ("in a register", 2):  # a constant mask: the same float to fewer digits
        np.testing.assert_allclose(llgrad.grad(lib.f, wrt="x")(x, 6), 4 * x - 4 * x**3, rtol=1e-5)
        slope = llgrad.jvp(lib.f, wrt="x")(x, 6, tangents=tangent)[1]
        assert slope == pytest.approx((4 * x - 4 * x**3).sum(), rel=1e-5)
        return
    assert _is_loud(lambda: llgrad.jvp(lib.f, wrt="x")(x, 6, tangents=tangent)[1])
    assert _is_loud(lambda: llgrad.grad(lib.f, wrt="x")(x, 6))


UP = "APART void up(unsigned long *w, int n) { for (int i = 0; i < n; i++) w[i] += 1ul << 52; }"
COPIED = """
double f(const double *x, int n) {
    unsigned char *w = malloc(8 * n);
    double s = 0, *y = malloc(8 * n);
    for (int i = 0; i < n; i++) y[i] = x[i] * x[i];
    memcpy(w, y, 8 * n);
    %s
    memcpy(y, w, 8 * n);
    for (int i = 0; i < n; i++) s += y[i] * y[i] * y[i];
    free(w), free(y);
    return s;
}
"""
ROWS = """
double f(const double *x, int n) {
    unsigned long %s;
    double s = 0, y[8];
    for (int r = 0; r < 4; r++) {
        for (int i = 0; i < n; i++) y[i] = x[i] * (r + 1);
        memcpy(%s, y, n * 8);
    }
    for (int r = 0; r < 4; r++) up(%s, n);
    for (int r = 0; r < 4; r++) {
        memcpy(y, %s, n * 8);
        for (int i = 0; i < n; i++) s += y[i] * y[i];
    }
    return s;
}
"""
BY_TYPES = {
    "bytes in another order, in place": CHANGED["bytes in another order"],
    "words exchanged twice": """
APART void turn(unsigned long *w, int n) { for (int i = 0; i < n; i++) w[i] = __builtin_bswap64(w[i]); }
""" + COPIED % "turn((unsigned long *)w, n); turn((unsigned long *)w, n);",
    "one byte of each": "APART void turn(unsigned char *w, int n) { for (int i = 0; i < n; i++) w[8 * i + 7] ^= 0x80; }"
    + COPIED % "turn(w, n);",
    "functions that are chosen": UP + "APART void down(unsigned long *w, int n)"
    "{ for (int i = 0; i < n; i++) w[i] -= 1ul << 52; }\n"
    "static void (*const table[])(unsigned long *, int) = {up, down};"
    + COPIED % "table[n & 1]((unsigned long *)w, n);",
    "rows": UP + ROWS % ("m[4][8]", "m[r]", "m[r]", "m[r]"),
    "rows of any length": UP + ROWS
    % ("*m = malloc(4 * n * 8)", "m + r * n", "m + r * n", "m + r * n"),
    "an array beside a pointer": """
struct s { double *p; unsigned long y[8]; };
double f(const double *x, int n) {
    struct s *t = malloc(sizeof *t);
    double s = 0;
    t->p = malloc(n * 8);
    for (int i = 0; i < n; i++) { double v = x[i] * x[i]; memcpy(t->y + i, &v, 8); t->p[i] = x[i]; }
    for (int i = 0; i < n; i++) t->y[i] += 1ul << 52;
    for (int i = 0; i < n; i++) { double v; memcpy(&v, t->y + i, 8); s += v * t->p[i]; }
    free(t->p), free(t);
    return s;
}
""",
}  # fmt: skip


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("name", BY_TYPES)
def test_bits_that_types_call_integers_are_errors(source: Callable[..., Path], name: str, level: int) -> None:
    """The types of C are kept: floats come and go by `memcpy`."""
    lib = llgrad.load(source(APART + BY_TYPES[name]), optimize=level)
    x, tangent = np.linspace(1.1, 2.3, 6), np.ones(6)
    if (name, level) == ("in a register", 2):  # a constant mask: the same float to fewer digits
        np.testing.assert_allclose(llgrad.grad(lib.f, wrt="x")(x, 6), 4 * x - 4 * x**3, rtol=1e-5)
        slope = llgrad.jvp(lib.f, wrt="x")(x, 6, tangents=tangent)[1]
        assert slope == pytest.approx((4 * x - 4 * x**3).sum(), rel=1e-5)
        return
    assert _is_loud(lambda: llgrad.jvp(lib.f, wrt="x")(x, 6, tangents=tangent)[1])
    assert _is_loud(lambda: llgrad.grad(lib.f, wrt="x")(x, 6))


SORTED = """
#include <stdint.h>
double f(const double *x, int n) {
    struct { double *p; uint64_t k[16]; } t;
    %s *k = %s;
    double s = 0;
    for (int i = 0; i < n; i++) { %s v = x[i] * x[i]; memcpy(k + i, &v, sizeof v); }
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && k[j] < k[j - 1]; j--) { %s b = k[j]; k[j] = k[j - 1]; k[j - 1] = b; }
    t.p = &s;
    for (int i = 0; i < n; i++) { %s v; memcpy(&v, k + i, sizeof v); *t.p += v * (i + 1); }
    return s;
}
"""


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("where", ["malloc(8 * n)", "(void *)t.k"])
@pytest.mark.parametrize(("bits", "held"), [("uint64_t", "double"), ("uint32_t", "float")])
def test_floats_sorted_by_their_bits(source: Callable[..., Path], bits: str, held: str, where: str, level: int) -> None:
    lib = llgrad.load(source(APART + SORTED % (bits, where, held, bits, held)), optimize=level)
    x, tangent = np.array([1.3, 0.9, 2.1, 1.7, 1.1, 0.6]), np.linspace(1, 2, 6)
    want = 2 * x * (1 + np.argsort(np.argsort(x)))
    np.testing.assert_allclose(llgrad.jvp(lib.f, wrt="x")(x, 6, tangents=tangent)[1], want @ tangent, rtol=1e-6)
    np.testing.assert_allclose(llgrad.grad(lib.f, wrt="x")(x, 6), want, rtol=1e-6)


STACK = """
@st = internal global [64 x i64] zeroinitializer, align 16
@sp = internal global i32 0, align 4
define internal void @push(double %v) noinline {
  %n = load i32, ptr @sp, align 4
  %more = add nsw i32 %n, 1
  store i32 %more, ptr @sp, align 4
  %at = sext i32 %n to i64
  %p = getelementptr inbounds i64, ptr @st, i64 %at
  store double %v, ptr %p, align 8
  ret void
}
define internal void @swap() noinline {
  %n = load i32, ptr @sp, align 4
  %at = sext i32 %n to i64
  %p = getelementptr i64, ptr @st, i64 %at
  %two = getelementptr i8, ptr %p, i64 -16
  %v = load <2 x i64>, ptr %two, align 8, !tbaa !0
  %w = shufflevector <2 x i64> %v, <2 x i64> poison, <2 x i32> <i32 1, i32 0>
  store <2 x i64> %w, ptr %two, align 8, !tbaa !0
  ret void
}
define internal double @pop() noinline {
  %n = load i32, ptr @sp, align 4
  %less = add nsw i32 %n, -1
  store i32 %less, ptr @sp, align 4
  %at = sext i32 %less to i64
  %p = getelementptr inbounds i64, ptr @st, i64 %at
  %v = load double, ptr %p, align 8
  ret double %v
}
define double @f(ptr %x) {
  %x0 = load double, ptr %x, align 8
  %p1 = getelementptr double, ptr %x, i64 1
  %x1 = load double, ptr %p1, align 8
  %v = fmul double %x0, %x1
  call void @push(double %v)
  call void @push(double %x1)
  call void @swap()
  %a = call double @pop()
  %b = call double @pop()
  %c = fmul double %a, 3.0
  %r = fadd double %b, %c
  ret double %r
}
!0 = !{!1, !1, i64 0}
!1 = !{!"long", !2, i64 0}
!2 = !{!"omnipotent char", !3, i64 0}
!3 = !{!"Simple C/C++ TBAA"}
"""


@pytest.mark.parametrize("level", [0, 2])
def test_floats_moved_in_vectors_of_integers(source: Callable[..., Path], level: int) -> None:
    """As LLVM moves two elements that C calls integers at once."""
    f, x = llgrad.load(source(STACK, "stack.ll"), optimize=level).f, np.array([1.3, 0.9])
    np.testing.assert_allclose(llgrad.grad(f, wrt=0)(x), [2.7, 4.9], rtol=1e-15)
    np.testing.assert_allclose(llgrad.jvp(f, wrt=0)(x, tangents=np.array([1.0, 2.0]))[1], 12.5, rtol=1e-15)


HALVES = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define internal void @turn(ptr %w, i64 %n) noinline {
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %p = getelementptr inbounds i64, ptr %w, i64 %i
  %v = load <4 x i32>, ptr %p, align 4
  %t = shufflevector <4 x i32> %v, <4 x i32> poison, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  store <4 x i32> %t, ptr %p, align 4
  %next = add nuw nsw i64 %i, 2
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %exit
exit:
  ret void
}
define double @f(ptr %x, i64 %n) {
entry:
  %w = alloca [16 x i32], align 8
  %bytes = shl i64 %n, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %w, ptr %x, i64 %bytes, i1 false)
  call void @turn(ptr %w, i64 %n)
  call void @turn(ptr %w, i64 %n)
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %s = phi double [ 0.0, %entry ], [ %sum, %body ]
  %p = getelementptr inbounds double, ptr %w, i64 %i
  %a = load double, ptr %p, align 8
  %b = fmul double %a, %a
  %sum = fadd double %s, %b
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %exit
exit:
  ret double %sum
}
"""


def test_halves_exchanged_in_vectors(source: Callable[..., Path]) -> None:
    """Tangents can be moved so; adjoints of halves are none, and were lost."""
    f, x = llgrad.load(source(HALVES, "halves.ll"), optimize=2).f, np.array([1.3, 0.9, 2.0, 3.0])
    np.testing.assert_allclose(llgrad.jvp(f, wrt=0)(x, 4, tangents=np.ones(4))[1], 14.4, rtol=1e-15)
    with pytest.raises(KindError):
        llgrad.grad(f, wrt=0)(x, 4)


def _is_loud(derivative: Callable[[], Any]) -> bool:
    """An error when it is compiled, one as it runs, or no number."""
    try:
        return bool(np.isnan(derivative()).any())
    except ForeignError as error:
        return "bits of an active float" in str(error)
    except UnsupportedError as error:
        return "changes the bits" in str(error) or "made of bits" in str(error)


def test_numbers_computed_ahead_of_their_condition(source: Callable[..., Path]) -> None:
    """LLVM converts the number before the tag is asked, and chooses."""
    lib = llgrad.load(
        source(
            HEAD
            + """
    __attribute__((noinline)) static double as_double(struct value v) { return v.tag ? v.u.d : (double)v.u.i; }
    double f(const double *x, int n) {
        double s = 0;
        for (int k = 0; k < n; k++) { struct value v; v.tag = k % 2;
            if (k % 2) v.u.d = x[k] * x[k]; else v.u.i = k;
            s += as_double(v); }
        return s;
    }
    """
        )
    )
    x = np.linspace(1.1, 2.3, 6)
    wanted = np.where(np.arange(6) % 2, 2 * x, 0)
    assert np.allclose(llgrad.grad(lib.f, wrt="x")(x, 6), wanted)
    assert llgrad.jvp(lib.f, wrt="x")(x, 6, tangents=np.ones(6))[1] == pytest.approx(wanted.sum())


@pytest.mark.parametrize("level", [0, 2])
def test_tagged_floats_in_half_a_register(source: Callable[..., Path], level: int) -> None:
    """What is packed beside its tag is taken for a number: an error as it runs where it is a float, and no NaN."""
    lib = llgrad.load(
        source("""
    struct value { int tag; union { int i; float f; } u; };
    __attribute__((noinline)) static struct value made(int k, double x) {
        struct value v;
        if (k % 2) v.tag = 1, v.u.f = (float)x; else v.tag = 0, v.u.i = k;
        return v;
    }
    __attribute__((noinline)) static double as_double(struct value v) { return v.tag ? v.u.f * v.u.f : v.u.i; }
    double f(const double *x, int n) {
        double s = 0;
        for (int k = 0; k < n; k++) s += as_double(made(k, x[k]));
        return s;
    }
    """),
        optimize=level,
    )
    x = np.linspace(1.1, 2.3, 6)
    wanted = np.where(np.arange(6) % 2, 2 * x, 0)
    cases: tuple[tuple[Callable[[], Any], Any], ...] = (
        (lambda: llgrad.grad(lib.f, wrt="x")(x, 6), wanted),
        (lambda: llgrad.jvp(lib.f, wrt="x")(x, 6, tangents=np.ones(6))[1], wanted.sum()),
    )
    for derivative, right in cases:
        try:
            np.testing.assert_allclose(derivative(), right, rtol=1e-6)
        except (ForeignError, UnsupportedError) as error:
            assert isinstance(error, KindError) or "bits of an active float" in str(error)
