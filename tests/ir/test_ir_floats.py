"""Bit patterns of floating-point constants against numpy, struct, exact arithmetic, and LLVM's own reading."""

from __future__ import annotations

import random
import struct
from fractions import Fraction

import numpy as np
import pytest
from ir_corpus import llvm_print

from llgrad.ir import floats
from llgrad.ir import types as T
from llgrad.ir.parse import parse
from llgrad.ir.values import ConstFloat

EDGES = [0.0, -0.0, 1.0, -1.5, 0.1, 1e308, -1e-308, 5e-324, float("inf"), -float("inf"), 65504.0, 65520.0, 6e-8, 3.4e38]
EDGES += [1e-45, 7e-46, 1.1754943508222875e-38, 3.0000000001, 2.0**-25, 2.0**-24 * 1.5]
DICE = random.Random(7)
DOUBLES = EDGES + [DICE.uniform(-1, 1) * 10.0 ** DICE.randint(-60, 60) for _ in range(300)]
FORMATS = [T.HALF, T.BFLOAT, T.FLOAT, T.DOUBLE, T.X86_FP80, T.FP128]


def numpy_bits(t: T.FloatType, x: float) -> int:
    kind = {"half": np.float16, "float": np.float32, "double": np.float64, "x86_fp80": np.longdouble}[t.name]
    with np.errstate(over="ignore", under="ignore"):
        return int.from_bytes(np.array([x]).astype(kind).tobytes()[: t.bits // 8], "little")


@pytest.mark.parametrize("t", [T.HALF, T.FLOAT, T.DOUBLE, T.X86_FP80], ids=str)
def test_rounding_is_numpys(t: T.FloatType) -> None:
    for x in DOUBLES:
        assert floats.from_float(t, x) == numpy_bits(t, x), x


def test_bfloat_is_the_upper_half_of_a_float() -> None:
    for pattern in range(0, 1 << 16, 37):
        single = struct.unpack("<f", (pattern << 16).to_bytes(4, "little"))[0]
        if single == single:
            assert floats.from_float(T.BFLOAT, single) == pattern
            assert floats.to_float(T.BFLOAT, pattern) == single
    assert floats.from_float(T.BFLOAT, 1.0 + 2.0**-8) == 0x3F80  # tie to even
    assert floats.from_float(T.BFLOAT, 1.0 + 3 * 2.0**-8) == 0x3F82


@pytest.mark.parametrize("t", FORMATS, ids=str)
def test_patterns_survive_text(t: T.FloatType) -> None:
    dice = random.Random(t.name)
    patterns = {floats.from_float(t, x) for x in EDGES}
    patterns |= {dice.getrandbits(t.bits) | (1 << 63 if t is T.X86_FP80 else 0) for _ in range(60)}
    text = "".join(f"@g{n} = global {t} {floats.to_text(t, bits)}\n" for n, bits in enumerate(sorted(patterns)))
    module = parse(llvm_print(text))
    found = [v.initializer for v in module.variables]
    assert found == [ConstFloat(t, bits) for bits in sorted(patterns)]


@pytest.mark.parametrize("t", FORMATS, ids=str)
def test_text_is_llvms(t: T.FloatType) -> None:
    """For common constants; in rare cases LLVM writes hexadecimal where we find six digits enough."""
    for x in (0.0, -0.0, 1.0, 0.1, -2.5, 65504.0, 1e5, 1234567.0, 5e-324, float("inf"), float("nan")):
        bits = floats.from_float(t, x)
        assert f" = global {t} {floats.to_text(t, bits)}\n" in llvm_print(
            f"@g = global {t} {floats.to_text(t, bits)}\n"
        )


@pytest.mark.parametrize("t", FORMATS, ids=str)
def test_exact_values(t: T.FloatType) -> None:
    for x in DOUBLES:
        bits = floats.from_float(t, x)
        exact = floats.to_fraction(t, bits)
        if exact is not None:
            assert floats.from_number(t, abs(exact)) == bits & ~(1 << (t.bits - 1))
            if t in (T.DOUBLE, T.X86_FP80, T.FP128):
                assert exact == Fraction(x) and floats.to_float(t, bits) == x


def test_decimal_text_of_long_doubles_is_exact() -> None:
    third = floats.from_number(T.FP128, Fraction(1, 3))
    assert third == 0x3FFD5555555555555555555555555555
    assert floats.from_number(T.X86_FP80, Fraction(1, 3)) == 0x3FFDAAAAAAAAAAAAAAAB


def test_infinities_and_nan() -> None:
    for t in FORMATS:
        for x in (float("inf"), float("-inf")):
            assert floats.to_float(t, floats.from_float(t, x)) == x
        assert floats.to_float(t, floats.from_float(t, float("nan"))) != 0
        assert np.isnan(floats.to_float(t, floats.from_float(t, float("nan"))))
    assert floats.to_float(T.DOUBLE, 1 << 63) == 0 and np.signbit(floats.to_float(T.HALF, 1 << 15))


@pytest.mark.parametrize(("t", "token"), [(T.FLOAT, "0x3FB999999999999A"), (T.HALF, "0xK3FFF"), (T.DOUBLE, "0xH3C00")])
def test_tokens_that_are_no_constant_of_the_type(t: T.FloatType, token: str) -> None:
    with pytest.raises(ValueError):
        floats.from_text(t, token)
