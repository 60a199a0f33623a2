"""Exact constants, and how LLVM assembly spells them in each floating-point format.

A constant is rounded once, to nearest even, from its exact value to the format it is used in: that is why a
`long double` derivative is as exact as a `double` one.
"""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

NAMED: dict[str, str] = {
    "pi": "3.141592653589793238462643383279502884197169399375105820974944592",
    "2/sqrt(pi)": "1.128379167095512573896158903121545171688101258657997713688171443",
    "ln2": "0.6931471805599453094172321214581765680755001343602552541206800095",
    "ln10": "2.302585092994045684017991454684364207601101488628772976033327901",
}
"""Irrational constants to 63 digits, far beyond the 34 of fp128."""


class Format(Struct, frozen=True):
    """A binary floating-point format: its LLVM intrinsic suffix, significant bits, and exponent bits."""

    suffix: str
    precision: int
    exponent: int
    prefix: str
    """What LLVM writes before the hexadecimal digits; float is written as the double of equal value."""

    @property
    def explicit(self) -> bool:
        """Whether the leading significand bit is stored (x86_fp80)."""
        return self.prefix == "0xK"


FORMATS: dict[str, Format] = {
    "half": Format("f16", 11, 5, "0xH"),
    "bfloat": Format("bf16", 8, 8, "0xR"),
    "float": Format("f32", 24, 8, ""),
    "double": Format("f64", 53, 11, "0x"),
    "x86_fp80": Format("f80", 64, 15, "0xK"),
    "fp128": Format("f128", 113, 15, "0xL"),
}
"""LLVM type name -> format."""

SUFFIXES: dict[str, str] = {format.suffix: name for name, format in FORMATS.items()}
"""Intrinsic suffix -> LLVM type name: "f64" -> "double"."""


def exact(value: Fraction | str) -> Fraction:
    """The value of a `Const`: rationals as they are, named constants to 63 digits."""
    return Fraction(NAMED[value]) if isinstance(value, str) else value


def literal(value: Fraction | str, format: str) -> str:
    """The constant as LLVM assembly writes it in `format` ("double" -> "0x3FF0000000000000").

    Correctly rounded; what is too large for the format becomes infinity, as in IEEE 754.
    """
    number, shape = exact(value), FORMATS[format]
    if not shape.prefix:
        rounded = _round(number, shape)
        too_large = abs(rounded) >= 2**2 ** (shape.exponent - 1)
        return _hex(rounded * 2**1000 if too_large else rounded, FORMATS["double"])
    return _hex(number, shape)


def _hex(value: Fraction, shape: Format) -> str:
    bits = _bits(value, shape)
    width = 80 if shape.explicit else shape.precision + shape.exponent
    digits = f"{bits:0{width // 4}X}"
    if shape.prefix == "0xL":  # LLVM writes the low half of an fp128 first
        digits = digits[16:] + digits[:16]
    return shape.prefix + digits


def _significand(value: Fraction, shape: Format) -> tuple[int, int]:
    """The integers (m, e) with m·2**e nearest to `value` >= 0 among the numbers of the format."""
    lowest = 3 - 2 ** (shape.exponent - 1) - shape.precision  # exponent of the last bit of subnormals
    if value == 0:
        return 0, lowest
    length = value.numerator.bit_length() - value.denominator.bit_length()
    power = max(lowest, length - shape.precision)
    if value / Fraction(2) ** power >= 2**shape.precision:
        power += 1
    elif power > lowest and value / Fraction(2) ** power < 2 ** (shape.precision - 1):
        power -= 1
    mantissa = round(value / Fraction(2) ** power)  # half to even
    return (mantissa // 2, power + 1) if mantissa == 2**shape.precision else (mantissa, power)


def _round(value: Fraction, shape: Format) -> Fraction:
    mantissa, power = _significand(abs(value), shape)
    return (-1 if value < 0 else 1) * mantissa * Fraction(2) ** power


def _bits(value: Fraction, shape: Format) -> int:
    mantissa, power = _significand(abs(value), shape)
    lowest = 3 - 2 ** (shape.exponent - 1) - shape.precision
    hidden = 2 ** (shape.precision - 1)
    biased = power - lowest + 1 if mantissa >= hidden else 0
    if biased >= 2**shape.exponent - 1:
        biased, mantissa = 2**shape.exponent - 1, hidden
    stored = mantissa if shape.explicit else mantissa % hidden
    fraction = shape.precision - (0 if shape.explicit else 1)
    sign = int(value < 0) << (fraction + shape.exponent)
    return sign | biased << fraction | stored
