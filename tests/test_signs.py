"""Bits of floats that are masked become operations on floats: the same bits, and derivatives at every level."""

from __future__ import annotations

import platform
import random
import struct
from pathlib import Path

import numpy as np
import pytest
from interpreter import Machine

import llgrad
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.transforms.floatbits.low_bits import with_fewer_digits
from llgrad.transforms.floatbits.sign_bits import with_signs

S, M = -(1 << 63), (1 << 63) - 1
# what is computed of %x, %y (two doubles each, and their bits %i, %j) and of a mask %c; what must be in the text then
PATTERNS = {
    "cleared": (f"%r = and <2 x i64> %i, splat (i64 {M})", "@llvm.fabs.v2f64"),
    "flipped": (f"%r = xor <2 x i64> %i, splat (i64 {S})", "fneg <2 x double>"),
    "set": (f"%r = or <2 x i64> %i, splat (i64 {S})", "fneg <2 x double>"),
    "flipped in one lane": (f"%r = xor <2 x i64> %i, <i64 0, i64 {S}>", "shufflevector <2 x double>"),
    "cleared in one lane, or zero": (f"%r = and <2 x i64> %i, <i64 {M}, i64 0>", "shufflevector <2 x double>"),
    "constant first": (f"%r = xor <2 x i64> splat (i64 {S}), %i", "fneg <2 x double>"),
    "in lanes of another width": (
        """%w = bitcast <2 x i64> %i to <4 x i32>
  %a = insertelement <4 x i32> <i32 -1, i32 poison, i32 -1, i32 poison>, i32 2147483647, i32 1
  %m = insertelement <4 x i32> %a, i32 2147483647, i32 3
  %n = and <4 x i32> %w, %m
  %r = bitcast <4 x i32> %n to <2 x i64>""",
        "@llvm.fabs.v2f64",
    ),
    "the sign of another": (
        f"""%a = and <2 x i64> %i, splat (i64 {M})
  %b = and <2 x i64> splat (i64 {S}), %j
  %r = or <2 x i64> %b, %a""",
        "@llvm.copysign.v2f64",
    ),
    "the sign of a product": (
        f"%b = and <2 x i64> %j, splat (i64 {S})\n  %r = xor <2 x i64> %i, %b",
        "fneg <2 x double>",
    ),  # fmt: skip
    "the sign of an integer": (
        """%n = fptosi <2 x double> %y to <2 x i64>
  %b = shl <2 x i64> %n, splat (i64 63)
  %r = xor <2 x i64> %i, %b""",
        "fneg <2 x double>",
    ),
    "one of two": (
        """%a = and <2 x i64> %c, %i
  %n = xor <2 x i64> %c, splat (i64 -1)
  %b = and <2 x i64> %n, %j
  %r = or <2 x i64> %a, %b""",
        "select <2 x i1> %less, <2 x double> %x, <2 x double> %y",
    ),
}
KEPT = {
    "other bits": f"%r = and <2 x i64> %i, splat (i64 {M - 1})",
    "the exponent": f"%r = and <2 x i64> %i, splat (i64 {0x7FF << 52})",
    "a sign alone": f"%r = and <2 x i64> %i, splat (i64 {S})",
    "set in what may have a sign": f"%b = and <2 x i64> %j, splat (i64 {S})\n  %r = or <2 x i64> %i, %b",
}


def text_of(body: str) -> str:
    return f"""define <2 x double> @f(<2 x double> %x, <2 x double> %y) {{
  %i = bitcast <2 x double> %x to <2 x i64>
  %j = bitcast <2 x double> %y to <2 x i64>
  %less = fcmp olt <2 x double> %x, %y
  %c = sext <2 x i1> %less to <2 x i64>
  {body}
  %z = bitcast <2 x i64> %r to <2 x double>
  ret <2 x double> %z
}}
"""


def rewritten(text: str) -> str:
    module = parse(LLVMModule.from_text(text).text())
    return LLVMModule.from_text(write(module)).text() if with_signs(module) else text


