"""Expansions of intrinsics do what the intrinsics do, compiled side by side; strict operations become ordinary."""

from __future__ import annotations

import ctypes
import functools
import platform
from typing import Any

import numpy as np
import pytest

from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import Engine, LLVMModule
from llgrad.llvm.target import features_of
from llgrad.transforms.intrinsics.expansions import expansion, name_of, unstrict

V, M, N = "<4 x double>", "<4 x i1>", "<4 x i32>"
CASES = {
    "llvm.vector.reduce.fadd.v4f64": (["double", V], "double"),
    "llvm.vector.reduce.fmul.v4f64": (["double", V], "double"),
    "llvm.vector.reduce.fmax.v4f64": ([V], "double"),
    "llvm.vector.reduce.fmin.v4f64": ([V], "double"),
    "llvm.vector.reduce.fmaximum.v4f64": ([V], "double"),
    "llvm.vector.reduce.fminimum.v4f64": ([V], "double"),
    "llvm.masked.load.v4f64.p0": (["ptr", M, V], V),
    "llvm.masked.store.v4f64.p0": ([V, "ptr", M], "void"),
    "llvm.masked.load.v4i32.p0": (["ptr", M, N], N),
    "llvm.masked.store.v4i32.p0": ([N, "ptr", M], "void"),
    "llvm.masked.expandload.v4f64": (["ptr", M, V], V),
    "llvm.masked.compressstore.v4f64": ([V, "ptr", M], "void"),
    "llvm.experimental.vector.compress.v4f64": ([V, M, V], V),
    "llvm.sincos.f64": (["double"], "{ double, double }"),
    "llvm.sincos.v4f64": ([V], f"{{ {V}, {V} }}"),
    "llvm.modf.f64": (["double"], "{ double, double }"),
    "llvm.modf.v4f64": ([V], f"{{ {V}, {V} }}"),
    "llvm.frexp.f64.i32": (["double"], "{ double, i32 }"),
    "llvm.experimental.memset.pattern.p0.f64.i64": (["ptr", "double", "i64", "i1"], "void"),
    "llvm.convert.to.fp16.f64": (["double"], "i16"),
    "llvm.convert.from.fp16.f64": (["i16"], "double"),
}
_ARGUMENTS = {
    "double": "double %s", V: f"{V} %v", M: f"{M} %m", N: f"{N} %i", "ptr": "ptr %memory",
    "i16": "i16 %h", "i64": "i64 5", "i1": "i1 false",
}  # fmt: skip
HEAD = """
  %bits = trunc i8 %mask to i4
  %m = bitcast i4 %bits to <4 x i1>
  %v = load <4 x double>, ptr %vector, align 8
  %i = load <4 x i32>, ptr %vector, align 8
  %s = load double, ptr %vector, align 8
  %p = getelementptr i8, ptr %vector, i64 6
  %h = load i16, ptr %p, align 2
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
            out, own = np.zeros(8), memory.copy()
            f = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_uint8)(engine.address(name))
            f(out.ctypes.data, vector.ctypes.data, own.ctypes.data, mask)
            seen.append(np.concatenate([out, own]))
        assert np.array_equal(seen[0], seen[1]), (symbol, mask)


@pytest.mark.parametrize("integer", ["i16", "i64"])
def test_exponents_of_any_width(integer: str) -> None:
    """LLVM's own code for x86 lets the library write 32 bits, whatever the width is."""
    result = f"{{ double, {integer} }}"
    body = expansion(f"llvm.frexp.f64.{integer}", ["double"], result)
    assert body is not None
    call = f"  %r = call {result} @{name_of(f'llvm.frexp.f64.{integer}')}(double %x)\n"
    caller = f"define void @f(ptr %out, double %x) {{\n{call}  store {result} %r, ptr %out\n  ret void\n}}\n"
    engine = Engine([LLVMModule.from_text(f"{body}\n{caller}")])
    out = np.zeros(2)
    for x in (0.3, 5.0, -0.01):
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double)(engine.address("f"))(out.ctypes.data, x)
        assert (out[0], out[1:].view(integer.replace("i", "int"))[0]) == np.frexp(x)


