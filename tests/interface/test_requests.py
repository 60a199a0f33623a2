"""Requests wherever they stand: none is left behind, and what only looks like one is told
(`autodiff.legality.leftover_calls`).

What programs compute with requests in rules, inactive functions, tables and constructors is checked by
`tests/programs/requests_within.c`.
"""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import llgrad
from llgrad.autodiff.requests.spelling import CALLS, nearest
from llgrad.drivers import drive
from llgrad.errors import LlgradError, UnknownNameError, UnsupportedError
from llgrad.frontends import compile_sources, find_compiler
from llgrad.llvm import LLVMModule
from llgrad.programs.program import optimise_program

Source = Callable[..., Path]
DECLARED = (
    "extern int enzyme_dup, enzyme_const; double __enzyme_autodiff(void *, ...), __enzyme_fwddiff(void *, ...);\n"
)
ROOT = (
    DECLARED
    + """
static double residual(double x, double a) { return x * x - a; }
double root(double a) { double x = a; for (int i = 0; i < 40; i++) x -= residual(x, a) / (2 * x); return x; }
static double by_x(double x, double a) { return __enzyme_fwddiff(residual, enzyme_dup, x, 1.0, enzyme_const, a); }
static double by_a(double x, double a) { return __enzyme_autodiff((void *)residual, enzyme_const, x, a); }
typedef struct { double value, tangent; } both;
both tangent(double a, double t) { double x = root(a); both b = {x, -t * by_a(x, a) / by_x(x, a)}; return b; }
double forward(double a) { return root(a); }
double reverse(double a, double seed) { double x = root(a); return -seed * by_a(x, a) / by_x(x, a); }
double f(double a) { return root(a) * a; }
double slope(double a) { return __enzyme_autodiff((void *)f, a); }
"""
)


@pytest.mark.parametrize("level", [0, 2])
def test_rules_from_python_that_ask(source: Source, level: int) -> None:
    lib = llgrad.load(source(ROOT), optimize=level)
    assert lib.slope(3.0) == pytest.approx(1.5 * math.sqrt(3), rel=1e-9)  # through the iterations
    llgrad.rule(lib.root, tangent=lib.tangent, augmented=lib.forward, reverse=lib.reverse)
    assert llgrad.grad(lib.f)(3.0) == pytest.approx(1.5 * math.sqrt(3))
    assert llgrad.jvp(lib.f)(3.0, tangents=2.0)[1] == pytest.approx(3 * math.sqrt(3))


@pytest.mark.parametrize("level", [0, 2])
def test_derivatives_of_functions_that_ask(source: Source, level: int) -> None:
    """What a library asks for is code of its own, that Python calls and differentiates."""
    lib = llgrad.load(source(DECLARED + """
        static double power(const double *x, int n) { double y = 1; while (n--) y *= *x; return y; }
        double slope(double x, int n) {
            double d = 0;
            __enzyme_autodiff((void *)power, enzyme_dup, &x, &d, n);
            return d;
        }
    """), optimize=level)  # fmt: skip
    assert lib.slope(1.5, 4) == pytest.approx(4 * 1.5**3)
    assert llgrad.grad(lib.slope)(1.5, 4) == pytest.approx(12 * 1.5**2)
    assert llgrad.jvp(lib.slope)(1.5, 4, tangents=1.0)[1] == pytest.approx(12 * 1.5**2)


def test_what_the_inner_derivative_knows_of_rules(source: Source) -> None:
    """A rule said in Python holds within requests of the library's, too, where Python differentiates them."""
    lib = llgrad.load(source(DECLARED + """
        __attribute__((noinline)) double seven(double x) { return 7 + 0 * x; }
        double seven_tangent(double x, double t) { return 100 * x * t; }
        static double f(double x) { return seven(x) * x; }
        double asked(double x, double y) { return y * __enzyme_fwddiff((void *)f, x, 1.0); }
    """))  # fmt: skip
    assert lib.asked(2.0, 1.0) == 7
    llgrad.rule(lib.seven, tangent=lib.seven_tangent)
    assert llgrad.grad(lib.asked, wrt="y")(2.0, 1.0) == 7 + 100 * 2 * 2


