"""Floating-point formats as the interpreter computes in them, and dual numbers.

Carriers: half, bfloat, float and double are Python floats that are always values of their format; x86_fp80 is
`numpy.longdouble` (where that is the 80-bit format), fp128 is `Quad`. + - * / are correctly rounded in every format:
for the narrow ones the double result is rounded again, which is innocuous (53 >= 2p + 2). Conversions round once,
from the exact value. Limits: NaN payloads survive loads and stores of double only (a signalling float NaN may become
quiet); ppc_fp128 is refused.

A `Dual` is a float with a tangent. The tangent has the carrier of its format, but is not rounded to narrow formats:
derivatives of `float` code are computed in double.
"""

from __future__ import annotations

import ctypes
import math
import operator
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from interpreter.undefined import POISON
from llgrad.errors import UnsupportedError

_f32 = ctypes.c_float


class Format:
    """A binary format: `size` bytes in memory, `precision` significant bits; `explicit`: the leading one is stored.

    The base class is exact arithmetic on bit patterns; the subclasses know the carrier: `encode`, `decode`, `round`.
    """

    def __init__(self, name: str, bits: int, precision: int, explicit: bool = False) -> None:
        self.name, self.bits, self.precision = name, bits, precision
        self.size = (bits + 7) // 8
        self.fraction = precision if explicit else precision - 1  # stored significand bits
        self.explicit = explicit
        self.exponent = bits - 1 - self.fraction
        self.lowest = 3 - (1 << (self.exponent - 1)) - precision  # exponent of the last bit of subnormals

    def __repr__(self) -> str:
        return self.name

    def encode(self, value: Any) -> int:
        """The bit pattern of a value of this format."""
        raise NotImplementedError

    def decode(self, bits: int) -> Any:
        """The value of a bit pattern."""
        raise NotImplementedError

    def round(self, value: Any) -> Any:
        """Round what one carrier operation on values of this format gave."""
        return value

    def make(self, number: Any) -> Any:
        """An int, Fraction or value of any format, rounded once to this format; Duals and poison are passed through."""
        if number is POISON:
            return number
        if isinstance(number, Dual):
            return Dual(self.make(number.value), self.tangent(number.tangent), self)
        special = None if isinstance(number, (int, Fraction)) else _special(number)
        if special is not None:
            return self.decode(self.special_bits(special))
        return self.decode(self.exact_bits(exact(number)))

    def tangent(self, number: Any) -> Any:
        """A tangent in this format's carrier."""
        return DOUBLE.make(number)

    def special_bits(self, value: float) -> int:
        """Bits of the zero, infinity or NaN of `value`'s class and sign."""
        sign = int(math.copysign(1.0, value) < 0) << (self.bits - 1)
        if value == 0:
            return sign
        top = ((1 << self.exponent) - 1) << self.fraction
        leading = 1 << (self.fraction - 1) if self.explicit else 0
        return sign | top | leading | (1 << (self.precision - 2) if math.isnan(value) else 0)

    def exact_bits(self, value: Fraction) -> int:
        """Bits of the number of this format nearest to `value` (ties to even; +0 for zero; overflow to infinity)."""
        sign = int(value < 0) << (self.bits - 1)
        magnitude = abs(value)
        power = max(self.lowest, magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - self.precision)
        if _scaled(magnitude, power) >= 1 << self.precision:
            power += 1
        mantissa = round(_scaled(magnitude, power))
        if mantissa == 1 << self.precision:
            mantissa, power = mantissa >> 1, power + 1
        hidden = 1 << (self.precision - 1)
        biased = power - self.lowest + 1 if mantissa >= hidden else 0
        if biased >= (1 << self.exponent) - 1:
            return self.special_bits(-math.inf if sign else math.inf)
        return sign | biased << self.fraction | (mantissa if self.explicit else mantissa & (hidden - 1))

    def exact(self, bits: int) -> Fraction | float:
        """The value of a bit pattern: a Fraction, or a float for infinities and NaNs."""
        negative = bits >> (self.bits - 1) & 1
        biased = bits >> self.fraction & ((1 << self.exponent) - 1)
        mantissa = bits & ((1 << self.fraction) - 1)
        if biased == (1 << self.exponent) - 1:
            value = math.nan if mantissa & ((1 << (self.precision - 1)) - 1) else math.inf
            return math.copysign(value, -1.0 if negative else 1.0)
        if biased and not self.explicit:
            mantissa |= 1 << self.fraction
        result = Fraction(mantissa) * Fraction(2) ** (self.lowest + max(biased - 1, 0))
        return -result if negative else result


