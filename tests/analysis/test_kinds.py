"""Kinds on what clang makes of C and C++, with and without optimisation and debug info, and on hand-written IR."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import llgrad
from llgrad.analysis.types.kinds import Kinds, analyse
from llgrad.analysis.types.layouts import ANY, CONFLICT, INTEGER, POINTER, UNKNOWN, WORD, Layout, float_kind
from llgrad.errors import KindError
from llgrad.ir.parse import parse
from llgrad.ir.types import DOUBLE, FLOAT, X86_FP80, FloatType
from llgrad.ir.values import Call, Function, Instruction, Load, Store

F64, F32, F80 = float_kind(DOUBLE), float_kind(FLOAT), float_kind(X86_FP80)
DEBUG = ("-O0 -g", "-O1 -g", "-O2 -g")
TBAA = ("-O1", "-O2")
ALL = ("-O0", *TBAA, *DEBUG)
PLAIN = "-S -emit-llvm -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -fno-discard-value-names"


@functools.cache
def ir(source: str, flags: str, language: str = "c") -> str:
    clang = ["clang-22"] if shutil.which("clang-22") else [sys.executable, "-m", "ziglang", "cc"]
    command = [*clang, "-x", language, *PLAIN.split(), *flags.split(), "-o", "-", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def kinds_of(source: str, name: str, flags: str, language: str = "c") -> tuple[Kinds, Function]:
    return from_ir(ir(source, flags, language), name)


def from_ir(text: str, name: str) -> tuple[Kinds, Function]:
    module = parse(text)
    root = next(f for f in module.functions if f.name == name or (name in f.name and not f.is_declaration))
    return analyse(module, root), root


def copies(f: Function) -> list[Call]:
    calls = [i for i in f.instructions() if isinstance(i, Call)]
    return [i for i in calls if i.called_function is not None and "llvm.mem" in i.called_function.name]


def integer_loads(f: Function) -> list[Instruction]:
    return [i for i in f.instructions() if isinstance(i, Load) and str(i.type) == "i64"]


def covers(layout: Layout, size: int) -> bool:
    """Are the leaves in order and without gaps?"""
    place = 0
    for offset, _, length in layout.leaves:
        if offset != place:
            return False
        place += length
    return place == size


MIXED = """
#include <string.h>
struct S { double x[3]; int n; float f; char tag; struct S *next; };
void f(struct S *a, struct S *b) { memcpy(a, b, sizeof *a); a->x[1] += b->f * b->n; }
void whole(struct S *a, int i, int j) { a[i] = a[j]; a[i].x[i] *= 2; }
void variable(struct S *a, struct S *b, long n) { memcpy(a, b, n * sizeof *a); a[n].x[n] += b[n].x[0]; }
"""
STRUCT = {0: F64, 8: F64, 16: F64, 24: INTEGER, 28: F32, 32: INTEGER, 33: ANY, 40: POINTER}


@pytest.mark.parametrize("flags", DEBUG)
@pytest.mark.parametrize("name", ["f", "whole"])
def test_struct_copy_from_debug_info(flags: str, name: str) -> None:
    kinds, f = kinds_of(MIXED, name, flags)
    assert copies(f)
    for copy in copies(f):
        layout = kinds.require(copy)
        assert layout.at == STRUCT and covers(layout, 48)


@pytest.mark.parametrize("flags", DEBUG)
def test_copy_of_a_variable_number_of_structs(flags: str) -> None:
    kinds, f = kinds_of(MIXED, "variable", flags)
    layout = kinds.require(copies(f)[0])
    assert layout.stride == 48 and layout.at == STRUCT and covers(layout, 48)


@pytest.mark.parametrize("flags", ["-O0", *TBAA])
def test_struct_copy_without_types_claims_nothing_it_cannot_know(flags: str) -> None:
    """Walking `a->x[i]` says nothing of where the array ends."""
    kinds, f = kinds_of(MIXED, "variable", flags)
    at = kinds.access(copies(f)[0]).at
    assert all(kind is not F64 for offset, kind in at.items() if offset >= 24)
    with pytest.raises(KindError):
        kinds.require(copies(f)[0])


@pytest.mark.parametrize("flags", TBAA)
def test_struct_copy_from_tbaa(flags: str) -> None:
    source = "struct P { double d; int n; float *p; }; void f(struct P *a, struct P *b) { *a = *b; }"
    kinds, f = kinds_of(source, "f", flags)
    at = kinds.access(copies(f)[0]).at
    assert (at[0], at[8], at[16]) == (F64, INTEGER, POINTER)


COPY = """
#include <string.h>
void f(double *d, const double *s, int n) {
  for (int i = 0; i < n; i++) { long t; memcpy(&t, s + i, 8); memcpy(d + i, &t, 8); }
}
void g(double *d, const double *s, int n) { f(d, s, n); d[0] *= s[n]; }
"""


@pytest.mark.parametrize("flags", DEBUG)
@pytest.mark.parametrize("name", ["f", "g"])
def test_double_copied_as_integer(flags: str, name: str) -> None:
    kinds, f = kinds_of(COPY, name, flags)
    accesses = [i for g in kinds.functions for i in [*copies(g), *integer_loads(g)]]
    assert accesses
    for i in accesses:
        assert kinds.require(i).at == {0: F64}
    for load in integer_loads(f):
        assert kinds.value(load) == F64 and kinds.may_hold_float(load)


def test_integer_copy_of_unknown_bytes_is_an_error_that_helps() -> None:
    kinds, f = kinds_of(COPY, "f", "-O1 -gline-tables-only")
    load = next(iter(integer_loads(f)))
    assert kinds.value(load) is UNKNOWN and kinds.may_hold_float(load)
    with pytest.raises(KindError) as e:
        kinds.require(load)
    text = str(e.value)
    assert "unknown kind" in text and "-g" in text and "right type" in text and ":4" in text


@pytest.mark.parametrize("flags", ["-O0", *ALL])
def test_variable_copy_of_an_array_that_is_walked(flags: str) -> None:
    source = "#include <string.h>\nvoid f(double *d, const double *s, long n) { memcpy(d, s, n * 8); d[n] += s[n]; }"
    kinds, f = kinds_of(source, "f", flags)
    layout = kinds.require(copies(f)[0])
    assert layout.stride == 8 and layout.at == {0: F64}


UNION = """
#include <string.h>
union U { double d; long l; };
void plain(union U *a, union U *b) { memcpy(a, b, sizeof *a); }
double decided(union U *a, union U *b) { memcpy(a, b, sizeof *a); return b->d; }
double both(union U *a, int w) { union U v; memcpy(&v, a, sizeof v); return w ? v.d : (double)(v.l * 3); }
"""


def test_unions() -> None:
    for name, expected in {"plain": UNKNOWN, "decided": F64}.items():
        kinds, f = kinds_of(UNION, name, "-O0 -g")
        assert kinds.access(copies(f)[0]).at == {0: expected}
    for flags in ("-O0 -g", "-O0"):
        kinds, f = kinds_of(UNION, "both", flags)
        assert kinds.access(copies(f)[0]).at == {0: CONFLICT}


BITS = """
#include <string.h>
#include <stdint.h>
void one(double *d, const double *x) { uint64_t b; memcpy(&b, x, 8); b ^= 1ull << 63; memcpy(d, &b, 8); }
double two(const double *x) { uint64_t b; memcpy(&b, x, 8); b ^= 1ull << 63; double r; memcpy(&r, &b, 8); return r; }
void many(double *d, const double *x, int n) {
  for (int i = 0; i < n; i++) { uint64_t b; memcpy(&b, x + i, 8); b ^= 1ull << 63; memcpy(d + i, &b, 8); }
  d[n] += x[n];
}
"""


@pytest.mark.parametrize("name, flags", [("one", f) for f in DEBUG] + [(n, f) for n in ("two", "many") for f in ALL])
def test_arithmetic_on_the_bits_of_a_float_is_never_an_integer(name: str, flags: str) -> None:
    kinds, f = kinds_of(BITS, name, flags)
    xors = [i for i in f.instructions() if i.opcode == "xor"]
    for i in [*integer_loads(f), *xors]:
        assert kinds.may_hold_float(i), i
    for i in [*integer_loads(f), *copies(f)]:
        assert kinds.access(i).may_hold_float, i


@pytest.mark.parametrize("flags", ALL)
def test_real_integers_are_integers(flags: str) -> None:
    source = """#include <stdint.h>
    double rng(uint64_t *s) { uint64_t x = *s; x ^= x << 13; x ^= x >> 7; x ^= x << 17; *s = x; return x * 0x1p-64; }
    double f(uint64_t *s, double *a, int n) { double t = 0; for (int i = 0; i < n; i++) t += a[i] * rng(s); return t; }
    """
    kinds, f = kinds_of(source, "f", flags)
    for g in kinds.functions:
        for i in g.instructions():
            if str(i.type) in ("i32", "i64"):
                assert not kinds.may_hold_float(i), i


def test_registers_of_mixed_bytes() -> None:
    source = "struct M { int i; float f; }; float f(struct M m) { return m.i * m.f; }"
    for flags in ALL:
        kinds, f = kinds_of(source, "f", flags)
        assert kinds.leaves(f.arguments[0]) == ((0, INTEGER), (4, F32))


def test_pointers_to_pointers_and_lists() -> None:
    source = """
    struct L { struct L *next; double v; int k; };
    void swap(double **a) { double *t = a[0]; a[0] = a[1]; a[1] = t; a[0][3] *= 2; }
    void push(struct L **h, struct L *e) { struct L t = *e; t.next = *h; *e = t; *h = e; e->v *= t.k; }
    """
    for flags in DEBUG:
        kinds, f = kinds_of(source, "swap", flags)
        assert kinds.memory(f.arguments[0], 16).at == {0: POINTER, 8: POINTER}
        if flags != "-O0 -g":
            assert kinds.memory(first_load(f), None) == Layout(8, ((0, F64, 8),))
        kinds, f = kinds_of(source, "push", flags)
        expected = {0: POINTER, 8: F64, 16: INTEGER, 20: ANY}
        assert kinds.memory(f.arguments[1], 24).at == expected
        for copy in copies(f):
            assert kinds.require(copy).at == expected


@pytest.mark.parametrize("flags", DEBUG)
def test_arrays_of_two_dimensions_and_complex(flags: str) -> None:
    source = """#include <string.h>
    #include <complex.h>
    double m(double a[4][5], int i) { double t[4][5]; memcpy(t, a, sizeof t); return t[i][1] + t[1][i]; }
    void z(double complex *a, double complex *b, long n) { memcpy(a, b, n * sizeof *a); }
    void l(long double *a, long double *b) { memcpy(a, b, 2 * sizeof *a); }
    """
    kinds, f = kinds_of(source, "m", flags)
    assert kinds.require(copies(f)[0]).at == {8 * n: F64 for n in range(20)}
    kinds, f = kinds_of(source, "z", flags)
    assert kinds.require(copies(f)[0]) == Layout(16, ((0, F64, 8), (8, F64, 8)))
    kinds, f = kinds_of(source, "l", flags)
    assert kinds.require(copies(f)[0]).at == {0: F80, 10: ANY, 16: F80, 26: ANY}


@pytest.mark.parametrize("flags", DEBUG)
def test_flexible_array_after_a_header(flags: str) -> None:
    source = """#include <string.h>
    struct V { int n; double d[]; };
    void f(struct V *v, double *o) { memcpy(o, v->d, v->n * sizeof *o); memcpy(v->d + 1, o, 24); }
    """
    kinds, f = kinds_of(source, "f", flags)
    assert kinds.memory(f.arguments[0], 24).at == {0: INTEGER, 4: ANY, 8: F64, 16: F64}
    for copy in copies(f):
        assert set(kinds.require(copy).at.values()) == {F64}


def test_callbacks_and_context_pointers() -> None:
    source = """#include <string.h>
    static double cb(void *p, double x) { double q[2]; memcpy(q, p, 16); return q[0] * x + q[1]; }
    __attribute__((noinline)) static double call(double (*f)(void *, double), void *p, double x) { return f(p, x); }
    double f(double *p, double x) { return call(cb, p, x); }
    """
    for flags in ("-O0 -g", "-O1 -g"):
        kinds, f = kinds_of(source, "f", flags)
        found = [c for g in kinds.functions for c in copies(g)]
        for copy in found:
            assert kinds.require(copy).at == {0: F64, 8: F64}
        assert {g.name for g in kinds.functions} >= {"f"} and (flags != "-O0 -g" or found)


def test_callers_do_not_see_each_other() -> None:
    source = """#include <string.h>
    void use(void *);
    __attribute__((noinline)) void look(const void *s) { char d[64]; memcpy(d, s, 64); use(d); }
    double f(double *a, long *i, int n) {
      look(a); look(i);
      double t = 0; for (int k = 0; k < n; k++) t += a[k] * i[k]; return t; }
    """
    kinds, f = kinds_of(source, "f", "-O1 -g")
    assert kinds.memory(f.arguments[0], None).at == {0: F64} and kinds.memory(f.arguments[1], None).at == {0: INTEGER}
    inner = next(c for g in kinds.functions for c in copies(g))
    assert kinds.access(inner).at[0] is CONFLICT
    assert kinds.require(inner).at == dict.fromkeys(range(0, 64, 8), WORD)


@pytest.mark.parametrize(("other", "size"), [("float", 64), ("double", 60)])
def test_only_whole_floats_are_moved_by_turns(other: str, size: int) -> None:
    """Floats and integers of any size; but a double is not moved in halves."""
    source = f"""#include <string.h>
    void use(void *);
    __attribute__((noinline)) void look(const void *s) {{ char d[64]; memcpy(d, s, {size}); use(d); }}
    double f({other} *a, long *i, int n) {{
      look(a); look(i);
      double t = 0; for (int k = 0; k < n; k++) t += a[k] * i[k]; return t; }}
    """
    kinds, _ = kinds_of(source, "f", "-O1 -g")
    copy = next(c for g in kinds.functions for c in copies(g))
    if size % 8:
        with pytest.raises(KindError, match="both as a float"):
            kinds.require(copy)
    else:
        assert kinds.require(copy).at == dict.fromkeys(range(0, 64, 4), F32)


def test_work_array_in_two_parts() -> None:
    """Kinds belong to pointers: one block holds doubles first and integers after them."""
    source = """double f(double *w, int n) { long *iw = (long *)(w + n); double s = 0;
      for (int i = 0; i < n; i++) { s += w[i] * iw[i]; iw[i] += 1; } return s; }"""
    kinds, f = kinds_of(source, "f", "-O1")
    for i in f.instructions():
        if isinstance(i, (Load, Store)) and "double" not in str(i.operands[0].type) + str(i.type):
            assert kinds.access(i).at == {0: INTEGER}
        if isinstance(i, Load) and str(i.type) == "double":
            assert kinds.access(i).at == {0: F64}
    assert not kinds.memory(f.arguments[0], None).is_known


VECTOR = """
#include <vector>
#include <algorithm>
struct Q { double x; int n; };
double f(int n, double x) {
  std::vector<double> v(n, x); v.push_back(x); std::vector<double> w = v; w.insert(w.begin(), x);
  std::vector<Q> q(n, Q{x, n}); q.push_back(q[0]); std::vector<Q> r = q;
  double s = 0; for (double y : w) s += y * y; for (auto &e : r) s += e.x * e.n; return s;
}
"""


@pytest.mark.parametrize("flags", ["-O1 -g", "-O2 -g"])
def test_vectors_of_cpp(flags: str) -> None:
    kinds, _ = kinds_of(VECTOR, "_Z1fid", flags, "c++")
    seen = 0
    for g in kinds.functions:
        for i in g.instructions():
            if isinstance(i, (Load, Store)) or i in copies(g):
                layout = kinds.access(i)
                assert layout.is_known, (i, str(layout))
                seen += 1
    assert seen > 20


# --- hand-written IR -------------------------------------------------------------------------------------------------

HEAD = 'target datalayout = "e-m:e-i64:64-i128:128-f80:128-n8:16:32:64-S128"\ntarget triple = "x86_64-pc-linux-gnu"\n'


def first_load(f: Function) -> Load:
    return next(i for i in f.instructions() if isinstance(i, Load))


def test_increasing_pointers_get_a_period() -> None:
    text = HEAD + """