RULE_OF_ITSELF = DECLARED + """
__attribute__((noinline)) double square(double x) { return x * x; }
double forward(double x) { return square(x); }
double reverse(double x, double seed) { return seed * %s((void *)square, x%s); }
void *__enzyme_register_gradient_square[] = {(void *)square, (void *)forward, (void *)reverse};
%s
double f(double x) { return square(x) * x; }
int main(void) { return __enzyme_autodiff((void *)f, 2.0) != 12; }
"""
TANGENT = """
double tangent(double x, double t) { return 2 * x * t; }
void *__enzyme_register_derivative_square[] = {(void *)square, (void *)tangent};
"""


def test_rules_that_ask_for_their_own_function(source: Source, tmp_path: Path) -> None:
    """In the other mode that is the other rule; in its own, the derivative would contain itself."""
    program = str(tmp_path / "program")
    other = source(RULE_OF_ITSELF % ("__enzyme_fwddiff", ", 1.0", TANGENT), "other.c")
    assert drive(["-w", str(other), "-o", program], cxx=False) == 0
    assert subprocess.run([program]).returncode == 0
    with pytest.raises(UnsupportedError, match="square asks for a derivative of a function that calls it"):
        optimised(source(RULE_OF_ITSELF % ("__enzyme_autodiff", "", TANGENT), "own.c"))
    with pytest.raises(LlgradError, match="square has a registered gradient, but no registered derivative"):
        optimised(source(RULE_OF_ITSELF % ("__enzyme_fwddiff", ", 1.0", ""), "none.c"))


def optimised(path: Path, level: int = 2) -> str:
    return optimise_program(LLVMModule.read(compile_sources([path]).modules[0]), level).text()


# --- what is left, and what is misspelt

SQUARE = "double square(double x) { return x * x; }\n"
MISSPELT = [
    ("__enzime_autodiff", "__enzyme_autodiff"), ("__enzyme_autodif", "__enzyme_autodiff"),
    ("__enzyme_fwdiff", "__enzyme_fwddiff"), ("__enzyme_augmentedfwd", "__enzyme_augmentfwd"),
    ("__enzyme_revers", "__enzyme_reverse"), ("_enzyme_autodiff", "__enzyme_autodiff"),
    ("__enzmye_fwddiff_", "__enzyme_fwddiff"), ("__enzyme_bach", "__enzyme_batch"),
    ("__enzyme_ignore_derivative", "__enzyme_ignore_derivatives"), ("__enzyme_something", ""),
    ("__enzyme_iter", ""), ("__enzyme_context", ""), ("__enzyme_shadow", ""), ("__enzyme_zero_shadows", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "word"), MISSPELT)
def test_misspelt_calls(source: Source, capfd: pytest.CaptureFixture[str], name: str, word: str) -> None:
    text = f"double {name}(void *, ...);\n{SQUARE}double f(double x) {{\n  return {name}((void *)square, x);\n}}\n"
    path = source(f"{text}int main(void) {{ return f(1) != 2; }}\n")
    told = f"did you mean {word}[?]" if word else "use one of __enzyme_autodiff, "
    for ask in (lambda: optimised(path, 0), lambda: llgrad.load(path)):
        with pytest.raises(UnknownNameError, match=rf"code\.c:4:10: {name} is nothing that llgrad knows[^$]*{told}"):
            ask()
    assert drive(["-w", "-g", str(path), "-o", str(path.with_suffix(""))], cxx=False) == 1
    assert f"code.c:4:10: error: {name} is nothing" in capfd.readouterr().err


def test_misspelt_names_of_cxx_and_registrations(source: Source) -> None:
    template = "template <typename... T> double __enzyme_autodif(void *, T...);\n"
    call = "double f(double x) { return __enzyme_autodif((void *)square, x); }\n"
    with pytest.raises(UnknownNameError, match="did you mean __enzyme_autodiff[?]"):
        llgrad.load(source(template + SQUARE + call, "code.cpp"))
    rule = "void *%s_square[] = {(void *)square, (void *)square};\n"
    with pytest.raises(UnknownNameError, match="did you mean __enzyme_register_derivative[?]"):
        llgrad.load(source(SQUARE + rule % "__enzime_register_derivative", "rule.c"))
    with pytest.raises(UnsupportedError, match="did you mean __enzyme_register_derivative[?]"):
        llgrad.load(source(SQUARE + rule % "__enzyme_registr_derivative", "rule2.c"))


