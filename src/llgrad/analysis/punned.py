"""Integers that are read from memory where floats are kept too: which of those loads never see the bits of a float.

A union, a pool, or two uses of one function make `kinds` find a float and an integer at one place; of numbers that are
only moved about it finds nothing. That matters only
where an integer load may read what a store wrote as a float. `integers` proves of loads that they do not: none of
the writes that may reach them writes bits of floats. Within the load's function writes are followed backwards to the
load, and a store to the very same place ends the way; what is older is asked for by memory object, over the whole
program. All loads are taken to be integers until one of them is found guilty (a greatest fixpoint): an integer that is
counted up in memory is fed by itself.

An integer that only steers the program, in comparisons and indices, is acquitted whatever it is.
Types of accesses (TBAA) acquit nothing: programs that read a float's bits through an `int *` are what is looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace

from llgrad.analysis.activitygraph import changes_bits
from llgrad.analysis.known import behaviour
from llgrad.analysis.memory import Access, Memory
from llgrad.analysis.reaching import Reaching
from llgrad.analysis.reused import is_copy
from llgrad.ir.types import FloatType, IntType, PointerType, scalar
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Binary,
    Call,
    Cast,
    Compare,
    ConstExpr,
    GetElementPtr,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    Store,
    Unary,
    Value,
)

_NUMBERS = ("sitofp", "uitofp", "fptosi", "fptoui", "ptrtoint")


class Bits(Protocol):
    """What is asked of an analysis of kinds."""

    def may_hold_float(self, v: AnyValue, /) -> bool: ...

    def is_undecided(self, v: AnyValue, /) -> bool: ...

    def may_be_pointer(self, v: AnyValue, /) -> bool: ...

    def sees_float(self, load: Load, /) -> bool: ...

    def is_one_of_several(self, load: Load, /) -> bool: ...


class Trial(Reaching):
    """Which of some loads may read the bits of a float."""

    def __init__(self, memory: Memory, kinds: Bits, suspects: list[Load]) -> None:
        super().__init__(memory)
        self.kinds = kinds
        self.innocent = set(suspects)

    def acquitted(self) -> frozenset[Load]:
        changed = True
        while changed:
            changed = False
            for load in list(self.innocent):
                sees = self.kinds.sees_float(load)
                if any(sees and self._reads_float(load, a) or self.tears(load, a) for a in self.memory.reads(load)):
                    self.innocent.discard(load)
                    changed = True
        return frozenset(self.innocent)

    # --- memory

    def _reads_float(self, reader: Instruction, access: Access, depth: int = 4) -> bool:
        """May bytes that `reader` reads by `access` have been written as a float?"""
        found, older = self.writers(reader, replace(access, tbaa=None))
        return older or any(self._writes_float(i, depth, access) for i in found)

    def tears(self, load: Load, access: Access) -> bool:
        """May a part of an address be moved, and the rest beside it? Of whole ones, it is known what they point to."""
        narrow = isinstance(load.type, IntType) and load.type.bits < 64
        if not narrow or all(isinstance(u, Instruction) and changes_bits(u) for u in load.users):
            return False
        beside = self.kinds.may_be_pointer(load) and self.kinds.is_one_of_several(load)
        return beside and self._reads_address(load, access)

    def _reads_address(self, reader: Instruction, access: Access, depth: int = 4) -> bool:
        found, older = self.writers(reader, replace(access, tbaa=None))
        return older or not depth or any(self._writes_address(i, depth, access) for i in found)

    def _writes_address(self, i: Instruction, depth: int, access: Access) -> bool:
        match i:
            case Store(value, _):
                return isinstance(scalar(value.type), PointerType) or bool(self.memory.points_to(value))
            case Call() if is_copy(i):
                return any(self._reads_address(i, a, depth - 1) for a in self.copied_from(i, access))
            case Call() if not self.is_outside(i):
                return not depth or any(
                    self._writes_address(w, depth - 1, access) for w in self.written_by_others(i, access)
                )
        return False

    # --- what writes

    def _writes_float(self, i: Instruction, depth: int, access: Access) -> bool:
        match i:
            case Store(value, _):
                return self.is_float(value, set())
            case Call() if i.called_function is not None and i.called_function.name.startswith("llvm.memset."):
                return False
            case Call() if is_copy(i):
                return not depth or any(
                    self._reads_float(i, a, depth - 1) for a in self.copied_from(i, access)
                )
            case Call() if not self.is_outside(i):
                return not depth or any(
                    self._writes_float(w, depth - 1, access) for w in self.written_by_others(i, access)
                )
            case Call():
                return any(f is None or not behaviour(i, f).inactive for f in self.memory.callees(i))
        return True

    # --- values

    def is_float(self, v: AnyValue, seen: set[AnyValue]) -> bool:
        """May an SSA value carry the bits of a float?"""
        if v in seen:
            return False
        seen.add(v)
        if not isinstance(v, Argument | Instruction) or isinstance(v.type, PointerType):
            return isinstance(scalar(v.type), FloatType) or isinstance(v, ConstExpr) and not _is_address(v)
        if isinstance(scalar(v.type), FloatType):
            return True
        if v in self.innocent or not self.kinds.may_hold_float(v):
            return False
        if not isinstance(scalar(v.type), IntType):
            return True
        sources = self._sources(v)
        return sources is None or any(self.is_float(o, seen) for o in sources)

    def _sources(self, v: Argument | Instruction) -> Sequence[AnyValue] | None:
        """What `v` is made of, where its bits are; None: of what is not known."""
        match v:
            case Argument() | Call():
                return self.passed_on(v)
            case Select():
                return v.operands[1:]
            case Compare():
                return ()
            case Cast(opcode) if opcode in _NUMBERS:
                return ()
            case Binary() | Cast() | Phi() | Unary():
                return v.operands
        return None


def only_steers(v: Value, seen: set[Value]) -> bool:
    """Does an integer only decide where the program goes and what it addresses? Derivatives take no such way."""
    seen.add(v)
    return all(u in seen or _is_steered(u, v, seen) for u in v.users)


def _is_steered(user: Value, v: Value, seen: set[Value]) -> bool:
    match user:
        case Compare() | Alloca():
            return True
        case GetElementPtr(_, pointer, _):
            return pointer is not v
        case Cast("trunc" | "zext" | "sext") | Binary() | Phi() | Unary() | Select():
            return only_steers(user, seen)
        case Call():
            return is_copy(user) and user.arguments[2] is v and v not in user.arguments[:2]
    return isinstance(user, Instruction) and user.is_terminator and not isinstance(user, Return)


def _is_address(c: ConstExpr) -> bool:
    return isinstance(c.type, PointerType) or c.opcode == "ptrtoint"


__all__ = ["Bits", "Trial", "only_steers"]
