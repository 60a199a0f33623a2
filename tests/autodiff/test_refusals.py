"""What cannot be differentiated correctly is refused, with its place in the source, a cause and a way out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from deriving import FILE, derived, prepared, request
from refusal_cases import BOTH, CASES, Case

from llgrad import errors, llvm
from llgrad.analysis.layout.debug_info import argument_name, say_in_source
from llgrad.autodiff.requests.request import Mode
from llgrad.errors import LlgradError, UnsupportedError
from llgrad.ir.parse import parse
from llgrad.ir.values import Instruction
from llgrad.ir.write import write
from llgrad.programs import derivatives

PLACES = [(case, mode) for case in CASES for mode in case.modes]


@pytest.mark.parametrize(("case", "mode"), PLACES, ids=[f"{c.name}-{m}" for c, m in PLACES])
def test_refused(case: Case, mode: Mode) -> None:
    text = prepared(case.source, level=case.level, flags=case.flags)
    with pytest.raises(LlgradError) as caught:
        derived(text, mode, case.letters)
    error = caught.value
    assert type(error) is getattr(errors, case.error)
    assert case.says in error.message
    assert error.cause and error.fix
    assert case.fix in error.fix
    assert error.span is not None
    assert (Path(error.span.file).name, error.span.line) == (FILE, case.line)
    assert error.span.column > 0


# What looks alike and is right: refusals must not spread.
ALLOWED = {
    "both active": ("ddco", "double f(double *x, double *y, int c) { double *p = c ? x : y; return p[0] * p[1]; }"),
    "both constant": ("ccoco", "double f(double *x, double *y, double z, int c) { return (c ? x : y)[0] * z; }"),
    "counter": ("do", """
typedef struct { double value; int count; } Shared;
double f(Shared *s) { __atomic_fetch_add(&s->count, 1, __ATOMIC_SEQ_CST); return s->value * s->value; }
"""),
    "printed": ("oo", '#include <stdio.h>\ndouble f(double x) { printf("%g", x); return x * x; }'),
    "printed, and another number read": ("oo", """
#include <stdio.h>
#include <stdlib.h>
double f(double x) {
    char text[64], *end;
    snprintf(text, sizeof text, "%g", x);
    puts(text);
    return x * x * strtod("0.5", &end);
}
"""),
    "printed, and a file read": ("oo", """
#include <stdio.h>
double f(double x) {
    double y = 1;
    FILE *h = fopen("numbers", "r");
    if (h && fscanf(h, "%lf", &y) != 1) y = 2;
    printf("%g", x);
    fprintf(stderr, "%g", x * y);
    return x * x * y;
}
"""),
    "barrier": ("oo", 'double f(double x) { __asm__ volatile("" : : : "memory"); return x * x; }'),
    "inactive pointer call": ("coco", """
typedef int (*choose)(int);
double f(choose g, double x, int n) { return g(n) > 2 ? x * x : x; }
"""),
    "output that is never read": ("dco", """
double f(const double *x, double *seen) { seen[0] = x[0]; return x[0] * x[1]; }
"""),
    "table of functions": ("oco", """
static double twice(double x) { return 2 * x; }
static double cube(double x) { return x * x * x; }
static double (*const table[])(double) = {twice, cube};
double f(double x, int n) { return table[n & 1](x); }
"""),
    "rounded": ("oo", "double f(double x) { int n = (int)x; return n * x; }"),
    "moved as bits": ("oo", """
#include <string.h>
double f(double x) { unsigned long u; memcpy(&u, &x, 8); double d; memcpy(&d, &u, 8); return d * d; }
"""),
    "integers beside floats, moved": ("do", """
