"""What LLVM's scalar instructions compute (LangRef: Binary, Bitwise Binary, Conversion and Other Operations).

Each factory gives a Python function of the operand values, for one opcode, type and set of flags; vectors apply it
lane by lane. Integers are unsigned Python ints below 2**bits. Overflow against `nsw`, `nuw`, `exact`, … and shifts
too far give POISON; division by zero raises ForeignError. Fast-math flags are ignored: every result here is one that
LLVM allows.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from interpreter.floats import Dual, Format, divide, exact, format_of, is_finite, is_nan, primal, sign_bit
from interpreter.undefined import POISON, Bits, PoisonError
from llgrad.errors import ForeignError, UnsupportedError
from llgrad.ir.types import FloatType, IntType, PointerType, Type, VectorType, scalar

Op = Callable[..., Any]


def lanewise(op: Op, t: Type) -> Op:
    """`op` for operands of type `t`: lane by lane for vectors."""
    if not isinstance(t, VectorType):
        return op
    return lambda *operands: tuple(map(op, *operands))


def to_signed(bits: int) -> Op:
    """Read an unsigned integer as two's complement."""
    half = 1 << (bits - 1)
    return lambda a: (a ^ half) - half


# --- integers --------------------------------------------------------------------------------------------------------


def _poison_of(op: Op) -> Op:
    """Poison operands give poison where Python would ask them for a truth value."""

    def guarded(*operands: Any) -> Any:
        try:
            return op(*operands)
        except PoisonError:
            if any(x is POISON or x.__class__ is Bits for x in operands):
                return POISON
            raise

    return guarded


_WRAPPING: dict[str, Op] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "shl": operator.lshift}
_BITWISE: dict[str, Op] = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}


def integer_binary(opcode: str, bits: int, flags: frozenset[str] = frozenset()) -> Op:
    """`add` … `xor` of iN."""
    if opcode in ("add", "sub", "mul", "shl"):
        return _wrapping(opcode, bits, flags)
    if opcode in _BITWISE:
        return _disjoint if "disjoint" in flags else _BITWISE[opcode]
    if opcode in ("lshr", "ashr"):
        return _poison_of(_shift_right(opcode, bits, "exact" in flags))
    return _division(opcode, bits, "exact" in flags)


def _disjoint(a: Any, b: Any) -> Any:
    try:
        return POISON if int.__and__(a, b) else a | b
    except TypeError:
        return POISON


def _wrapping(opcode: str, bits: int, flags: frozenset[str]) -> Op:
    mask, op = (1 << bits) - 1, _WRAPPING[opcode]
    if opcode == "shl":
        return _poison_of(_shift_left(bits, flags))
    if not flags & {"nsw", "nuw"}:
        if opcode == "add":
            return lambda a, b: (a + b) & mask
        if opcode == "sub":
            return lambda a, b: (a - b) & mask
        return lambda a, b: op(a, b) & mask
    half, nsw, nuw = 1 << (bits - 1), "nsw" in flags, "nuw" in flags

    def checked(a: Any, b: Any) -> Any:
        try:
            wide = op(a, b)
            if nuw and not 0 <= wide <= mask:
                return POISON
            if nsw and not -half <= op((a ^ half) - half, (b ^ half) - half) < half:
                return POISON
            return wide & mask
        except PoisonError:
            return POISON

    return checked


def _shift_left(bits: int, flags: frozenset[str]) -> Op:
    mask, signed = (1 << bits) - 1, to_signed(bits)
    nsw, nuw = "nsw" in flags, "nuw" in flags

    def shl(a: Any, b: Any) -> Any:
        if b >= bits:
            return POISON
        wide = a << b
        result = wide & mask
        if (nuw and wide != result) or (nsw and signed(_plain(a)) << b != signed(_plain(result))):
            return POISON
        return result

    return shl


def _plain(a: Any) -> Any:
    return a.plain() if a.__class__ is Bits else a


def _shift_right(opcode: str, bits: int, exactly: bool) -> Op:
    mask, signed = (1 << bits) - 1, to_signed(bits)

    def shift(a: Any, b: Any) -> Any:
        if b >= bits:
            return POISON
        if exactly and a & ((1 << b) - 1):
            return POISON
        return a >> b if opcode == "lshr" or not a >> (bits - 1) else (signed(a) >> b) & mask

    return shift


