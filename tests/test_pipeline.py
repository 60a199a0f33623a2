"""The passes: equality tests stay honest, user functions keep their meaning, globals are shared, calls are replaced."""

from __future__ import annotations

import ctypes
import gc
import math
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import llgrad
from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.errors import UnknownNameError, UnsupportedError
from llgrad.frontends import compile_sources, find_compiler
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.values import Call
from llgrad.ir.write import write
from llgrad.llvm import Engine, LLVMModule
from llgrad.programs import derivatives, stages
from llgrad.programs.program import optimise_program
from llgrad.support.gc_pause import collecting_rarely
from llgrad.transforms.guard import equalities
from llgrad.transforms.symbols import extraction, shared_globals

Source = Callable[..., Path]


def program(path: Path, *flags: str) -> LLVMModule:
    return stages.program(compile_sources([path], flags).modules)


# --- equality tests ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_equality_does_not_put_constants_in(source: Source, level: int) -> None:
    path = source("""
        static const double LIMIT = 3.0;
        static double at(double x, double c) { if (x == c) return x * x; return x; }
        double literal(double x) { if (x == 3.0) return x * x; return x; }
        double named(double x) { if (!(x != LIMIT)) return x * x; return x; }
        double inlined(double x) { return at(x, 3.0); }
        float single(float x) { if (3.0f == x) return x * x * x; return x; }
    """)
    lib = llgrad.load(path, optimize=level)
    for name in ("literal", "named", "inlined"):
        assert llgrad.grad(lib[name])(3.0) == 6.0, name
        assert llgrad.grad(lib[name])(2.0) == 1.0, name
        assert lib[name](3.0) == 9.0
    assert llgrad.grad(lib.single)(3.0) == 27.0


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_equality_of_bits_does_not_put_bits_in(source: Source, level: int) -> None:
    """Of what is compared with bits, or with those of another float, and is a float again."""
    path = source("""
        #include <string.h>
        typedef unsigned long long word;
        static double of(word const *bits) { double d; memcpy(&d, bits, 8); return d; }
        static word bits(double const *x) { word u; memcpy(&u, x, 8); return u; }
        void constant(double *x, double *y) { word b = bits(x); y[0] = b == 0x4008000000000000 ? 0 : 1;
            if (b == 0x4008000000000000) y[0] = x[0] * x[0]; }
        void seen(double *x, double *y) { word b = bits(x); y[0] = x[1];
            if (b == 0x4008000000000000 || b == 0x3ff0000000000000) y[0] = of(&b) * of(&b); }
        void cases(double *x, double *y) { word b = *(word *)x;
            switch (b) { case 0x4008000000000000: y[0] = of(&b) * of(&b); break; case 7: y[0] = 1; break;
                         default: y[0] = x[1]; } }
        void two(double *x, double *y) { word *b = (word *)x; word p = b[0], q = b[1]; y[0] = x[1];
            if (p == q) y[0] = of(&p) * of(&p) * of(&q); }
        void called(double *x, double *y) { word p = bits(x), q = bits(x + 1); y[0] = x[1];
            if (p == q) y[0] = of(&p) * of(&p) * of(&q); }
        void single(float *x, float *y) { unsigned b; memcpy(&b, x, 4); float d; memcpy(&d, &b, 4); y[0] = x[1];
            if (b == 0x40400000) y[0] = d * d; }
    """)
    lib = llgrad.load(path, flags=["-fno-strict-aliasing"], optimize=level)
    wanted = {name: (6.0, 0.0) for name in ("constant", "seen", "cases", "single")}
    for name, slopes in (wanted | {"two": (18.0, 9.0), "called": (18.0, 9.0)}).items():
        t = np.float32 if name == "single" else np.float64
        x, y = np.array([3.0, 3.0], t), np.zeros(1, t)
        assert llgrad.grad(lib[name], wrt="x", of="y")(x, y).tolist() == list(slopes), name


def changed(change: Callable[[Module], bool], text: str) -> str:
    """What LLVM prints of the text after a pass that changes it."""
    module = parse(text)
    assert change(module)
    return LLVMModule.from_text(write(module)).text()


