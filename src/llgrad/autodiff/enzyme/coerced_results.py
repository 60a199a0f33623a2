"""Floats in integers that a function returns: the C ABI passes `struct { float x; int n; }` as one of 64 bits.

Whether such an integer is a number or a struct is not in its type. `packed_floats` follows what is returned: to the
memory that it is loaded from, whose type says so in code that nobody has optimised, or to a float whose bits are
shifted to their place.
"""

from __future__ import annotations

from llgrad.analysis.objects import gep_offset
from llgrad.ir.types import DataLayout, IntType, StructType, Type, is_float
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Binary,
    Call,
    Cast,
    Function,
    GetElementPtr,
    InsertValue,
    Instruction,
    Load,
    Phi,
    Select,
)


def packed_floats(f: Function) -> tuple[dict[int, Type], bool]:
    """The floats in integers that `f` returns, by their bytes; and whether there are others, in what may be numbers."""
    t, module = f.function_type.result, f.module
    if module is None or not returns_integers(f):
        return {}, False
    follow = _Follower(module.layout)
    follow.function(f, 0)
    seen = {at for at, x in module.layout.leaves(t, lanes=True) if is_float(x)}
    end = module.layout.size(t)
    return {at: x for at, x in follow.found.items() if at not in seen and 0 <= at < end}, follow.shifted


def returns_integers(f: Function) -> bool:
    """Does it return integers in which a float has room?"""
    t, module = f.function_type.result, f.module
    inside = module.layout.leaves(t, lanes=True) if module is not None else ()
    return any(isinstance(x, IntType) and x.bits > 16 for _, x in inside)


class _Follower:
    """Collects the floats that are returned: each value with the byte of the result where it begins."""

    def __init__(self, layout: DataLayout) -> None:
        self.layout = layout
        self.found: dict[int, Type] = {}
        self.shifted = False
        self.seen: set[tuple[int, int]] = set()

    def function(self, f: Function, at: int) -> None:
        for v in f.returned():
            self.value(v, at)

    def value(self, v: AnyValue, at: int) -> None:
        if not isinstance(v, Instruction) or (id(v), at) in self.seen:
            return
        self.seen.add((id(v), at))
        match v:
            case Phi():
                for x in v.operands:
                    self.value(x, at)
            case Select(_, a, b) | Binary("or" | "add", a, b):
                self.value(a, at)
                self.value(b, at)
            case Binary("shl" | "and", a, _) | Cast("zext" | "sext", a):
                self.value(a, at)
            case Cast("bitcast", a) if isinstance(v.type, IntType) and is_float(a.type):
                self.shifted = True
            case InsertValue(whole, part, indices) if isinstance(whole.type, StructType) and len(indices) == 1:
                self.value(whole, at)
                self.value(part, at + self.layout.offsets(whole.type)[indices[0]])
            case Load(p):
                self.memory(p, at)
            case Call() if v.called_function is not None:
                self.function(v.called_function, at)

    def memory(self, p: AnyValue, at: int) -> None:
        if (id(p), at) in self.seen:
            return
        self.seen.add((id(p), at))
        match p:
            case GetElementPtr(source_type=Type() as t, operands=[base, *indices]):
                if (o := gep_offset(t, indices, self.layout)) is not None:
                    self.memory(base, at - o)
            case Alloca(t):
                inside = self.layout.leaves(t, at, lanes=True) if isinstance(t, StructType) else ()
                self.found.update({o: x for o, x in inside if is_float(x)})
                for user in p.users:  # a struct is copied to `{ i64, float }` before it is returned
                    if isinstance(user, Call) and _copies_to(user, p):
                        self.memory(user.arguments[1], at)


def _copies_to(call: Call, p: AnyValue) -> bool:
    called = call.called_function
    return called is not None and called.name.startswith("llvm.memcpy.") and call.arguments[0] is p
