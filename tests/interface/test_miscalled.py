"""Functions that a source calls as if they were of another type: what active numbers become there is not known.

A struct of one `long double` is passed as the number is: in clang's IR one is a pointer, the other a value.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import llgrad
from llgrad.errors import UnsupportedError

CALLERS = """
double power(long double, long double);
double f(double x, double y) { return power(x, y) * x; }
double sign(double x, double y) { return (power(x, y) > 0 ? 2 : 3) * x; }
"""
CALLEES = """
struct wide { long double v; };
double power(struct wide a, struct wide b) { for (int i = 0; i < 3; i++) a.v = a.v * b.v + a.v; return a.v; }
"""
BACK = """
struct wide { long double v; };
double twice(struct wide);
double f(double x) { struct wide w = {x}; return twice(w); }
"""


@pytest.mark.parametrize("level", [0, 2])
def test_a_float_for_a_struct(level: int, tmp_path: Path) -> None:
    """The derivative was zero, or ended the process, as the struct was an address there."""
    (tmp_path / "a.c").write_text(CALLERS)
    (tmp_path / "b.c").write_text(CALLEES)
    lib = llgrad.load([tmp_path / "a.c", tmp_path / "b.c"], optimize=level)
    with pytest.raises(UnsupportedError, match=r"a\.c:3:\d+: an active call"):
        llgrad.grad(lib.f)(0.7, 1.3)
    assert llgrad.grad(lib.sign)(0.7, 1.3) == (2, 0)


def test_a_struct_for_a_float(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(BACK)
    (tmp_path / "b.c").write_text("double twice(long double x) { return 2 * x; }\n")
    lib = llgrad.load([tmp_path / "a.c", tmp_path / "b.c"], optimize=0)
    with pytest.raises(UnsupportedError, match=r"a\.c:4:\d+: an active call"):
        llgrad.grad(lib.f)(0.7)