def test_names_that_only_begin_alike(source: Source, tmp_path: Path) -> None:
    """Functions that the program defines are its own; declarations, markers and distant names are none."""
    path = source(DECLARED + SQUARE + """
        double __enzyme_helper(double x) { return x + 1; }
        double enzime_autodiff(double x) { return x + 2; }
        double __enzyme_unused(double), __enzime_unused(double);
        int enzyme_nofree, enzyme_inactive, autodiff;
        int main(void) { return __enzyme_autodiff((void *)square, __enzyme_helper(1)) + enzime_autodiff(1) != 7; }
    """)  # fmt: skip
    program = str(tmp_path / "program")
    assert drive(["-w", "-Uenzyme_inactive", str(path), "-o", program], cxx=False) == 0
    assert subprocess.run([program]).returncode == 0
    assert not any(map(nearest, [*CALLS, "_Z17__enzyme_autodiffPvz", "__enzyme_fwddiff_", "autodiff", "__endwin"]))


LEFT = [
    ("double f(double x) { double (*volatile d)(void *, ...) = __enzyme_autodiff; return d((void *)square, x); }",
     r"code\.c:3:"),
    ("double (*d)(void *, ...) = __enzyme_autodiff; double f(double x) { return d((void *)square, x); }",
     "it is used by d"),
    ("double __llgrad_autodiff(void *, ...); double f(double x) { return __llgrad_autodiff((void *)square, x); }",
     r"code\.c:3:\d+: __llgrad_autodiff is left"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "told"), LEFT, ids=["pointer", "table", "own"])
@pytest.mark.parametrize("level", [0, 2])
def test_what_is_left_is_an_error(source: Source, body: str, told: str, level: int) -> None:
    path = source(f"{DECLARED}{SQUARE}{body}\ndouble g(double x) {{ return __enzyme_autodiff((void *)square, x); }}\n")
    with pytest.raises(UnsupportedError, match=told) as caught:
        optimised(path, level)
    assert "is left in the finished program" in caught.value.message
    with pytest.raises(UnsupportedError, match=told):
        llgrad.load(path).f(1.0)


def test_objects_without_bitcode_that_ask(
    source: Source, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What another compiler made, and a shared library, in which a linker would let the call be."""
    clang, native = find_compiler().c, str(tmp_path / "native.o")
    call = "double f(double x) { return %s((void *)square, x); }\n"
    for name, told in (("__enzyme_autodiff", "carries no bitcode"), ("__enzime_autodiff", "did you mean")):
        path = source(f"double {name}(void *, ...);\n{SQUARE}{call % name}", "native.c")
        subprocess.run([*clang, "-fPIC", "-c", str(path), "-o", native], check=True, capture_output=True)
        assert drive(["-shared", native, "-o", str(tmp_path / "lib.so")], cxx=False) == 1
        assert told in capfd.readouterr().err
    own = source("double __enzime_autodiff(void *f, double x) { return 0; }", "own.c")
    assert drive(["-shared", "-fPIC", native, str(own), "-o", str(tmp_path / "lib.so")], cxx=False) == 0


def test_calls_wait_for_the_link(source: Source, tmp_path: Path) -> None:
    """An object keeps its calls; the program has none."""
    main = "double g(double); int main(void) { return __enzyme_autodiff((void *)g, 2.0) != 4; }"
    asks = source(DECLARED + main, "a.c")
    there = source("double g(double x) { return x * x; }", "b.c")
    objects = [str(tmp_path / name) for name in ("a.o", "b.o")]
    for path, made in zip((asks, there), objects, strict=True):
        assert drive(["-c", "-w", str(path), "-o", made], cxx=False) == 0
    assert drive([*objects, "-o", str(tmp_path / "program")], cxx=False) == 0
    assert subprocess.run([tmp_path / "program"]).returncode == 0
