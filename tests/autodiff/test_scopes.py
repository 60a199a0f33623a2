"""Emitted derivatives are well-formed: by our own verifier after a round trip through text, and by LLVM's."""

from __future__ import annotations

import re

import pytest
from deriving import derived, prepared

from llgrad import llvm
from llgrad.autodiff.requests.request import Mode
from llgrad.ir.parse import parse
from llgrad.ir.verify import verify
from llgrad.ir.write import write

SOURCES = {
    "straight line": ("ooo", "#include <math.h>\ndouble f(double x, double y) { return sin(x * y) / (x + exp(y)); }"),
    "restrict loop": ("ddco", """
double f(const double *restrict x, double *restrict y, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) { y[i] = x[i] * x[i]; s += y[i] * x[n - 1 - i]; }
    return s;
}
"""),
    "while": ("oo", "double f(double x) { double s = 0; while (x * s < 40) { s += x * x; x *= 1.1; } return s; }"),
    "branches": ("dco", """
double f(const double *x, int n) {
    double s = 1;
    for (int i = 0; i < n; i++) { if (x[i] > 0) s *= x[i]; else if (x[i] < -1) s -= x[i] * s; else continue; s += 1; }
    return s;
}
"""),
    "calls and memory": ("dco", """
#include <stdlib.h>
__attribute__((noinline)) static double g(const double *x, int n) { return n < 1 ? 1 : x[n - 1] * g(x, n - 1); }
double f(const double *x, int n) {
    double *t = malloc(8 * n);
    for (int i = 0; i < n; i++) t[i] = g(x, i);
    double s = 0;
    for (int i = 0; i < n; i++) s += t[i] * t[i];
    free(t);
    return s;
}
"""),
    "switch": ("dco", """
double f(const double *x, int n) {
    double s = x[0];
    for (int i = 0; i < n; i++) switch (i % 4) { case 0: s *= x[i]; break; case 1: s += x[i]; break; case 3: s = -s; }
    return s;
}
"""),
}  # fmt: skip
MODES = (Mode.FORWARD, Mode.COMBINED)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SOURCES)
def test_well_formed(name: str, mode: Mode, level: int) -> None:
    letters, source = SOURCES[name]
    module = derived(prepared(source, level=level), mode, letters)
    verify(module)
    text = write(module)
    again = parse(text)
    for function in again.functions:
        list(function.instructions())
    verify(again)
    llvm.verified(text)
    assert any(f.name.startswith(f"llgrad.{mode}.f.") for f in again.functions)


@pytest.mark.parametrize("mode", MODES)
def test_primal_is_left_alone(mode: Mode) -> None:
    letters, source = SOURCES["branches"]
    text = prepared(source, level=1)
    before = parse(text)
    list(before.function("f").instructions())  # bodies that nobody looks at are LLVM's own text
    assert _body(write(before), "f") == _body(write(derived(text, mode, letters)), "f")


def _body(text: str, name: str) -> str:
    found = re.search(rf"^define [^\n]*@{name}\(.*?^}}", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[0]


@pytest.mark.parametrize("mode", MODES)
def test_generated_code_inherits_nothing(mode: Mode) -> None:
    """Decision 3: no lifetimes, ranges, tail calls; `noalias` of a parameter does not reach its shadow."""
    letters, source = SOURCES["restrict loop"]
    text = write(derived(prepared(source, level=2), mode, letters))
    bodies = re.findall(r"^define .*?^}", text, re.MULTILINE | re.DOTALL)
    body = next(b for b in bodies if f"@llgrad.{mode}.f." in b[:200])
    head = body.split("\n")[0]
    shadows = re.findall(r"ptr ([^%,]*)%[\w.]*\.shadow", head)
    assert len(shadows) == 2
    assert all("noalias" not in s and "readonly" not in s for s in shadows)
    for word in ("llvm.lifetime", "!range", "!noundef", "tail call", "!invariant.load", "nofpclass", "initializes"):
        assert word not in body, word
    located = [line.split()[2] for line in body.split("\n") if "!dbg" in line]
    assert set(located) <= {"phi", "getelementptr"}  # harmless there: a derivative has no subprogram


def test_tape_is_released_in_order() -> None:
    """Each block that a sweep reserves is released once, on the only way out."""
    letters, source = SOURCES["while"]
    text = write(derived(prepared(source, level=2), Mode.COMBINED, letters))
    assert "@llgrad.tape.reserve(" in text and "@llgrad.tape.release(" in text