def test_bits_are_hidden_where_they_may_be_a_float_again() -> None:
    """Not what is counted, nor numbers beside floats, nor what LLVM has folded since."""
    text = """
define i64 @f(ptr %p, ptr %q, i64 %n) {
entry:
  %a = load i64, ptr %p, align 8
  %b = load i64, ptr %q, align 8
  %float = bitcast i64 %a to double
  %kept = icmp eq i64 %a, 7
  %same = icmp eq i64 %a, %b
  %three = icmp ne i64 %b, 4613937818241073152
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %next = add i64 %i, 1
  %long = icmp eq i64 %next, 4613937818241073152
  %done = icmp eq i64 %i, %n
  br i1 %done, label %end, label %loop

end:
  switch i64 %b, label %out [
    i64 1, label %out
    i64 4613937818241073152, label %out
  ]

out:
  ret i64 %n
}
"""
    hidden = changed(equalities.hide_bits, text)
    seen = re.findall(r"call i64 @llgrad.hide.i64\(i64 ([^)]*)\)", hidden)
    assert seen == ["%a", "%b", "%b", "4613937818241073152", "%b"]
    assert changed(equalities.reveal, hidden) == LLVMModule.from_text(text).text()


@pytest.mark.parametrize("level", [0, 1, 2])
def test_the_power_of_a_half_is_steep_at_zero(source: Source, level: int) -> None:
    """LLVM makes the absolute value of a square root of it, which were flat there."""
    path = source("""
        #include <math.h>
        double f(double x) { return pow(x, 0.5); }
        float g(float x) { return powf(x, 0.5f) + x; }
        double h(double x) { return fabs(sqrt(x)); }
    """)
    lib = llgrad.load(path, optimize=level)
    for name in ("f", "g"):
        assert llgrad.grad(lib[name])(0.0) == np.inf
        assert llgrad.jvp(lib[name])(0.0, tangents=1.0)[1] == np.inf
    assert llgrad.grad(lib.f)(4.0) == 0.25
    assert llgrad.grad(lib.h)(4.0) == 0.25
    assert math.copysign(1, lib.f(-0.0)) == math.copysign(1, llgrad.value_and_grad(lib.f)(-0.0)[0]) == 1


@pytest.mark.parametrize("level", [1, 2])
def test_roots_where_nothing_was_left_have_no_slope_at_zero(source: Source, level: int) -> None:
    """What comes from a function has not left the input; what a function limits has."""
    path = source("""
        #include <math.h>
        #define KEPT __attribute__((noinline)) static
        KEPT double squares(const double *x) { return x[0] * x[0] + x[1] * x[1]; }
        KEPT double root(double x) { return sqrt(x); }
        KEPT double limited(double x) { return x > 0 ? x : 0; }
        double length(const double *x) { return root(squares(x)); }
        double limits(const double *x) { return sqrt(limited(x[0])) + root(limited(x[1] - 4)); }
    """)
    lib, one = llgrad.load(path, optimize=level), np.ones(2)

    def slope(f: llgrad.ForeignFunction, *x: float) -> float:
        return float(llgrad.jvp(f, wrt="x")(np.array(x, float), tangents=one)[1])

    assert slope(lib.length, 3, 4) == pytest.approx(7 / 5)
    assert math.isnan(slope(lib.length, 0, 0))
    assert slope(lib.limits, 4, 8) == 0.5
    assert slope(lib.limits, -4, 3) == 0


@pytest.mark.parametrize("level", [0, 2])
def test_rounding_by_a_mode_that_is_set_within_is_refused(source: Source, level: int) -> None:
    """LLVM would make one of the two; where the caller has set the mode, there is only that."""
    path = source("""
        #include <fenv.h>
        #include <math.h>
        #pragma STDC FENV_ACCESS ON
        double within(double x) {
            fesetround(FE_DOWNWARD);
            double down = x - rint(x);
            fesetround(FE_TONEAREST);
            return down * down + x * nearbyint(x);
        }
        double outside(double x) { return x * rint(x) + lrint(x) * x; }
    """)
    lib = llgrad.load(path, optimize=level)
    with pytest.raises(UnsupportedError, match="rounds by a mode that the program sets"):
        llgrad.grad(lib.within)(2.6)
    assert llgrad.grad(lib.outside)(2.6) == 6.0