define double @f(ptr %p, ptr %end) {
entry:
  br label %loop
loop:
  %q = phi ptr [ %p, %entry ], [ %next, %loop ]
  %s = phi double [ 0.0, %entry ], [ %t, %loop ]
  %x = load double, ptr %q
  %far = getelementptr i8, ptr %q, i64 8
  %bits = load i64, ptr %far
  %next = getelementptr i8, ptr %q, i64 16
  %y = bitcast i64 %bits to double
  %t = fadd double %x, %y
  %done = icmp eq ptr %next, %end
  br i1 %done, label %exit, label %loop
exit:
  ret double %t
}
"""
    kinds, f = from_ir(text, "f")
    assert kinds.memory(f.blocks[1].instructions[0], None) == Layout(16, ((0, F64, 8), (8, F64, 8)))


def test_two_formats_at_one_byte_conflict() -> None:
    text = HEAD + """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define double @f(ptr %p, ptr %q) {
  %x = load double, ptr %p
  %y = load float, ptr %p
  call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %p, i64 8, i1 false)
  ret double %x
}
define double @g(ptr %p, ptr %q) {
  %x = load double, ptr %p
  %r = getelementptr i8, ptr %p, i64 4
  %y = load i32, ptr %r
  %z = bitcast i32 %y to float
  call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %p, i64 8, i1 false)
  ret double %x
}
define double @h(ptr %p, ptr %q) {
  %x = load double, ptr %p
  %y = load ptr, ptr %p
  call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %p, i64 8, i1 false)
  ret double %x
}
define double @half(ptr %p, ptr %q) {
  %x = load double, ptr %p
  call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %p, i64 4, i1 false)
  ret double %x
}
"""
    for name in ("f", "g", "h", "half"):
        kinds, f = from_ir(text, name)
        assert CONFLICT in kinds.access(copies(f)[0]).at.values(), name


def test_zero_and_undef_fit_anything() -> None:
    text = HEAD + """
