"""Tangents: through arithmetic, through libm, and with the bytes of memory."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from interpret_jit import module
from interpreter import Dual, Machine, tangent

from llgrad.errors import UnsupportedError


def differentiate(
    body: str, *args: object, params: str = "double %x", result: str = "double", extra: str = ""
) -> object:
    """Run a function of that body, which may use `%p`, 32 bytes of memory."""
    text = f"{extra}\ndefine {result} @f({params}) {{\n  %p = alloca [4 x i64], align 16\n{body}\n}}"
    return Machine(module(text)).run("f", list(args))


FORMULAS: list[tuple[str, Callable[[complex, complex], complex]]] = [
    ("fadd {t} %x, %y", lambda x, y: x + y), ("fsub {t} %x, %y", lambda x, y: x - y),
    ("fmul {t} %x, %y", lambda x, y: x * y), ("fdiv {t} %x, %y", lambda x, y: x / y),
    ("fneg {t} %x", lambda x, y: -x), ("frem {t} %x, %y", lambda x, y: x - 2 * y),
    ("call {t} @llvm.fma.{s}({t} %x, {t} %y, {t} %x)", lambda x, y: x * y + x),
    ("call {t} @llvm.fmuladd.{s}({t} %x, {t} %x, {t} %y)", lambda x, y: x * x + y),
    ("call {t} @llvm.powi.{s}.i32({t} %x, i32 -3)", lambda x, y: x**-3),
    ("call {t} @llvm.maxnum.{s}({t} %x, {t} %y)", lambda x, y: x),
    ("call {t} @llvm.sqrt.{s}({t} %x)", lambda x, y: x**0.5),
    ("call {t} @llvm.copysign.{s}({t} %x, {t} -1.0)", lambda x, y: -x),
]  # fmt: skip


@pytest.mark.parametrize(("t", "s", "error"), [("double", "f64", 1e-14), ("float", "f32", 1e-6), ("half", "f16", 3e-3)])
@pytest.mark.parametrize(("code", "formula"), FORMULAS)
def test_arithmetic_by_complex_step(t: str, s: str, error: float, code: str, formula: Callable[..., complex]) -> None:
    x, y, dx, dy = 2.75, 1.25, 0.5, -0.75
    expected = formula(complex(x, 1e-30 * dx), complex(y, 1e-30 * dy)).imag / 1e-30
    operation = code.format(t=t, s=s)
    declarations = "\n".join(
        d.format(t=t, s=s)
        for d in (
            "declare {t} @llvm.fma.{s}({t}, {t}, {t})", "declare {t} @llvm.fmuladd.{s}({t}, {t}, {t})",
            "declare {t} @llvm.powi.{s}.i32({t}, i32)", "declare {t} @llvm.maxnum.{s}({t}, {t})",
            "declare {t} @llvm.sqrt.{s}({t})", "declare {t} @llvm.copysign.{s}({t}, {t})",
        )
    )  # fmt: skip
    got = differentiate(
        f"  %r = {operation}\n  ret {t} %r", Dual(x, dx), Dual(y, dy),
        params=f"{t} %x, {t} %y", result=t, extra=declarations,
    )  # fmt: skip
    assert isinstance(got, Dual)
    assert got.value == pytest.approx(formula(x, y), rel=10 * error)
    assert got.tangent == pytest.approx(expected, rel=error)


LIBM = {
    "sin": mpmath.sin, "tan": mpmath.tan, "exp": mpmath.exp, "log": mpmath.log, "cbrt": mpmath.cbrt, "erf": mpmath.erf,
    "asinh": mpmath.asinh, "tgamma": mpmath.gamma, "lgamma": mpmath.loggamma, "log1p": mpmath.log1p,
    "j1": lambda x: mpmath.besselj(1, x),
}  # fmt: skip


@pytest.mark.parametrize("name", LIBM)
@pytest.mark.parametrize(
    ("t", "suffix", "error"), [("double", "", 1e-13), ("float", "f", 1e-6), ("x86_fp80", "l", 1e-17)]
)
def test_libm(name: str, t: str, suffix: str, error: float) -> None:
    x = 0.6875
    got = differentiate(
        f"  %r = call {t} @{name}{suffix}({t} %x)\n  ret {t} %r", Dual(x, 2.0), params=f"{t} %x", result=t,
        extra=f"declare {t} @{name}{suffix}({t})",
    )  # fmt: skip
    assert isinstance(got, Dual)
    with mpmath.workdps(40):
        slope = 2 * mpmath.diff(LIBM[name], mpmath.mpf(x))
        mine = mpmath.mpf(int(got.tangent * 2**40 * 2**24)) / 2**64
        assert abs(mine / slope - 1) < error


def test_formats_convert_tangents() -> None:
    body = """
      %a = fptrunc double %x to float
      %b = fpext float %a to x86_fp80
      %c = fmul x86_fp80 %b, %b
      %d = fpext x86_fp80 %c to fp128
      %e = fdiv fp128 %d, %d
      %g = fadd fp128 %e, %d
      %h = fptrunc fp128 %g to double
      ret double %h"""
    got = differentiate(body, Dual(1.5, 1.0))
    assert isinstance(got, Dual) and got.value == 3.25 and got.tangent == 3.0


def test_library_functions_with_several_results() -> None:
    extra = """
    declare void @sincos(double, ptr, ptr)
    declare double @frexp(double, ptr)
    declare double @jn(i32, double)
    declare { double, double } @llvm.modf.f64(double)
    declare <2 x double> @llvm.exp.v2f64(<2 x double>)
    declare { double, double } @cexp(double, double)
    declare <2 x float> @cexpf(<2 x float>)"""
    sincos = "%q = getelementptr i8, ptr %p, i64 8\n call void @sincos(double %x, ptr %p, ptr %q)\n"
    load = " %s = load double, ptr %p\n %c = load double, ptr %q\n %r = fdiv double %s, %c\n ret double %r"
    got = differentiate(sincos + load, Dual(0.5, 1.0), extra=extra)
    assert tangent(got) == pytest.approx(1 / math.cos(0.5) ** 2)
    got = differentiate(" %r = call double @frexp(double %x, ptr %p)\n ret double %r", Dual(12.0, 1.0), extra=extra)
    assert (got.value, got.tangent) == (0.75, 1 / 16)  # type: ignore[attr-defined]
    got = differentiate(" %r = call double @jn(i32 2, double %x)\n ret double %r", Dual(1.5, 1.0), extra=extra)
    slope = mpmath.diff(lambda x: mpmath.besselj(2, x), 1.5)
    assert tangent(got) == pytest.approx(float(slope), rel=1e-12)
    modf = " %m = call { double, double } @llvm.modf.f64(double %x)\n %r = extractvalue { double, double } %m, 0\n"
    got = differentiate(modf + " ret double %r", Dual(2.25, 3.0), extra=extra)
    assert (got.value, got.tangent) == (0.25, 3.0)  # type: ignore[attr-defined]
    vector = """ %v = insertelement <2 x double> zeroinitializer, double %x, i32 1
      %e = call <2 x double> @llvm.exp.v2f64(<2 x double> %v)
      ret <2 x double> %e"""
    got = differentiate(vector, Dual(1.0, 1.0), result="<2 x double>", extra=extra)
    assert got[0] == 1.0 and tangent(got[1]) == pytest.approx(math.e)  # type: ignore[index]
    call = " %r = call { double, double } @cexp(double %x, double %y)\n ret { double, double } %r"
    got = differentiate(
        call, Dual(0.5, 1.0), 0.25, params="double %x, double %y", result="{ double, double }", extra=extra
    )
    expected = np.exp(0.5 + 0.25j)
    assert tangent(got[0]) == pytest.approx(expected.real)  # type: ignore[index]
    assert tangent(got[1]) == pytest.approx(expected.imag)  # type: ignore[index]
    call = " %r = call <2 x float> @cexpf(<2 x float> %x)\n ret <2 x float> %r"
    got = differentiate(call, (0.5, Dual(0.25, 1.0)), params="<2 x float> %x", result="<2 x float>", extra=extra)
    assert tangent(got[0]) == pytest.approx(-expected.imag, rel=1e-6)  # type: ignore[index]


MOVES = {
    "i64": "%i = load i64, ptr %p\n store i64 %i, ptr %q",
    "halves": """%a = load i32, ptr %p
        %p4 = getelementptr i8, ptr %p, i64 4
        %b = load i32, ptr %p4
        %q4 = getelementptr i8, ptr %q, i64 4
        store i32 %b, ptr %q4
        store i32 %a, ptr %q""",
    "assembled": """%a = load i32, ptr %p
        %p4 = getelementptr i8, ptr %p, i64 4
        %b = load i32, ptr %p4
        %wa = zext i32 %a to i64
        %wb = zext i32 %b to i64
        %s = shl nuw i64 %wb, 32
        %i = or disjoint i64 %s, %wa
        store i64 %i, ptr %q""",
    "taken apart": """%i = load i64, ptr %p
        %h = lshr i64 %i, 32
        %b = trunc nuw i64 %h to i32
        %a = trunc i64 %i to i32
        %q4 = getelementptr i8, ptr %q, i64 4
        store i32 %a, ptr %q
        store i32 %b, ptr %q4""",
    "memcpy": "call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %p, i64 8, i1 false)",
    "swapped twice": """%i = load i64, ptr %p
        %s = call i64 @llvm.bswap.i64(i64 %i)
        %w = call i64 @llvm.fshl.i64(i64 %s, i64 %s, i64 24)
        %u = call i64 @llvm.fshr.i64(i64 %w, i64 %w, i64 24)
        %t = call i64 @llvm.bswap.i64(i64 %u)
        store i64 %t, ptr %q""",
    "bytes": "%v = load <8 x i8>, ptr %p\n store <8 x i8> %v, ptr %q",
    "pointer": "%v = load ptr, ptr %p\n store ptr %v, ptr %q",
    "masks": """%i = load i64, ptr %p
        %l = and i64 %i, 4294967295
        %h = and i64 %i, -4294967296
        %j = or i64 %h, %l
        store i64 %j, ptr %q""",
}
DECLARE = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.bswap.i64(i64)
declare i64 @llvm.fshl.i64(i64, i64, i64)
declare i64 @llvm.fshr.i64(i64, i64, i64)
"""


