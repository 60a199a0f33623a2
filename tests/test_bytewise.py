"""Which loops over bytes become moves of blocks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from llgrad.backend import LLVMModule
from llgrad.bytewise import in_blocks
from llgrad.drivers import drive

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
