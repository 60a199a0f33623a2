"""Work that is skipped where a float is zero: half an adjoint, which llgrad tells of, and of nothing else."""

from __future__ import annotations

import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import llgrad
from llgrad.drivers import drive
from llgrad.errors import LlgradWarning

Source = Callable[..., Path]
HEAD = "#include <math.h>\n#define FAR __attribute__((noinline)) static\n"
TOLD = r"code\.c:(\d+):\d+: work that has a derivative is skipped where"

# The test stands in the line of the mark. f(n, x, y, out): all floats are active.
SKIPS = {
    "different": "for (int i = 0; i < n; i++) if (x[0] != 0) /*!*/ y[i] += x[0] * y[i];",
    "equal_else": "for (int i = 0; i < n; i++) if (x[0] == 0) /*!*/ ; else y[i] -= x[0] * y[i];",
    "absolute": "if (fabs(x[0]) > 0) /*!*/ for (int i = 0; i < n; i++) y[i] += x[0] * y[i];",
    "not": "if (!x[0]) /*!*/ return; for (int i = 0; i < n; i++) y[i] += x[0] * y[i];",
    "two": "if (x[0] != x[1]) /*!*/ y[0] += (x[0] - x[1]) * y[1];",
    "constant": "if (x[0] != 1.0) /*!*/ y[0] += (x[0] - 1.0) * y[1];",
    "temporary": "for (int j = 0; j < n; j++) {\n  double t = 2 * x[j];\n"
                 "  if (t != 0) /*!*/ for (int i = 0; i < n; i++) y[i] += t * x[i]; }",
    "continued": "for (int j = 0; j < n; j++) {\n  if (x[j] == 0) /*!*/ continue;\n  y[0] += sin(x[j]) * y[1]; }",
    "scaled": "if (x[0] == 0) /*!*/ { y[0] = 0; } else { y[0] *= x[0]; }",
    "divided": "if (x[0] != 0) /*!*/ { x[0] /= y[0]; for (int i = 1; i < n; i++) y[i] -= x[0] * x[i]; }",
    "register": "double s = 0; for (int i = 0; i < n; i++)\n  if (x[i] != 0) /*!*/ s += x[i] * y[i];\n y[0] = s;",
    "register_loop": "double s = y[0];\n  if (x[0] != 0) /*!*/ for (int i = 0; i < n; i++) s += x[0] * x[i] * x[i];"
                     "\n y[0] = s;",
    "chosen": "y[0] = x[0] == 0 /*!*/ ? 0 : x[0] * y[1];",
    "and": "if (n > 2 && x[0] != 0) /*!*/ y[0] += x[0] * y[1];",
    "call": "if (x[0] != 0) /*!*/ add(n, x[0], x, y);",
    "fused": "if (x[0] != 0) /*!*/ y[0] = fma(x[0], y[1], y[0]);",
    "swapped": "if (0 != x[0]) /*!*/ y[0] += x[0] * y[1];",
    "less_or_greater": "if (__builtin_islessgreater(x[0], 0)) /*!*/ y[0] += x[0] * y[1];",
    "neither_less_nor_greater": "if (!__builtin_islessgreater(0, x[0])) /*!*/ return; y[0] += x[0] * y[1];",
    "bits": "long b; memcpy(&b, &x[0], 8); if (b != 0) /*!*/ y[0] += x[0] * y[1];",
    "bits_without_sign": "long b; memcpy(&b, &x[0], 8); if (b << 1) /*!*/ y[0] += x[0] * y[1];",
    "bits_masked": "long b; memcpy(&b, &x[0], 8); if (b & 0x7fffffffffffffff) /*!*/ y[0] += x[0] * y[1];",
    "bits_of_two": "long a, b; memcpy(&a, x, 8), memcpy(&b, x + 1, 8);\n"
                   "  if (a != b) /*!*/ y[0] += (x[0] - x[1]) * y[1];",
    "asked": "if (is_set(x[0])) /*!*/ y[0] += x[0] * y[1];",
    "asked_there": "if (is_set_at(x)) /*!*/ y[0] += x[0] * y[1];",
    "switched": "switch (x[0] != 0) { /*!*/ case 1: y[0] += x[0] * y[1]; }",
    "flag": "int k = x[0] != 0; /*!*/ x[1] = 2; if (k) y[0] += x[0] * y[1];",
    "factor": "y[0] += (x[0] != 0) /*!*/ * (x[0] * y[1]);",
    "left_early": "for (int i = 0; i < n; i++) { if (x[0] == 0) /*!*/ break; y[i] += x[0] * y[i]; }",
    "stored_there": "if (x[0] != 0) /*!*/ store_at(y, y[0] + x[0] * y[1]);",
}  # fmt: skip
OTHERS = {
    "quotient": "double r = x[0]; if (r == 0) { *out = 0; return; } *out = y[0] / r;",
    "quotient_chosen": "*out = x[0] == 0 ? 0 : y[0] / x[0];",
    "direction": "double s = sqrt(x[0] * x[0] + x[1] * x[1]); if (s != 0) { y[0] = x[0] / s; y[1] = x[1] / s; }",
    "default": "double s = x[0]; if (s == 0) s = 1; *out = y[0] / s;",
    "entropy": "for (int i = 0; i < n; i++) if (x[i] != 0) *out -= x[i] * log(x[i]);",
    "sinc": "*out = x[0] == 0 ? 1 : sin(x[0]) / x[0];",
    "root": "*out = x[0] != 0 ? sqrt(x[0]) : 0;",
    "counted": "int k = 0; for (int i = 0; i < n; i++) if (x[i] != 0) k++; *out = k * x[0];",
    "another": "if (x[0] != 0) *out = y[0]; else *out = y[1];",
    "iterated": "double d = x[0]; while (d != 0) { *out += d; d = d > 1 ? d - 1 : 0; }",
    "whole": "*out = x[0] == trunc(x[0]) ? 0 : x[0] - trunc(x[0]);",
    "less": "if (x[0] > 0) *out += x[0] * y[0];",
    "nothing": "if (x[0] == 0) return; *out = exp(x[0]) * y[0];",
    "scaled_by_another": "if (x[0] != 0) y[0] = y[0] * y[1];",
    "left": "for (int i = 0; i < n; i++) { if (x[i] == 0) break; *out += x[i] * y[i]; }",
    "asked_quotient": "if (is_set(x[0])) y[0] = y[1] / x[0];",
    "switched_quotient": "switch (x[0] != 0) { case 1: y[0] = y[1] / x[0]; }",
    "indicator": "*out = (x[0] != 0) * y[0];",
}
CALLED = """#include <string.h>
FAR void add(int n, double t, const double *x, double *y) { for (int i = 0; i < n; i++) y[i] += t * x[i]; }
FAR int is_set(double x) { return x != 0; }
FAR int is_set_at(const double *x) { return x[0] != 0; }
FAR void store_at(double *p, double v) { *p = v; }
"""
FIRST = 2 + HEAD.count("\n") + CALLED.count("\n")  # line of a body