def bits(text: str, x: list[float], y: list[float]) -> list[bytes]:
    return [struct.pack("<d", float(v)) for v in Machine(parse(text)).run("f", [x, y])]


@pytest.mark.parametrize("name", PATTERNS)
def test_masked_bits_are_floats_of_the_same_bits(name: str) -> None:
    body, wanted = PATTERNS[name]
    before = text_of(body)
    after = rewritten(before)
    assert wanted in after and not {" and ", " or ", " xor "} & set(map(" {} ".format, after.split()))
    rng = random.Random(7)
    values = [0.0, -0.0, 1.5, -2.25, float("inf"), -float("inf")]
    for _ in range(20):
        x, y = ([rng.choice([*values, rng.uniform(-9, 9)]) for _ in range(2)] for _ in range(2))
        y = [1.0, 2.0] if name == "the sign of an integer" else y
        assert bits(before, x, y) == bits(after, x, y)


@pytest.mark.parametrize("name", KEPT)
def test_what_is_no_sign_is_left_alone(name: str) -> None:
    text = LLVMModule.from_text(text_of(KEPT[name])).text()
    assert rewritten(text) == text


def test_loaded_bits_that_are_stored_and_used_as_floats() -> None:
    """What is loaded as integers, and both stored and computed with, is the float that it is computed with as."""
    after = rewritten("""define <2 x double> @f(ptr %p, ptr %q) {
  %i = load <2 x i64>, ptr %p
  %r = xor <2 x i64> %i, <i64 -9223372036854775808, i64 0>
  store <2 x i64> %r, ptr %q
  %z = bitcast <2 x i64> %r to <2 x double>
  ret <2 x double> %z
}
""")
    assert "fneg <2 x double>" in after and "xor" not in after
    kept = LLVMModule.from_text("""define void @f(ptr %p, ptr %q) {
  %i = load i64, ptr %p
  %r = xor i64 %i, -9223372036854775808
  store i64 %r, ptr %q
  ret void
}
""").text()
    assert rewritten(kept) == kept


def test_integers_are_left_alone() -> None:
    text = LLVMModule.from_text("""define i64 @f(i64 %x, double %y) {
  %h = bitcast double %y to i64
  %m = and i64 %x, 9223372036854775807
  %n = xor i64 %m, -9223372036854775808
  %r = add i64 %n, %h
  ret i64 %r
}
""").text()
    assert rewritten(text) == text