@pytest.mark.parametrize("move", MOVES)
def test_copies_keep_tangents(move: str) -> None:
    body = f"""
        %q = getelementptr i8, ptr %p, i64 8
        store double %x, ptr %p
        {MOVES[move]}
        store double 0.0, ptr %p
        %r = load double, ptr %q
        ret double %r"""
    got = differentiate(body, Dual(1.75, 3.5), extra=DECLARE)
    assert isinstance(got, Dual) and (got.value, got.tangent) == (1.75, 3.5)


SIGNS = {
    "and i64 %i, 9223372036854775807": (1.75, -3.5), "xor i64 %i, -9223372036854775808": (1.75, -3.5),
    "or i64 %i, -9223372036854775808": (-1.75, 3.5),
}  # fmt: skip


@pytest.mark.parametrize("operation", SIGNS)
def test_sign_masks(operation: str) -> None:
    body = f"%i = bitcast double %x to i64\n %j = {operation}\n %r = bitcast i64 %j to double\n ret double %r"
    got = differentiate(body, Dual(-1.75, 3.5))
    assert isinstance(got, Dual) and (got.value, got.tangent) == SIGNS[operation]


def test_sign_and_exponent_are_constant() -> None:
    body = """
        %i = bitcast double %x to i64
        %e = lshr i64 %i, 52
        %m = and i64 %e, 2047
        %n = sub i64 %m, 1023
        %h = lshr i64 %i, 32
        %w = trunc i64 %h to i32
        %k = and i32 %w, 2146435072
        %c = icmp slt i64 %i, 0
        %f = sitofp i64 %n to double
        %r = select i1 %c, double 0.0, double %f
        ret double %r"""
    assert differentiate(body, Dual(12.0, 1.0)) == 3.0
    assert not isinstance(differentiate(body, Dual(12.0, 1.0)), Dual)


