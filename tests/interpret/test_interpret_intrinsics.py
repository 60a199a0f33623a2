"""Intrinsics and formats that machine code cannot be asked about everywhere; rare control flow."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from interpret_jit import module
from interpreter import Dual, Machine, tangent
from interpreter.floats import BFLOAT, FORMATS, FP128, X86_FP80, exact
from interpreter.mathematics import compute

from llgrad.errors import ForeignError


def bfloat(x: np.float32) -> np.float32:
    """Round a float to bfloat, ties to even, by its bits."""
    bits = int(np.float32(x).view(np.uint32))
    bits += 0x7FFF + (bits >> 16 & 1)
    return np.uint32(bits & 0xFFFF0000).view(np.float32)


@pytest.mark.parametrize("op", ["fadd", "fsub", "fmul", "fdiv"])
def test_bfloat(op: str) -> None:
    text = f"define bfloat @f(bfloat %x, bfloat %y) {{\n %r = {op} bfloat %x, %y\n ret bfloat %r\n}}"
    machine, rng = Machine(module(text)), random.Random(3)
    numpy_op = {"fadd": np.add, "fsub": np.subtract, "fmul": np.multiply, "fdiv": np.divide}[op]
    for _ in range(200):
        x, y = (bfloat(np.float32(rng.uniform(-9, 9))) for _ in "xy")
        assert machine.run("f", [float(x), float(y)]) == float(bfloat(numpy_op(x, y)))


@pytest.mark.parametrize("name", FORMATS)
def test_formats_round_to_nearest_even(name: str) -> None:
    format = FORMATS[name]
    for bits in (0, 1, 5, 3 << (format.fraction - 2), format.encode(format.make(1)), format.encode(format.make(1.5))):
        value = format.exact(bits)
        following = format.exact(bits + 1)
        assert isinstance(value, Fraction) and isinstance(following, Fraction)
        if format.explicit and bits == 3 << (format.fraction - 2):
            continue  # a pseudo-denormal
        assert format.exact_bits(value) == bits
        half = (value + following) / 2
        assert format.exact_bits(half) == bits + (bits & 1)
        assert format.exact_bits(half + Fraction(1, 2**20000)) == bits + 1
        assert exact(format.decode(bits)) == value
    largest = (2**format.precision - 1) * Fraction(2) ** (format.lowest + 2**format.exponent - 3)
    assert format.exact_bits(largest) != format.special_bits(math.inf)
    assert format.exact_bits(largest * 2) == format.special_bits(math.inf)
    assert format.exact_bits(-largest * 2) == format.special_bits(-math.inf)


def test_values_in_wide_formats() -> None:
    for format, digits in ((X86_FP80, 2**62), (FP128, 2**110)):
        root = exact(compute("sqrt", format, [format.make(2)])[0])
        assert abs(root * root - 2) < Fraction(4, digits)
        assert compute("atan2", format, [format.decode(1 << (format.bits - 1)), format.make(-1)])[0] < -3
        assert math.isinf(float(compute("log", format, [format.make(0)])[0]))
        assert math.isnan(float(compute("log", format, [format.make(-1)])[0]))
        assert compute("floor", format, [format.make(-1.5)])[0] == format.make(-2)
    assert exact(compute("fma", BFLOAT, [3.0, 1.0, 2.0**-20])[0]) == 3


MASKED = """
declare <4 x double> @llvm.masked.load.v4f64.p0(ptr, i32, <4 x i1>, <4 x double>)
declare void @llvm.masked.store.v4f64.p0(<4 x double>, ptr, i32, <4 x i1>)
declare <4 x double> @llvm.masked.gather.v4f64.v4p0(<4 x ptr>, i32, <4 x i1>, <4 x double>)
declare void @llvm.masked.scatter.v4f64.v4p0(<4 x double>, <4 x ptr>, i32, <4 x i1>)
define void @loads(ptr %p, ptr %q, <4 x i1> %m) {
  %v = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %p, i32 8, <4 x i1> %m, <4 x double> splat (double 7.0))
  call void @llvm.masked.store.v4f64.p0(<4 x double> %v, ptr %q, i32 8, <4 x i1> splat (i1 true))
  ret void
}
define void @stores(ptr %p, ptr %q, <4 x i1> %m) {
  %a = getelementptr double, ptr %p, <4 x i64> <i64 3, i64 2, i64 1, i64 0>
  %b = getelementptr double, ptr %q, <4 x i64> <i64 0, i64 1, i64 2, i64 3>
  %v = call <4 x double> @llvm.masked.gather.v4f64.v4p0(<4 x ptr> %a, i32 8, <4 x i1> splat (i1 true),
    <4 x double> poison)
  call void @llvm.masked.scatter.v4f64.v4p0(<4 x double> %v, <4 x ptr> %b, i32 8, <4 x i1> %m)
  ret void
}
"""


def test_masked_memory() -> None:
    machine = Machine(module(MASKED))
    for name, values, slopes in (("loads", [1, 7, 3, 7], [1, 0, 0, 0]), ("stores", [4, 0, 2, 0], [9, 0, 5, 0])):
        p = machine.put(np.arange(1.0, 5.0), tangent=np.array([1.0, 5.0, 0.0, 9.0]))
        q = machine.put(np.zeros(4))
        machine.run(name, [p, q, (1, 0, 1, 0)])
        got, tangents = machine.get(q, float, 4)
        assert got.tolist() == values and tangents.tolist() == slopes
    short = machine.put(np.arange(3.0))  # masked lanes touch no memory
    machine.run("loads", [short, machine.alloc(32), (1, 1, 1, 0)])
    with pytest.raises(ForeignError, match="bounds"):
        machine.run("loads", [short, machine.alloc(32), (1, 1, 1, 1)])


RARE = """
declare double @llvm.experimental.constrained.fmul.f64(double, double, metadata, metadata)
declare i1 @llvm.experimental.constrained.fcmp.f64(double, double, metadata, metadata)
declare i64 @llvm.objectsize.i64.p0(ptr, i1, i1, i1)
declare ptr @llvm.stacksave.p0()
declare void @llvm.stackrestore.p0(ptr)
declare <4 x i1> @llvm.get.active.lane.mask.v4i1.i64(i64, i64)
@table = constant [2 x ptr] [ptr blockaddress(@jump, %a), ptr blockaddress(@jump, %b)]
@address = global i64 sub (i64 ptrtoint (ptr getelementptr (i8, ptr @table, i64 8) to i64),
  i64 ptrtoint (ptr @table to i64))