define i64 @f(i1 %c, ptr %p) {
  %x = load i64, ptr %p
  %d = load double, ptr %p
  %s = select i1 %c, i64 %x, i64 0
  store i64 %s, ptr %p
  store i64 0, ptr %p
  ret i64 %s
}
"""
    kinds, f = from_ir(text, "f")
    assert kinds.value(next(i for i in f.instructions() if i.opcode == "select")) == F64
    stores = [i for i in f.instructions() if isinstance(i, Store)]
    assert [kinds.access(s).at for s in stores] == [{0: F64}, {0: F64}]
    assert kinds.value(stores[1].value) is ANY


def test_integers_assembled_from_floats() -> None:
    text = HEAD + """
define void @f(float %a, i32 %n, ptr %p) {
  %b = bitcast float %a to i32
  %z = zext i32 %b to i64
  %h = shl i64 %z, 32
  %m = mul i32 %n, 3
  %l = zext i32 %m to i64
  %o = or disjoint i64 %h, %l
  store i64 %o, ptr %p
  ret void
}
"""
    kinds, f = from_ir(text, "f")
    store = next(i for i in f.instructions() if isinstance(i, Store))
    assert kinds.require(store).at == {0: INTEGER, 4: F32}


def test_one_function_called_with_neighbouring_pointers_ends() -> None:
    """What is read through one caller's pointer must not travel on through the other's, shifted each time."""
    text = HEAD + """
