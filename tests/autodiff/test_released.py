"""What the forward sweep releases at once: memory that no reverse sweep reads."""

from __future__ import annotations

import pytest
from deriving import derivation, prepared

from llgrad.autodiff.recipes.early_frees import at_once
from llgrad.autodiff.recipes.tape_allocations import allocated
from llgrad.autodiff.requests.request import Mode
from llgrad.ir.values import Call, Instruction

SOURCE = """
#include <stdlib.h>
%s
__attribute__((noinline)) static double use(const double *restrict w, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += %s;
    return sum;
}
__attribute__((noinline)) static double g(double *restrict x, int n) {
    double *w = malloc(n * sizeof *w), sum = 0;
    for (int i = 0; i < n; i++) w[i] = 2 * x[i];
    sum = use(w, n);
    free(w);
    return sum;
}
double f(double *restrict x, int n, double *restrict y) { return g(x, n) * g(y, n); }
"""
CASES = {
    "linear": ("", "w[i]", True),
    "by constants": ("static const double c[] = {1, 2};", "c[i % 2] * w[i]", True),
    "squared": ("", "w[i] * w[i]", False),
    "compared": ("", "w[i] > 1 ? w[i] : -w[i]", False),
    "an address": ("", "w[(int)w[i]]", False),
}


@pytest.mark.parametrize("name", CASES)
def test_released(name: str) -> None:
    before, term, released = CASES[name]
    made = derivation(prepared(SOURCE % (before, term), level=2), Mode.COMBINED, "dcdo")
    frees = [i for i in made.module.function("g").instructions() if _frees(i)]
    assert frees and all(at_once(made.facts, i) == released for i in frees)
    blocks = allocated(made.facts)
    assert blocks.shadows and bool(blocks.whole) != released and blocks.releases == (set() if released else set(frees))


def _frees(i: Instruction) -> bool:
    return isinstance(i, Call) and i.called_function is not None and i.called_function.name == "free"


def test_what_fused_loops_touch_is_released_late() -> None:
    source = """
#include <stdlib.h>
double f(const double *restrict x, int n, double *restrict y) {
    double *w = malloc(n * sizeof *w), sum = 0;
    for (int i = 0; i < n; i++) { w[i] = 2 * x[i]; sum += w[i]; }
    free(w);
    return sum;
}
"""
    made = derivation(prepared(source, level=1), Mode.COMBINED, "dcdo")
    assert not any(at_once(made.facts, i) for i in made.module.function("f").instructions() if _frees(i))
