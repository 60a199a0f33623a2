"""Numbers that LLVM reads or writes in the place of floats, or pointers, of the same bits: they become integers.

store double 0x7FC00000, ptr %p         ->   store i64 2143289344, ptr %p
%x = load double, ptr %p                     %x = load double, ptr %p
%b = bitcast double %x to i64           ->   %b = load i64, ptr %p
%n = trunc i64 %b to i32
"""

from __future__ import annotations

import re

from llgrad.ir.module import Module
from llgrad.ir.rewrite import bodies, replaced
from llgrad.ir.types import DOUBLE, FLOAT, I32, I64, PTR
from llgrad.ir.values import Binary, Cast, ConstFloat, ConstInt, Instruction, Load, Store

_TINY = re.compile(r" store double 0x[0-9A-F]{1,13}, ")
_CASTS = (" = bitcast double ", " = bitcast float ", " = ptrtoint ptr ")
_SMALLEST = 1 << 52  # bits of the smallest normal double
_OF_POINTERS = ("tbaa", "nonnull", "align", "dereferenceable", "dereferenceable_or_null", "range")
_COUNTING = ("add", "sub", "mul", "shl", "uitofp", "sitofp")


def has_tiny(text: str) -> bool:
    """Does a text store constants below all normal doubles?"""
    return _TINY.search(text) is not None


def has_apart(text: str) -> bool:
    """May a text hold what `loaded_apart` changes?"""
    return any(word in text for word in _CASTS) or has_tiny(text)


def stored_as_bits(module: Module) -> bool:
    """Store constants below all normal doubles as integers, which tell nothing of what the memory holds.

    LLVM makes such of a float or a number and what is beside it (D's `struct { double d; float f; }` begins as two
    NaNs, the second of which is `0x7FC00000`).
    """
    changed = False
    for f in bodies(module, " store double 0x"):
        for i in f.instructions():
            v = i.value if isinstance(i, Store) else None
            if isinstance(v, ConstFloat) and v.type == DOUBLE and 0 < v.bits < _SMALLEST:
                i.set_operand(0, ConstInt(I64, v.bits))
                changed = True
    return changed


def loaded_apart(module: Module) -> bool:
    """Load numbers that LLVM reads as the low bits of a float (of a union, say) as integers, which they then may be.

    Where a float is only looked at, its bits are let alone: such numbers are counted with.
    """
    changed = stored_as_bits(module)
    for f in bodies(module, *_CASTS):
        for i in list(f.instructions()):
            if isinstance(i, Cast) and i.operands and isinstance(load := i.value, Load):  # it is there still
                if _is_number(i):
                    _load_instead(i, load, load)
                    changed = True
                elif i.opcode == "ptrtoint" and i.type == I64 and load.type == PTR:
                    changed |= _words_apart(i, load)
    return changed


def _words_apart(word: Cast, load: Load) -> bool:
    """What is loaded once, and is a pointer, a float and a number by turns (of a union), loaded as each of them."""
    floats = [u for u in word.users if isinstance(u, Cast) and u.opcode == "bitcast" and u.type == DOUBLE]
    if not floats:
        return False
    load.metadata = {kind: ref for kind, ref in load.metadata.items() if kind not in _OF_POINTERS}
    last: Load = load
    for cast in floats:
        last = _load_instead(cast, load, last)
    _load_instead(word, load, load)
    return True


def _load_instead(cast: Cast, load: Load, after: Load) -> Load:
    """Load what a cast makes of what is loaded from the same place, after another load of that."""
    new = Load(cast.type, load.pointer, load.align, cast.name)
    new.flags, new.ordering, new.syncscope = load.flags, load.ordering, load.syncscope
    new.metadata, new.block = dict(load.metadata), load.block
    load.block.instructions.insert(load.block.instructions.index(after) + 1, new)
    replaced(cast, new)
    return new


def _is_number(cast: Cast) -> bool:
    """Are low bits of a float taken and nothing else, and used as numbers?"""
    pair = cast.value.type, cast.type
    if cast.opcode != "bitcast" or not (pair[0] in (DOUBLE, FLOAT) and pair[1] in (I64, I32)) or not cast.users:
        return False
    return all(isinstance(p, Cast) and p.opcode == "trunc" and all(map(_counts, p.users)) for p in cast.users)


def _counts(i: Instruction) -> bool:
    return isinstance(i, Binary | Cast) and i.opcode in _COUNTING