define double @g(ptr %q) {
  %r = load ptr, ptr %q
  %s = getelementptr i8, ptr %q, i64 16
  %x = load double, ptr %r
  ret double %x
}
define double @f(ptr %p) {
  %n = getelementptr i8, ptr %p, i64 8
  %a = call double @g(ptr %p)
  %b = call double @g(ptr %n)
  %c = fadd double %a, %b
  ret double %c
}
"""
    kinds, f = from_ir(text, "f")
    assert kinds.memory(f.arguments[0], 16).at == {0: POINTER, 8: POINTER}


@pytest.mark.parametrize("flags", ALL)
def test_bytes_may_be_those_of_floats(flags: str) -> None:
    source = """void copy(char *d, const char *s, int n) { for (int i = 0; i < n; i++) d[i] = s[i]; }
    double f(double *a, double *b, int n) { copy((char *)a, (char *)b, 8 * n); return a[0] * b[1]; }"""
    kinds, _ = kinds_of(source, "f", flags)
    loads = [i for g in kinds.functions for i in g.instructions() if isinstance(i, Load) and str(i.type) == "i8"]
    assert all(kinds.may_hold_float(i) and kinds.access(i).may_hold_float for i in loads)
    assert loads or flags not in ("-O0", "-O0 -g")


def test_overlapping_moves_end() -> None:
    text = HEAD + """
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
define void @f(ptr %p, i64 %n) {
  %q = getelementptr i8, ptr %p, i64 24
  call void @llvm.memmove.p0.p0.i64(ptr %q, ptr %p, i64 %n, i1 false)
  %x = load double, ptr %p
  ret void
}
"""
    kinds, f = from_ir(text, "f")
    assert kinds.memory(f.arguments[0], 8).at == {0: F64}


DENSE = """
#include <string.h>
void doubled(double *a, double *b, long m) {
    memcpy(a, b, 2 * m * sizeof *a);
    double *c = a + 3 * m, s = 0;
    for (long i = 0; i < m; i++) { s += a[i + m]; c[i] = s * c[i + m]; }
    a[0] = s;
}
struct T { double x[2]; float f; int n; };
void structs(struct T *a, struct T *b, long m, long j) {
    memcpy(a, b, 2 * m * sizeof *a);
    for (long i = 0; i < m; i++) a[i].x[j] *= 2;
}
"""


def test_memory_walked_in_steps_that_floats_fill_is_an_array_of_them() -> None:
    kinds, f = kinds_of(DENSE, "doubled", "-O0")
    assert kinds.require(copies(f)[0]).at == {0: F64}


@pytest.mark.parametrize("flags", ["-O0", *TBAA])
def test_memory_walked_in_steps_that_floats_do_not_fill_is_unknown(flags: str) -> None:
    kinds, f = kinds_of(DENSE, "structs", flags)
    with pytest.raises(KindError):
        kinds.require(copies(f)[0])


INNER = """
struct S { int k; double v; short h; double z[2]; };
double f(struct S *s, int i, int j) {
    s[i].z[j] *= 2;
    s[i] = s[j];
    return s[i].v * s[2].k * s[1].h;
}
"""


@pytest.mark.parametrize("flags", DEBUG)
def test_an_array_inside_a_struct_ends_before_the_next_struct(flags: str) -> None:
    kinds, f = kinds_of(INNER, "f", flags)
    assert copies(f)
    for copy in copies(f):
        assert kinds.require(copy).at == {0: INTEGER, 4: ANY, 8: F64, 16: INTEGER, 18: ANY, 24: F64, 32: F64}


FEW = HEAD + """
define double @f(ptr %s, i32 %n) {
  %z = getelementptr i8, ptr %s, i64 24
  %bit = {index}
  %at = zext nneg i32 %bit to i64
  %p = getelementptr double, ptr %z, i64 %at
  %d = load double, ptr %p, align 8
  %k = getelementptr i8, ptr %s, i64 40
  %number = load i32, ptr %k, align 8
  %beside = getelementptr i8, ptr %s, i64 44
  %pad = load i32, ptr %beside, align 4
  %less = add i32 %number, -1
  %odd = uitofp i32 %less to double
  %r = fmul double %d, %odd
  store i32 %pad, ptr %s, align 8
  ret double %r
}
"""


@pytest.mark.parametrize(
    ("index", "around"), [("and i32 %n, 1", None), ("urem i32 %n, 2", None), ("and i32 %n, 6", (-4, DOUBLE))]
)
def test_an_index_of_few_values_reaches_no_further(index: str, around: tuple[int, FloatType] | None) -> None:
    """Padding beside an integer behind the array is no half of a double."""
    kinds, f = from_ir(FEW.replace("{index}", index), "f")
    pad = next(i for i in f.instructions() if i.name == "beside")
    assert kinds.float_around(pad, 4) == around


def test_a_variable_that_points_to_several_members_makes_no_array_of_the_struct() -> None:
    text = HEAD + """
