"""Expansions of intrinsics do what the intrinsics do, compiled side by side; strict operations become ordinary."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from llgrad.backend import Engine, LLVMModule
from llgrad.rules.expansions import expansion, name_of, unstrict

V, M = "<4 x double>", "<4 x i1>"
CASES = {
    "llvm.vector.reduce.fadd.v4f64": (["double", V], "double"),
    "llvm.vector.reduce.fmul.v4f64": (["double", V], "double"),
    "llvm.vector.reduce.fmax.v4f64": ([V], "double"),
    "llvm.vector.reduce.fmin.v4f64": ([V], "double"),
    "llvm.vector.reduce.fmaximum.v4f64": ([V], "double"),
    "llvm.vector.reduce.fminimum.v4f64": ([V], "double"),
    "llvm.masked.load.v4f64.p0": (["ptr", M, V], V),
    "llvm.masked.store.v4f64.p0": ([V, "ptr", M], "void"),
    "llvm.masked.expandload.v4f64": (["ptr", M, V], V),
    "llvm.masked.compressstore.v4f64": ([V, "ptr", M], "void"),
}
_ARGUMENTS = {
    "double": "double %s", V: f"{V} %v", M: f"{M} %m", "ptr": "ptr %memory",
}  # fmt: skip
HEAD = """
  %bits = trunc i8 %mask to i4
  %m = bitcast i4 %bits to <4 x i1>
  %v = load <4 x double>, ptr %vector, align 8
  %s = load double, ptr %vector, align 8
"""


def _caller(name: str, symbol: str, parameters: list[str], result: str) -> str:
    call = f"call {result} @{symbol}({', '.join(_ARGUMENTS[t] for t in parameters)})"
    kept = f"  {call}" if result == "void" else f"  %r = {call}\n  store {result} %r, ptr %out, align 8"
    return f"define void @{name}(ptr %out, ptr %vector, ptr %memory, i8 %mask) {{{HEAD}{kept}\n  ret void\n}}\n"


@pytest.mark.parametrize("symbol", CASES)
def test_expansion_is_the_intrinsic(symbol: str) -> None:
    parameters, result = CASES[symbol]
    body = expansion(symbol, parameters, result)
    assert body is not None
    text = "\n".join([
        body, f"declare {result} @{symbol}({', '.join(parameters)})",
        _caller("plain", symbol, parameters, result), _caller("expanded", name_of(symbol), parameters, result),
    ])  # fmt: skip
    engine = Engine([LLVMModule.from_text(text)])
    rng = np.random.default_rng(5)
    for mask in range(16):
        vector, memory = rng.normal(size=4), rng.normal(size=8)
        seen = []
        for name in ("plain", "expanded"):
            out, own = np.zeros(4), memory.copy()
            f = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_uint8)(engine.address(name))
            f(out.ctypes.data, vector.ctypes.data, own.ctypes.data, mask)
            seen.append(np.concatenate([out, own]))
        assert np.array_equal(seen[0], seen[1]), (symbol, mask)


@pytest.mark.parametrize("symbol", ["llvm.vector.reduce.add.v4i32", "llvm.masked.udiv.v4i32", "llvm.sin.f64"])
def test_what_is_not_expanded(symbol: str) -> None:
    assert expansion(symbol, ["<4 x i32>"], "i32") is None


STRICT = """
define i1 @f(double %x, <2 x float> %v) strictfp {
  %a = call double @llvm.experimental.constrained.fadd.f64(double %x, double 2.000000e+00, metadata !"round.dynamic", metadata !"fpexcept.strict") #0
  %b = tail call nnan double @llvm.experimental.constrained.sqrt.f64(double %a, metadata !"round.dynamic", metadata !"fpexcept.strict") #0
  %c = call float @llvm.experimental.constrained.fptrunc.f32.f64(double %b, metadata !"round.dynamic", metadata !"fpexcept.strict")
  %d = call i32 @llvm.experimental.constrained.fptosi.i32.f32(float %c, metadata !"fpexcept.strict")
  %e = call <2 x float> @llvm.experimental.constrained.fmuladd.v2f32(<2 x float> %v, <2 x float> %v, <2 x float> <float 1.0, float 2.0>, metadata !"round.dynamic", metadata !"fpexcept.strict")
  %f = call i1 @llvm.experimental.constrained.fcmps.f64(double %b, double %a, metadata !"olt", metadata !"fpexcept.strict")
  ret i1 %f
}
declare double @llvm.experimental.constrained.fadd.f64(double, double, metadata, metadata)
declare double @llvm.experimental.constrained.sqrt.f64(double, metadata, metadata)
declare float @llvm.experimental.constrained.fptrunc.f32.f64(double, metadata, metadata)
declare i32 @llvm.experimental.constrained.fptosi.i32.f32(float, metadata)
declare <2 x float> @llvm.experimental.constrained.fmuladd.v2f32(<2 x float>, <2 x float>, <2 x float>, metadata, metadata)
declare i1 @llvm.experimental.constrained.fcmps.f64(double, double, metadata, metadata)
attributes #0 = { strictfp }
"""  # noqa: E501


def test_strict_operations_become_ordinary() -> None:
    body = LLVMModule.from_text(unstrict(STRICT)).text().split("define")[1].split("}")[0]
    for piece in (
        "fadd double %x, 2.0", "call nnan double @llvm.sqrt.f64(double %a)", "fptrunc double %b to float",
        "fptosi float %c to i32", "@llvm.fma.v2f32(<2 x float> %v, <2 x float> %v,", "fcmp olt double %b, %a",
    ):  # fmt: skip
        assert piece in body, piece
    assert "constrained" not in body
