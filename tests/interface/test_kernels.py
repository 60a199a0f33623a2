"""Libraries of many functions of one type, of which what is differentiated calls one: the others cost nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import llgrad
from llgrad.llvm.assembly import definitions

RECORD = """
#include <math.h>
typedef double (*kernel)(const double *, int);
struct record { double scale; kernel call; };
static double loop(const double *x, int n, struct record *r) {
    double sum = 0;
    for (int s = 0; s < 3; s++) sum += r->scale * r->call(x, n + 0 * s);
    return sum;
}
"""
KERNEL = """
static double kernel_{i}(const double *x, int n) {{
    double s = 0;
    for (int k = 0; k < n; k++) s += sin(x[k] * {i}) * exp(-x[k]) + pow(x[k], {i}.5) + log(1 + x[k] * x[k]);
    return s;
}}
"""
NUMBERS = range(1, 7)
BODIES = RECORD + "".join(KERNEL.format(i=i) for i in NUMBERS)
ENTRIES = "".join(f"double entry_{i}(const double *x, int n) {{ return drive(x, n, kernel_{i}); }}\n" for i in NUMBERS)
CHOOSE = f"""
static kernel chosen = kernel_2;
void choose(int i) {{
    static const kernel all[] = {{{", ".join(f"kernel_{i}" for i in NUMBERS)}}};
    chosen = all[i - 1];
}}
"""
PASSED = "one is passed"
WAYS = {
    PASSED: """
double __attribute__((noinline)) drive(const double *x, int n, kernel k) {
    struct record r = {0.5, k};
    return loop(x, n, &r);
}
"""
    + ENTRIES,
    "a variable holds one": CHOOSE
    + "double entry_1(const double *x, int n) { struct record r = {0.5, chosen}; return loop(x, n, &r); }",
    "one of two is passed": CHOOSE
    + """
double entry_1(const double *x, int n) {
    struct record r = {0.5, n > 2 ? chosen : kernel_1};
    return loop(x, n, &r);
}
""",
}


@pytest.mark.parametrize("way", WAYS)
def test_kernels_that_cannot_be_called_are_left_out(way: str, tmp_path: Path) -> None:
    (tmp_path / "kernels.c").write_text(BODIES + WAYS[way])
    lib = llgrad.load(tmp_path / "kernels.c")
    x = np.linspace(0.2, 1.1, 4)
    there = {name for name in definitions(lib._loaded.prepared("entry_1")) if name.startswith("kernel_")}
    assert (there == {"kernel_1"}) == (way == PASSED), there
    for kernel in (1,) if way == PASSED else (1, 4, 6):
        if way != PASSED:
            lib.choose(kernel)
        got = llgrad.grad(lib.entry_1, wrt="x")(x, 4)
        h = 1e-6
        steps = [np.where(np.arange(4) == k, h, 0) for k in range(4)]
        expected = [(lib.entry_1(x + s, 4) - lib.entry_1(x - s, 4)) / (2 * h) for s in steps]
        np.testing.assert_allclose(got, expected, rtol=1e-7)
