"""`denormals="flush"`: what is below 2**-1022 is zero while a derivative runs; afterwards the mode is as it was."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import llgrad
from llgrad.errors import ArgumentError, ForeignError, UnsupportedError
from llgrad.execution.library import load
from llgrad.llvm import LLVMModule
from llgrad.transforms.guard import denormals

Source = Callable[..., Path]
MODE, ROUNDING = 0x8040, 0x6000  # bits of MXCSR
TINY = 1e-310
CODE = """
#include <immintrin.h>
unsigned mode(void) { return _mm_getcsr(); }
void set_mode(unsigned to) { _mm_setcsr(to); }
double scaled(const double *x, int n, double by) {
    double s = 0;
    for (int i = 0; i < n; i++) s += by * x[i];
    return s;
}
double steps(const double *x, int n) {
    double v = x[0];
    for (int i = 0; i < n; i++) v = v * v + 1e-3 * x[1];
    return v;
}
"""
THROWS = """
#include <immintrin.h>
#include <vector>
extern "C" unsigned mode() { return _mm_getcsr(); }
extern "C" double checked(const double *x, int n) {
    std::vector<double> v(x, x + n);
    double s = 0;
    for (int i = 0; i < n; i++) s += v.at(i) * x[i];
    if (s < 0.5) throw 7;
    return s;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("denormals") / "code.c"
    path.write_text(CODE)
    return load(path)


def mode(library: Any) -> int:
    return int(library.mode()) & (MODE | ROUNDING)


X = np.array([1.0, 2.0, 3.0])


def test_denormals_are_kept_unless_asked(library: Any) -> None:
    for options in ({}, {"denormals": "keep"}, {"denormals": None}):
        value, found = llgrad.value_and_grad(library.scaled, wrt="x", **options)(X, 3, TINY)
        assert value == 6 * TINY and (found == TINY).all()


def test_denormals_are_zero_inside_and_nowhere_else(library: Any) -> None:
    before = mode(library)
    assert not before & MODE
    value, found = llgrad.value_and_grad(library.scaled, wrt="x", denormals="flush")(X, 3, TINY)
    assert value == 0 and (found == 0).all()
    assert mode(library) == before and library.scaled(X, 3, TINY) == 6 * TINY
    _, tangent = llgrad.jvp(library.scaled, wrt="x", denormals="flush")(X, 3, TINY, tangents=np.ones(3))
    assert tangent == 0 and mode(library) == before
    second = llgrad.hvp(library.steps, wrt="x", denormals="flush")(np.array([0.5, TINY]), 1, np.array([TINY, 0.0]))
    assert (second == 0).all() and mode(library) == before


def test_what_is_no_denormal_is_the_same(library: Any) -> None:
    plain, flushed = (llgrad.grad(library.steps, wrt="x", denormals=how)(X[:2] / 4, 20) for how in (None, "flush"))
    assert (plain == flushed).all() and plain.all()


def test_rounding_and_a_mode_that_was_set_stay(library: Any) -> None:
    derivative, before = llgrad.grad(library.scaled, wrt="x", denormals="flush"), int(library.mode())
    try:
        for wanted in (MODE | 0x2000, 0x8000, 0x6000):
            library.set_mode(before & ~(MODE | ROUNDING) | wanted)
            derivative(X, 3, 1.0)
            assert mode(library) == wanted
    finally:
        library.set_mode(before)


def test_failures_put_the_mode_back(library: Any) -> None:
    derivative = llgrad.grad(library.steps, wrt="x", checkpoint=64, denormals="flush")
    before = mode(library)
    with pytest.raises(ForeignError, match="budget"):
        derivative(X[:2], 1000)
    assert mode(library) == before


def test_exceptions_put_the_mode_back(source: Source) -> None:
    library = load(source(THROWS, "throws.cpp"))
    derivative, before = llgrad.grad(library.checked, wrt="x", denormals="flush"), mode(library)
    with pytest.raises(ForeignError, match="exception"):
        derivative(X / 100, 3)
    assert mode(library) == before
    np.testing.assert_allclose(derivative(X, 3), 2 * X)
    assert mode(library) == before


def test_each_thread_has_its_own(library: Any) -> None:
    ways = {how: llgrad.grad(library.scaled, wrt="x", denormals=how) for how in ("keep", "flush")}
    wrong: list[Any] = []

    def work(how: str) -> None:
        for _ in range(50):
            found, after = ways[how](X, 3, TINY), mode(library) & MODE
            if after or (found != (0 if how == "flush" else TINY)).any():
                wrong.append((how, found, after))

    threads = [threading.Thread(target=work, args=(how,)) for how in ("keep", "flush") * 2]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_what_is_refused(source: Source, library: Any) -> None:
    with pytest.raises(ArgumentError, match="neither"):
        llgrad.grad(library.scaled, wrt="x", denormals="zero")
    jumps = load(source("""
        #include <setjmp.h>
        jmp_buf place;
        double f(double x) { if (x < 0) longjmp(place, 1); return x * x; }
    """, "jumps.c"))  # fmt: skip
    assert llgrad.grad(jumps.f)(3.0) == 6
    with pytest.raises(UnsupportedError, match="longjmp"):
        llgrad.grad(jumps.f, denormals="flush")


# --- programs ---------------------------------------------------------------------------------------------------------

PROGRAM = """
#include <stdio.h>
#include <immintrin.h>
extern int enzyme_const, enzyme_out, enzyme_dup;
double __enzyme_autodiff(void *, ...);
double __enzyme_fwddiff(void *, ...);
static double cube(double x, double by) { return by * x * x * x; }
static double slope(double x, double by) {
    return __enzyme_autodiff((void *)cube, enzyme_out, x, enzyme_const, by);
}
int main(int count, char **words) {
    double by = count > 5 ? 1 : 1e-310, x = count;
    unsigned before = _mm_getcsr() & 0x8040;
    double first = slope(x, by);
    double second = __enzyme_fwddiff((void *)slope, enzyme_dup, x, 1.0, enzyme_const, by);
    printf("%g %g %g %u %u\\n", first, second, cube(x, by), before, _mm_getcsr() & 0x8040);
}
"""
CXX = """
#include <cstdio>
#include <immintrin.h>
extern int enzyme_out;
double __enzyme_autodiff(void *, ...);
static double checked(double x) { if (x < 0) throw 3; return x * x * 1e-310; }
int main(int count, char **) {
    double found = __enzyme_autodiff((void *)checked, enzyme_out, 1.0 * count);
    try { __enzyme_autodiff((void *)checked, enzyme_out, -1.0 * count); } catch (int) { found += 1; }
    printf("%g %u\\n", found, _mm_getcsr() & 0x8040);
}
"""


@pytest.mark.parametrize(
    ("code", "suffix", "said", "printed"),
    [
        (PROGRAM, ".c", [], "3e-310 6e-310 1e-310 0 0"),
        (PROGRAM, ".c", ["--denormals", "flush"], "0 0 1e-310 0 0"),
        (PROGRAM, ".c", ["--denormals=flush", "-O0"], "0 0 1e-310 0 0"),
        (CXX, ".cpp", ["--denormals", "flush"], "1 0"),
    ],
)
def test_programs(code: str, suffix: str, said: list[str], printed: str, tmp_path: Path) -> None:
    (path := tmp_path / f"program{suffix}").write_text(code)
    compiler = "cc" if suffix == ".c" else "c++"
    command = [
        sys.executable,
        "-m",
        "llgrad",
        compiler,
        str(path),
        "-O2",
        *said,
        "-o",
        str(tmp_path / "program"),
        "-lm",
    ]
    subprocess.run(command, check=True)
    run = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == printed


def test_a_word_that_is_none(tmp_path: Path) -> None:
    (path := tmp_path / "program.c").write_text(PROGRAM)
    command = [sys.executable, "-m", "llgrad", "cc", str(path), "--denormals", "never", "-o", str(tmp_path / "program")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1 and "neither" in run.stderr


def test_gradients_in_objects(source: Source, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from llgrad.cli import main
    from llgrad.frontends import find_compiler

    words = ["grad", str(source(CODE)), "-f", "scaled", "--wrt", "x", "-o", str(tmp_path / "grad.o")]
    made = CliRunner().invoke(main, [*words, "--denormals", "flush", "--header", str(tmp_path / "grad.h")])
    assert made.exit_code == 0, made.output
    driver = source("""
        #include <stdio.h>
        #include <immintrin.h>
        #include "grad.h"
        int main(void) {
            double x[2] = {1, 2}, dx[2] = {0};
            double v = scaled_grad(x, 2, 1e-310, dx);
            printf("%g %g %g %u\\n", v, dx[0], dx[1], _mm_getcsr() & 0x8040);
        }
    """, "driver.c")  # fmt: skip
    exe = tmp_path / "driver"
    subprocess.run([*find_compiler().c, driver, tmp_path / "grad.o", "-o", exe, "-lm"], check=True)
    assert subprocess.run([exe], check=True, capture_output=True, text=True).stdout == "0 0 0 0\n"


# --- other machines ---------------------------------------------------------------------------------------------------


def test_other_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """AArch64's lines are IR that LLVM accepts; where there is no such mode, the option is refused."""
    monkeypatch.setattr(denormals, "host_triple", lambda: "aarch64-unknown-linux-gnu")
    body = "define double @f(double %x) {\n  ret double %x\n}\n"
    made = LLVMModule.from_text(denormals.guarded(body, ["f", "none"])).text()
    assert made.count("call void @llvm.aarch64.set.fpcr") == 2 and "@llgrad.flushed.f" in made
    monkeypatch.setattr(denormals, "host_triple", lambda: "riscv64-unknown-linux-gnu")
    with pytest.raises(UnsupportedError, match="riscv64"):
        denormals.flushes("flush")
