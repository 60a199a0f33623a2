"""Bit patterns of LLVM's floating-point formats: read and print constants, convert from and to Python's float.

`half`, `bfloat`, `float`, `double` and `fp128` are IEEE 754 layouts of (exponent, fraction) bits; `x86_fp80` has an
explicit leading bit. `ppc_fp128` is a pair of doubles and only kept, never converted.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from fractions import Fraction

from llgrad.ir.types import FloatType

# exponent bits, fraction bits (without the leading bit)
_FORMATS = {
    "half": (5, 10),
    "bfloat": (8, 7),
    "float": (8, 23),
    "double": (11, 52),
    "x86_fp80": (15, 63),
    "fp128": (15, 112),
}
_PREFIX = {"half": "0xH", "bfloat": "0xR", "x86_fp80": "0xK", "fp128": "0xL", "ppc_fp128": "0xM"}
_PACKED = {"half": "<e", "float": "<f", "double": "<d"}
_LOW = (1 << 64) - 1


def from_text(t: FloatType, token: str) -> int:
    """The bit pattern of a constant as LLVM writes it (`1.0e+00`, `0x3FF…`, `0xH3C00`); ValueError if it is none."""
    if token[:2] != "0x":
        if token[-1:].isdigit() and (packed := _packed(t, float(token))) is not None:
            return packed
        return from_number(t, Fraction(token)) | _negative_zero(t, token)
    if token[2] in "HRKLM":
        if not token.startswith(_PREFIX.get(t.name, "-")):
            raise ValueError(f"{token} is not a {t}")
        digits = int(token[3:], 16)
        return (digits & _LOW) << 64 | digits >> 64 if token[2] in "LM" else digits
    bits = int(token, 16)
    return bits if t.name == "double" else _narrow(t, bits)


def to_text(t: FloatType, bits: int) -> str:
    """The constant as LLVM prints it: decimal where six digits are exact, else hexadecimal."""
    if t.name in ("float", "double"):
        wide = bits if t.name == "double" else _widen_float(bits)
        number = struct.unpack("<d", wide.to_bytes(8, "little"))[0]
        if number - number == 0:
            mantissa, exponent = f"{number:.5e}".split("e")
            if float(f"{mantissa}e{exponent}") == number:
                return f"{mantissa}0e{exponent}"
        return f"0x{wide:X}"
    if t.name in ("fp128", "ppc_fp128"):
        return f"{_PREFIX[t.name]}{bits & _LOW:016X}{bits >> 64:016X}"
    return f"{_PREFIX[t.name]}{bits:0{t.bits // 4}X}"


def from_float(t: FloatType, value: float) -> int:
    """The bit pattern of `value` rounded to nearest even; infinities and NaN included."""
    double = int.from_bytes(struct.pack("<d", value), "little")
    if t.name == "double":
        return double
    exponent, fraction = _FORMATS[t.name]
    sign = double >> 63 << (t.bits - 1)
    if value - value == 0:
        return sign | from_number(t, Fraction(abs(value)))
    top = ((1 << exponent) - 1) << _fraction_width(t)
    leading = 1 << 63 if t.name == "x86_fp80" else 0
    return sign | top | leading | (1 << (fraction - 1) if value != value else 0)


def to_fraction(t: FloatType, bits: int) -> Fraction | None:
    """The exact value, None for infinities and NaN."""
    exponent_bits, fraction_bits = _FORMATS[t.name]
    width = _fraction_width(t)
    exponent = bits >> width & ((1 << exponent_bits) - 1)
    significand = bits & ((1 << width) - 1)
    if exponent == (1 << exponent_bits) - 1:
        return None
    if t.name != "x86_fp80" and exponent:
        significand |= 1 << fraction_bits
    scale = max(exponent, 1) - ((1 << (exponent_bits - 1)) - 1) - fraction_bits
    magnitude = significand * Fraction(2) ** scale
    return -magnitude if bits >> (t.bits - 1) else magnitude


def to_float(t: FloatType, bits: int) -> float:
    """The value rounded to a double."""
    if t.name == "double":
        return float(struct.unpack("<d", bits.to_bytes(8, "little"))[0])
    negative = bits >> (t.bits - 1)
    exact = to_fraction(t, bits)
    if exact is None:
        payload = bits & ((1 << _FORMATS[t.name][1]) - 1)
        return float("nan") if payload else float("-inf" if negative else "inf")
    try:
        number = float(exact)
    except OverflowError:
        number = float("-inf" if negative else "inf")
    return -0.0 if negative and number == 0 else number


def from_number(t: FloatType, value: Fraction) -> int:
    """The bit pattern of an exact number rounded to nearest even (zero is +0)."""
    exponent_bits, fraction_bits = _FORMATS[t.name]
    if value == 0:
        return 0
    sign = 1 << (t.bits - 1) if value < 0 else 0
    value = abs(value)
    bias = (1 << (exponent_bits - 1)) - 1
    power = max(_log2(value), 1 - bias)
    significand = round(value / Fraction(2) ** (power - fraction_bits))
    if significand >> (fraction_bits + 1):
        significand, power = significand >> 1, power + 1
    biased = power + bias if significand >> fraction_bits else 0
    width = _fraction_width(t)
    if biased >= (1 << exponent_bits) - 1:
        leading = 1 << 63 if t.name == "x86_fp80" else 0
        return sign | ((1 << exponent_bits) - 1) << width | leading
    return sign | biased << width | significand & ((1 << width) - 1)


def _fraction_width(t: FloatType) -> int:
    """Bits below the exponent field."""
    return 64 if t.name == "x86_fp80" else _FORMATS[t.name][1]


def _packed(t: FloatType, number: float) -> int | None:
    """The pattern of what is exactly such a number, in a fraction of the time: tables have many. None: another way."""
    if t.name not in _PACKED or number - number != 0:
        return None
    with suppress(OverflowError):
        packed = struct.pack(_PACKED[t.name], number)
        return int.from_bytes(packed, "little") if struct.unpack(_PACKED[t.name], packed)[0] == number else None
    return None


def _negative_zero(t: FloatType, token: str) -> int:
    return 1 << (t.bits - 1) if token[0] == "-" and Fraction(token) == 0 else 0


def _log2(value: Fraction) -> int:
    """The largest n with 2**n <= value."""
    n = value.numerator.bit_length() - value.denominator.bit_length()
    return n if value >= Fraction(2) ** n else n - 1


def _widen_float(bits: int) -> int:
    """A `float` pattern as the `double` pattern LLVM prints for it, NaN payloads kept."""
    if bits >> 23 & 0xFF == 0xFF:
        return bits >> 31 << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29
    number = struct.unpack("<f", bits.to_bytes(4, "little"))[0]
    return int.from_bytes(struct.pack("<d", number), "little")


def _narrow(t: FloatType, double: int) -> int:
    """The pattern in format `t` of the `double` pattern in a hexadecimal constant; ValueError where it is not exact."""
    if double >> 52 & 0x7FF == 0x7FF:
        exponent, fraction = _FORMATS[t.name]
        shift = 52 - fraction
        payload = double & ((1 << 52) - 1)
        kept = payload >> shift if shift >= 0 else payload << -shift
        leading = 1 << 63 if t.name == "x86_fp80" else 0
        return double >> 63 << (t.bits - 1) | ((1 << exponent) - 1) << _fraction_width(t) | leading | kept
    number = struct.unpack("<d", double.to_bytes(8, "little"))[0]
    if (packed := _packed(t, number)) is not None:
        return packed
    bits = from_float(t, number)
    if to_float(t, bits) != number:
        raise ValueError(f"0x{double:016X} is not exactly a {t}")
    return bits
