"""The low bits of a float's fraction that are cleared: a float of fewer digits, or the whole part.

    and (bits of x), 0xffffffff00000000           x to fewer digits: the derivative of x, as of `fptrunc`
    and (bits of x), ~(0x000fffffffffffff >> e)   trunc(x), where `e` is the exponent of x: no derivative

The value stays exact, bit by bit. fdlibm and its descendants square the first without an error, and write `floor` as
the second. In the first, `kept` is made of a copy of x that has no derivative, and the difference (zero) brings it:

    result = kept - (copy - x)

At least ten bits of the fraction are kept, else it is refused as before. A shift by an exponent below zero, or beyond
the integer's bits, is poison: `trunc` refines it.
"""

from __future__ import annotations

import re

from llgrad.ir.build import Builder, Names, declare, zero
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.types import FloatType, IntType
from llgrad.ir.values import AnyValue, Binary, Cast, ConstInt, Function, put_instead
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.transforms.floatbits.sign_bits import _as, _bits, _float_type, _root
from llgrad.transforms.guard.inactive_identity import ignoring

_LEAST = 10  # bits of the fraction that fewer digits have
_FRACTIONS = {"float": 23, "double": 52}
_MASKED = re.compile(
    r" = (?:and i(?:32|64) [^,\n]+, -\d+|and i(?:32|64) -\d|ashr i64 -4503599627370496,|lshr i64 4503599627370495,"
    r"|ashr i32 -8388608,|lshr i32 8388607,)"
)
_FLOAT = re.compile(r" (?:float|double)\b")
_TIDY = ("sroa", "sccp", "dce")  # what shows constants that were kept in variables


def with_fewer_digits(work: LLVMModule, *, unoptimised: bool = False) -> bool:
    """Rewrite such masks in `work`; False where there is none. Where it is `unoptimised`, variables become values."""
    if not _MASKED.search(text := work.text()) or not _FLOAT.search(text):
        return False
    module = parse(text)
    found = [f.name for f in module.functions if _MASKED.search(f.unread or "") and _FLOAT.search(f.unread or "")]
    if unoptimised and found:
        for name in found:
            work.run(_TIDY, function=name)
        module = parse(work.text())
    if not sum([_rewritten(module, module.function(name)) for name in found]):
        return False
    work.replace_text(write(module))
    return True


def _rewritten(module: Module, f: Function) -> int:
    masks = [i for i in f.instructions() if isinstance(i, Binary) and i.opcode == "and"]
    names = Names([v.name for v in (*f.arguments, *f.instructions())])
    return sum([_in_floats(module, names, i) for i in masks])


def _in_floats(module: Module, names: Names, i: Binary) -> bool:
    t = _float_type(i)
    if not isinstance(t, FloatType) or t.name not in _FRACTIONS or not isinstance(i.type, IntType):
        return False
    for v, mask in (i.operands, i.operands[::-1]):
        b = Builder(i.block, names)
        b.at = first = i.block.instructions.index(i)
        if _keeps_digits(mask, t):
            made = _fewer(module, b, _as(b, v, t), mask)
        elif _shifted_by_exponent(mask, v, t):
            made = b.call(declare(module, f"llvm.trunc.f{t.bits}", t, [t]), [_as(b, v, t)])
        else:
            continue
        new = Cast("bitcast", i.type, [made], i.name)
        put_instead(i, new)
        for other in (new, *i.block.instructions[first : b.at]):
            other.metadata = {k: m for k, m in i.metadata.items() if k == "dbg"}
        return True
    return False


def _fewer(module: Module, b: Builder, x: AnyValue, mask: AnyValue) -> AnyValue:
    """`x` under a mask, with the derivative of x. Infinity minus itself is none: it counts as zero."""
    copy = b.call(ignoring(module, x.type), [x])
    kept = b.cast("bitcast", b.binary("and", b.cast("bitcast", copy, mask.type), mask), x.type)
    apart = b.binary("fsub", copy, x)
    apart = b.select(b.fcmp("ord", apart, zero(x.type)), apart, zero(x.type))
    return b.binary("fsub", kept, apart)


# --- masks ------------------------------------------------------------------------------------------------------------


def _keeps_digits(mask: AnyValue, t: FloatType) -> bool:
    """Is a mask constant, and does it clear low bits of the fraction only, and not too many?"""
    bits = _bits(mask)
    cleared = 0 if bits is None else (1 << t.bits) - (bits & (1 << t.bits) - 1)
    return bool(cleared and not cleared & cleared - 1) and 1 < cleared <= 1 << _FRACTIONS[t.name] - _LEAST


def _shifted_by_exponent(mask: AnyValue, v: AnyValue, t: FloatType) -> bool:
    """Does a mask clear the fraction behind as many bits as the float with the bits `v` has before its point?"""
    fraction = _FRACTIONS[t.name]
    match mask:
        case Binary("ashr", kept, amount) if _low(kept, t) == (1 << t.bits) - (1 << fraction):
            return _is_exponent(amount, v, t)
        case Binary("xor", Binary("lshr", cleared, amount), ones) if _low(ones, t) == (1 << t.bits) - 1:
            return _low(cleared, t) == (1 << fraction) - 1 and _is_exponent(amount, v, t)
    return False


def _low(v: AnyValue, t: FloatType) -> int:
    bits = _bits(v)
    return -1 if bits is None else bits & (1 << t.bits) - 1


def _is_exponent(amount: AnyValue, v: AnyValue, t: FloatType) -> bool:
    """Is `amount` the exponent of the float with the bits `v`?"""
    while isinstance(amount, Cast) and amount.opcode in ("zext", "sext"):
        amount = amount.value
    match amount:
        case Binary("add" | "sub" as opcode, field, ConstInt() as bias):
            size = t.bits - 1 - _FRACTIONS[t.name]
            shift = -bias.signed if opcode == "add" else bias.signed
            return shift == (1 << size - 1) - 1 and _is_field(field, v, t)
    return False


def _is_field(field: AnyValue, v: AnyValue, t: FloatType) -> bool:
    """Is `field` the biased exponent of the float with the bits `v`?"""
    fraction = _FRACTIONS[t.name]
    ones, signless = (1 << t.bits - 1 - fraction) - 1, False
    while True:
        match field:
            case Cast("zext" | "trunc", inner):
                field = inner
            case Binary("and", inner, ConstInt(value=mask)) if mask == ones:
                field, signless = inner, True
            case Binary("lshr", bits, ConstInt(value=n)) if n == fraction:
                if isinstance(bits, Binary) and bits.opcode == "and" and _low(bits.rhs, t) == ones << fraction:
                    bits, signless = bits.lhs, True
                return signless and _root(bits) is _root(v)
            case _:
                return False