@also = alias double (double), ptr @constrained
define double @constrained(double %x) strictfp {
  %r = call double @llvm.experimental.constrained.fmul.f64(double %x, double 3.0,
    metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp
  %c = call i1 @llvm.experimental.constrained.fcmp.f64(double %r, double 6.0,
    metadata !"ogt", metadata !"fpexcept.strict") strictfp
  %s = select i1 %c, double %r, double 0.0
  ret double %s
}
define double @through(double %x) {
  %r = call double @also(double %x)
  ret double %r
}
define i32 @jump(i64 %i) {
  %p = getelementptr ptr, ptr @table, i64 %i
  %t = load ptr, ptr %p
  indirectbr ptr %t, [label %a, label %b]
a:
  ret i32 10
b:
  ret i32 20
}
define i64 @constants() {
  %v = load i64, ptr @address
  ret i64 %v
}
define i32 @stack(i32 %n) {
entry:
  %s = call ptr @llvm.stacksave.p0()
  %p = alloca i32, i32 %n
  store i32 5, ptr %p
  call void @llvm.stackrestore.p0(ptr %s)
  %x = load i32, ptr %p
  ret i32 %x
}
define i64 @size(ptr %p) {
  %r = call i64 @llvm.objectsize.i64.p0(ptr %p, i1 false, i1 true, i1 false)
  ret i64 %r
}
define <4 x i1> @lanes(i64 %i) {
  %m = call <4 x i1> @llvm.get.active.lane.mask.v4i1.i64(i64 %i, i64 6)
  ret <4 x i1> %m
}
define i32 @swap(i32 %n) {
entry:
  br label %loop
loop:
  %a = phi i32 [ 1, %entry ], [ %b, %loop ]
  %b = phi i32 [ 2, %entry ], [ %a, %loop ]
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %j = add i32 %i, 1
  %c = icmp eq i32 %j, %n
  br i1 %c, label %done, label %loop
done:
  ret i32 %a
}
"""


def test_rare_shapes() -> None:
    machine = Machine(module(RARE))
    value = machine.run("through", [Dual(2.5, 1.0)])
    assert (value.value, value.tangent) == (7.5, 3.0)
    assert machine.run("constrained", [1.0]) == 0.0
    assert [machine.run("jump", [i]) for i in (0, 1)] == [10, 20]
    assert machine.run("constants") == 8
    assert machine.run("size", [machine.alloc(8)]) == 2**64 - 1
    assert machine.run("lanes", [4]) == (1, 1, 0, 0)
    assert [machine.run("swap", [n]) for n in (1, 2, 3)] == [1, 2, 1]
    with pytest.raises(ForeignError, match="not there"):
        machine.run("stack", [4])


def test_mixed_carriers() -> None:
    """Active and inactive operands of the wide formats, either way round."""
    for t in ("x86_fp80", "fp128", "half"):
        text = f"""
        define {t} @f({t} %x, {t} %y) {{
          %a = fsub {t} %y, %x
          %b = fdiv {t} %y, %a
          %c = fmul {t} %b, %x
          %d = fadd {t} %x, %y
          %e = fdiv {t} %c, %d
          ret {t} %e
        }}"""
        machine = Machine(module(text))
        got = machine.run("f", [Dual(0.5, 1.0), 2.0])
        h = 1e-6

        def function(x: float) -> float:
            return 2.0 / (2.0 - x) * x / (x + 2.0)

        slope = (function(0.5 + h) - function(0.5 - h)) / (2 * h)
        assert float(got.value) == pytest.approx(function(0.5), rel=2e-3)
        assert float(tangent(got)) == pytest.approx(slope, rel=2e-3 if t == "half" else 1e-8)