SOURCE = """
#include <immintrin.h>
#include <stdint.h>
static double magnitude(double x)
{
    union { double number; uint64_t bits; } u = {x};
    u.bits &= UINT64_MAX / 2;
    return u.number;
}
double doubles(const double *x)
{
    const __m128d low = _mm_castsi128_pd(_mm_setr_epi32(-1, 0x7fffffff, -1, 0x7fffffff));
    const __m128d sign = _mm_castsi128_pd(_mm_setr_epi32(0, 0x80000000, 0, 0x80000000)), one = _mm_setr_pd(0.0, -0.0);
    __m128d a = _mm_loadu_pd(x), b = _mm_loadu_pd(x + 2), c = _mm_cmplt_pd(a, b);
    __m128d s = _mm_or_pd(_mm_and_pd(c, a), _mm_andnot_pd(c, b));
    __m128d t = _mm_or_pd(_mm_and_pd(sign, a), _mm_andnot_pd(sign, b));
    double o[2];
    _mm_storeu_pd(o, _mm_and_pd(a, low) * _mm_xor_pd(b, sign) + _mm_or_pd(a, sign) * s + t * _mm_xor_pd(a, one));
    return o[0] * 2 + o[1] * magnitude(x[1]);
}
float floats(const float *x)
{
    const __m128 sign = _mm_castsi128_ps(_mm_set1_epi32(0x80000000));
    __m128 a = _mm_loadu_ps(x), b = _mm_loadu_ps(x + 1);
    float o[4];
    _mm_storeu_ps(o, _mm_mul_ps(_mm_andnot_ps(sign, a), _mm_xor_ps(b, sign)));
    return o[0] + 2 * o[1] + o[2] - o[3];
}
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="intrinsics of x86")
@pytest.mark.parametrize("level", [0, 2])
def test_signs_of_vectors_at_every_level(level: int, tmp_path: Path) -> None:
    """LLVM reads floats as integers where they are masked at once: they are floats all the same."""
    (source := tmp_path / "signs.c").write_text(SOURCE)
    library = llgrad.load(source, optimize=level)
    x = np.array([0.3, -0.7, 1.1, 0.4])
    wanted = [(library.doubles(x + h) - library.doubles(x - h)) / 2e-6 for h in np.eye(4) * 1e-6]
    np.testing.assert_allclose(llgrad.grad(library.doubles)(x), wanted, rtol=1e-7)
    y = np.array([0.3, -0.7, 1.1, 0.4, -0.9], dtype=np.float32)
    a, b, k = np.abs(y[:4]), -y[1:], np.array([1, 2, 1, -1])
    gradient = np.append(k * b * np.sign(y[:4]), 0) - np.append(0, k * a)
    np.testing.assert_allclose(llgrad.grad(library.floats)(y), gradient, rtol=1e-5)


FRACTION = (1 << 52) - 1
EXPONENT = "%s = lshr i64 %i, 52\n  %t = trunc i64 %s to i32\n  %u = and i32 %t, 2047\n  %e = add i32 %u, -1023\n  "
DIGITS = {  # what is done to the bits %i of the double %x; what must be in the text then, "" where it stays as it is
    "a low word": (f"%r = and i64 %i, {-1 << 32}", "fsub double"),
    "as many as may be": (f"%r = and i64 {-1 << 42}, %i", "fsub double"),
    "too many": (f"%r = and i64 %i, {-1 << 43}", ""),
    "in the middle": (f"%r = and i64 %i, {-1 ^ 0xFF00}", ""),
    "the fraction": (
        EXPONENT + f"%n = zext i32 %e to i64\n  %m = ashr i64 {-1 << 52}, %n\n  %r = and i64 %i, %m",
        "@llvm.trunc.f64",
    ),
    "the fraction, inverted": (
        EXPONENT + f"%n = zext i32 %e to i64\n  %k = lshr i64 {FRACTION}, %n\n  %m = xor i64 %k, -1\n"
        "  %r = and i64 %m, %i",
        "@llvm.trunc.f64",
    ),
    "a shift that another number says": (f"%m = ashr i64 {-1 << 52}, %n\n  %r = and i64 %i, %m", ""),
    "another bias": (
        EXPONENT.replace("1023", "1022") + f"%n = zext i32 %e to i64\n  %m = ashr i64 {-1 << 52}, %n\n"
        "  %r = and i64 %i, %m",
        "",
    ),
    "a shift that is cut": (
        EXPONENT + f"%c = trunc i32 %e to i8\n  %n = zext i8 %c to i64\n  %m = ashr i64 {-1 << 52}, %n\n"
        "  %r = and i64 %i, %m",
        "",
    ),
}


@pytest.mark.parametrize("name", DIGITS)
def test_fewer_digits_have_the_same_bits(name: str) -> None:
    body, wanted = DIGITS[name]
    parameters = "double %x, i64 %n" if "another number" in name else "double %x"
    module = LLVMModule.from_text(
        f"define double @f({parameters}) {{\n  %i = bitcast double %x to i64\n  {body}\n"
        "  %z = bitcast i64 %r to double\n  ret double %z\n}\n"
    )
    before = module.text()
    assert with_fewer_digits(module) is bool(wanted)
    after = module.text()
    if not wanted:
        assert after == before
        return
    assert wanted in after
    values = [1.5, -2.25, 1e9 / 7, -1e15 / 3, 2.0**52 + 1, 1.0]
    values += [] if "trunc" in wanted else [0.0, -0.0, float("inf"), -float("inf"), 5e-324, -0.1]
    for x in values:
        one, other = (struct.pack("<d", float(Machine(parse(t)).run("f", [x]))) for t in (before, after))
        assert one == other