struct both { int ids[4]; double v[2]; };
static void move(int *to, const int *from, int n) { for (int i = 0; i < n; i++) to[i] = from[i]; }
double f(const double *x) {
    struct both a = {{1, 2, 3, 4}, {x[0], x[1]}}, b = {{0}, {x[1], 1}};
    move(b.ids, a.ids, 4);
    return a.v[0] * b.v[0] * a.v[b.ids[0] & 1];
}
"""),
    "leaves the program": ("oo", "#include <stdlib.h>\ndouble f(double x) { if (x > 4) exit(1); return x * x; }"),
}  # fmt: skip


@pytest.mark.parametrize("mode", BOTH)
@pytest.mark.parametrize("name", ALLOWED)
def test_allowed(name: str, mode: Mode) -> None:
    letters, source = ALLOWED[name]
    llvm.verified(write(derived(prepared(source), mode, letters)))


TWO_FORMATS = {
    "a float and a double by turns": ("doo", """
struct either { int single; union { double d; float f; }; };
static double read(struct either *e) { double v; if (e->single) v = e->f; else v = e->d; return v; }
double f(const double *x, float y) {
    struct either e[2];
    for (int i = 0; i < 2; i++)
        if (i) e[i].f = y, e[i].single = 1;
        else e[i].d = x[i], e[i].single = 0;
    return read(e) * read(e + 1);
}
"""),
    "floats moved, doubles beside them": ("ddo", """
struct both { float v[2]; double w; };
static void move(float *to, const float *from, int n) { for (int i = 0; i < n; i++) to[i] = from[i]; }
double f(const float *x, const double *y) {
    struct both a = {{x[0], x[1]}, y[0]}, b;
    move(b.v, a.v, 2);
    b.w = a.w;
    return b.v[0] * b.w * b.v[1];
}
"""),
}  # fmt: skip


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("name", TWO_FORMATS)
def test_floats_of_two_formats_are_no_pieces(name: str, level: int) -> None:
    letters, source = TWO_FORMATS[name]
    text = prepared(source, level=level, flags=("-fno-strict-aliasing",))
    llvm.verified(write(derived(text, Mode.COMBINED, letters)))


def test_computed_goto_into_loops() -> None:
    """`goto *p` makes loops without a preheader; it becomes a switch first (`programs/computed_goto.c`)."""
    source = """
double f(double x, int n) {
    static void *const t[] = {&&a, &&b, &&c};
  a: x = x * x;
    goto *t[n++ % 3];
  b: x = x + 1;
    goto *t[n++ % 3];
  c: return x;
}
"""
    text = prepared(source)
    assert "indirectbr" not in text
    llvm.verified(write(derived(text, Mode.COMBINED, "oco")))


# Bits of floats under names of integers, in unoptimised IR, where the types of accesses (TBAA) say "integer".
PUNNED = {
    "half of a word": ("do", """
float f(float *x) {
    unsigned long v;
    __builtin_memcpy(&v, x, 8);
    unsigned u = v >> 32;
    float d;
    __builtin_memcpy(&d, &u, 4);
    return d * d;
}
"""),
    "carried by an integer parameter": ("do", """
__attribute__((noinline)) static double g(long v) { double d; __builtin_memcpy(&d, &v, 8); return d * d; }
double f(double *x) { long v; __builtin_memcpy(&v, x, 8); return g(v); }
"""),
    "address changed and restored": ("dco", """
double f(double *x, unsigned long key) {
    unsigned long p = (unsigned long)x ^ key;
    double *q = (double *)(p ^ key);
    return q[0] * q[0];
}
"""),
    "largest, compared as integers": ("dco", """
#include <string.h>
double f(const double *x, int n) {
    long m = 0;
    for (int i = 0; i < n; i++) { long u; memcpy(&u, x + i, 8); if (u > m) m = u; }
    double d;
    memcpy(&d, &m, 8);
    return d * d;
}
"""),
    "swapped in halves": ("dco", """
#include <string.h>
__attribute__((noinline)) static void swapped(unsigned *p, unsigned *q) {
    unsigned t = *p; *p = *q; *q = t;
    t = p[1]; p[1] = q[1]; q[1] = t;
}
double f(const double *x, int n) {
    double a[8], s = 0;
    memcpy(a, x, 8 * n);
    swapped((unsigned *)a, (unsigned *)(a + 1));
    for (int i = 0; i < n; i++) s += a[i] * (i + 1);
    return s;
}
"""),
    "static integers": ("do", """