def test_a_partial_sum_adds_each_lane_once() -> None:
    parameters = ["<2 x double>", V]
    body = expansion("llvm.vector.partial.reduce.fadd.v2f64.v4f64", parameters, parameters[0])
    assert body is not None
    name = name_of("llvm.vector.partial.reduce.fadd.v2f64.v4f64")
    call = f"  %r = call <2 x double> @{name}(<2 x double> <double 1.0, double 2.0>, {V} %v)"
    caller = f"define void @f(ptr %out, ptr %p) {{\n  %v = load {V}, ptr %p, align 8\n{call}\n"
    text = f"{body}\n{caller}  store <2 x double> %r, ptr %out, align 8\n  ret void\n}}\n"
    engine = Engine([LLVMModule.from_text(text)])
    out, given = np.zeros(2), np.array([1.0, 10.0, 100.0, 1000.0])
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(engine.address("f"))(out.ctypes.data, given.ctypes.data)
    assert list(out) == [102.0, 1012.0]


@pytest.mark.parametrize("symbol", ["llvm.vector.reduce.add.v4i32", "llvm.masked.udiv.v4i32", "llvm.sin.f64"])
def test_what_is_not_expanded(symbol: str) -> None:
    assert expansion(symbol, ["<4 x i32>"], "i32") is None


