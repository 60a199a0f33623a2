"""Two versions of a derivative: what functions touch, the test of pointers, and what switching it off changes.

(What the derivatives are where memory overlaps: `tests/programs/overlapping_pointers.c`, and more of `overlaps` in the
slow set.)
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import overlaps
import pytest
from full.switches import switched

import llgrad
from llgrad.analysis.memory.access_ranges import extents
from llgrad.analysis.memory.entry_polynomials import Refused
from llgrad.analysis.memory.entry_values import bounds
from llgrad.analysis.memory.polynomial_bounds import Between, Known, Poly, Unbounded, Writer
from llgrad.api.derivatives import Derivative
from llgrad.api.explain import explain
from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.llvm import Engine, LLVMModule
from llgrad.programs import noalias_versions, program

HEAD = "#include <stdlib.h>\n#include <string.h>\n"


@pytest.fixture
def prepared(source: Callable[..., Path]) -> Callable[[str], str]:
    """The IR of the function f in C code."""
    return lambda code: llgrad.load(source(HEAD + code))._loaded.prepared("f")


def touched(text: str) -> dict[int, tuple[object, object]]:
    """Ranges by position of the argument, of a function whose loops have constant counts."""
    module = parse(text)
    found = extents(module, module.function("f"))
    w = Writer()
    for p, low, high in found.needs:
        w.within(p, low, high)
    return {a.index: t.write(w) for a, t in found.touched.items()}


LOOP = "void f(double *x, double *y) { for (int i = 0; i < 50; i++) "
RANGES = {
    LOOP + "y[i] += x[i + 1] * x[2 * i]; }": [(0, 792), (0, 400)],
    "void f(double *x, double *y) { for (int i = 49; i >= 0; i--) y[49 - i] += x[-i]; }": [(-392, 8), (0, 400)],
    LOOP + "y[i / 3] = y[i % 7] + x[i & 24]; }": [(0, 200), (0, 136)],
    "void f(float *x, char *y) { for (int i = 0; i < 60; i += 3) y[i] = x[i]; }": [(0, 232), (0, 58)],
    LOOP + "for (int j = i + 1; j < 50; j++) y[50 * i + j] *= x[j - i - 1]; }": [(0, 392), (8, 20000)],
    LOOP + "memcpy(x + 8 * i, y + i, 64); }": [(0, 3200), (0, 456)],
    """static __attribute__((noinline)) double at(const double *p, int n) {
         double s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }
       void f(double *x, double *y) { for (int i = 1; i < 33; i++) y[i] = at(x + i, 2 * i); }""": [(8, 768), (8, 264)],
    "void f(double *x, double *y) { for (double *p = x + 2; p < x + 34; p++) y[4] += *p; }": [(16, 272), (32, 40)],
}


@pytest.mark.parametrize("code", RANGES)
def test_ranges(code: str, prepared: Callable[[str], str]) -> None:
    assert touched(prepared(code)) == dict(enumerate(RANGES[code]))


REFUSED = {
    "void f(double *x, int *k) { for (int i = 0; i < 50; i++) x[k[i]] = 1; }": "not known at the entry",
    "void f(double **x, double *y) { for (int i = 0; i < 50; i++) x[i][1] = *y; }": "pointers in memory",
    "double g[50]; void f(double *x, double *y) { for (int i = 0; i < 50; i++) y[i] = g[i] * x[i]; }": "variable g",
    "void h(void); void f(double *x, double *y) { for (int i = 0; i < 50; i++) h(); *x = *y; }": "calls h",
    "void f(double *x, double (*g)(double)) { for (int i = 0; i < 50; i++) x[i] = g(x[i]); }": "through a pointer",
    "void f(double *x, double *y) { for (int i = 0; x[i] > 0; i++) y[i] = x[i]; }": "count",
    "void f(volatile double *x, double *y) { for (int i = 0; i < 50; i++) y[i] = x[i]; }": "volatile",
    """double f(double *x, int n);
       __attribute__((noinline)) static double g(double *x, int n) { return n > 50 ? x[n] + f(x, n) : 0; }
       double f(double *x, int n) { return n ? g(x, n - 1) * x[n] : 1; }""": "calls itself",
}  # fmt: skip


@pytest.mark.parametrize("code", REFUSED)
def test_refused(code: str, prepared: Callable[[str], str]) -> None:
    with pytest.raises((Refused, Unbounded), match=REFUSED[code]):
        touched(prepared(code))


IN_IR = {
    """declare <2 x double> @llvm.masked.gather.v2f64.v2p0(<2 x ptr>, <2 x i1>, <2 x double>)
    define void @f(ptr %x, ptr %y) {
      %a = getelementptr double, ptr %x, <2 x i64> <i64 0, i64 7>
      %m = icmp ne <2 x ptr> %a, zeroinitializer
      %v = call <2 x double> @llvm.masked.gather.v2f64.v2p0(<2 x ptr> %a, <2 x i1> %m, <2 x double> zeroinitializer)
      store <2 x double> %v, ptr %y
      ret void
    }""": "with a pointer of the caller's",
    """define void @f(ptr %x) {
      %a = ptrtoint ptr %x to i64
      %p = inttoptr i64 %a to ptr
      store double 0.0, ptr %p
      ret void
    }""": "pointers in memory",
    """define void @f(ptr %x, ptr %y, i32 %n) {
    entry:
      br label %loop
    loop:
      %p = phi ptr [ %x, %entry ], [ %q, %loop ]
      %i = phi i32 [ 0, %entry ], [ %j, %loop ]
      store double 0.0, ptr %p
      %q = load ptr, ptr %y
      %j = add nsw i32 %i, 1
      %go = icmp slt i32 %j, %n
      br i1 %go, label %loop, label %end
    end:
      ret void
    }""": "pointers in memory",
}


def read(text: str) -> Module:
    return parse(LLVMModule.from_text(text).text())


@pytest.mark.parametrize("text", IN_IR)
def test_refused_in_ir(text: str) -> None:
    module = read(text)
    with pytest.raises(Refused, match=IN_IR[text]):
        extents(module, module.function("f"))


@pytest.mark.parametrize(
    ("flags", "stays", "negative"),
    [("nsw", "slt", (0, 8)), ("", "slt", (0, 8)), ("nsw", "ult", None), ("", "ult", None), ("", "ne", None)],
)
def test_counts_and_what_they_need(flags: str, stays: str, negative: object) -> None:
    """`do x[i] = 0; while (++i < n)`: 3 iterations for 3, one for -1; what would wrap, or run on, fails instead."""
    text = f"""define void @f(ptr %x, i32 %n) {{
    entry:
      br label %loop
    loop:
      %i = phi i32 [ 0, %entry ], [ %j, %loop ]
      %p = getelementptr double, ptr %x, i32 %i
      store double 0.0, ptr %p
      %j = add {flags} i32 %i, 1
      %go = icmp {stays} i32 %j, %n
      br i1 %go, label %loop, label %end
    end:
      ret void
    }}"""
    assert (range_for(text, 3), range_for(text, -1)) == ((0, 24), negative)


def range_for(text: str, n: int) -> object:
    """The range of the first argument where the second is `n`; None where the extents do not hold."""
    module = read(text)
    found = extents(module, module.function("f"))
    [touched] = found.touched.values()
    for p in (*(p for p, _, _ in found.needs), *(p for pair in touched.ranges for p in pair)):
        for x in known(p):
            x.write = lambda _: n
    w = Writer()
    try:
        for p, low, high in found.needs:
            w.within(p, low, high)
        return touched.write(w)
    except Unbounded:
        return None


def known(p: Poly) -> set[Known]:
    """The numbers that a polynomial and its bounds are made of."""
    found: set[Known] = set()
    for x in {x for m in p.terms for x in m}:
        more = {x} if isinstance(x, Known) else {y for q in (x.low, x.high) if q is not None for y in known(q)}
        found |= more
    return found


def test_bounds_of_polynomials() -> None:
    """j < i < n: i * n + j lies between n and n² - 1; what is not known has no bound; overflow is seen."""
    n, w = Known(lambda _: 10), Writer()
    i = Between(Poly.of(1), Poly.of(n) - 1, met=True)
    j = Between(Poly.of(0), Poly.of(i) - 1, met=True)
    p = Poly.of(i) * Poly.of(n) + Poly.of(j)
    assert (w.least(p), w.most(p)) == (10, 98)
    assert (w.least(Poly.of(i) - Poly.of(j)), w.most(Poly.of(i) * Poly.of(j))) == (1, 72)
    with pytest.raises(Unbounded):
        w.most(Poly.of(Between(Poly.of(0), None)))
    with pytest.raises(Unbounded):
        w.most(Poly.of(1 << 62) * 4)
    huge = Writer()
    huge.most(Poly.of(Known(lambda _: "%n")) * 8)
    assert huge.failed()


def _named(name: str) -> Known:
    return Known(lambda _: name)


def test_numbers_that_do_not_fit() -> None:
    """What is written is right, or it is said to have failed; for what arrays are indexed with, it does not fail."""
    n, m, k = (_named(name) for name in ("%n", "%m", "%k"))
    i = Between(Poly.of(0), Poly.of(m) - 1)
    w = Writer()
    shown = [
        w.most(Poly.of(n) * Poly.of(i) * 8 + Poly.of(k) * 16 - 5),
        w.least(Poly.of(i) * Poly.of(k) - Poly.of(n) * 3),
        w.quotient(w.value(Poly.of(n) * Poly.of(m) + Poly.of(k)), 3),
        w.shifted(w.smaller(w.value(Poly.of(k) * -24), w.value(Poly.of(n) - Poly.of(m))), 2),
    ]
    failed = "false"
    for name in w.failed():
        failed = w.emit(f"or i1 {failed}, {name}")
    stores = [f"store i64 {v}, ptr %o{x}" for x, v in enumerate(shown)]
    stores = [f"%o{x} = getelementptr i64, ptr %out, i64 {x}\n{line}" for x, line in enumerate(stores)]
    body = "\n".join([*w.lines, *stores, f"ret i1 {failed}"])
    text = f"{noalias_versions.INTRINSICS}define i1 @f(i64 %n, i64 %m, i64 %k, ptr %out) {{\n{body}\n}}\n"
    engine = Engine([LLVMModule.from_text(text)])
    run = ctypes.CFUNCTYPE(ctypes.c_bool, *[ctypes.c_int64] * 3, ctypes.c_void_p)(engine.address("f"))
    out, failures = (ctypes.c_int64 * 4)(), 0
    some = [0, 1, -1, 7, -300, 10**6, 2**31 - 1, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63)]
    for a, b, c in itertools.product(some, repeat=3):
        failed_here = run(a, b, c, out)
        last = max(b - 1, 0)
        above, below = max(8 * a, 0) * last, min(8 * a, 0) * last
        right = [
            max(above, below) + 16 * c - 5,
            min(c, 0) * last - 3 * a,
            int(abs(a * b + c) // 3 * (1 if a * b + c >= 0 else -1)),
            min(-24 * c, a - b) >> 2,
        ]
        failures += failed_here
        assert failed_here or list(out) == right
        assert not failed_here or max(map(abs, (a, b, c, a * b, b * c))) >= 2**53
    assert 0 < failures < len(some) ** 3


NORM = """void f(int n, double *x, double *y) {
    for (int i = 0; i < n; i++) { double s = 0; for (int j = 0; j < n; j++) s += x[j] * x[j]; y[i] = x[i] / s; } }