def warned(source: Source, body: str, level: int) -> list[str]:
    """The lines of tests that are told of when `f` is differentiated by `x` and `y`, each as often as it is told."""
    lib = llgrad.load(
        source(f"{HEAD}{CALLED}void f(int n, double *x, double *y, double *out) {{\n{body}\n*out += y[0]; }}"),
        optimize=level,
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        x, y = np.array([0.0, 0.3, -1.2]), np.array([0.7, 1.1, 0.4])
        llgrad.value_and_grad(lib.f, wrt=("x", "y"), of="out")(3, x, y, np.zeros(1))
    return [m[1] for w in told if w.category is LlgradWarning for m in [re.search(TOLD, str(w.message))] if m]


@pytest.mark.parametrize("level", [0, 2, *(pytest.param(n, marks=pytest.mark.full) for n in (1, 3))])
@pytest.mark.parametrize("name", SKIPS)
def test_what_is_skipped_is_told(source: Source, name: str, level: int) -> None:
    body = SKIPS[name]
    line = FIRST + body[: body.index("/*!*/")].count("\n")
    assert warned(source, body, level) == [str(line)]


@pytest.mark.parametrize("level", [0, pytest.param(2, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", OTHERS)
def test_choices_of_values_are_not(source: Source, name: str, level: int) -> None:
    assert warned(source, OTHERS[name], level) == []


def test_what_is_found_in_the_cache_is_told_again(source: Source) -> None:
    assert warned(source, SKIPS["and"], 2) == warned(source, SKIPS["and"], 2) == [str(FIRST)]


def test_what_is_not_active_is_not(source: Source) -> None:
    lib = llgrad.load(source(SKIPS["different"].join(["void f(int n, const double *x, double *y) {", "}"])))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        llgrad.vjp(lib.f, wrt="y", of="y")


PROGRAM = """
extern int enzyme_dup, enzyme_const;
double __enzyme_autodiff(void *, ...);
double dot(int n, const double *x, const double *y) {
    double s = 0;
    for (int i = 0; i < n; i++)
        if (x[i] != 0)
            s += x[i] * y[i];
    return s;
}
int main(void) {
    double x[2] = {0, 1}, dx[2] = {0}, y[2] = {3, 4}, dy[2] = {0};
    __enzyme_autodiff((void *)dot, enzyme_const, 2, enzyme_dup, x, dx, enzyme_dup, y, dy);
    __enzyme_autodiff((void *)dot, enzyme_const, 2, enzyme_dup, x, dx, enzyme_const, y);
    return 0;
}
"""


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_programs_are_told_once(
    source: Source, tmp_path: Path, capfd: pytest.CaptureFixture[str], level: int
) -> None:
    """Once for a place, though two derivatives are asked for; without debug info the function's name is told."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        words = [f"-O{level}", str(source(PROGRAM, "code.c")), "-o", str(tmp_path / "program")]
        assert drive(words, cxx=False) == 0
    told = capfd.readouterr().err
    assert re.findall(TOLD, told) == ["7"], told


FORTRAN = """
subroutine axpys(n, m, a, x, y) bind(c)
  use iso_c_binding
  integer(c_int), value :: n, m
  real(c_double), intent(in) :: a(n, m), x(m)
  real(c_double), intent(inout) :: y(n)
  integer :: i, j
  do j = 1, m
    if (x(j) /= 0) then
      do i = 1, n
        y(i) = y(i) + x(j) * a(i, j)
      end do
    end if
  end do
end subroutine
"""


@pytest.mark.skipif(shutil.which("flang-22") is None and shutil.which("flang") is None, reason="flang is not installed")
@pytest.mark.parametrize("level", [0, 2])
def test_reference_blas_in_fortran(source: Source, level: int) -> None:
    lib = llgrad.load(source(FORTRAN, "axpys.f90"), optimize=level)
    with pytest.warns(LlgradWarning, match=r"axpys\.f90:9:\d+: work that has a derivative is skipped where a float"):
        y = np.zeros(2)
        llgrad.vjp(lib.axpys, wrt=("a", "x"), of="y")(2, 2, np.ones(4), np.array([0.0, 1.0]), y, seed=np.ones(2))
