"""Which loops over bytes become moves of blocks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import llgrad
from llgrad.drivers import drive
from llgrad.llvm import LLVMModule
from llgrad.transforms.loops.memcpy_idiom import in_blocks

LOOP = """
define void @f(ptr %p, ptr %q, {type} %n, ptr %other) {{
entry:
  br label %body
body:
  %i = phi {type} [ 0, %entry ], [ %next, %body ]
  {widened}
  %from = getelementptr i8, ptr %p, {index}
  %to = getelementptr i8, ptr %q, {index}
  {accesses}
  %next = add {flags} {type} %i, {step}
  %more = icmp ne {type} %next, %n
  br i1 %more, label %body, label %exit
exit:
  ret void
}}
"""
COPY = "%b = load i8, ptr %from\n  store i8 %b, ptr %to"
PLAIN = {
    "type": "i64", "widened": "", "index": "i64 %i", "flags": "", "step": "1",
    "accesses": COPY,
}  # fmt: skip
SWAP = "%b = load i8, ptr %from\n  %c = load i8, ptr %to\n  store i8 %c, ptr %from\n  store i8 %b, ptr %to"
WIDER = {"type": "i8", "widened": "%w = zext i8 %i to i64", "index": "i64 %w"}


def moves(**changes: str) -> int:
    text = in_blocks(LOOP.format(**{**PLAIN, **changes}), 3)
    LLVMModule.from_text(text)
    return text.count("call void @llvm.memmove")


def test_copies_and_swaps_become_moves() -> None:
    assert moves() == 1
    assert moves(accesses=SWAP) == 3
    assert moves(**WIDER, flags="nuw") == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"accesses": "%b = load volatile i8, ptr %from\n  store i8 %b, ptr %to"},
        {"accesses": f"{COPY}\n  store i8 %b, ptr %other"},
        {"accesses": "%b = load i8, ptr %from\n  %c = add i8 %b, 1\n  store i8 %c, ptr %to"},
        {"accesses": f"{COPY}\n  %c = load i8, ptr %to\n  store i8 %c, ptr %from"},
        {"accesses": "%b = load i8, ptr %from\n  store i8 %b, ptr %other"},
        {"step": "2"},
        WIDER,  # it may begin again
    ],
)
def test_others_stay(changes: dict[str, str]) -> None:
    assert moves(**changes) == 0


OVERLAPPING = """
double __enzyme_autodiff(void *, ...);
static double f(const double *x, int n)
{
    double a[8] = {x[0], x[1]};
    const char *p = (const char *)a;
    char *q = (char *)(a + 1);
    for (int i = 0; i < n; i++)
        q[i] = p[i];
    return a[3] * a[2];
}
int main(int count, char **words)
{
    double x[2] = {2, 3}, d[2] = {0};
    __enzyme_autodiff((void *)f, x, d, 8 * 4 * count);
    return d[0] == 4 && d[1] == 0 ? 0 : 1;
}
"""


def test_blocks_that_overlap_are_not_moved_as_one(tmp_path: Path) -> None:
    source, program = tmp_path / "overlapping.c", tmp_path / "program"
    source.write_text(OVERLAPPING)
    assert drive(["-O0", "--level", "0", str(source), "-o", str(program)], cxx=False) == 0
    done = subprocess.run([program], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 0 or "llgrad" in done.stderr


SORT = """
#include <stddef.h>
struct point { double key; int place; };
static int by_key(const void *a, const void *b) {
    double x = ((const struct point *)a)->key, y = ((const struct point *)b)->key;
    return (x > y) - (x < y);
}
static void exchange(char *a, char *b, size_t n) {
    while (n--) { char t = *a; *a++ = *b; *b++ = t; }
}
static void sort(char *p, size_t n, size_t size, int (*compare)(const void *, const void *)) {
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && compare(p + j * size, p + (j - 1) * size) < 0; j--)
            exchange(p + j * size, p + (j - 1) * size, size);
}
double f(const double *x, int n) {
    struct point p[8];
    double s = 0;
    for (int i = 0; i < n; i++) p[i] = (struct point){x[i] * x[i], i + 1};
    sort((char *)p, n, sizeof *p, by_key);
    for (int i = 0; i < n; i++) s += p[i].key * p[i].place * (i + 1);
    return s;
}
"""


@pytest.mark.parametrize("level", [0, 2])
def test_a_sort_that_exchanges_bytes(tmp_path: Path, level: int) -> None:
    """Through `llgrad.load`, which tries moves of blocks where moves of bytes are refused."""
    path = tmp_path / "sort.c"
    path.write_text(SORT)
    f, x = llgrad.load(path, optimize=level).f, np.array([1.3, 0.9, 2.1, 1.7, 1.1])
    want = 2 * x * np.arange(1, 6) * (1 + np.argsort(np.argsort(x)))
    np.testing.assert_allclose(llgrad.grad(f, wrt="x")(x, 5), want, rtol=1e-13)
    np.testing.assert_allclose(llgrad.jvp(f, wrt="x")(x, 5, tangents=np.ones(5))[1], want.sum(), rtol=1e-13)
