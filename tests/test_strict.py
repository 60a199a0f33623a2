"""`strict`: what adjoints are made of is neither reordered nor contracted, wherever that is asked for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import llgrad
from llgrad.drivers.command_line import read
from llgrad.drivers.compiling import options
from llgrad.frontends.c.clang import find_compiler

CODE = """
__attribute__((noinline)) double inner(const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] * x[0] + x[i] * x[i];
    return s;
}
double f(const double *x, int n) { return inner(x, n) * x[1]; }
"""
PROGRAM = CODE + """
extern int enzyme_dup, enzyme_const;
void __enzyme_autodiff(void *, ...);
void gradient(const double *x, double *d, int n) { __enzyme_autodiff((void *)f, enzyme_dup, x, d, enzyme_const, n); }
int main(void) { return 0; }
"""


def free(text: str) -> list[str]:
    """The instructions whose sums and products LLVM may change."""
    changed = re.compile(r"= (tail )?(f\w+|call) .*\b(reassoc|contract)\b|@llvm.fmuladd")
    return [line for line in text.splitlines() if changed.search(line)]


def test_from_python(tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(CODE)
    f = llgrad.load(tmp_path / "f.c", flags=["-ffp-contract=off"]).f
    x = np.linspace(0.3, 1.7, 40)
    loose, strict = llgrad.value_and_grad(f), llgrad.value_and_grad(f, strict=True)
    (value, found), (other, kept) = loose(x, 40), strict(x, 40)
    assert value == other
    np.testing.assert_allclose(kept, found, rtol=1e-13)
    s = np.cumsum(x * x[0] + x * x)[-1]
    exact = x[1] * (x[0] + 2 * x)
    exact[0] += x[1] * x.sum()
    exact[1] += s
    np.testing.assert_allclose(kept, exact, rtol=1e-13)


@pytest.mark.parametrize("asked", [False, True])
def test_opt(tmp_path: Path, asked: bool) -> None:
    source, ir, out = (tmp_path / name for name in ("p.c", "p.ll", "out.ll"))
    source.write_text(PROGRAM)
    raw = ["-O2", "-ffp-contract=off", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm"]
    subprocess.run([*find_compiler().c, *raw, source, "-o", ir], check=True)
    words = ["opt", str(ir), "-o", str(out), *(["--strict"] if asked else [])]
    subprocess.run([sys.executable, "-m", "llgrad", *words], check=True)
    assert bool(free(out.read_text())) is not asked


def test_drivers_take_it_from_clang_s_word() -> None:
    off = "-ffp-contract=off"
    for words, strict in (([off], True), ([off, "-ffp-contract=on"], False), ([], False)):
        line = read([*words, "-c", "f.c"])
        assert line.strict is strict and options(line).strict is strict