def _division(opcode: str, bits: int, exactly: bool) -> Op:
    mask, signed = (1 << bits) - 1, to_signed(bits)
    minimum = -(1 << (bits - 1))

    def unsigned_op(a: Any, b: Any) -> Any:
        if b == 0:
            raise ForeignError("integer division by zero")
        if a is POISON:
            return POISON
        if exactly and a % b:
            return POISON
        return a // b if opcode == "udiv" else a % b

    def signed_op(a: Any, b: Any) -> Any:
        if b == 0:
            raise ForeignError("integer division by zero")
        if a is POISON:
            return POISON
        x, y = signed(a), signed(b)
        if x == minimum and y == -1:
            raise ForeignError("integer division overflows")
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        if exactly and quotient * y != x:
            return POISON
        return (quotient if opcode == "sdiv" else x - quotient * y) & mask

    return unsigned_op if opcode in ("udiv", "urem") else signed_op


_PREDICATES: dict[str, Op] = {
    "eq": operator.eq, "ne": operator.ne, "gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le,
}  # fmt: skip


def integer_compare(predicate: str, bits: int, samesign: bool = False) -> Op:
    """`icmp` of iN or pointers of that many bits."""
    half = 1 << (bits - 1)
    op = _PREDICATES[predicate.lstrip("us")]
    if predicate.startswith("s"):
        signed: Op = lambda a, b: op(a ^ half, b ^ half)  # noqa: E731 - a choice between functions
        compare = signed
    else:
        compare = op
    if samesign:
        return _poison_of(lambda a, b: POISON if (a ^ b) & half else compare(a, b))
    return compare


# --- floats ----------------------------------------------------------------------------------------------------------


def _fdiv(a: Any, b: Any) -> Any:
    try:
        return a / b
    except ZeroDivisionError:
        return divide(a, b)


def remainder_value(a: Any, b: Any) -> Any:
    """C's fmod of two numbers of one carrier."""
    if is_nan(a) or is_nan(b) or not is_finite(a) or b == 0:
        return math.nan if isinstance(a, float) else (a - a) / (b - b)
    if isinstance(a, float):
        return math.fmod(a, b)
    if isinstance(a, np.longdouble):
        return np.fmod(a, b)
    if not is_finite(b):
        return a
    format = format_of("fp128")
    x, y = exact(a), exact(b)
    result = abs(x) % abs(y)
    return format.make(-result if x < 0 else result) if result else format.decode(a.bits & 1 << 127)


def _frem(a: Any, b: Any) -> Any:
    if a is POISON or b is POISON:
        return POISON
    value = remainder_value(primal(a), primal(b))
    if a.__class__ is not Dual and b.__class__ is not Dual:
        return value
    format: Format = (a if a.__class__ is Dual else b).format
    if is_nan(value) or not is_finite(primal(b)):
        whole = format.tangent(0 if not is_nan(value) else math.nan)
    else:
        whole = format.tangent(int(Fraction(exact(primal(a))) / exact(primal(b))))
    slope = format.tangent(0)
    slope = slope + a.tangent if a.__class__ is Dual else slope
    slope = slope - whole * b.tangent if b.__class__ is Dual else slope
    return Dual(value, slope, format)


_FLOAT: dict[str, Op] = {
    "fadd": operator.add, "fsub": operator.sub, "fmul": operator.mul, "fdiv": _fdiv, "frem": _frem,
}  # fmt: skip


def float_binary(opcode: str, format: Format) -> Op:
    """`fadd` … `frem`, rounded to the format."""
    op = _FLOAT[opcode]
    if format.name in ("double", "x86_fp80", "fp128") or opcode == "frem":
        return op
    round_to = format.round
    return lambda a, b: round_to(op(a, b))


def float_compare(predicate: str) -> Op:
    """`fcmp`: ordered predicates are false for NaN, unordered ones true."""
    if predicate in ("true", "false"):
        return lambda a, b: int(predicate == "true")
    if predicate in ("ord", "uno"):
        return _poison_of(lambda a, b: _ordered(a, b) == (predicate == "ord"))
    op = _truth(_PREDICATES[predicate[1:]])
    if predicate == "one":
        return _poison_of(lambda a, b: _ordered(a, b) and bool(a != b))
    if predicate[0] == "o" or predicate == "une":
        return op
    return _poison_of(lambda a, b: bool(op(a, b)) or not _ordered(a, b))


def _truth(op: Op) -> Op:
    """Comparisons of numpy numbers give numpy's booleans."""

    def compare(a: Any, b: Any) -> Any:
        result = op(a, b)
        return result if result.__class__ is bool or result is POISON else bool(result)

    return compare


def _ordered(a: Any, b: Any) -> bool:
    return bool(a == a) and bool(b == b)


# --- conversions -----------------------------------------------------------------------------------------------------