REFUSED = {
    "arithmetic": "%i = bitcast double %x to i64\n %h = lshr i64 %i, 1\n %j = sub i64 99, %h\n"
                  "%r = bitcast i64 %j to double\n ret double %r",
    "to float": "%i = bitcast double %x to i64\n %r = uitofp i64 %i to double\n ret double %r",
    "partial overwrite": "store double %x, ptr %p\n store i32 0, ptr %p\n %r = load double, ptr %p\n ret double %r",
    "other format": "store double %x, ptr %p\n %f = load float, ptr %p\n %r = fpext float %f to double\n ret double %r",
    "shifted": "%q = getelementptr i8, ptr %p, i64 4\n store double 1.0, ptr %q\n store double %x, ptr %p\n"
               "%r = load double, ptr %q\n ret double %r",
    "mantissa": "%i = bitcast double %x to i64\n %m = and i64 %i, 4503599627370495\n"
                "%j = or i64 %m, 4607182418800017408\n %r = bitcast i64 %j to double\n ret double %r",
    "popcount": "%i = bitcast double %x to i64\n %c = call i64 @llvm.ctpop.i64(i64 %i)\n %r = sitofp i64 %c to double\n"
                "ret double %r",
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_mangled_bits_are_refused(name: str) -> None:
    extra = "declare i64 @llvm.ctpop.i64(i64)"
    with pytest.raises(UnsupportedError):
        differentiate(REFUSED[name], Dual(1.5, 1.0), extra=extra)
    if name != "shifted":  # which reads half of an unwritten double
        assert isinstance(differentiate(REFUSED[name], 1.5, extra=extra), float)


def test_overwritten_bytes_are_inactive() -> None:
    zeros = "store double %x, ptr %p\n store i64 0, ptr %p\n %r = load double, ptr %p\n ret double %r"
    assert differentiate(zeros, Dual(1.5, 1.0)) == 0.0
    union = """
        store double %x, ptr %p
        store float 2.5, ptr %p
        %f = load float, ptr %p
        %w = fpext float %f to double
        %r = fmul double %w, %x
        ret double %r"""
    assert tangent(differentiate(union, Dual(1.5, 1.0))) == 2.5


def test_put_get_set() -> None:
    text = """
    define void @square(ptr %p, i64 %n) {
    entry:
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %j, %loop ]
      %q = getelementptr float, ptr %p, i64 %i
      %x = load float, ptr %q
      %y = fmul float %x, %x
      store float %y, ptr %q
      %j = add i64 %i, 1
      %c = icmp eq i64 %j, %n
      br i1 %c, label %done, label %loop
    done:
      ret void
    }"""
    machine = Machine(module(text))
    address = machine.put(np.array([1.5, 2.0, 3.0], np.float32), tangent=np.array([1.0, 0.0, 2.0]))
    machine.run("square", [address, 3])
    values, tangents = machine.get(address, np.float32, 3)
    assert values.tolist() == [2.25, 4.0, 9.0] and values.dtype == np.float32
    assert tangents.tolist() == [3.0, 0.0, 12.0]
    again = machine.put(np.array([1 + 2j]), tangent=np.array([3 - 1j]))
    values, tangents = machine.get(again, complex, 1)
    assert values[0] == 1 + 2j and tangents[0] == 3 - 1j
    machine.set(again, np.array([5.0]))
    assert machine.get(again, float, 2)[1].tolist() == [0.0, -1.0]
    wide = machine.put(np.array([2], np.longdouble), tangent=[1])
    assert machine.get(wide, np.longdouble, 1)[1].dtype == np.longdouble
    assert machine.get(machine.put(np.array([1, -2])), np.int64, 2)[0].tolist() == [1, -2]


def test_zero_tangents_stay_active() -> None:
    """0·inf is NaN, as in generated code."""
    extra = "declare double @sqrt(double)"
    got = differentiate("%r = call double @sqrt(double %x)\n ret double %r", Dual(0.0, 0.0), extra=extra)
    assert math.isnan(tangent(got))
    assert differentiate("%r = call double @sqrt(double %x)\n ret double %r", 0.0, extra=extra) == 0.0