"""


def asked(*acts: Act, **more: Any) -> Request:
    return Request("f", Mode.COMBINED, acts, Act.CONST, **more)


def test_what_is_compared(prepared: Callable[[str], str]) -> None:
    """Primals of which one is written, unless the source says `restrict`; shadows of each lane."""
    text = prepared(NORM)
    dup = (Act.CONST, Act.DUP, Act.DUP)

    def tests(request: Request, given: str = text) -> int | str:
        found = noalias_versions.versions(given, request, 2)
        return found.tests if isinstance(found, noalias_versions.Versions) else found

    assert tests(asked(*dup)) == 2
    assert tests(asked(*dup, width=3)) == 1 + 15
    assert tests(asked(Act.CONST, Act.DUP, Act.CONST)) == 1
    assert tests(asked(Act.CONST, Act.DUP, Act.DUPNONEED)) == 2
    assert "in the way" in str(tests(asked(*dup), prepared(NORM.replace("*y", "*restrict y"))))
    for other in (asked(*dup, runtime_activity=True), asked(*dup, disjoint=True)):
        assert str(tests(other)).startswith("one version")
    straight = "void f(int n, double *x, double *y) { x[0] = y[0] * n; x[1] = y[1] * y[0]; }"
    assert "in the way" in str(tests(asked(*dup), prepared(straight)))


BEHIND = """#include <math.h>
struct net { int w; double *a, *b; const int *at; struct net *more; };
void f(struct net *s, int n) {
    for (int t = 0; t < n; t++)
        for (int i = 0; i < s->w; i++) { s->b[i] = sin(s->b[i]) * s->a[s->at[t] * s->w + i]; } }