@pytest.mark.parametrize("level", [0, 2])
def test_the_sign_of_gamma_is_that_of_the_last_call(source: Source, level: int) -> None:
    """lgamma(x) for x in (-1, 0) and (-2, -1): gamma is negative, then positive."""
    path = source("""
        #define _DEFAULT_SOURCE
        #include <math.h>
        double f(double x) {
            double sum = 0;
            for (int i = 0; i < 2; i++) {
                double logarithm = lgamma(x - i);
                sum += signgam * exp(logarithm) * (i + 1);
            }
            return sum;
        }
    """)
    lib = llgrad.load(path, optimize=level)
    slopes = [gamma * digamma for gamma, digamma in ((-3.5449077018110318, 0.03648997397857652),
                                                     (2.363271801207354, 0.7031566406452432))]  # fmt: skip
    assert lib.f(-0.5) == pytest.approx(-3.5449077018110318 + 2 * 2.363271801207354, rel=1e-12)
    assert llgrad.grad(lib.f)(-0.5) == pytest.approx(slopes[0] + 2 * slopes[1], rel=1e-12)


@pytest.mark.parametrize("level", [0, 2])
def test_tests_of_parts_of_bits_do_not_put_bits_in(source: Source, level: int) -> None:
    """LLVM makes `bits == 0x4008000000000000` of all of them."""
    tests = {
        "changed": "(b ^ THREE) == 0", "distance": "!(THREE - b)", "moved": "b + 1 == THREE + 1",
        "opposite": "~b == ~THREE", "ordered": "b <= THREE && b >= THREE", "below": "b - THREE < 1",
        "halves": "(unsigned)(b >> 32) == 0x40080000 && (unsigned)b == 0",
        "fields": "b >> 52 == THREE >> 52 && (b & FRACTION) == (THREE & FRACTION)",
        "sign": "b << 1 == THREE << 1 && !(b >> 63)",
    }  # fmt: skip
    bodies = (
        f"""void {name}(double *x, double *y) {{ word b; memcpy(&b, x, 8); y[0] = x[0];
                if ({test}) y[0] = of(&b) * of(&b); }}"""
        for name, test in tests.items()
    )
    path = source("""
        #include <string.h>
        typedef unsigned long long word;
        #define THREE 0x4008000000000000ull
        #define FRACTION 0xfffffffffffffull
        static double of(word const *bits) { double d; memcpy(&d, bits, 8); return d; }
    """ + "\n".join(bodies))
    lib = llgrad.load(path, optimize=level)
    for name in tests:
        for x, slope in ((3.0, 6.0), (2.0, 1.0)):
            made = llgrad.grad(lib[name], wrt="x", of="y")(np.array([x]), np.zeros(1))
            assert made.tolist() == [slope], name


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_tests_that_become_equality_do_not_put_constants_in(source: Source, level: int) -> None:
    """LLVM makes `x == 3.0` of all of them."""
    path = source("""
        #include <math.h>
        static int vanishes(double t) { return t == 0; }
        double difference(double x) { if (3.0 - x == 0) return x * x; return x; }
        double variable(double x) { double t = 3.0 - x; if (!(t != 0)) return x * x; return x; }
        double absolute(double x) { if (fabs(3.0 - x) == 0) return x * x; return x; }
        double at_most(double x) { if (fabs(3.0 - x) <= 0) return x * x; return x; }
        double called(double x) { if (vanishes(3.0 - x)) return x * x; return x; }
        double between(double x) { if (x >= 3.0 && x <= 3.0) return x * x; return x; }
    """)
    lib = llgrad.load(path, optimize=level)
    for name in ("difference", "variable", "absolute", "at_most", "called", "between"):
        assert llgrad.grad(lib[name])(3.0) == 6.0, name
        assert llgrad.grad(lib[name])(2.0) == 1.0, name