M8 = "<8 x i1>"
D2, D4, D8, F4, F8 = "<2 x double>", "<4 x double>", "<8 x double>", "<4 x float>", "<8 x float>"
X86: dict[str, tuple[list[str], str, tuple[int, ...]]] = {
    "sse2.min.pd": ([D2, D2], D2, ()), "sse2.max.sd": ([D2, D2], D2, ()), "sse.max.ps": ([F4, F4], F4, ()),
    "avx.min.ps.256": ([F8, F8], F8, ()), "sse3.addsub.pd": ([D2, D2], D2, ()), "avx.addsub.ps.256": ([F8, F8], F8, ()),
    "sse3.hadd.ps": ([F4, F4], F4, ()), "avx.hsub.pd.256": ([D4, D4], D4, ()), "avx.hadd.ps.256": ([F8, F8], F8, ()),
    "sse41.dppd": ([D2, D2, "i8"], D2, (0x31, 0x13, 0xFF)), "avx.dp.ps.256": ([F8, F8, "i8"], F8, (0x71, 0xA5)),
    "sse41.blendvps": ([F4, F4, F4], F4, ()), "avx.blendv.pd.256": ([D4, D4, D4], D4, ()),
    "sse41.round.pd": ([D2, "i32"], D2, (0, 1, 2, 3, 4, 9)), "sse41.round.ss": ([F4, F4, "i32"], F4, (0, 1, 2, 3)),
    "sse.rcp.ps": ([F4], F4, ()), "sse.rsqrt.ss": ([F4], F4, ()), "avx.rcp.ps.256": ([F8], F8, ()),
    "sse2.cmp.sd": ([D2, D2, "i8"], D2, (0, 1, 2, 4, 5, 6)), "avx.cmp.pd.256": ([D4, D4, "i8"], D4, (1, 3, 8, 13, 30)),
    "sse2.cvtsd2ss": ([F4, D2], F4, ()), "sse2.cvtpd2ps": ([D2], F4, ()),
    "avx.vpermilvar.pd.256": ([D4, "<4 x i64>"], D4, ()), "avx.vpermilvar.ps": ([F4, "<4 x i32>"], F4, ()),
    "avx2.permps": ([F8, "<8 x i32>"], F8, ()), "avx.maskload.pd.256": (["ptr", "<4 x i64>"], D4, ()),
    "avx2.gather.d.pd": ([D2, "ptr", "<4 x i32>", D2, "i8"], D2, (8,)),
    "avx.cvt.pd2.ps.256": ([D4], F4, ()),
    "sse41.insertps": ([F4, F4, "i8"], F4, (0x1C, 0x61, 0xA0 - 256, 0xFF - 256)),
    "avx2.gather.q.ps.256": ([F4, "ptr", "<4 x i64>", F4, "i8"], F4, (4,)),
}  # fmt: skip
X86_512: dict[str, tuple[list[str], str, tuple[int, ...]]] = {
    "avx512.add.pd.512": ([D8, D8, "i32"], D8, (8,)), "avx512.vfmadd.pd.512": ([D8, D8, D8, "i32"], D8, (8,)),
    "avx512.permvar.df.512": ([D8, "<8 x i64>"], D8, ()), "avx512.max.pd.512": ([D8, D8, "i32"], D8, (4,)),
    "avx512.vpermi2var.pd.512": ([D8, "<8 x i64>", D8], D8, ()), "avx512.sqrt.pd.512": ([D8, "i32"], D8, (8,)),
    "avx512.vfmaddsub.pd.512": ([D8, D8, D8, "i32"], D8, (4,)),
    "avx512.mask.sqrt.sd": ([D2, D2, D2, "i8", "i32"], D2, (4,)),
    "avx512.mask.compress.v8f64": ([D8, D8, M8], D8, ()), "avx512.mask.expand.v8f64": ([D8, D8, M8], D8, ()),
    "avx512.mask.gather.qpd.512": ([D8, "ptr", "<8 x i64>", M8, "i32"], D8, (8,)),
    "avx512.mask.gather3div8.sf": ([F4, "ptr", "<4 x i64>", "<4 x i1>", "i32"], F4, (4,)),
    "avx512.mask.add.sd.round": ([D2, D2, D2, "i8", "i32"], D2, (4,)),
    "avx512.mask.div.ss.round": ([F4, F4, F4, "i8", "i32"], F4, (4,)),
    "avx512.mask.max.sd.round": ([D2, D2, D2, "i8", "i32"], D2, (4,)),
    "avx512.rcp14.pd.512": ([D8, D8, "i8"], D8, ()), "avx512.rsqrt14.sd": ([D2, D2, D2, "i8"], D2, ()),
    "avx512.mask.cvtps2pd.512": ([F8, D8, "i8", "i32"], D8, (4,)),
    "avx512.mask.cvtpd2ps": ([D2, F4, "i8"], F4, ()), "avx512.mask.cvtpd2ps.512": ([D8, F8, "i8", "i32"], F8, (4,)),
    "avx512.mask.cvtsd2ss.round": ([F4, D2, F4, "i8", "i32"], F4, (4,)),
    "avx512.mask.cvtss2sd.round": ([D2, F4, D2, "i8", "i32"], D2, (4,)),
    "avx512.mask.scalef.pd.512": ([D8, D8, D8, "i8", "i32"], D8, (4,)),
    "avx512.mask.scalef.sd": ([D2, D2, D2, "i8", "i32"], D2, (4,)),
    "avx512.mask.getexp.pd.256": ([D4, D4, "i8"], D4, ()),
    "avx512.mask.getexp.sd": ([D2, D2, D2, "i8", "i32"], D2, (4,)),
    "avx512.mask.getmant.pd.512": ([D8, "i32", D8, "i8", "i32"], D8, (0, 1, 2, 3, 4, 7)),
    "avx512.mask.rndscale.sd": ([D2, D2, D2, "i8", "i32", "i32"], D2, (4,)),
    "avx512.mask.rndscale.pd.512": ([D8, "i32", D8, "i8", "i32"], D8, (1, 2, 33)),
}  # fmt: skip


def _x86_caller(name: str, symbol: str, parameters: list[str], result: str, immediate: int) -> str:
    """Loads the operands from memory one behind the other; an `i32` at the end of AVX-512's is a rounding mode."""
    lines, given = [], []
    for n, t in enumerate(parameters):
        if t == "ptr":
            given.append("ptr %memory")
        elif t.startswith("i"):
            masks = ".mask." in symbol and n > 2
            given.append(f"{t} {(0xB5 - 256 if t == 'i8' else 4) if masks else immediate}")
        else:
            lines += [f"%p{n} = getelementptr i8, ptr %given, i64 {64 * n}", f"%v{n} = load {t}, ptr %p{n}, align 8"]
            given.append(f"{t} %v{n}")
    lines += [f"%r = call {result} @{symbol}({', '.join(given)})", f"store {result} %r, ptr %out, align 8", "ret void"]
    return f"define void @{name}(ptr %out, ptr %given, ptr %memory) {{\n" + "\n".join(lines) + "\n}\n"


