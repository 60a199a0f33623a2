"""Rules, likeness and inactivity, said from Python."""

from __future__ import annotations

import math
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from llvmlite import binding, ir

import llgrad
from llgrad.autodiff.requests.registrations import ignored, protect
from llgrad.frontends import find_compiler
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule

CODE = """
double unknown(double x, double y) { return 7; }
double my_exp(double x) { union { double d; long i; } u = {__builtin_exp(x)}; u.i ^= 1; return u.d; }
double logged(double x) { return 3 * x; }
double f(double x, double y) { return unknown(x, y) * x; }
double g(double x) { return my_exp(x) * logged(x); }

double norm(const double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i] * x[i]; return s; }
struct kept { void *tape; double value; };
struct kept norm_forward(const double *x, double *dx, int n) { struct kept k = {0, norm(x, n)}; return k; }
void norm_reverse(const double *x, double *dx, int n, double seed, void *tape) {
    for (int i = 0; i < n; i++) dx[i] += 20 * x[i] * seed;
}
double norm_tangent(const double *x, const double *dx, int n) {
    double t = 0;
    for (int i = 0; i < n; i++) t += 20 * x[i] * dx[i];
    return t;
}
double h(const double *x, int n) { return 3 * norm(x, n); }
"""


@pytest.fixture
def lib(source: Callable[[str], Path]) -> llgrad.Library:
    return llgrad.load(source(CODE))


def test_partials_are_expressions(lib: llgrad.Library) -> None:
    assert llgrad.grad(lib.f, wrt="x")(2.0, 3.0) == 7
    sin, cos = llgrad.functions("sin cos")

    @llgrad.rule(lib.unknown)
    def partials(x, y, r):  # type: ignore[no-untyped-def]
        return y * cos(x) + r, sin(x)

    assert partials.__name__ == "partials"
    dx, dy = llgrad.grad(lib.f, wrt=("x", "y"))(2.0, 3.0)
    assert dx == pytest.approx(7 + 2 * (3 * math.cos(2) + 7))
    assert dy == pytest.approx(2 * math.sin(2))
    assert llgrad.jvp(lib.f, wrt="y")(2.0, 3.0, tangents=1.0)[-1] == pytest.approx(2 * math.sin(2))
    assert llgrad.grad(lib.unknown, wrt="y")(2.0, 3.0) == pytest.approx(math.sin(2))
    llgrad.rule(lib.unknown, lambda x, y: (5, None))
    with pytest.raises(llgrad.LlgradError, match="two rules"):
        llgrad.grad(lib.f, wrt="x")(2.0, 3.0)


def test_likeness_and_inactivity(lib: llgrad.Library) -> None:
    llgrad.function_like(lib.my_exp, "exp")
    llgrad.inactive(lib.logged)
    assert llgrad.grad(lib.g)(1.5) == pytest.approx(math.exp(1.5) * 4.5)
    with pytest.raises(llgrad.LlgradError, match="no rule for 'expp'"):
        llgrad.function_like(lib.my_exp, "expp")


def test_likeness_of_a_function_with_other_parameters(tmp_path: Path) -> None:
    (tmp_path / "code.c").write_text("#include <math.h>\ndouble f(double x, double y) { return sin(x) * y; }\n")
    lib = llgrad.load(tmp_path / "code.c")
    llgrad.function_like(lib.f, "sin")
    with pytest.raises(llgrad.LlgradError, match="sin takes float, f takes float, float"):
        llgrad.grad(lib.f)


OUTSIDE = """
#include <math.h>
double dawson_like(double x, double scale);
double mine(double x) { return 3 * x; }
double traced(double x);
double f(double x, double s) { return dawson_like(x, s) * mine(x) + traced(x); }
"""


def shared(source: Callable[..., Path]) -> Path:
    path = source("""
        #include <math.h>
        double dawson_like(double x, double scale) { return x * scale; }
        double traced(double x) { return x > 0 ? 100 : 0; }
    """, "outside.c")  # fmt: skip
    made = path.with_name("liboutside.so")
    subprocess.run([*find_compiler().c, "-shared", "-fPIC", str(path), "-o", str(made)], check=True)
    return made


def test_names_stand_for_functions_of_any_library(source: Callable[..., Path]) -> None:
    @llgrad.rule("dawson_like")
    def partials(x, s, y):  # type: ignore[no-untyped-def]
        return s - 2 * x * y, x

    llgrad.rule("mine", lambda x: 5)
    llgrad.inactive("traced")
    lib = llgrad.load(source(OUTSIDE), libraries=[str(shared(source))])
    value, (dx, ds) = llgrad.value_and_grad(lib.f, wrt=("x", "s"))(2.0, 3.0)
    assert (value, dx, ds) == (136, (3 - 2 * 2 * 6) * 6 + 6 * 5, 2 * 6)
    assert llgrad.grad(llgrad.load(source("double g(double x) { return x * x; }", "g.c")).g)(3.0) == 6
    with pytest.raises(llgrad.LlgradError, match="3 of 5 parameters"):
        llgrad.rule("other", lambda a, b, c, d, e: (a, b, c))
    with pytest.raises(llgrad.LlgradError, match="for a function of a library"):
        llgrad.rule("norm", tangent=llgrad.load(source(OUTSIDE)).f)