def test_hide_and_reveal_give_the_program_back() -> None:
    text = """
define i1 @f(double %"x, z", float %y, <2 x double> %v) {
  %x = fadd double %"x, z", 0.000000e+00
  %a = fcmp nnan oeq double %"x, z", 3.000000e+00
  %b = fcmp une float 2.000000e+00, %y
  %c = fcmp oeq double %x, 0.000000e+00
  %d = fcmp oeq <2 x double> %v, <double 1.000000e+00, double 2.000000e+00>
  %e = extractelement <2 x i1> %d, i64 0
  %g = and i1 %a, %b
  %h = and i1 %c, %e
  %i = and i1 %g, %h
  ret i1 %i
}
"""
    hidden = changed(equalities.hide, text)
    assert hidden.count("call double @llgrad.hide.double(") == 2
    assert hidden.count("call float @llgrad.hide.float(") == 2
    assert hidden.count("call <2 x double>") == 2
    assert "call double @llvm.canonicalize.f64(double %x)" in hidden  # zero itself tells nothing
    plain = changed(equalities.reveal, hidden)
    assert "llgrad.hide" not in plain
    assert [line for line in plain.split("\n") if "fcmp" in line] == [
        line for line in LLVMModule.from_text(text).text().split("\n") if "fcmp" in line
    ]


# --- names and globals ------------------------------------------------------------------------------------------------


def test_own_functions_are_not_taken_for_libm(source: Source) -> None:
    lib = llgrad.load(source("""
        static __attribute__((noinline)) double y1(double x) { return 5 * x; }
        double gamma(double x) { return x * x; }
        double f(double x) { return y1(x) + gamma(x); }
    """, "own.c"), flags=["-fno-builtin"])  # fmt: skip
    assert llgrad.grad(lib.f)(3.0) == 11.0
    assert llgrad.grad(lib.gamma)(3.0) == 6.0


def test_strings_survive_renaming(source: Source) -> None:
    text = LLVMModule.read(compile_sources([source("""
        int puts(const char *);
        static double state;
        double f(double x) { state += x; puts("mail me @state please"); return state; }
    """)]).modules[0]).text()  # fmt: skip
    shared = shared_globals.share_globals(text, shared_globals.shared_names(text))
    assert "mail me @state please" in shared
    assert "@llgrad.static.state = global double" in shared
    assert LLVMModule.from_text(shared)


def test_derivatives_share_the_variables_of_the_program(source: Source) -> None:
    lib = llgrad.load(source("""
        static double scale = 2.0;
        double weights[3] = {1, 2, 3};
        static int calls;
        void set(double v) { scale = v; weights[1] = v; }
        int count(void) { return calls; }
        double f(const double *x) { calls++; return scale * (x[0] * weights[0] + x[1] * weights[1]); }
    """))  # fmt: skip
    df = llgrad.grad(lib.f)
    x = np.array([1.0, 1.0])
    assert df(x).tolist() == [2.0, 4.0]
    lib.set(10.0)
    assert df(x).tolist() == [10.0, 100.0]
    assert lib.count() == 2  # the derivative runs the function, side effects included


@pytest.mark.parametrize("linkage", ["", "static"])
def test_thread_local_state_is_refused(source: Source, linkage: str) -> None:
    """A static one, too, that other functions set: what `f` reaches never writes it. What nobody sets is constant."""
    lib = llgrad.load(source(f"""
        {linkage} _Thread_local double t = 2;
        static _Thread_local double u = 2;
        void set(void) {{ t = 3; }}
        double f(double x) {{ return t * x; }}
        double g(double x) {{ return u * x; }}
    """))
    lib.set()
    with pytest.raises(UnsupportedError, match="thread-local variable t"):
        llgrad.grad(lib.f)
    assert llgrad.grad(lib.g)(1.0) == 2.0