def _scaled(value: Fraction, power: int) -> Fraction:
    return value / (1 << power) if power >= 0 else value * (1 << -power)


class NarrowFormat(Format):
    """half, bfloat, float, double: the carrier is `float`."""

    def __init__(self, name: str, bits: int, precision: int, code: str, rounding: Callable[..., Any]) -> None:
        super().__init__(name, bits, precision)
        self._codec = struct.Struct(code) if code else None
        self.round = rounding  # type: ignore[method-assign]

    def encode(self, value: Any) -> int:
        if self._codec is None:  # bfloat: the upper half of a float
            return FLOAT.encode(value) >> 16 | (math.isnan(value) << 6)
        return int.from_bytes(self._codec.pack(value), "little")

    def decode(self, bits: int) -> float:
        if self._codec is None:
            return FLOAT.decode(bits << 16)
        value: float = self._codec.unpack(bits.to_bytes(self.size, "little"))[0]
        return value

    def make(self, number: Any) -> Any:
        if number.__class__ is float:
            return self.round(number)
        if isinstance(number, int) and -(1 << 53) <= number <= 1 << 53:
            return self.round(float(number))
        return super().make(number)


class ExtendedFormat(Format):
    """x86_fp80: the carrier is `numpy.longdouble`."""

    def encode(self, value: Any) -> int:
        return int.from_bytes(np.longdouble(value).tobytes()[:10], "little")

    def decode(self, bits: int) -> Any:
        if np.finfo(np.longdouble).nmant != 63:
            raise UnsupportedError("x86_fp80 arithmetic needs a machine whose long double is the 80-bit format")
        return np.frombuffer(bits.to_bytes(10, "little") + bytes(6), np.longdouble)[0]

    def tangent(self, number: Any) -> Any:
        return self.make(number)


class QuadFormat(Format):
    """fp128: the carrier is `Quad`."""

    def encode(self, value: Any) -> int:
        bits: int = value.bits
        return bits

    def decode(self, bits: int) -> Any:
        return Quad(bits)

    def tangent(self, number: Any) -> Any:
        return self.make(number)


def _round_double(value: Any) -> Any:
    return value


def _round_float(value: Any) -> Any:
    return _f32(value).value if value.__class__ is float else value


def _round_half(value: Any) -> Any:
    if value.__class__ is not float:
        return value
    with np.errstate(all="ignore"):
        return float(np.float16(value))


def _round_bfloat(value: Any) -> Any:
    if value.__class__ is not float or value == 0 or not math.isfinite(value):
        return value
    return BFLOAT.decode(BFLOAT.exact_bits(Fraction(value)))


HALF = NarrowFormat("half", 16, 11, "<e", _round_half)
BFLOAT = NarrowFormat("bfloat", 16, 8, "", _round_bfloat)
FLOAT = NarrowFormat("float", 32, 24, "<f", _round_float)
DOUBLE = NarrowFormat("double", 64, 53, "<d", _round_double)
X86_FP80 = ExtendedFormat("x86_fp80", 80, 64, explicit=True)
FP128 = QuadFormat("fp128", 128, 113)
FORMATS: dict[str, Format] = {f.name: f for f in (HALF, BFLOAT, FLOAT, DOUBLE, X86_FP80, FP128)}