def test_what_is_said_by_name_holds_for_libraries_that_are_loaded(source: Callable[..., Path]) -> None:
    lib = llgrad.load(source("""
        double late_rule(double x) { return x; }
        double f(double x) { return late_rule(x) * x; }
    """))  # fmt: skip
    assert llgrad.grad(lib.f)(3.0) == 6
    llgrad.rule("late_rule", lambda x: 10 * x)
    assert llgrad.grad(lib.f)(3.0) == 3 + 3 * 30
    assert llgrad.jvp(lib.f, wrt="x")(3.0, tangents=2.0) == (9, 2 * 93)


def test_compiled_rules(lib: llgrad.Library) -> None:
    x = np.array([1.0, 2.0])
    assert llgrad.grad(lib.h)(x, 2).tolist() == [6, 12]
    llgrad.rule(lib.norm, augmented=lib.norm_forward, reverse=lib.norm_reverse, tangent=lib.norm_tangent)
    assert llgrad.grad(lib.h)(x, 2).tolist() == [60, 120]
    assert llgrad.jvp(lib.h, wrt="x")(x, 2, tangents=np.array([1.0, 0]))[-1] == 60


def built() -> ir.Module:
    """`half_tangent(x, dx)`, `half_forward(x)`, `half_reverse(x, seed)`: ten times the truth, to be told from it."""
    module, double = ir.Module("rules"), ir.DoubleType()
    for name, count, factor in (("half_tangent", 2, 5.0), ("half_forward", 1, 0.5), ("half_reverse", 2, 5.0)):
        f = ir.Function(module, ir.FunctionType(double, [double] * count), name)
        at = ir.IRBuilder(f.append_basic_block())
        at.ret(at.fmul(f.args[-1], double(factor)))
    return module


def test_rules_in_ir_that_python_builds(source: Callable[..., Path]) -> None:
    path = source("double half(double x) { return x / 2; }\ndouble f(double x) { return half(x) * x; }", "halves.c")
    lib = llgrad.load([path, built()])
    assert llgrad.grad(lib.f)(3.0) == 3
    llgrad.rule(lib.half, tangent=lib.half_tangent, augmented=lib.half_forward, reverse=lib.half_reverse)
    assert llgrad.grad(lib.f)(3.0) == 1.5 + 15
    assert llgrad.jvp(lib.f, wrt="x")(3.0, tangents=2.0) == (4.5, 33)


def test_modules_of_python_are_sources() -> None:
    """As they were built, and as LLVM parsed them."""
    for module in (built(), binding.parse_assembly(str(built()))):
        assert llgrad.grad(llgrad.load(module).half_forward)(3.0) == 0.5


@pytest.mark.parametrize(
    ("say", "words"),
    [
        (lambda lib: llgrad.inactive(3), "a function of a library or a name"),  # type: ignore[arg-type]
        (lambda lib: llgrad.rule(lib.f, lambda x: x), "take 1 parameters"),
        (lambda lib: llgrad.rule(lib.f, lambda x, y: x), "2 float operands"),
        (lambda lib: llgrad.rule(lib.norm, lambda x, n: x), "other things than numbers"),
        (lambda lib: llgrad.rule(lib.norm, reverse=lib.norm_reverse), "two functions"),
        (lambda lib: llgrad.rule(lib.f, lambda x, y: (2 * x if x * y == 1 else y, x)), "cannot branch by `if`"),
        (lambda lib: llgrad.rule(lib.f, lambda x, y: (2 * x if x != 0.0 else y, x)), "cannot branch by `if`"),
        (lambda lib: llgrad.rule(lib.f, lambda x, y: (x and y, x)), "cannot branch by `if`"),
    ],
)
def test_errors(lib: llgrad.Library, say: Callable[[llgrad.Library], None], words: str) -> None:
    with pytest.raises(llgrad.LlgradError, match=words):
        say(lib)


CALLED = "%y = call double @g(double %x)\n  ret double %y"


@pytest.mark.parametrize(("word", "body"), [("g", "ret double %x"), ("", CALLED)])
def test_registrations_without_effect(word: str, body: str) -> None:
    """The compiler has put the body of `g` in the place of its call, so that nothing names it but its registration."""
    text = f"""
        @__enzyme_register_gradient_g = internal constant [3 x ptr] [ptr @g, ptr @augmented, ptr @reverse]
        declare double @__enzyme_autodiff(ptr, ...)
        declare double @augmented(double)
        declare void @reverse(double, ptr)
        define double @g(double %x) {{
          ret double %x
        }}
        define double @f(double %x) {{
          {body}
        }}
        define double @df(double %x) {{
          %d = call double (ptr, ...) @__enzyme_autodiff(ptr @f, double %x)
          ret double %d
        }}
    """
    assert ignored(LLVMModule.from_text(textwrap.dedent(text)).text()) == [word] * bool(word)


def test_structs_by_value_are_pointers_to_rules() -> None:
    text = """
%big = type { [4 x double] }
@llgrad.registered.register_derivative.0.w = global [2 x ptr] [ptr @w, ptr @dw]
declare double @w(ptr byval(%big) align 8)
declare double @dw(ptr byval(%big), ptr)
define double @f(ptr %p) {
  %y = tail call double @w(ptr byval(%big) align 8 %p)
  ret double %y
}
"""
    module = parse(text)
    assert protect(module)
    made = LLVMModule.from_text(write(module)).text()
    assert "%y = call double @llgrad.byaddress.w(ptr align 8 %p)" in made
    assert "%r = call double @w(ptr byval(%big) align 8 %x0)" in made
    assert "[ptr @llgrad.byaddress.w, ptr @llgrad.byaddress.dw]" in made
