"""Numbers that are rounded by adding a large constant and taking it off again have no derivative.

    r = (x + C) - C      →      r = llgrad.ignore.double((x + C) - C)

where C is a power of two, or one and a half, beyond what the format tells fractions of well (2^40 in doubles): `x` as a
multiple of C's last digit. Exponentials and sines of numerical libraries begin so. It is a step, like `rint`, though
each operation by itself has the derivative of a sum: in x - (x + C) - C both would cancel to a silent zero.
"""

from __future__ import annotations

import re

from llgrad.backend import LLVMModule
from llgrad.ir.build import Builder, Names
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.types import FloatType, Type, scalar
from llgrad.ir.values import (
    AnyValue,
    Binary,
    Call,
    ConstAggregate,
    ConstFloat,
    Function,
    Instruction,
)
from llgrad.ir.write import write
from llgrad.synthesis.statements import ignoring

_FORMATS = {"float": (8, 23, 22), "double": (11, 52, 40)}  # bits of exponent and fraction, and the least exponent
_LARGE = re.compile(
    r"\b(?:0x[4C](?:1[5-9A-F]|[2-7][0-9A-F])[08]0{12}\b|(?:4\.194304|6\.291456|8\.388608)e\+06)"
)  # as LLVM prints such numbers, all floats as doubles
_TABLE = re.compile(rf"^(@[-\w.$]+) = [^\n]*\bconstant (?:float|double) {_LARGE.pattern}", re.MULTILINE)
_ADDS = re.compile(r" = f(?:add|sub) ")
_TIDY = ("sroa", "sccp", "dce")  # what shows constants, and sums, that were kept in variables


def with_steps(work: LLVMModule, *, unoptimised: bool = False) -> None:
    """Mark what is rounded so in `work`; where it is `unoptimised`, variables become values for that."""
    if not _LARGE.search(text := work.text()):
        return
    named = re.compile("|".join([_LARGE.pattern, *(rf"{re.escape(name)}\b" for name in _TABLE.findall(text))]))
    found = [f.name for f in parse(text).functions if _ADDS.search(f.unread or "") and named.search(f.unread or "")]
    if unoptimised:
        for name in found:
            work.run(_TIDY, function=name)
    module = parse(work.text())
    if sum([_marked(module, module.function(name)) for name in found]):
        work.replace_text(write(module))


def _marked(module: Module, f: Function) -> int:
    steps = [i for i in f.instructions() if isinstance(i, Binary) and _is_step(i)]
    names = Names([v.name for v in (*f.arguments, *f.instructions())])
    for i in steps:
        users, b = list(i.users), Builder(i.block, names)
        b.at = i.block.instructions.index(i) + 1
        call = b.call(ignoring(module, i.type), [i], i.name)
        call.metadata = {k: v for k, v in i.metadata.items() if k == "dbg"}
        for user in users:
            for n, v in enumerate(user.operands):
                if v is i:
                    user.set_operand(n, call)
    return len(steps)


def _is_step(i: Binary) -> bool:
    """Does `i` take off a constant that its operand has added?"""
    off = _added(i)
    if off is None or not isinstance(off[0], Instruction):
        return False
    on = _added(off[0])
    return on is not None and on[1] == tuple(bits ^ _sign(i.type) for bits in off[1]) and _is_large(off[1], i.type)


def _added(i: AnyValue) -> tuple[AnyValue | None, tuple[int, ...]] | None:
    """What `i` adds a constant to, None for a product, and the constant's bits, lane by lane."""
    match i:
        case Binary("fadd", x, c) | Binary("fadd", c, x) if (bits := _bits(c)) is not None:
            return x, bits
        case Binary("fsub", x, c) if (bits := _bits(c)) is not None:
            return x, tuple(b ^ _sign(i.type) for b in bits)
        case Call() if (f := i.called_function) is not None and re.match(r"(?:llvm\.(?:fma|fmuladd)\.|fmaf?$)", f.name):
            bits = _bits(i.arguments[2])
            return None if bits is None else (None, bits)
    return None


def _bits(c: AnyValue) -> tuple[int, ...] | None:
    match c:
        case ConstFloat(bits=n):
            return (n,)
        case ConstAggregate(elements=elements) if all(isinstance(e, ConstFloat) for e in elements):
            return tuple(e.bits for e in elements if isinstance(e, ConstFloat))
    return None


def _sign(t: Type) -> int:
    exponent, fraction, _ = _format(t)
    return 1 << exponent + fraction


def _is_large(lanes: tuple[int, ...], t: Type) -> bool:
    exponent, fraction, least = _format(t)
    bias, half = (1 << exponent - 1) - 1, 1 << fraction - 1
    magnitudes = [bits & _sign(t) - 1 for bits in lanes]
    return all(least + bias <= m >> fraction < 2 * bias + 1 and not m & half - 1 for m in magnitudes)


def _format(t: Type) -> tuple[int, int, int]:
    element = scalar(t)
    assert isinstance(element, FloatType)
    return _FORMATS.get(element.name, (0, 1, 1))