"""
NOT_AHEAD = {
    "s->b[i] = sin(s->b[i])": ("s->at = s->at + 1; s->b[i] = sin(s->b[i])", "pointers in memory"),  # it is changed
    "i < s->w": ("s->b[i] > 0", "pointers in memory"),
    "s->at[t]": ("s->at[s->at[t]]", "not known at the entry"),  # of which no load reads all
    "for (int t = 0": ("if (s->w > 9) exit(1);\n    for (int t = 0", "one pointer"),  # it need not come back
    "s->a[": ("s->more[t].a[", "pointers in memory"),
}


@pytest.mark.parametrize("change", [None, *NOT_AHEAD])
def test_pointers_sizes_and_indices_in_memory(change: str | None, prepared: Callable[[str], str]) -> None:
    """What the function does not change is read before it: three pointers, a size, the bounds of what `at` holds."""
    code = BEHIND if change is None else BEHIND.replace(change, NOT_AHEAD[change][0])
    found = noalias_versions.versions(prepared(code), asked(Act.DUP, Act.CONST), 2)
    if change is not None:
        assert isinstance(found, str) and NOT_AHEAD[change][1] in found
        return
    assert isinstance(found, noalias_versions.Versions)
    assert found.request.arguments == (Act.DUP, Act.CONST, Act.DUP, Act.DUP, Act.DUP)
    lines = "\n".join(found.prelude.lines)
    assert lines.count("load ptr") == 6 and lines.count("load i32") == 1 and "@llgrad.bounds.i32(" in lines
    assert lines.index("icmp sgt i32 %p1, 0") < lines.index("load ptr")  # nothing is read where no iteration runs


def test_bounds_of_what_memory_holds() -> None:
    """The helper that the test calls, beside NumPy, of nests of one and of two loops."""
    text = noalias_versions.INTRINSICS + "".join(bounds(bits) for bits in (8, 32, 64))
    engine = Engine([LLVMModule.from_text(text + BOUNDED)])
    rng = np.random.default_rng(1)
    for bits in (8, 32, 64):
        ends, size = np.iinfo(f"i{bits // 8}"), bits // 8
        cells = rng.integers(ends.min, ends.max, 60, dtype=f"i{size}", endpoint=True)
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 4, ctypes.c_void_p)(
            engine.address(f"b{bits}")
        )
        for n, s, m, t in [(0, 1, 0, 0), (6, 1, 0, 0), (4, 2, 2, 12), (9, -1, 2, 7)]:
            out, first = (ctypes.c_int64 * 2)(), 20
            run(cells[first:].ctypes.data, n, s * size, m, t * size, out)
            seen = [cells[first + i * s + j * t] for i in range(n + 1) for j in range(m + 1)]
            assert list(out) == [min(seen), max(seen)]


BOUNDED = "".join(
    f"""define void @b{bits}(ptr %p, i64 %n, i64 %s, i64 %m, i64 %t, ptr %out) {{
  %r = call {{ i64, i64 }} @llgrad.bounds.i{bits}(ptr %p, i64 %n, i64 %s, i64 %m, i64 %t)
  store {{ i64, i64 }} %r, ptr %out
  ret void
}}
"""
    for bits in (8, 32, 64)
)


def test_what_rarely_runs_costs_little(prepared: Callable[[str], str]) -> None:
    """The version for memory that overlaps stays apart and small; the other is taken in where the test is."""
    made = noalias_versions.dispatched(prepared(NORM), asked(Act.CONST, Act.DUP, Act.DUP), 2)
    module = parse(made.text)
    slow = module.function(made.symbol.removesuffix(".either"))
    fast = module.function(f"{slow.name}.d")
    assert all(slow.attribute(name) for name in ("noinline", "optsize", "cold"))
    assert fast.attribute("alwaysinline") and not fast.attribute("optsize")
    assert module.function(f"{made.symbol}.test").attribute("noimplicitfloat")


def test_explained(source: Callable[..., Path]) -> None:
    gather = "void g(double *x, double *y, int *k) { for (int i = 0; i < 99; i++) y[k[k[i]]] = x[i]; }"
    lib = llgrad.load(source(NORM + gather))
    asked = [Derivative(lib[name], Mode.COMBINED, ("x",), "y", "grad", compile=False) for name in "fg"]
    said = [explain(derivative).versions for derivative in asked]
    assert said[0].startswith("two versions, of which 2 tests")
    assert "cannot be tested, because addresses in argument 2" in said[1]


HOISTED = """
#include <math.h>
static __attribute__((noinline)) double norm(int n, const double *x, const double *w) {
    double s = 0; for (int i = 0; i < n; i++) s += w[i] * x[i] * x[i]; return sqrt(s); }
