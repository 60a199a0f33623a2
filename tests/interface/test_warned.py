"""Rules whose reverse function may find other values than their function saw: llgrad says so, and only there."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import llgrad
from llgrad.drivers import drive
from llgrad.errors import LlgradWarning

C = """
extern int enzyme_dup;
void __enzyme_autodiff(void *, ...);
__attribute__((noinline)) void square(const double *x, double *y) { *y = *x * *x; }
%(rule)s
void *__enzyme_register_gradient_square[] = {(void *)square, (void *)forward, (void *)reverse};
void f(double *x, double *out) { %(body)s }
int main(void) {
    double x = 2, dx = 0, out, d_out = 1;
    __enzyme_autodiff((void *)f, enzyme_dup, &x, &dx, enzyme_dup, &out, &d_out);
    return dx != %(wanted)s;
}
"""
READS = """
void *forward(const double *x, double *dx, double *y, double *dy) { *y = *x * *x; return 0; }
void reverse(const double *x, double *dx, double *y, double *dy, void *tape) { *dx += 2 * *x * *dy; *dy = 0; }
"""
KEEPS = """
double forward(const double *x, double *dx, double *y, double *dy) { *y = *x * *x; return *x; }
void reverse(const double *x, double *dx, double *y, double *dy, double tape) {
    if (dx != x) *dx += 2 * tape * *dy;
    *dy = 0;
}
"""
CHANGES = "double y; square(x, &y); *x = 3 * y; square(x, &y); *out = y;"
IN_A_CALLEE = "double y; part(x, &y); *x = 0; *out = y;"
STAYS = "double y; square(x, &y); *out = 3 * y;"
PART = "__attribute__((noinline)) static void part(double *x, double *y) { double z; square(x, &z); *y = 3 * z; }"
CASES = [(READS, CHANGES, True), (READS, IN_A_CALLEE, True), (READS, STAYS, False), (KEEPS, CHANGES, False)]


@pytest.mark.parametrize(("rule", "body", "warned"), CASES, ids=["changes", "callee", "stays", "keeps"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_memory_that_changes_behind_a_rule(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], rule: str, body: str, warned: bool, level: str
) -> None:
    source = tmp_path / "f.c"
    source.write_text(C % {"rule": rule + PART, "body": body, "wanted": "288" if rule is KEEPS else "12"})
    words = ["-w", level, str(source), "-o", str(tmp_path / "f")]
    assert drive(words, cxx=False) == 0
    told = capfd.readouterr().err
    assert ("the rule of square may read what is not there any more" in told) is warned
    assert ("argument 1 leads to" in told) is warned
    assert warned or not subprocess.run([tmp_path / "f"]).returncode


def test_from_python(source: Callable[[str], Path]) -> None:
    lib = llgrad.load(source(C % {"rule": READS, "body": CHANGES, "wanted": "288"}))
    with pytest.warns(LlgradWarning, match=r"c:\d+:\d+: the rule of square"):
        llgrad.grad(lib.f, wrt="x", of="out")(np.array([2.0]), np.array([0.0]))