#include <string.h>
static long cell[4];
__attribute__((noinline)) static void put(const double *x) { memcpy(cell, x, 32); }
__attribute__((noinline)) static long get(int i) { return cell[i]; }
double f(const double *x) { put(x); long l = get(2); double d; memcpy(&d, &l, 8); return d * d; }
"""),
}  # fmt: skip


@pytest.mark.parametrize("mode", BOTH)
@pytest.mark.parametrize("name", PUNNED)
def test_punned_bits_are_never_a_silent_zero(name: str, mode: Mode) -> None:
    letters, source = PUNNED[name]
    try:
        module = derived(prepared(source, level=0), mode, letters)
    except LlgradError:
        return
    whole = llvm.verified(write(module))
    whole.optimise(2, vectorize=False, unroll=False)
    bodies = re.findall(rf"^define [^\n]*@llgrad\.{mode}\..*?^}}", whole.text(), re.MULTILINE | re.DOTALL)
    assert any("fmul" in body or "fadd" in body for body in bodies)


@pytest.mark.parametrize("mode", BOTH)
@pytest.mark.parametrize("level", [0, 1, 2])
def test_what_is_read_as_an_integer_is_never_a_silent_zero(level: int, mode: Mode) -> None:
    """Undefined in C: TBAA says that `long` is read, and then its bits are a double's."""
    source = """
#include <string.h>
double f(const double *x, int n) {
    long m = 0;
    for (int i = 0; i < n; i++) { long u = ((const long *)x)[i]; if (u > m) m = u; }
    double d;
    memcpy(&d, &m, 8);
    return d * d;
}
"""
    try:  # refused where bits are changed (LLVM makes a `smax` of it); else it is the largest squared
        module = derived(prepared(source, level=level), mode, "dco")
    except UnsupportedError:
        return
    bodies = re.findall(rf"^define [^\n]*@llgrad\.{mode}\..*?^}}", write(module), re.MULTILINE | re.DOTALL)
    assert level == 0 and any("fmul" in body for body in bodies)


READ_AS_UNSIGNED = {
    "of an array": """
static double read(const unsigned *p) { return p[0]; }
double f(const double *x, int n) {
    float y[4];
    double s = 0;
    for (int i = 0; i < 4; i++) y[i] = (float)x[i];
    for (int i = 0; i < n; i++) s += read((unsigned *)(y + i));
    return s;
}
""",
    "of memory that a struct points to": """
#include <stdlib.h>
struct holder { float *v; };
static double get(struct holder *p, int k) { return ((unsigned *)p->v)[k]; }
double f(const double *x, int n) {
    struct holder a = {malloc(4 * sizeof(float))};
    double s = 0;
    for (int i = 0; i < 4; i++) a.v[i] = (float)x[i];
    for (int i = 0; i < n; i++) s += get(&a, i);
    free(a.v);
    return s;
}
""",
}


@pytest.mark.parametrize("name", READ_AS_UNSIGNED)
def test_declared_integers_do_not_hide_floats(name: str) -> None:
    """Where accesses have no declared type, a variable's declaration does not make a float's bits a number."""
    for level in (0, 1):
        text = prepared(READ_AS_UNSIGNED[name], level=level, flags=("-fno-strict-aliasing",))
        with pytest.raises(LlgradError, match="uitofp"):
            derived(text, Mode.FORWARD, "dco")


TURNED = """
define internal void @turned(ptr %to, ptr %from) noinline {
entry:
  %pair = load i128, ptr %from, align 8
  %high = lshr i128 %pair, 64
  %low = shl i128 %pair, 64
  %turned = or i128 %high, %low
  store i128 %turned, ptr %to, align 8
  ret void
}

define double @f(ptr %x) {
entry:
  %from = alloca [2 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %first = load double, ptr %x
  %square = fmul double %first, %first
  store double %square, ptr %from
  %next = getelementptr double, ptr %x, i64 1
  store ptr %next, ptr %second
  call void @turned(ptr %to, ptr %from)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}
"""


