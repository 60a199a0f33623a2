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

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Protocol

from llgrad.analysis.known import behaviour
from llgrad.analysis.memory import Access, Memory, MemoryObject
from llgrad.analysis.objects import gep_offset
from llgrad.analysis.solver import reach
from llgrad.ir.types import FloatType, IntType, PointerType, scalar
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Binary,
    Block,
    Call,
    Cast,
    Compare,
    ConstExpr,
    Function,
    GetElementPtr,
    GlobalVariable,
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


class NamedKind(Protocol):
    @property
    def name(self) -> str: ...


class Bits(Protocol):
    """What is asked of an analysis of kinds."""

    def may_hold_float(self, v: AnyValue, /) -> bool: ...

    def is_undecided(self, v: AnyValue, /) -> bool: ...

    def value(self, v: AnyValue, /) -> NamedKind: ...


def integers(memory: Memory, kinds: Bits) -> frozenset[AnyValue]:
    """Values of undecided kind that are never the bits of a float: loads, and what is computed from such only."""
    values: list[Value] = [v for f in memory.functions for v in (*f.arguments, *f.instructions())]
    undecided = [
        v for v in values
        if isinstance(scalar(v.type), IntType) and kinds.is_undecided(v) and not _may_be_address(memory, kinds, v)
    ]  # fmt: skip
    if not undecided:
        return frozenset()
    trial = _Trial(memory, kinds, [v for v in undecided if isinstance(v, Load)])
    acquitted: set[AnyValue] = set(trial.acquitted())
    acquitted.update(v for v in undecided if _only_steers(v, set()))
    return frozenset(acquitted | {v for v in undecided if not trial.is_float(v, set())})


def _may_be_address(memory: Memory, kinds: Bits, v: AnyValue) -> bool:
    """Nothing at all is known of what it holds, and it may be an address that is moved as an integer."""
    return kinds.value(v).name == "unknown" and bool(memory.points_to(v))