def format_of(name: str) -> Format:
    """The format of an LLVM type name; ppc_fp128 is refused."""
    if name not in FORMATS:
        raise UnsupportedError(f"the interpreter has no arithmetic for {name}")
    return FORMATS[name]


def exact(number: Any) -> Fraction:
    """The exact value of a finite number of any carrier."""
    if isinstance(number, np.longdouble):
        number = X86_FP80.exact(X86_FP80.encode(number))
    elif isinstance(number, Quad):
        number = FP128.exact(number.bits)
    return Fraction(number)


def _special(number: Any) -> float | None:
    """The zero, infinity or NaN that a float is, as a Python float; None for every other number."""
    sample = number.sample() if isinstance(number, Quad) else _sample(number)
    return None if sample in (1.0, -1.0) else sample


def _sample(number: Any) -> float:
    """A float of the same class and sign: a zero, ±1, an infinity or a NaN."""
    if number == 0 or number != number or number in (math.inf, -math.inf):
        return float(number)
    return 1.0 if number > 0 else -1.0


def is_nan(number: Any) -> bool:
    """Is a number of any carrier a NaN?"""
    return bool(number != number)


def is_finite(number: Any) -> bool:
    """Is a number of any carrier finite?"""
    if isinstance(number, np.longdouble):  # a Python float may not hold it
        return bool(np.isfinite(number))
    return math.isfinite(number.sample() if isinstance(number, Quad) else number)


def sign_bit(number: Any) -> bool:
    """Is the sign bit of a number of any carrier set?"""
    if isinstance(number, np.longdouble):
        return bool(np.signbit(number))
    return math.copysign(1.0, number.sample() if isinstance(number, Quad) else number) < 0


def divide(a: Any, b: Any) -> Any:
    """IEEE division of two numbers of one carrier."""
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0 or a != a:
            return math.nan
        return math.inf if sign_bit(a) == sign_bit(b) else -math.inf


class Quad:
    """A number of IEEE binary128, by its bit pattern; arithmetic is exact and rounded once."""

    __slots__ = ("bits",)

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def sample(self) -> float:
        """A zero, ±1, infinity or NaN of the same class and sign."""
        value = FP128.exact(self.bits)
        if isinstance(value, float):
            return value
        negative = self.bits >> 127
        return (-1.0 if negative else 1.0) * (1.0 if value else 0.0)

    def _apply(self, op: Callable[[Any, Any], Any], other: Any) -> Any:
        if not isinstance(other, Quad):
            return NotImplemented
        a, b = FP128.exact(self.bits), FP128.exact(other.bits)
        result: Any = 0
        if isinstance(a, Fraction) and isinstance(b, Fraction) and not (op is operator.truediv and b == 0):
            result = op(a, b)
        if not result:  # a zero or no number: its class and sign are those that the samples give
            samples = self.sample(), other.sample()
            result = divide(*samples) if op is operator.truediv else op(*samples)
            return Quad(FP128.special_bits(result))
        return Quad(FP128.exact_bits(result))

    def __add__(self, other: Any) -> Any:
        return self._apply(operator.add, other)

    def __sub__(self, other: Any) -> Any:
        return self._apply(operator.sub, other)

    def __mul__(self, other: Any) -> Any:
        return self._apply(operator.mul, other)

    def __truediv__(self, other: Any) -> Any:
        return self._apply(operator.truediv, other)

    def __neg__(self) -> Quad:
        return Quad(self.bits ^ 1 << 127)

    def __abs__(self) -> Quad:
        return Quad(self.bits & ~(1 << 127))

    def __float__(self) -> float:
        value: float = DOUBLE.make(self)
        return value

    def __int__(self) -> int:
        return int(FP128.exact(self.bits))

    def _pair(self, other: Any) -> tuple[Any, Any] | None:
        if isinstance(other, (int, float)):
            other = FP128.make(other)
        return (FP128.exact(self.bits), FP128.exact(other.bits)) if isinstance(other, Quad) else None

    def _compare(self, op: Callable[[Any, Any], Any], other: Any) -> Any:
        pair = self._pair(other)
        return NotImplemented if pair is None else op(*pair)

    def __eq__(self, other: object) -> Any:
        return self._compare(operator.eq, other)

    def __ne__(self, other: object) -> Any:
        return self._compare(operator.ne, other)

    def __lt__(self, other: Any) -> Any:
        return self._compare(operator.lt, other)

    def __le__(self, other: Any) -> Any:
        return self._compare(operator.le, other)

    def __gt__(self, other: Any) -> Any:
        return self._compare(operator.gt, other)

    def __ge__(self, other: Any) -> Any:
        return self._compare(operator.ge, other)

    def __hash__(self) -> int:
        return hash(FP128.exact(self.bits))

    def __repr__(self) -> str:
        return f"Quad({float(self)!r})"