void f(int n, const double *x, const double *w, double *y) { for (int i = 0; i < n; i++) y[i] = x[i] / norm(n, x, w); }
"""


@pytest.mark.parametrize("switch", [None, "no_promise"])
def test_what_python_has_seen_to_be_apart(switch: str | None, source: Callable[..., Path]) -> None:
    """The norm leaves the loop, and its tape is gone; arrays that overlap get the other derivative."""
    n, rng = 30, np.random.default_rng(0)
    x, w, y, seed = (rng.uniform(0.5, 1.5, n) for _ in range(4))
    with switched(switch):
        lib = llgrad.load(source(HOISTED))
        derivative = llgrad.vjp(lib.f, wrt="x", of="y")
        _, found = derivative(n, x, w, y, seed=seed)
        tape = derivative.tape_bytes
        _, shared = derivative(n, x, x, y, seed=seed)
    norm, cubed = np.sqrt(w @ x**2), np.sqrt(x @ x**2)
    np.testing.assert_allclose(found, seed / norm - w * x * (seed @ x) / norm**3, rtol=1e-12)
    np.testing.assert_allclose(shared, seed / cubed - x * x * (seed @ x) / cubed**3, rtol=1e-12)
    assert (tape < 8 * n) == (switch is None)


@pytest.mark.parametrize("switch", [None, "one_version"])
def test_switch_does_something(switch: str | None, source: Callable[..., Path]) -> None:
    """The norm leaves the loop in the version for pointers that are apart."""
    ask = "void __enzyme_autodiff(void *, ...);\n" + NORM
    ask += "void g(int n, double *x, double *d, double *y, double *e) { __enzyme_autodiff((void *)f, n, x, d, y, e); }"
    whole = overlaps.assembly(source(ask))
    with switched(switch):
        text = program.optimise_program(program.read_ir(whole), 2).text()
    assert ("with.overflow" in text or "llvm.smax" in text) == (switch is None)


def test_overlapping_calls() -> None:
    """Random functions, called with memory that overlaps, in one version and in two."""
    found = overlaps.Found()
    assert overlaps.checked([1, 4, 8], found) == []
    assert found.held > 8


@pytest.mark.full
@pytest.mark.parametrize("start", range(1000, 1200, 20))
def test_more_overlapping_calls(start: int) -> None:
    assert overlaps.checked(list(range(start, start + 20)), overlaps.Found()) == []
