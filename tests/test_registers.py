"""Structs that compilers pass in the same registers by different types, and registers that several floats share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import llgrad
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.transforms.canonical.abi_casts import with_names_joined, with_own_names

# As rustc and ldc write it: `struct { float a, b; }` is a double, `struct { float x; double y; }` two of them.
WHOLE = """
%pair = type { float, float }
define double @scaled(double %s, double %k) noinline {
  %bits = bitcast double %s to i64
  %low = trunc i64 %bits to i32
  %a = bitcast i32 %low to float
  %shifted = lshr i64 %bits, 32
  %high = trunc i64 %shifted to i32
  %b = bitcast i32 %high to float
  %wide.a = fpext float %a to double
  %wide.b = fpext float %b to double
  %new.a = fmul double %wide.a, %k
  %new.b = fmul double %wide.b, %wide.b
  %narrow.a = fptrunc double %new.a to float
  %narrow.b = fptrunc double %new.b to float
  %r = alloca %pair, align 8
  store float %narrow.a, ptr %r, align 8
  %second = getelementptr i8, ptr %r, i64 4
  store float %narrow.b, ptr %second, align 4
  %all = load double, ptr %r, align 8
  ret double %all
}
define double @mixed({ double, double } %s) noinline {
  %first = extractvalue { double, double } %s, 0
  %bits = bitcast double %first to i64
  %low = trunc i64 %bits to i32
  %x = bitcast i32 %low to float
  %y = extractvalue { double, double } %s, 1
  %wide = fpext float %x to double
  %r = fmul double %wide, %y
  ret double %r
}
"""
APART = """
declare <2 x float> @scaled(<2 x float>, double)
declare double @mixed(float, double)
define double @f(double %a, double %k) {
  %narrow = fptrunc double %a to float
  %first = insertelement <2 x float> poison, float %narrow, i64 0
  %pair = insertelement <2 x float> %first, float %narrow, i64 1
  %scaled = call <2 x float> @scaled(<2 x float> %pair, double %k)
  %x = extractelement <2 x float> %scaled, i64 0
  %y = extractelement <2 x float> %scaled, i64 1
  %wide = fpext float %y to double
  %r = call double @mixed(float %x, double %wide)
  ret double %r
}
"""


@pytest.mark.parametrize("level", [1, 2])
def test_registers_of_other_types(level: int, tmp_path: Path) -> None:
    """The function is a k a^2: each float goes its own way through the registers."""
    paths = [tmp_path / "whole.ll", tmp_path / "apart.ll"]
    for path, text in zip(paths, (WHOLE, APART), strict=True):
        path.write_text(text)
    f = llgrad.load(paths, optimize=level).f
    assert f(0.5, 3.0) == pytest.approx(3 * 0.5**3)
    np.testing.assert_allclose(llgrad.grad(f, wrt=(0, 1))(0.5, 3.0), [9 * 0.5**2, 0.5**3], rtol=1e-6)
    assert llgrad.jvp(f, wrt=(0, 1))(0.5, 3.0, tangents=(1.0, 1.0))[1] == pytest.approx(9 * 0.5**2 + 0.5**3)
    twice = llgrad.hvp(f, wrt=(0, 1))(0.5, 3.0, (1.0, 0.0))
    np.testing.assert_allclose(twice, [18 * 0.5, 3 * 0.5**2], rtol=1e-6)


def test_what_is_no_other_name() -> None:
    """Types that agree, registers that differ, memory that is passed, and functions that nobody defines stay."""
    defining = "define i64 @f(ptr %p) {\n  ret i64 0\n}\ndefine double @g(double %x) {\n  ret double %x\n}\n"
    for declared in ("i64 @f(ptr)", "i64 @f(i64, i64)", "i64 @f(ptr byval(i64))", "i64 @f(...)", "i64 @g(i64)"):
        name, given = declared.split("(")[0].rpartition("@")[2], declared.partition("(")[2][:-1]
        values = ", ".join(f"{t} undef" for t in given.split(", ")) if given != "..." else ""
        callee = f"(...) @{name}" if given == "..." else f"@{name}"
        calling = f"declare {declared}\ndefine void @h() {{\n  %r = call i64 {callee}({values})\n  ret void\n}}\n"
        assert with_own_names([parse(defining), parse(calling)]) == [False, False]


def test_names_are_joined() -> None:
    """Whose address is used keeps its name beside that of the calls."""
    defining = "%s = type { double, i64 }\ndefine %s @f(%s %a, ptr %p) {\n  ret %s %a\n}\n"
    calling = (
        "declare { double, i32 } @f(double, i32, i64)\ndefine ptr @h() {\n"
        "  %r = call { double, i32 } @f(double 1.0, i32 2, i64 3)\n  ret ptr @f\n}\n"
    )
    modules = [parse(defining), parse(calling)]
    assert with_own_names(modules) == [False, True]
    second = write(modules[1])
    assert "@f.as.1(double 1.000000e+00, i32 2, i64 3)" in second and "ret ptr @f\n" in second
    joined = parse(defining + second.replace("declare { double, i32 } @f(double, i32, i64)\n", ""))
    assert with_names_joined(joined)
    made = write(joined)
    assert "define internal { double, i32 } @f.as.1(double %a0, i32 %a1, i64 %a2) alwaysinline {" in made
    assert "zext i32 %a1 to i64" in made and "inttoptr i64 %a2 to ptr" in made and "trunc i64" in made