@functools.cache
def _of_x86() -> Engine:
    """Callers of all of them that this processor has, by intrinsic and immediate operand."""
    text = []
    both = X86 | X86_512 if "avx512f" in features_of("native") else X86
    for name, (parameters, result, immediates) in both.items():
        symbol = f"llvm.x86.{name}"
        body = expansion(symbol, parameters, result)
        assert body is not None
        constant = [t.startswith("i") and not (t == "i8" and ".mask." in name) for t in parameters]
        declared = ", ".join(t + " immarg" * c for t, c in zip(parameters, constant, strict=True))
        text += [body, f"declare {result} @{symbol}({declared})"]
        for n in immediates or (0,):
            text += [_x86_caller(f"plain.{name}.{n}", symbol, parameters, result, n),
                     _x86_caller(f"expanded.{name}.{n}", name_of(symbol), parameters, result, n)]  # fmt: skip
    lines = [line for part in text for line in part.split("\n")]
    declarations = dict.fromkeys(line for line in lines if line.startswith("declare "))
    return Engine([LLVMModule.from_text("\n".join([*(x for x in lines if x not in declarations), *declarations]))])


@pytest.mark.skipif(platform.machine() != "x86_64" or "avx2" not in features_of("native"), reason="intrinsics of AVX2")
@pytest.mark.parametrize("name", [*X86, *X86_512])
def test_intrinsics_of_x86(name: str) -> None:
    if name in X86_512 and "avx512f" not in features_of("native"):
        pytest.skip("this processor has no AVX-512")
    parameters, result, immediates = (X86 | X86_512)[name]
    rng = np.random.default_rng(7)
    for immediate in (immediates or (0,)) * 4:
        given, memory = np.zeros((len(parameters), 64), np.uint8), rng.normal(size=64)
        for row, t in zip(given, parameters, strict=True):
            row[:] = _operand(t, name, rng).view(np.uint8)
        seen: list[Any] = []
        for which in ("plain", "expanded"):
            out = np.zeros(8)
            f = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(_of_x86().address(f"{which}.{name}.{immediate}"))
            f(out.ctypes.data, given.ctypes.data, memory.ctypes.data)
            seen.append(out.view(np.float32 if "float" in result else np.float64))
        loose = 1e-3 if ".rcp" in name or ".rsqrt" in name else 1e-5 if ".dp" in name else 0  # sums in another order
        np.testing.assert_allclose(seen[0], seen[1], rtol=loose)


def _operand(t: str, name: str, rng: np.random.Generator) -> np.ndarray:
    """64 bytes of an operand: positive where a root is taken, small numbers where lanes are, signs where masks are."""
    if t.endswith("x i1>"):
        return rng.integers(0, 256, size=64).astype(np.uint8)
    if "double" in t or "float" in t:
        x = rng.normal(size=16).astype(np.float64 if "double" in t else np.float32)
        return np.abs(x[: 64 // x.itemsize]) if "rsqrt" in name or "sqrt" in name else x[: 64 // x.itemsize]
    numbers = rng.integers(-8 if "mask" in name else 0, 8, size=16)
    return numbers[:8] if "i64" in t else numbers.astype(np.int32)


def test_intrinsics_of_x86_that_are_left_alone() -> None:
    assert expansion("llvm.x86.avx512.mask.fixupimm.pd.512", [D8, D8, "<8 x i64>", "i32", "i8", "i32"], D8) is None
    assert expansion("llvm.x86.aesni.aesenc", ["<2 x i64>", "<2 x i64>"], "<2 x i64>") is None


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
    module = parse(STRICT)
    assert unstrict(module)
    body = LLVMModule.from_text(write(module)).text().split("define")[1].split("}")[0]
    for piece in (
        "fadd double %x, 2.0", "call nnan double @llvm.sqrt.f64(double %a)", "fptrunc double %b to float",
        "fptosi float %c to i32", "@llvm.fma.v2f32(<2 x float> %v, <2 x float> %v,", "fcmp olt double %b, %a",
    ):  # fmt: skip
        assert piece in body, piece
    assert "constrained" not in body
