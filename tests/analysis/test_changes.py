"""What may change what was read: later writes, those of callers, frames that are gone, releases."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from compiled import c, ll, loads, named, short
from work import calls

from llgrad.analysis.memory.alias import Overlaps
from llgrad.analysis.memory.clobbers import Changes
from llgrad.analysis.memory.mod_ref import analyse
from llgrad.analysis.valueflow.partial_float_copies import made_of_others, pieces
from llgrad.ir.module import Module
from llgrad.ir.types import FloatType
from llgrad.ir.values import AnyValue, Function, Instruction


def of(module: Module, root: str, **options: Any) -> tuple[Changes, Function]:
    function = module.function(root)
    return Changes(analyse(module, function, **options)), function


def overwritten(changes: Changes, reader: Instruction, **how: Any) -> bool:
    return changes.overwritten_after(reader, **how)


def test_writes_before_and_after_and_around_the_back_edge() -> None:
    changes, f = of(ll("""
        define double @f(ptr %x, ptr noalias %y, i64 %n) {
        entry:
          %first = load double, ptr %y
          store double 1.0, ptr %y
          %second = load double, ptr %y
          br label %loop
        loop:
          %i = phi i64 [ 0, %entry ], [ %j, %loop ]
          %p = getelementptr double, ptr %x, i64 %i
          %v = load double, ptr %p
          %w = load double, ptr %y
          %u = fmul double %v, %w
          store double %u, ptr %p
          %j = add i64 %i, 1
          %c = icmp eq i64 %j, %n
          br i1 %c, label %end, label %loop
        end:
          %last = load double, ptr %x
          ret double %last
        }"""), "f")
    expected = {"first": True, "second": False, "v": True, "w": False, "last": False}
    assert {name: overwritten(changes, named(f, name)) for name in expected} == expected
    assert overwritten(changes, named(f, "last"), returns_to=True)


def test_shifted_reads_in_a_loop_are_overwritten() -> None:
    changes, f = of(c("""void f(double *x, int n) { for (int i = 1; i < n; i++) x[i] = x[i - 1] * x[i - 1]; }"""), "f")
    assert all(overwritten(changes, i) for i in loads(f, "double"))


def test_reading_one_array_and_writing_another() -> None:
    source = "void f(double *{0}x, double *{0}y, int n) {{ for (int i = 0; i < n; i++) y[i] = x[i] * x[i]; }}"
    for word, expected in (("", True), ("restrict ", False)):
        changes, f = of(c(source.format(word)), "f")
        assert overwritten(changes, loads(f, "double")[0]) is expected
    changes, f = of(c(source.format("")), "f", distinct_arguments=True)
    assert not overwritten(changes, loads(f, "double")[0])


def test_members_of_elements_are_apart() -> None:
    """Stores to other members overwrite nothing; those by a flat index, of more than a member or by bytes may."""
    source = """
        struct body {{ double place[2], mass, load; }};
        double f(struct body *b, long n, long k, double *restrict flat) {{
            double sum = 0;
            for (long i = 0; i < n; i++)
                for (long j = 0; j < i; j++) {{ sum += b[j].mass; {0}; }}
            return sum;
        }}"""
    writes = {
        "b[i].place[1] = sum": False, "b[i].place[k] = sum": True,
        "b[n - i].load = b[j].place[0] = sum": False, "b[i].mass = sum": True,
        "((double *)b)[4 * i + 3] = sum": False, "((double *)b)[2 * i + 1] = sum": False,
        "((double *)b)[2 * i] = sum": True, "((double *)b)[k] = sum": True, "((double *)b)[6 * i + 1] = sum": False,
        "((double *)b)[6 * i] = sum": True, "__builtin_memcpy(b + i, flat, 16)": False,
        "__builtin_memcpy(b + i, flat, 24)": True, "__builtin_memcpy(&b[i].load, flat, 24)": False,
        "__builtin_memcpy(&b[i].load, flat, 32)": True, "__builtin_memset(b + i, 0, k)": True,
        "*(double *)((char *)b + 32 * i + 12) = sum": True, "*(double *)((char *)b + k) = sum": True,
    }  # fmt: skip
    for write, expected in writes.items():
        changes, f = of(c(source.format(write)), "f")
        (read,) = (i for i in loads(f, "double") if {at for _, at in changes.memory.places(i.pointer)} == {(32, 16)})
        assert overwritten(changes, read) is expected, write


CALLEE = """
    static double buffer[4];
    double __attribute__((noinline)) get(double *p, const double *q) { return p[0] * q[0]; }
    void __attribute__((noinline)) set(double *p) { p[0] = 2; }
    double f(double *restrict x, double *restrict y) { %s }
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("double r = get(x, y); set(y); return r;", [False, True]),
        ("set(y); return get(x, y);", [False, False]),
        ("double r = get(x, y); set(x); return r;", [True, False]),
        ("double r = 0; for (int i = 0; i < 9; i++) { set(x); r += get(x, y); } return r;", [True, False]),
        ("double s[1] = {x[0]}; double r = get(s, y); return r;", [True, False]),  # the lifetime of s ends
    ],
)
def test_callers_overwrite_what_callees_read(body: str, expected: list[bool]) -> None:
    module = c(CALLEE % body)
    changes, _ = of(module, "f")
    assert [overwritten(changes, i) for i in loads(module.function("get"), "double")] == expected