def test_functions_that_cannot_be_called_are_left_out(source: Source) -> None:
    """Of those whose addresses are stored, a derivative has the ones of a type that it calls through a pointer."""
    lib = llgrad.load(source("""
        _Thread_local double t = 2;
        __attribute__((visibility("hidden"))) double k = 3;
        static double twice(double x) { return 2 * x; }
        static double both(double x, double y) { return t * x * y; }
        double (*one)(double), (*two)(double, double);
        void set(void) { one = twice, two = both; }
        double f(double x) { k += 1; return one(x) * k; }
        double g(double x) { return two(x, x); }
        double h(double x) { return x * x; }
    """))
    lib.set()
    assert llgrad.grad(lib.h)(3.0) == 6.0
    assert lib.f(1.0) == 8.0
    assert llgrad.grad(lib.f)(3.0) == 10.0
    with pytest.raises(UnsupportedError, match="thread-local"):
        llgrad.grad(lib.g)
    assert "both" not in extraction.only(lib._loaded._program(), ["f"])


def test_the_end_of_python_s_stack_is_a_refusal(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    text = stages.prepare(program(source("double f(double x) { return x * x; }")), ["f"])
    monkeypatch.setattr("llgrad.autodiff.derivation.Derivation.derive", lambda self, last: self.derive(last))
    with pytest.raises(UnsupportedError, match="@f computes is nested too deeply"):
        derivatives.derivative(text, Request("f", Mode.COMBINED, (Act.OUT,), Act.OUT))


def test_python_s_collector_is_as_it_was_when_compilations_overlap() -> None:
    before = gc.get_threshold()
    first, second = collecting_rarely(), collecting_rarely()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold()[0] > before[0]
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before


def test_prepared_text_is_in_normal_form(source: Source) -> None:
    whole = program(source("""
        double f(const double *x, int n) {
            for (int i = 0; i < n; i++) if (x[i] > 3) return x[i];
            return 0;
        }
        double unused(double x) { return x; }
    """))
    for level in (0, 2):
        text = stages.prepare(whole, ["f"], level)
        assert text.count("ret double") == 1
        assert "@unused" not in text
        assert not any(line.strip().startswith("%0 ") for line in text.split("\n"))
    with pytest.raises(UnknownNameError):
        stages.prepare(whole, ["g"])


# --- programs that ask for derivatives --------------------------------------------------------------------------------

_ENZYME = """
#include <math.h>
#include <stdio.h>
extern int enzyme_dup, enzyme_const, enzyme_out, enzyme_dupnoneed, enzyme_primal_return;
double __enzyme_autodiff(void *, ...);
double __enzyme_fwddiff(void *, ...);
float __enzyme_autodiff_float(void *, ...);
void __enzyme_autodiff_void(void *, ...);
typedef struct { double a, b; } two;
typedef struct { double a, b, c; } three;
typedef struct { float a, b; } twof;
two __enzyme_autodiff_two(void *, ...);
three __enzyme_autodiff_three(void *, ...);
twof __enzyme_autodiff_twof(void *, ...);

static double scale = 1.0;
static double square(double x) { return scale * x * x; }
static float cube(float x) { return x * x * x; }
static double mul(double x, double y) { return x * y * y; }
static float mulf(float x, float y) { return x * y; }
static double mul3(double x, double y, double z) { return x * y * z; }
static void wave(const double *x, int n, double *out) {
    double s = 0;
    for (int i = 0; i < n; i++) s += sin(x[i]) * x[i];
    *out = s;
}
static double at3(double x) { if (x == 3.0) return x * x; return 0; }
static double chaos(double x, int n) { double y = x; for (int i = 0; i < n; i++) y = y * y - x; return y; }

int main(int argc, char **argv) {
    scale = argc * 2.0;
    printf("%.17g\\n", __enzyme_autodiff((void *)square, 3.0));
    printf("%.17g\\n", __enzyme_autodiff_float((void *)cube, 3.0f));
    printf("%.17g\\n", __enzyme_fwddiff((void *)square, enzyme_dup, 3.0, 1.0));
    two t = __enzyme_autodiff_two((void *)mul, 3.0, 4.0);
    printf("%.17g %.17g\\n", t.a, t.b);
    twof u = __enzyme_autodiff_twof((void *)mulf, 3.0f, 4.0f);
    printf("%.17g %.17g\\n", u.a, u.b);
    printf("%.17g\\n", __enzyme_autodiff((void *)mul, enzyme_const, 3.0, enzyme_out, 4.0));
    two p = __enzyme_autodiff_two((void *)square, enzyme_primal_return, 3.0);
    printf("%.17g %.17g\\n", p.a, p.b);
    three h = __enzyme_autodiff_three((void *)mul3, 3.0, 4.0, 5.0);
    printf("%.17g %.17g %.17g\\n", h.a, h.b, h.c);
    double x[3] = {1, 2, 3}, dx[3] = {10, 0, 0}, out, seed = 1;
    for (int i = 0; i < 2; i++) {
        seed = 1;
        __enzyme_autodiff_void((void *)wave, enzyme_dup, x, dx, enzyme_const, 3, enzyme_dup, &out, &seed);
    }
    printf("%.17g %.17g %.17g\\n", seed, dx[0] - 10, dx[2]);
    printf("%.17g\\n", __enzyme_autodiff((void *)at3, 3.0));
    printf("%.17g\\n", __enzyme_autodiff((void *)chaos, 0.3, 3));
}
"""


def _expected() -> list[float]:
    wave = [2 * (np.cos(x) * x + np.sin(x)) for x in (1.0, 2.0, 3.0)]
    y, dy = 0.3, 1.0
    for _ in range(3):
        y, dy = y * y - 0.3, 2 * y * dy - 1
    return [12, 27, 12, 16, 24, 4, 3, 24, 18, 12, 20, 15, 12, 0, wave[0], wave[2], 6, dy]


@pytest.mark.parametrize("flags", [["-O0"], ["-O1"], ["-O2", "-Xclang", "-disable-llvm-passes"]], ids=" ".join)
@pytest.mark.parametrize("level", [0, 2])
def test_enzyme_calls(source: Source, flags: list[str], level: int) -> None:
    changed = _ENZYME.replace("(void *)at3, 3.0", "(void *)square, 1.5")  # what clang optimised first, it changed
    body = changed if "-O1" in flags else _ENZYME
    path, compiler = source(body), [*find_compiler().c]
    ir, out, exe = (path.with_name(n) for n in ("in.ll", "out.ll", "prog"))
    subprocess.run([*compiler, *flags, "-g", "-S", "-emit-llvm", path, "-o", ir], check=True, capture_output=True)
    made = optimise_program(LLVMModule.read(ir.read_bytes(), trusted=False), level)
    out.write_text(made.text())
    assert "__enzyme" not in made.text()
    subprocess.run([*compiler, out, "-o", exe, "-lm"], check=True, capture_output=True)
    printed = subprocess.run([exe], check=True, capture_output=True, text=True).stdout.split()
    assert [float(x) for x in printed] == pytest.approx(_expected(), rel=1e-14, abs=1e-14)


def test_enzyme_calls_in_ir() -> None:
    """Markers as metadata strings and under the paper's name; C++ mangled names; an invoke."""
    made = optimise_program(LLVMModule.from_text("""
@_ZL9diffe_out = external global i32
declare double @_Z17__enzyme_autodiffIdEvPvz(ptr, ...)
declare i32 @__gxx_personality_v0(...)
define internal double @mul(double %x, double %y) {
  %r = fmul double %x, %y
  ret double %r
}
define double @plain(double %x, double %y) {
  %r = call double (ptr, ...) @_Z17__enzyme_autodiffIdEvPvz(
       ptr @mul, metadata !"enzyme_const", double %x, ptr @_ZL9diffe_out, double %y)
  ret double %r
}
define double @invoked(double %x, double %y) personality ptr @__gxx_personality_v0 {
  %r = invoke double (ptr, ...) @_Z17__enzyme_autodiffIdEvPvz(
       ptr @mul, double %x, metadata !"enzyme_const", double %y) to label %fine unwind label %bad
fine:
  ret double %r
bad:
  %e = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %e
}
"""))  # fmt: skip
    engine = Engine([made])
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)
    assert kind(engine.address("plain"))(3.0, 5.0) == 3.0
    assert kind(engine.address("invoked"))(3.0, 5.0) == 5.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("__enzyme_autodiff((void *)f, enzyme_width, 0, 1.0)", "enzyme_width"),
        ("__enzyme_autodiff((void *)f, enzyme_dub, 1.0)", "enzyme_dub"),
        ("__enzyme_reverse((void *)f, 1.0)", "the seed of the return"),
        ("__enzyme_reverse((void *)f, 1.0, 1.0)", "without a tape"),
        ("__enzyme_sidesplit((void *)f, 1.0, 1.0)", "__enzyme_sidesplit"),
        ("__enzyme_autodiff((void *)f)", "without argument"),
        ("__enzyme_autodiff((void *)f, 1.0, 2.0)", "too many"),
        ("__enzyme_autodiff((void *)f, enzyme_dup, 1.0, 1.0)", "enzyme_dup"),
        ("__enzyme_autodiff((void *)g, 1.0)", "no body"),
    ],
)
def test_enzyme_calls_that_are_refused(source: Source, call: str, words: str) -> None:
    path = source(f"""
        extern int enzyme_width, enzyme_dub, enzyme_dup;
        double __enzyme_autodiff(void *, ...), __enzyme_reverse(void *, ...), __enzyme_sidesplit(void *, ...);
        double g(double);
        double f(double x) {{ return x * x; }}
        double caller(void) {{ return {call}; }}
    """)
    module = LLVMModule.read(compile_sources([path]).modules[0])
    with pytest.raises(llgrad.LlgradError, match=words) as caught:
        optimise_program(module)
    assert caught.value.span is not None and caught.value.span.line == 6