class _Trial:
    def __init__(self, memory: Memory, kinds: Bits, suspects: list[Instruction]) -> None:
        self.memory, self.kinds = memory, kinds
        self.innocent = set(suspects)
        self._functions = {a: f for f in memory.functions for a in f.arguments}
        self._writers: dict[MemoryObject, list[tuple[Instruction, Access]]] = {}
        for f in memory.functions:
            for i in f.instructions():
                if isinstance(i, Store) or (isinstance(i, Call) and self._is_outside(i)):
                    for a in memory.writes(i):
                        for o in a.objects:
                            self._writers.setdefault(o, []).append((i, replace(a, tbaa=None)))

    def acquitted(self) -> frozenset[Instruction]:
        changed = True
        while changed:
            changed = False
            for load in list(self.innocent):
                if any(self._reads_float(load, a) for a in self.memory.reads(load)):
                    self.innocent.discard(load)
                    changed = True
        return frozenset(self.innocent)

    # --- memory

    def _reads_float(self, reader: Instruction, access: Access, depth: int = 4) -> bool:
        """May bytes that `reader` reads by `access` have been written as a float?"""
        access = replace(access, tbaa=None)
        found, complete = self._reaching(reader, access)
        if not complete:
            if any(o.kind not in ("stack", "heap") and not o.is_constant for o in access.objects):
                return True
            found = {
                i: None for o in access.objects for i, a in self._writers.get(o, ())
                if self.memory.may_alias(a, access)
            }  # fmt: skip
        return any(self._writes_float(i, depth) for i in found)

    def _reaching(self, reader: Instruction, access: Access) -> tuple[dict[Instruction, None], bool]:
        """The writes of the reader's function that may reach it, and whether nothing older does."""
        found: dict[Instruction, None] = {}
        work: list[tuple[Block, int]] = [(reader.block, reader.block.instructions.index(reader))]
        seen: set[Block] = set()
        complete = True
        while work:
            block, end = work.pop()
            if self._walk(block.instructions[:end], reader, access, found, block is reader.block and not seen):
                continue
            before = list(_predecessors(block))
            complete &= bool(before) or self._starts_here(block, access)
            for p in before:
                if p not in seen:
                    seen.add(p)
                    work.append((p, len(p.instructions)))
        return found, complete

    def _walk(
        self, instructions: list[Instruction], reader: Instruction, access: Access, found: dict[Instruction, None],
        own: bool,
    ) -> bool:  # fmt: skip
        """Collect the writes of a block, last first; True where one of them writes all that is read."""
        for i in reversed(instructions):
            if not isinstance(i, Store | Call):
                continue
            if isinstance(i, Store) and isinstance(reader, Load) and self._covers(i, reader, own):
                found[i] = None
                return True
            for a in self.memory.writes(i):
                if self.memory.may_alias(replace(a, tbaa=None), access):
                    found[i] = None
        return False

    def _covers(self, store: Store, load: Load, own: bool) -> bool:
        """Is all that is loaded in what is stored? `own`: the two are in one run of one block."""
        layout = self.memory.module.layout
        written, read = layout.size(store.value.type), layout.size(load.type)
        if own and store.pointer is load.pointer:
            return written >= read
        base, at = self._place(store.pointer)
        other, start = self._place(load.pointer)
        stable = isinstance(base, Argument | Alloca | GlobalVariable)
        return stable and base is other and at <= start and start + read <= at + written

    def _place(self, pointer: AnyValue) -> tuple[AnyValue, int]:
        """A pointer as a base and constant bytes."""
        at = 0
        while isinstance(pointer, GetElementPtr):
            offset = gep_offset(pointer.source_type, pointer.indices, self.memory.module.layout)
            if offset is None:
                break
            at, pointer = at + offset, pointer.pointer
        return pointer, at

    def _starts_here(self, block: Block, access: Access) -> bool:
        """At the function's entry: does all that is read begin to exist in this call of it?"""
        f = block.function
        own = f is not None and all(o.kind == "stack" and o.function is f for o in access.objects)
        return own and f is not None and not self._recurs(f)

    def _recurs(self, f: Function) -> bool:
        callers = reach([f], lambda g: [c.block.function for c in self.memory.callers(g) if c.block.function])
        return any(c.block.function in callers and g is f for g in callers for c in self.memory.callers(g))

    # --- what writes

    def _writes_float(self, i: Instruction, depth: int) -> bool:
        match i:
            case Store(value, _):
                return self.is_float(value, set())
            case Call() if i.called_function is not None and i.called_function.name.startswith("llvm.memset."):
                return False
            case Call() if _is_copy(i):
                return not depth or any(self._reads_float(i, a, depth - 1) for a in self.memory.reads(i))
            case Call() if not self._is_outside(i):
                return any(self._writes_float_inside(f, i, depth) for f in self.memory.functions_called(i).functions)
            case Call():
                return any(f is None or not behaviour(i, f).inactive for f in self.memory.callees(i))
        return True

    def _writes_float_inside(self, f: Function, call: Call, depth: int) -> bool:
        """Does a called function, or what it calls, write floats? (To the memory in question, for all we look at.)"""
        places = {o for a in self.memory.writes(call) for o in a.objects}
        return not depth or any(
            self._writes_float(i, depth - 1) for o in places for i, _ in self._writers.get(o, ()) if i is not call
        )

    def _is_outside(self, call: Call) -> bool:
        return any(f is None or f.is_declaration for f in self.memory.callees(call))

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
        return any(self.is_float(o, seen) for o in self._sources(v)) if self._has_sources(v) else True

    def _has_sources(self, v: AnyValue) -> bool:
        match v:
            case Argument():
                return self._functions[v] is not self.memory.root
            case Call():
                return not self._is_outside(v)
        return isinstance(v, Binary | Cast | Phi | Select | Unary | Compare)

    def _sources(self, v: AnyValue) -> Iterable[AnyValue]:
        match v:
            case Argument():
                return [c.arguments[v.index] for c in self.memory.callers(self._functions[v])]
            case Call():
                return list(_returned(self.memory.functions_called(v).functions))
            case Select():
                return v.operands[1:]
            case Compare():
                return ()
            case Cast(opcode) if opcode in _NUMBERS:
                return ()
        return v.operands if isinstance(v, Instruction) else ()


def _only_steers(v: Value, seen: set[Value]) -> bool:
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
            return _only_steers(user, seen)
        case Call():
            return _is_copy(user) and user.arguments[2] is v and v not in user.arguments[:2]
    return isinstance(user, Instruction) and user.is_terminator and not isinstance(user, Return)


def _returned(functions: Iterable[Function]) -> Iterator[AnyValue]:
    for f in functions:
        for i in f.instructions():
            if isinstance(i, Return) and i.value is not None:
                yield i.value


def _predecessors(block: Block) -> Iterator[Block]:
    return (u.block for u in dict.fromkeys(block.users) if isinstance(u, Instruction) and u.is_terminator)


def _is_copy(call: Call) -> bool:
    f = call.called_function
    return f is not None and f.name.removeprefix("llvm.").startswith(("memcpy", "memmove"))


def _is_address(c: ConstExpr) -> bool:
    return isinstance(c.type, PointerType) or c.opcode == "ptrtoint"


__all__ = ["integers"]
