"""The command line, as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from llgrad.cli import main
from llgrad.errors import CompilerError
from llgrad.frontends import find_compiler, language_of
from llgrad.llvm.libraries import has_vector_maths

Source = Callable[..., Path]
CODE = """
double quad(const double *x, double a, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += a * x[i] * x[i];
    return s;
}
void out(int n, const double *x, double *tmp, double *y) {
    for (int i = 0; i < n; i++) tmp[i] = x[i] * x[i] * x[i];
    *y = 0;
    for (int i = 0; i < n; i++) *y += tmp[i] * (i + 1);
}
static double state = 2;
void set(double v) { state = v; }
double stateful(double x) { return state * x; }
"""


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


def test_help_and_version() -> None:
    shown = run("--help").output
    assert all(word in shown for word in ("grad", "check", "opt"))
    assert "0.1.0" in run("--version").output
    for command in ("grad", "check", "opt"):
        assert run(command, "--help").exit_code == 0


def test_gradient_in_a_c_program(source: Source) -> None:
    path = source(CODE)
    for function, extra in (("quad", []), ("out", ["--wrt", "x", "--of", "y"])):
        result = run("grad", path, "-f", function, *extra, "-o", path.with_name(f"{function}.o"),
                     "--header", path.with_name(f"{function}.h"))  # fmt: skip
        assert result.exit_code == 0, result.output
    assert "double quad_grad(const double *x, double a, int n, double *d_x, double *d_a);" in run(
        "grad", path, "-f", "quad", "-o", path.with_name("quad.o")
    ).output
    driver = source("""
        #include <stdio.h>
        #include "quad.h"
        #include "out.h"
        int main(void) {
            double x[2] = {1, 2}, dx[2] = {100, 0}, da = 0, tmp[2], dtmp[2] = {0}, y, dy = 1, dz[2] = {0};
            double v = quad_grad(x, 3, 2, dx, &da);
            out_grad(2, x, tmp, &y, dz, dtmp, &dy);
            printf("%g %g %g %g %g %g %g %g\\n", v, dx[0], dx[1], da, y, dz[0], dz[1], dy);
        }
    """, "driver.c")  # fmt: skip
    exe = path.with_name("driver")
    objects = [path.with_name("quad.o"), path.with_name("out.o")]
    subprocess.run([*find_compiler().c, "-Wall", "-Werror", driver, *objects, "-o", exe, "-lm"], check=True)
    printed = subprocess.run([exe], check=True, capture_output=True, text=True).stdout.split()
    assert [float(x) for x in printed] == [15, 106, 12, 5, 17, 3, 24, 0]


def test_gradient_cannot_see_static_variables(source: Source) -> None:
    path = source(CODE)
    result = run("grad", path, "-f", "stateful", "-o", path.with_name("s.o"))
    assert result.exit_code == 2 and "static variable state" in result.stderr


def test_check(source: Source) -> None:
    path = source(CODE)
    good = run("check", path, "-f", "out", "--wrt", "x", "--of", "y", "--size", "n=3", "--size", "y=1")
    assert good.exit_code == 0 and "They agree" in good.output
    assert "They agree" in run("check", path, "-f", "quad", "--directions", 1).output


def test_check_where_the_function_is_not_finite(source: Source) -> None:
    path = source("#include <math.h>\ndouble f(double x, double big) { return sin(x) * exp(exp(14 * big)); }")
    bad = run("check", path, "-f", "f")
    assert bad.exit_code == 1 and "NOTHING IS KNOWN" in bad.output and "--size" in bad.output
    assert "They agree" in run("check", path, "-f", "f", "--size", "big=0.1").output
    whole = run("check", source("double f(int n, double x) { return n * x; }"), "-f", "f", "--size", "n=2.5")
    assert whole.exit_code == 2 and "whole number" in whole.stderr


def test_check_of_other_languages(tmp_path: Path) -> None:
    """`&[f64]` was taken for a style; descriptors of arrays are of this process."""
    for end in ("rs", "f90"):
        try:
            language_of(Path(f"a.{end}")).identity()
        except CompilerError as error:
            pytest.skip(error.message)
    path = tmp_path / "a.rs"
    path.write_text("pub fn norm(x: &[f64], k: f64) -> f64 { x.iter().map(|v| v * v * k).sum() }")
    found = run("check", path, "-f", "norm")
    assert "They agree" in found.output and "x: &[f64]" in found.output
    path = tmp_path / "a.f90"
    head = "real(8) function norm(x, a)\n  real(8) :: x(:), a(:, :)\n"
    path.write_text(head + "  norm = sum(matmul(a, x))\nend function\n")
    assert "They agree" in run("check", path, "-f", "norm", "--size", "x=5").output


def test_check_finds_disagreement(source: Source) -> None:
    """A jump has no derivative: finite differences across it disagree with both modes."""
    path = source("double jump(double x) { return x + (double)(long)(x * 1e6); }")
    bad = run("check", path, "-f", "jump")
    assert bad.exit_code == 1 and "THEY DISAGREE" in bad.output


def test_opt(source: Source) -> None:
    path = source("""
        #include <stdio.h>
        double __enzyme_autodiff(void *, ...);
        static double square(double x) { return x * x; }
        int main(void) { printf("%g\\n", __enzyme_autodiff((void *)square, 3.0)); }
    """)
    compiler = find_compiler().c
    ir = path.with_suffix(".ll")
    raw = ["-O2", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm"]
    subprocess.run([*compiler, *raw, path, "-o", ir], check=True)
    for name in ("out.ll", "out.bc"):
        out, exe = path.with_name(name), path.with_name("prog")
        assert run("opt", ir, "-o", out).exit_code == 0
        subprocess.run([*compiler, out, "-o", exe], check=True, capture_output=True)
        assert subprocess.run([exe], capture_output=True, text=True, check=True).stdout == "6\n"
    made = CliRunner().invoke(main, ["opt", "-", "-S", "-o", "-"], input=ir.read_bytes())
    assert made.exit_code == 0 and "define" in made.stdout and "__enzyme_autodiff(" not in made.stdout


def test_opt_leaves_the_final_optimisation_to_clang(source: Source) -> None:
    path = source("""
        #include <stdio.h>
        void __enzyme_autodiff(void *, ...);
        __attribute__((noinline)) static void f(int n, const double *x, double *y) {
            for (int i = 0; i < n; i++) y[i] = x[i] * x[0];
        }
        int main(void) {
            double x[3] = {2, 3, 4}, dx[3] = {0}, y[3], dy[3] = {1, 1, 1};
            __enzyme_autodiff((void *)f, 3, x, dx, y, dy);
            printf("%g %g %g\\n", dx[0], dx[1], dx[2]);
        }
    """)
    ir, out, exe = path.with_suffix(".ll"), path.with_name("out.ll"), path.with_name("prog")
    raw = ["-O2", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm"]
    subprocess.run([*find_compiler().c, *raw, path, "-o", ir], check=True)
    assert run("opt", "-O0", ir, "-o", out).exit_code == 0
    text = out.read_text()
    assert "define internal void @llgrad.call." not in text  # the one place that asks has taken it in
    assert " = alloca " in text
    subprocess.run([*find_compiler().c, "-O3", out, "-o", exe], check=True, capture_output=True)
    assert subprocess.run([exe], capture_output=True, text=True, check=True).stdout == "11 2 2\n"


def test_opt_says_which_rules_have_no_effect(source: Source) -> None:
    path = source("""
        double __enzyme_autodiff(void *, ...);
        static double cube(double x) { return x * x * x; }
        double slope(double x, double seed) { return seed * 3 * x * x; }
        double cube_again(double x) { return cube(x); }
        void *__enzyme_register_gradient_cube[] = {(void *)cube, (void *)cube_again, (void *)slope};
        __attribute__((noinline)) static double square(double x) { return x * x; }
        void *__enzyme_inactivefn[] = {(void *)square};
        static double f(double x) { return cube(x) + square(x); }
        double df(double x) { return __enzyme_autodiff((void *)f, x); }
    """)
    ir = path.with_suffix(".ll")
    for passes, named in (["-disable-llvm-passes"], []), (["-disable-O0-optnone"], ["cube"]):
        words = [w for p in passes for w in ("-Xclang", p)]
        subprocess.run([*find_compiler().c, "-O2", "-w", *words, "-S", "-emit-llvm", path, "-o", ir], check=True)
        done = run("opt", ir, "-o", path.with_name("out.ll"))
        assert done.exit_code == 0
        assert [line.split()[7] for line in done.stderr.splitlines() if "warning" in line] == named


@pytest.mark.skipif(not has_vector_maths("_ZGVbN2v_tanh"), reason="no libmvec with tanh here")
def test_opt_vector_library(source: Source) -> None:
    path = source("""
        #include <math.h>
        void __enzyme_autodiff(void *, ...);
        static void f(int n, const double *restrict x, double *restrict y) {
            for (int i = 0; i < n; i++) y[i] = tanh(x[i]);
        }
        void g(int n, double *x, double *dx, double *y, double *dy) { __enzyme_autodiff((void *)f, n, x, dx, y, dy); }
    """, "loop.c")
    ir, out = path.with_suffix(".ll"), path.with_name("out.ll")
    raw = ["-O2", "-fno-math-errno", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm"]
    subprocess.run([*find_compiler().c, *raw, path, "-o", ir], check=True)
    called = []
    for veclib in ("none", "libmvec"):
        assert run("opt", ir, "-o", out, "--veclib", veclib, "--cpu", "x86-64-v3").exit_code == 0
        called.append(any("call" in line and "@_ZGV" in line for line in out.read_text().splitlines()))
    assert called == [False, True]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["grad", "missing.c", "-f", "f", "-o", "x.o"], "no file missing.c"),
        (["grad", "{path}", "-f", "quat", "-o", "x.o"], "did you mean quad?"),
        (["grad", "{path}", "-f", "out", "--wrt", "x", "-o", "x.o"], "of='y'"),
        (["grad", "{path}", "-f", "quad", "--wrt", "n", "-o", "x.o"], "holds no floats"),
        (["grad", "{path}", "-f", "quad", "-o", "{path}/x.o"], "Not a directory"),
        (["grad", "{path}", "-f", "quad", "-o", "x.o", "--cpu", "abacus"], "unknown CPU"),
        (["check", "{path}", "-f", "quad", "--size", "n"], "is not NAME=NUMBER"),
        (["check", "{path}", "-f", "quad", "--size", "m=1"], "names no parameter: m"),
        (["opt", "missing.ll", "-o", "x.ll"], "no file missing.ll"),
        (["opt", "{path}", "-o", "x.ll"], "LLVM cannot read the module"),
    ],
)
def test_errors_are_text(source: Source, words: list[str], text: str) -> None:
    path = source(CODE)
    result = run(*(w.format(path=path) for w in words))
    assert result.exit_code == 2 and text in result.stderr and "Traceback" not in result.output


# What ends LLVM's reader (its upgrade of old intrinsics takes the number for a pointer), and a body that it drops.
FATAL = """
declare <4 x float> @llvm.masked.load.v4f32.p0(i32, i32, <4 x i1>, <4 x float>)
define <4 x float> @f(i32 %x) {
  %y = call <4 x float> @llvm.masked.load.v4f32.p0(i32 %x, i32 4, <4 x i1> zeroinitializer, <4 x float> undef)
  ret <4 x float> %y
}
"""
DROPPED = """
define available_externally double @f(double %x) {
  ret double %x
}
declare double @__enzyme_autodiff(...)
define double @g(double %x) {
  %r = call double (...) @__enzyme_autodiff(ptr @f, double %x)
  ret double %r
}
"""


DECLARED = """
declare double @f(double)
declare double @__enzyme_autodiff(...)
define double @g(double %x) {
  %r = call double (...) @__enzyme_autodiff(ptr @f, double %x)
  ret double %r
}
"""


def test_definitions_of_others_are_differentiated(tmp_path: Path) -> None:
    path, out = tmp_path / "f.ll", tmp_path / "out.ll"
    path.write_text(DROPPED)
    assert not CliRunner().invoke(main, ["opt", str(path), "-o", str(out)]).exit_code
    assert "ret double 1.0" in out.read_text()


@pytest.mark.parametrize(
    ("program", "text"), [(FATAL, "LLVM itself ended while reading"), (DECLARED, "which has no body here")]
)
def test_what_llvm_does_is_told(program: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "f.ll"
    path.write_text(program)
    command = [sys.executable, "-m", "llgrad", "opt", str(path), "-o", str(tmp_path / "out.ll")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and text in done.stderr and "Traceback" not in done.stderr