def test_frames_of_callees_are_gone() -> None:
    changes, _ = of(ll(FRAME), "f")
    module = changes.memory.module
    assert overwritten(changes, named(module.function("g"), "v"))
    alone, g = of(ll(FRAME), "g")
    assert not overwritten(alone, named(g, "v"))
    assert overwritten(alone, named(g, "v"), returns_to=True)


FRAME = """
    define double @g(double %x) {
      %s = alloca double
      store double %x, ptr %s
      %v = load double, ptr %s
      ret double %v
    }
    define double @f(double %x) {
      %r = call double @g(double %x)
      ret double %r
    }
"""


def test_frees_lifetimes_and_volatile_loads() -> None:
    changes, f = of(ll("""
        declare noalias ptr @malloc(i64)
        declare void @free(ptr)
        declare void @llvm.lifetime.end.p0(ptr)
        define double @f(ptr %x) {
          %s = alloca double
          %h = call ptr @malloc(i64 16)
          %vs = load double, ptr %s
          %vh = load double, ptr %h
          %vx = load double, ptr %x
          %vv = load volatile double, ptr %x
          call void @llvm.lifetime.end.p0(ptr %s)
          call void @free(ptr %h)
          ret double %vx
        }"""), "f")
    assert {n: overwritten(changes, named(f, n)) for n in ("vs", "vh", "vx", "vv")} == {
        "vs": True, "vh": True, "vx": False, "vv": True}  # fmt: skip
    assert not any(overwritten(changes, named(f, n), frees=False) for n in ("vs", "vh"))


def test_known_functions_overwrite_nothing_that_matters() -> None:
    changes, f = of(c("""
        #include <stdio.h>
        #include <math.h>
        #include <string.h>
        double f(double *x, double *y) {
            double v = x[0], e = exp(v); printf("%g\\n", v); int k; double m = frexp(e, &k); memset(y, 0, 8);
            return m + v; }"""), "f")
    first, *_ = loads(f, "double")
    assert overwritten(changes, first)  # y may be x
    apart, f = of(changes.memory.module, "f", distinct_arguments=True)
    assert not overwritten(apart, loads(f, "double")[0])


def test_constant_globals_and_never_written_ones() -> None:
    changes, f = of(c("""
        double opaque(double); static const double k[2] = {1, 2}; double g[2];
        double f(int i) { double v = k[i] + g[i]; return v + opaque(v); }"""), "f")
    results = {changes.memory.reads(i)[0].objects: overwritten(changes, i) for i in loads(f, "double")}
    assert {next(iter(short(o))): v for o, v in results.items()} == {"global k": False, "global g": True}
    named_globals = [(o.site.name, o) for o in changes.memory.objects if o.site is not None and o.kind == "global"]
    written = {name: changes.never_written(o) for name, o in named_globals}
    assert written == {"k": True, "g": False}


# --- size