define double @f(double %x, i1 %c) {
entry:
  %s = alloca { ptr, i64, ptr, i64, [3 x ptr], double }, align 8
  %slot = alloca ptr, align 8
  %size = getelementptr i8, ptr %s, i64 8
  store i64 3, ptr %size, align 8
  %b = getelementptr i8, ptr %s, i64 16
  %y = getelementptr i8, ptr %s, i64 56
  store double %x, ptr %y, align 8
  br i1 %c, label %one, label %other

one:
  store ptr %s, ptr %slot, align 8
  br label %end

other:
  store ptr %b, ptr %slot, align 8
  br label %end

end:
  %p = load ptr, ptr %slot, align 8
  %data = load ptr, ptr %p, align 8
  %q = getelementptr i8, ptr %p, i64 8
  %n = load i64, ptr %q, align 8
  %big = icmp sgt i64 %n, 2
  %m = load i64, ptr %size, align 8
  %small = icmp slt i64 %m, 2
  %v = load double, ptr %y, align 8
  %r = select i1 %big, double %v, double 0.0
  ret double %r
}
"""
    kinds, f = from_ir(text, "f")
    values = {i.name: kinds.value(i) for i in f.instructions() if i.name in ("n", "m", "data", "v")}
    assert values == {"n": INTEGER, "m": INTEGER, "data": POINTER, "v": F64}


ROWS = """
declare noalias ptr @malloc(i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define double @f(ptr %x, i64 %n) {
entry:
  %p = call ptr @malloc(i64 512)
  %q = call ptr @malloc(i64 512)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %i8 = shl nuw nsw i64 %i, 3
  %a0 = getelementptr inbounds nuw double, ptr %p, i64 %i8
  %x0 = getelementptr inbounds nuw double, ptr %x, i64 %i
  %v = load double, ptr %x0
  store double %v, ptr %a0
  %i1 = or disjoint i64 %i8, 1
  %a1 = getelementptr inbounds nuw double, ptr %p, i64 %i1
  %w = fmul double %v, %v
  store double %w, ptr %a1
  %i.next = add nuw nsw i64 %i, 1
  %d = icmp eq i64 %i.next, 4
  br i1 %d, label %end, label %loop
end:
  %s = getelementptr nuw i8, ptr %p, i64 8
  call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %s, i64 8, i1 false)
  %s1 = getelementptr nuw i8, ptr %p, i64 72
  %q1 = getelementptr nuw i8, ptr %q, i64 64
  call void @llvm.memcpy.p0.p0.i64(ptr %q1, ptr %s1, i64 8, i1 false)
  br label %sum
sum:
  %j = phi i64 [ 0, %end ], [ %j.next, %sum ]
  %t = phi double [ 0.0, %end ], [ %t.next, %sum ]
  %j8 = shl nuw nsw i64 %j, 3
  %b = getelementptr inbounds nuw double, ptr %q, i64 %j8
  %bv = load double, ptr %b
  %t.next = fadd double %t, %bv
  %j.next = add nuw nsw i64 %j, 1
  %d2 = icmp eq i64 %j.next, 2
  br i1 %d2, label %out, label %sum
out:
  ret double %t.next
}
"""


def test_what_is_copied_and_only_looked_at_as_floats_is_floats(tmp_path: Path) -> None:
    """Every eighth element is copied and read, in steps that prove nothing of any one byte (rows of arrays in JAX)."""
    path = tmp_path / "rows.ll"
    path.write_text(ROWS)
    x = np.linspace(0.3, 1, 4)
    gradient = llgrad.grad(llgrad.load(path, optimize=0).f, wrt="x")(x, 0)
    np.testing.assert_allclose(gradient, [2 * x[0], 2 * x[1], 0, 0], rtol=1e-14)


@pytest.mark.parametrize("compare", ["scmp", "ucmp"])
def test_what_is_compared_three_ways_is_a_number(compare: str) -> None:
    """(Rust's `cmp`.) Keys of trees of whose floats something else was known were doubted."""
    kinds, f = from_ir(
        f"""define i8 @f(ptr %p) {{
  %n = load i32, ptr %p, align 4
  %c = call i8 @llvm.{compare}.i8.i32(i32 %n, i32 4)
  ret i8 %c
}}

declare i8 @llvm.{compare}.i8.i32(i32, i32)
""",
        "f",
    )
    assert kinds.value(first_load(f)) is INTEGER


DISAGREEING = {
    "union": """#include <string.h>
typedef union { double d; long n; } both;
static void number(both *b, int n) { for (int i = 0; i < n; i++) b[i].n = i * 7; }
static double value(both *b, int n) { return b[n].d * 2; }
double f(both *b, void *to, int n) { number(b, n); memcpy(to, b, 8 * n); return value(b, n); }
""",
    "memory used again": """#include <string.h>
void *malloc(unsigned long);
static void number(long *w, int n) { for (int i = 0; i < n; i++) w[i] = i * 7; }
static void fill(double *w, const double *x, int n) { for (int i = 0; i < n; i++) w[i] = x[i] * x[i]; }
double f(const double *x, void *to, int n) {
  long *w = malloc(8 * n); number(w, n); fill((double *)w, x, n); memcpy(to, w, 8 * n); return x[1] * w[n]; }
""",
    "copied bits": """#include <string.h>
static long low(void *p) { return ((long *)p)[1] & 255; }
static void fill(void *to, double x) { ((double *)to)[1] = x * x; }
double f(double x, char *to, char *other) { fill(to, x); memcpy(other, to, 16); return low(other) * x; }
""",
    "struct": """#include <string.h>
struct point { double x, y; }; struct cell { long id; double y; };
static double from_point(struct point *p) { return p->x * p->y; }
static long from_cell(struct cell *c) { return c->id * 5 + 1; }
double f(struct point *p, char *to) { memcpy(to, p, 16); return from_point(p) * from_cell((struct cell *)to); }
""",
    "callback": """#include <string.h>
struct a { double scale; double k; }; struct b { long count; double k; };
static double with_a(double x, void *c) { struct a *p = c; return x * p->scale * p->k; }
static double with_b(double x, void *c) { struct b *p = c; return x * p->k * (p->count + 1); }
double apply(double (*g)(double, void *), double x, void *c, void *to) { memcpy(to, c, 16); return g(x, to); }
double f(double x, void *to, int n, struct a *a, struct b *b) {
  return apply(n > 2 ? with_a : with_b, x, n > 2 ? (void *)a : (void *)b, to); }
""",
    "two formats": """#include <string.h>
void *malloc(unsigned long);
static float single(char *p) { return ((float *)p)[0] * 2; }
static double whole(char *p) { return ((double *)p)[0] * 2; }
double f(char *to, char *from) { memcpy(to, from, 16); return single(from) * whole(to); }
""",
}
NAMED = {
    "union": ("double", "4:.* in value", "integer", "3:.* in number"),
    "memory used again": ("double", "4.* in fill", "integer", "(?:3:.* in number|6:.* in f)"),
    "copied bits": ("double", "3:.* in fill", "integer", "2:.* in low"),
    "struct": ("double", "3:.* in from_point", "integer", "4:.* in from_cell"),
    "callback": ("double", "3:.* in with_a", "integer", "4:.* in with_b"),
    "two formats": ("(?:double|float)", "[34]:.* in (?:whole|single)") * 2,
}


def disagreement(source: str, flags: str) -> KindError:
    kinds, _ = kinds_of(source, "f", flags)
    for copy in (c for g in kinds.functions for c in copies(g)):
        kind = next(((o, k, n) for o, k, n in kinds.access(copy).leaves if k is CONFLICT), None)
        if kind is not None:
            return kinds.error(copy, *kind)
    raise AssertionError(f"nothing disagrees at {flags}")


@pytest.mark.parametrize("flags", ["-O0 -g", "-O2 -g"])
@pytest.mark.parametrize("name", DISAGREEING)
def test_an_error_names_the_accesses_that_disagree(name: str, flags: str) -> None:
    error = disagreement(DISAGREEING[name], flags)
    first, where, second, there = NAMED[name]
    told = (rf"an? {kind} is [\w ]+ at <stdin>:{place}" for kind, place in ((first, where), (second, there)))
    assert re.match(rf"{', '.join(told)}: a union", error.cause)
    assert error.span is not None and error.span.line


@pytest.mark.parametrize("flags", TBAA)
@pytest.mark.parametrize("name", DISAGREEING)
def test_without_debug_info_an_error_names_the_functions_that_disagree(name: str, flags: str) -> None:
    cause = disagreement(DISAGREEING[name], flags).cause
    assert re.search(r"is [\w ]+ at - in \w+, an? \w+ is [\w ]+ at - in \w+: a union", cause)


def test_arguments_are_named_as_in_the_source() -> None:
    """LLVM's own name of a parameter is the same in many functions; the error's function decides."""
    source = """
    double g(const double *a, double b) { return a[0] * b; }
    double f(long number, const double *x) { double d; __builtin_memcpy(&d, &number, 8); return d * x[0] * g(x, d); }
    """
    text = re.sub(r"%(number|a)\b", "%arg", ir(source, "-O1 -g"))
    kinds, f = from_ir(text, "f")
    error = kinds.error(f.arguments[0], 0, CONFLICT, 8)
    assert error.message.startswith("bytes 0 to 7 of argument number in f are used")


def test_what_a_function_gives_back_of_one_caller_is_not_seen_by_another() -> None:
    """A call of a function that returns an argument is that argument, and nothing that other callers pass."""
    text = HEAD + """
define internal ptr @same(ptr %count, ptr returned %p) noinline {
  %n = load i64, ptr %count
  %m = add i64 %n, 1
  store i64 %m, ptr %count
  ret ptr %p
}
define double @f(ptr %floats, ptr %numbers, ptr %count) {
  %a = call ptr @same(ptr %count, ptr %floats)
  %b = call ptr @same(ptr %count, ptr %numbers)
  %x = load double, ptr %a
  %n = load i64, ptr %b
  %m = add i64 %n, 1
  store i64 %m, ptr %b
  %y = sitofp i64 %m to double
  %z = fmul double %x, %y
  ret double %z
}
"""
    kinds, f = from_ir(text, "f")
    assert [kinds.memory(a, 8).at for a in f.arguments] == [{0: F64}, {0: INTEGER}, {0: INTEGER}]