def cast(opcode: str, source: Type, target: Type, flags: frozenset[str], pointer_bits: int = 64) -> Op:
    """The scalar conversions; `bitcast` needs memory and is not among them."""
    source, target = scalar(source), scalar(target)
    if isinstance(source, FloatType):
        return _from_float(opcode, source, target)
    if isinstance(target, FloatType):
        return _to_float(opcode, source, format_of(target.name), "nneg" in flags)
    return _integer_cast(opcode, _bits(source, pointer_bits), _bits(target, pointer_bits), flags)


def _bits(t: Type, pointer_bits: int) -> int:
    if isinstance(t, IntType):
        return t.bits
    if isinstance(t, PointerType):
        return pointer_bits
    raise UnsupportedError(f"a conversion of {t}")


def _integer_cast(opcode: str, source: int, target: int, flags: frozenset[str]) -> Op:
    mask, half, signed = (1 << target) - 1, 1 << (source - 1), to_signed(source)
    if opcode == "sext":
        return lambda a: _sext_bits(a, source, target) if a.__class__ is Bits else signed(a) & mask
    if opcode == "zext":
        return _poison_of(lambda a: POISON if a & half else a) if "nneg" in flags else operator.pos
    if opcode != "trunc" or not flags:
        return lambda a: a & mask
    narrow = to_signed(target)

    def checked(a: Any) -> Any:
        result = a & mask
        if ("nuw" in flags and result != a) or ("nsw" in flags and narrow(result) != signed(a)):
            return POISON
        return result

    return _poison_of(checked)


def _sext_bits(a: Bits, source: int, target: int) -> Any:
    """Sign extension of bits whose highest byte is plain; others cannot be followed."""
    if len(a.shadow) * 8 >= source:
        return a.mangle()
    ones = ((1 << target) - (1 << source)) if a.plain() >> (source - 1) else 0
    return a | ones


def _from_float(opcode: str, source: FloatType, target: Type) -> Op:
    if isinstance(target, FloatType):
        return format_of(target.name).make
    if not isinstance(target, IntType):
        raise UnsupportedError(f"{opcode} from {source} to {target}")
    return truncation(target.bits, opcode == "fptosi")


def truncation(bits: int, signed: bool, saturating: bool = False) -> Op:
    """A float to an integer, towards zero; out of range is poison, or saturates (NaN to 0)."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    mask = (1 << bits) - 1

    def convert(a: Any) -> Any:
        if a is POISON:
            return POISON
        a = primal(a)
        if not is_finite(a):
            if not saturating:
                return POISON
            return 0 if is_nan(a) else (low if sign_bit(a) else high) & mask
        number = int(a) if a.__class__ is float else int(exact(a))
        if low <= number <= high:
            return number & mask
        return (low if number < 0 else high) & mask if saturating else POISON

    return convert


def _to_float(opcode: str, source: Type, format: Format, nneg: bool) -> Op:
    if not isinstance(source, IntType):
        raise UnsupportedError(f"{opcode} from {source} to {format}")
    signed, half = to_signed(source.bits), 1 << (source.bits - 1)

    def convert(a: Any) -> Any:
        if a is POISON:
            return POISON
        if a.__class__ is Bits:
            return a.mangle()
        if opcode == "sitofp":
            return format.make(signed(a))
        return POISON if nneg and a & half else format.make(int(a))

    return convert


def binary(opcode: str, t: Type, flags: frozenset[str]) -> Op:
    """A `Binary` instruction of type `t`."""
    element = scalar(t)
    if isinstance(element, FloatType):
        return lanewise(float_binary(opcode, format_of(element.name)), t)
    if not isinstance(element, IntType):
        raise UnsupportedError(f"{opcode} of {t}")
    return lanewise(integer_binary(opcode, element.bits, flags), t)


def compare(opcode: str, predicate: str, t: Type, flags: frozenset[str], pointer_bits: int = 64) -> Op:
    """A `Compare` instruction on operands of type `t`."""
    if opcode == "fcmp":
        return lanewise(float_compare(predicate), t)
    return lanewise(integer_compare(predicate, _bits(scalar(t), pointer_bits), "samesign" in flags), t)


def select(condition: Any, if_true: Any, if_false: Any) -> Any:
    """`select`; a poison condition gives poison."""
    if condition is POISON:
        return poison_like(if_true)
    if condition.__class__ is tuple:
        return tuple(map(select, condition, if_true, if_false))
    return if_true if condition else if_false


def poison_like(value: Any) -> Any:
    """Poison of the shape of a value."""
    return tuple(map(poison_like, value)) if value.__class__ is tuple else POISON