def chain(functions: int, statements: int = 20) -> str:
    """A program of `functions` that call each other, with loops, structs and pointers."""
    text = ["struct s { double *a; double *b; struct s *next; int n; };"]
    for k in range(functions):
        call = f"t += f{k - 1}(p->next, x + 1, y);" if k else ""
        body = "\n".join(
            f"for (int i = 0; i < p->n; i++) {{ p->a[i + {j}] += x[i] * p->b[i] + t; y[{j}] = p->a[i]; }}"
            for j in range(statements)
        )
        text.append(
            f"double __attribute__((noinline)) f{k}(struct s *p, double *x, double *y) {{ double t = 0; double w[8];"
            f"w[0] = x[0]; struct s q = *p; q.a = w; {call} {body} return t + q.a[p->n]; }}"
        )
    return "\n".join(text)


def straight_lines(count: int) -> str:
    """Assignments through one array, each of which reads the one before."""
    lines = [
        f"""
          %p{k} = getelementptr double, ptr %v, i64 {k}
          %v{k} = load double, ptr %p{k - 1}
          %w{k} = fmul double %v{k}, %v{k}
          store double %w{k}, ptr %p{k}"""
        for k in range(1, count)
    ]
    return f"""
        define void @f(ptr %v) {{
          %p0 = getelementptr double, ptr %v, i64 0{"".join(lines)}
          store double 1.0, ptr %p7
          ret void
        }}"""


def test_comparisons_of_straight_lines_grow_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read is compared with the writes near it, and with none where all are floats of one format."""
    asked, own = list[int](), Overlaps.meet

    def meet(self: Overlaps, a: Any, b: Any) -> bool:
        asked.append(1)
        return own(self, a, b)

    monkeypatch.setattr(Overlaps, "meet", meet)
    counts = []
    for n in (100, 400):
        changes, f = of(ll(straight_lines(n)), "f")
        assert [i.name for i in loads(f, "double") if overwritten(changes, i)] == ["v8"]
        asked.clear()
        assert not list(made_of_others(changes.memory)) and not list(pieces(changes.memory, _NoFormats()))
        assert not asked
        changes = Changes(changes.memory)
        assert [i.name for i in loads(f, "double") if overwritten(changes, i)] == ["v8"]
        counts.append(len(asked))
    assert counts[1] < 6 * counts[0]


class _NoFormats:
    def formats(self, v: AnyValue) -> frozenset[FloatType]:
        return frozenset()

    def declared_formats(self, pointer: AnyValue) -> frozenset[FloatType]:
        return frozenset()


def test_floats_among_doubles_are_found() -> None:
    """A float that is stored in a double's upper half, near enough or not."""
    for at, expected in ((4, ["v2"]), (800, [])):
        text = straight_lines(9).replace("%v2 = load", f"""
          %h = getelementptr i8, ptr %p1, i64 {at}
          store float 2.0, ptr %h
          %v2 = load""")
        changes, _ = of(ll(text), "f")
        assert [i.name for i in made_of_others(changes.memory)] == expected


def all_overwritten(module: Module, root: Function) -> None:
    changes = Changes(analyse(module, root))
    for f in changes.memory.functions:
        for i in f.instructions():
            if changes.memory.reads(i):
                changes.overwritten_after(i)


def test_work_grows_with_size_not_its_square() -> None:
    work = []
    for functions in (8, 32):
        module = c(chain(functions))
        root = module.function(f"f{functions - 1}")
        list(root.instructions())
        work.append(calls(partial(all_overwritten, module, root)))
    assert work[1] < 12 * work[0]


def ask_all(changes: Changes, readers: list[Instruction]) -> None:
    for i in readers:
        changes.overwritten_after(i)


def test_a_long_straight_function_takes_linear_work() -> None:
    work = []
    for count in (250, 1000):
        lines = [f"y[{8200 + k}] = 0.5 * y[{8200 + k * 7 % count}] + y[{8200 + k * 3 % count}];" for k in range(count)]
        changes, f = of(c(f"double f(double *y) {{ {' '.join(lines)} return y[8300]; }}", "1"), "f")
        readers = [i for i in f.instructions() if changes.memory.reads(i)]
        work.append(calls(partial(ask_all, changes, readers)))
    assert work[1] < 8 * work[0]
