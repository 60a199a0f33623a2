"""Inline assembly of one instruction: what the processor computes, and its derivative."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import pytest

import llgrad
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.transforms.intrinsics import inline_asm

CALL = '  %r = tail call noundef <2 x double> asm "{}", "=x,{},~{{dirflag}},~{{fpsr}},~{{flags}}"({}) #1, !dbg !7\n'


def call(instruction: str, constraints: str, *values: str) -> str:
    return CALL.format(instruction, constraints, ", ".join(f"<2 x double> {v}" for v in values))


def spelt(line: str) -> str:
    """What becomes of a function that does this; the line itself if nothing does."""
    parameters = ", ".join(f"<2 x double> %{v}" for v in "abc")
    body = f"define <2 x double> @f({parameters}) {{\n{line}  ret <2 x double> %r\n}}\n"
    module = parse(f"{body}attributes #1 = {{ nounwind }}\n")
    return write(module) if inline_asm.spelt(module) else line


def test_operands_are_in_order() -> None:
    """AT&T's: `vsubpd a, b, d` is d = b - a; `vfmadd231pd a, b, c` is c = b * a + c."""
    assert "  %r = fsub <2 x double> %b, %a, !dbg !7\n" in spelt(call("subpd $1, $0", "x,0", "%a", "%b"))
    assert "  %r = fsub <2 x double> %b, %a, !dbg !7\n" in spelt(call("vsubpd $1, $2, $0", "x,x", "%a", "%b"))
    for form, wanted in {"132": "cab", "213": "bca", "231": "bac"}.items():
        text = spelt(call(f"vfmadd{form}pd $1, $2, $0", "x,x,0", "%a", "%b", "%c"))
        operands = ", ".join(f"<2 x double> %{v}" for v in wanted)
        assert f"%r = call <2 x double> @llvm.fma.v2f64({operands}), !dbg !7\n" in text
        assert "declare <2 x double> @llvm.fma.v2f64(<2 x double>, <2 x double>, <2 x double>)\n" in text


def test_result_is_valid() -> None:
    body = call("maxpd $1, $0", "x,0", "%a", "<double 1.0, double 2.0>").replace(", !dbg !7", "")
    text = LLVMModule.from_text(spelt(body)).text()
    assert "fcmp ogt <2 x double> <double 1.000000e+00, double 2.000000e+00>, %a" in text and " asm " not in text


@pytest.mark.parametrize(
    "kept",
    [
        call("maxps $1, $0", "x,0", "%a", "%b"),
        call("maxpd $1, $0", "m,0", "%a", "%b"),
        call("maxpd $1, $0", "x,x", "%a", "%b"),
        call("maxpd $0, $1", "x,0", "%a", "%b"),
        call("rsqrtpd $1, $0", "x,0", "%a", "%b"),
        call("maxpd $1, $0; maxpd $1, $0", "x,0", "%a", "%b"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_left_alone(kept: str) -> None:
    assert spelt(kept) == kept


SOURCE = """
typedef double two __attribute__((vector_size(16)));
double f(const double *x)
{
    two a = {x[0], x[1]}, b = {x[2], x[3]}, low = b, high = b;
    __asm__("minpd %1, %0" : "+x"(low) : "x"(a));
    __asm__("maxpd %1, %0" : "+x"(high) : "x"(a));
    __asm__("mulpd %1, %0" : "+x"(high) : "x"(high));
    return low[0] * 2 + low[1] * high[0] + high[1];
}
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="assembly of x86")
def test_minima_and_maxima(tmp_path: Path) -> None:
    (source := tmp_path / "packets.c").write_text(SOURCE)
    f = llgrad.load(source).f
    for x in (np.array([0.3, -0.7, 1.1, 0.4]), np.array([2.0, 0.7, 1.5, 0.4])):
        low, high = np.minimum(x[:2], x[2:]), np.maximum(x[:2], x[2:])
        assert f(x) == pytest.approx(low[0] * 2 + low[1] * high[0] ** 2 + high[1] ** 2)
        wanted = [(f(x + h) - f(x - h)) / 2e-6 for h in np.eye(4) * 1e-6]
        np.testing.assert_allclose(llgrad.grad(f)(x), wanted, rtol=1e-7)
