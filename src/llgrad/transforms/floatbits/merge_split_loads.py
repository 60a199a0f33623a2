"""Words that are loaded in two parts and put together again are loaded whole.

    %low = load i8, ptr %p, align 8
    %at = getelementptr i8, ptr %p, i64 1
    %high = load i56, ptr %at, align 1               →      %word = load i64, ptr %p, align 8
    %a = zext i8 %low to i64
    %b = zext i56 %high to i64
    %c = shl i64 %b, 8
    %word = or disjoint i64 %c, %a

Rust's `Result<Vec<f64>, Error>` has an error's first byte where a vector has its pointer. Where a program asks for
both, LLVM (`sroa`) loads that byte and the seven after it, for either use: an address is then computed from integers,
and its shadow cannot be. The machine counts from the low end: the part that is shifted lies behind the other. A word
that becomes an address is loaded as a pointer.
"""

from __future__ import annotations

from typing import NamedTuple

from llgrad.ir.build import Builder
from llgrad.ir.module import Module
from llgrad.ir.rewrite import bodies, local_names, replaced
from llgrad.ir.types import I8, I64, PTR, IntType
from llgrad.ir.values import (
    AnyValue,
    Binary,
    Call,
    Cast,
    ConstInt,
    Function,
    GetElementPtr,
    Instruction,
    Load,
    Other,
    Phi,
    Store,
    Value,
)

JOINING = "or disjoint"
_READS = ("llvm.assume", "llvm.experimental.")


class _Part(NamedTuple):
    """`bits` bits of memory, so many bytes behind a base, and where they go in the word."""

    shift: int
    bits: int
    base: AnyValue
    offset: int
    load: Load


def rejoined(module: Module) -> bool:
    """Load such words whole."""
    return any([_rejoined(f) for f in bodies(module, JOINING)])


def _rejoined(f: Function) -> bool:
    joining = [i for i in f.instructions() if isinstance(i, Binary) and i.opcode == "or" and "disjoint" in i.flags]
    return any([_is_loaded_whole(i) for i in joining])


def _is_loaded_whole(i: Binary) -> bool:
    """Load the word that `i` puts together, if nothing is written between the loads of its parts."""
    parts = sorted(filter(None, map(_part, i.operands)), key=lambda p: p.shift)
    if len(parts) < 2 or not _is_word(parts[0], parts[1], i.type):
        return False
    low, last = parts[0].load, _last_unless_written(parts[0].load, parts[1].load)
    if last is None:
        return False
    assert i.block.function is not None
    b = Builder(last.block, local_names(i.block.function))
    b.at = last.block.instructions.index(last) + 1
    b.metadata = {k: v for k, v in low.metadata.items() if k == "dbg"}
    address = i.type == I64 and any(isinstance(u, Cast) and u.opcode == "inttoptr" for u in i.users)
    word = b.load(PTR if address else i.type, low.pointer, "llgrad.whole", low.align)
    replaced(i, b.cast("ptrtoint", word, i.type, "llgrad.word"))
    return True


def _last_unless_written(a: Load, b: Load) -> Load | None:
    """The later of two loads of one block, or of one and the one block that leads to it; None if that is written to."""
    if a.block is b.block:
        first, last = sorted((a, b), key=a.block.instructions.index)
        between = a.block.instructions[a.block.instructions.index(first) : a.block.instructions.index(last)]
    else:
        first, last = (a, b) if _leads_to(a, b) else (b, a)
        if not _leads_to(first, last):
            return None
        before, after = first.block.instructions, last.block.instructions
        between = before[before.index(first) :] + after[: after.index(last)]
    return None if any(map(_writes, between)) else last


def _leads_to(first: Load, last: Load) -> bool:
    return [u.block for u in last.block.users if not isinstance(u, Phi)] == [first.block]


def _writes(i: Instruction) -> bool:
    if isinstance(i, Call) and (f := i.called_function) is not None and f.name.startswith(_READS):
        return False
    return isinstance(i, Store | Call | Other)


def _is_word(low: _Part, high: _Part, t: object) -> bool:
    beside = low.base is high.base and low.bits % 8 == 0 and low.offset + low.bits // 8 == high.offset
    return beside and low.shift == 0 and high.shift == low.bits and t == IntType(low.bits + high.bits)


def _part(v: AnyValue) -> _Part | None:
    """The part of memory that a value holds, if it is one."""
    shift = 0
    match v:
        case Binary("shl", shifted, ConstInt(value=shift)):
            v = shifted
    match v:
        case Cast("zext", Load(Value() as pointer) as load) if not load.flags and isinstance(load.type, IntType):
            base, offset = _moved(pointer)
            return _Part(shift, load.type.bits, base, offset, load)
    return None


def _moved(pointer: AnyValue) -> tuple[AnyValue, int]:
    match pointer:
        case GetElementPtr(source_type, base, [ConstInt() as n]) if source_type == I8:
            return base, n.signed
    return pointer, 0