class Fragment:
    """Byte `index` of the stored bit pattern of `dual`; compared by identity."""

    __slots__ = ("dual", "index")

    def __init__(self, dual: Dual, index: int) -> None:
        self.dual, self.index = dual, index


class Dual:
    """A value with its tangent. Comparisons look at the value; arithmetic rounds the value to the format.

    Active even when the tangent is zero: 0·inf in a derivative gives NaN, as generated code does.
    """

    __slots__ = ("value", "tangent", "format", "_fragments")
    __array_ufunc__ = None  # numpy scalars leave mixed arithmetic to us

    def __init__(self, value: Any, tangent: Any = 0.0, format: Format = DOUBLE) -> None:
        self.value, self.tangent, self.format = value, tangent, format
        self._fragments: list[Fragment] | None = None

    @property
    def fragments(self) -> list[Fragment]:
        """What the bytes of this number leave in shadow memory."""
        if self._fragments is None:
            self._fragments = [Fragment(self, i) for i in range(self.format.size)]
        return self._fragments

    def _new(self, value: Any, tangent: Any) -> Any:
        return value if value is POISON else Dual(self.format.round(value), tangent, self.format)

    def __add__(self, other: Any) -> Any:
        if other.__class__ is Dual:
            return self._new(self.value + other.value, self.tangent + other.tangent)
        return self._new(self.value + other, self.tangent)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if other.__class__ is Dual:
            return self._new(self.value - other.value, self.tangent - other.tangent)
        return self._new(self.value - other, self.tangent)

    def __rsub__(self, other: Any) -> Any:
        return self._new(other - self.value, -self.tangent)

    def __mul__(self, other: Any) -> Any:
        if other.__class__ is Dual:
            return self._new(self.value * other.value, self.tangent * other.value + self.value * other.tangent)
        return self._new(self.value * other, self.tangent * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if other is POISON:
            return POISON
        if other.__class__ is Dual:
            quotient = divide(self.value, other.value)
            return self._new(quotient, divide(self.tangent - quotient * other.tangent, other.value))
        return self._new(divide(self.value, other), divide(self.tangent, other))

    def __rtruediv__(self, other: Any) -> Any:
        if other is POISON:
            return POISON
        quotient = divide(other, self.value)
        return self._new(quotient, divide(-(quotient * self.tangent), self.value))

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.tangent, self.format)

    def __eq__(self, other: object) -> Any:
        return self.value == primal(other)

    def __ne__(self, other: object) -> Any:
        return self.value != primal(other)

    def __lt__(self, other: Any) -> Any:
        return self.value < primal(other)

    def __le__(self, other: Any) -> Any:
        return self.value <= primal(other)

    def __gt__(self, other: Any) -> Any:
        return self.value > primal(other)

    def __ge__(self, other: Any) -> Any:
        return self.value >= primal(other)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"Dual({self.value!r}, {self.tangent!r})"


def primal(x: Any) -> Any:
    """The value of a float, active or not."""
    return x.value if x.__class__ is Dual else x


def tangent(x: Any) -> Any:
    """The tangent of a float, 0.0 where it is not active."""
    return x.tangent if x.__class__ is Dual else 0.0