# --- debug info of derivatives ----------------------------------------------------------------------------------------


def test_inlined_lines_have_a_place_in_described_derivatives(source: Source) -> None:
    """A derivative that is derived again is described; what LLVM then inlines into it has lines of other functions."""
    path = source("""
        __attribute__((noinline)) static double helper(double *z, double u) { z[1] = u * z[0]; return z[0] + 0.3 * u; }
        double f(double *x) { return helper(x, x[1]) * x[1]; }
    """)
    text = stages.prepare(program(path, "-g"), ["f"], 2)
    request = Request("f", Mode.FORWARD, (Act.DUP,), Act.DUP)
    _, (made,) = derivatives.derived_module(text, [request], 2, described=True)
    calls = [i for i in made.instructions() if isinstance(i, Call)]
    assert calls and "dbg" in made.metadata
    assert all("dbg" in i.metadata for i in calls)


FOR_SIZE = """
declare double @__enzyme_autodiff(ptr, double)
define double @f(double %x) noinline SIZE {
  %y = fmul double %x, %x
  ret double %y
}
define double @g(double %x) SIZE {
  %d = call double @__enzyme_autodiff(ptr @f, double %x)
  ret double %d
}
define double @h(double %x) noinline SIZE {
  ret double %x
}
"""


@pytest.mark.parametrize("size", ["optsize", "optsize minsize"])
def test_derivatives_are_not_for_size(size: str) -> None:
    """-Os and -Oz go from what is differentiated and from what takes the derivative in; the rest keeps them."""
    text = FOR_SIZE.replace("SIZE", size)
    prepared = parse(stages.prepare(LLVMModule.from_text(text.split("define double @g")[0]), ["f"], 2))
    made = parse(optimise_program(LLVMModule.from_text(text), 2).text())
    fast = (prepared.function("f"), made.function("g"))
    assert not {"optsize", "minsize"} & {a.name for f in fast for a in f.attributes}
    assert {a.name for a in made.function("h").attributes} >= set(size.split())


def test_what_the_slow_sets_switch_off_is_there() -> None:
    """Switches name functions and passes: one that is renamed makes a slow set fail, and not a test of every day."""
    from full.switches import SWITCHES, switched

    for name in SWITCHES:
        with switched(name):
            pass