@pytest.mark.parametrize("mode", BOTH)
def test_a_float_and_a_pointer_in_one_integer(mode: Mode) -> None:
    with pytest.raises(errors.KindError, match="both as a float and as something else"):
        derived(TURNED, mode, "do")


# Refusals that no instruction is the place of, or one that LLVM has given no line: the function's line then, at least.
PLACED = {
    "a table that threads have apart": ("dco", 2, """
static _Thread_local double table[4];
double f(double *x, int n) {
    for (int i = 0; i < 4; i++) table[i] = x[i] * x[i];
    double s = 0;
    for (int i = 0; i < n; i++) s += table[i];
    return s;
}
"""),
    "a parameter of which nothing is known": ("ddcc", 0, """
void f(char *to, const char *weights, long n) {
    for (long i = 0; i < n; i++) to[i] = weights[i];
    *(double *)to *= 2;
    *(int *)(to + 4) += 1;
}
"""),
    **{name: (letters, level, source) for name, (letters, source) in PUNNED.items() for level in (0,)},
    **{name: ("dco", 1, source) for name, source in READ_AS_UNSIGNED.items()},
}  # fmt: skip


@pytest.mark.parametrize("mode", [Mode.FORWARD, Mode.COMBINED, Mode.AUGMENTED])
@pytest.mark.parametrize("name", PLACED)
def test_every_refusal_has_a_line(name: str, mode: Mode) -> None:
    letters, level, source = PLACED[name]
    try:
        derivatives.derived(prepared(source, level=level), [request(mode, letters)])
    except LlgradError as error:
        assert error.span is not None and Path(error.span.file).name == FILE and error.span.line > 0, error
        assert not re.search(r"%(arg\d*|\d+)\b", error.message), error


def test_places_of_what_has_no_line() -> None:
    """LLVM gives line 0, or no place, to what it has merged or moved."""
    source = "double f(double x) {\n    double y = x * x;\n    return y / 3;\n}\n"
    module = parse(prepared(source))
    first, second, *_ = list(module.function("f").instructions())

    def line(i: Instruction) -> int:
        place = module.place(i)
        assert place is not None
        return place.line

    assert line(second) == 3
    del second.metadata["dbg"]
    assert line(second) == 2  # of the instruction before it
    del first.metadata["dbg"]
    assert line(first) == 3  # of the one after it: the return's
    for i in module.function("f").instructions():
        i.metadata.pop("dbg", None)
    assert line(first) == 1


def test_parameters_are_called_as_in_the_source() -> None:
    source = """
double f(int n, const double *weights) { return n * weights[0]; }
double g(const double *other) { return other[0]; }
"""
    text = re.sub(r"%(weights|other)\b", "%arg1", re.sub(r"%n\b", "%arg", prepared(source)))
    error = UnsupportedError("bytes 0 to 7 of %arg1 and %arg", cause="%arg2 is new")
    say_in_source(error, parse(text), "f")
    assert error.message == error.args[0]
    assert error.message == "bytes 0 to 7 of argument weights and argument n, in the derivative of f"
    assert error.cause == "%arg2 is new" and error.span is not None and error.span.line == 2


def test_refused_calls_name_arguments_as_the_source_does() -> None:
    """Parameters have LLVM's own names where a compiler drops names; each function has its own `arg1`."""
    text = """
__attribute__((noinline)) double g(double *other, double *b) { return other[0] * b[0]; }
double f(double *weights, double *table) { return g(weights, weights) * g(table, weights); }
"""
    module = parse(re.sub(r"%(table|b)\b", "%arg1", prepared(text)))
    for function, name in (("f", "table"), ("g", "b")):
        f = module.function(function)
        assert argument_name(module, f, f.arguments[1]) == name
        error = UnsupportedError(f"argument arg1 of {function} is missing", cause="%arg1")
        say_in_source(error, module, "f")
        assert error.message.startswith(f"argument {name} of {function} is missing")
        assert error.cause == f"argument {name}"
