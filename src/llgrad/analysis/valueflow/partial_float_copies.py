"""Floats that are moved in pieces, or several at a time, by accesses of another float format.

A loop over a `float *` may copy doubles in halves. Each load and store looks like that of a number, but its tangent and
adjoint are pieces of another's, and adding pieces adds nothing. `pieces` finds stores of a value that was only moved
since it was loaded, where memory was read that was written as another format, or that is declared to be of another, and
that is read as another format afterwards. Either end alone is no piece: members of a union are used by turns. What is
older than the program and not declared may be anything.

`made_of_others` finds what is computed with and was read from bytes that were written as another format for sure, in
the same run of the same blocks: a double whose upper half is a `float` has no derivative that rules know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec.structs import replace

from llgrad.analysis.memory.call_effects import is_copy
from llgrad.analysis.memory.memory_ssa import MemoryDef, without_pointer
from llgrad.analysis.memory.mod_ref import Access, Memory, MemoryObject
from llgrad.analysis.memory.reaching_stores import Part, Reaching
from llgrad.ir.types import FloatType, IntType, scalar
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Binary,
    Call,
    Cast,
    ExtractElement,
    InsertElement,
    Instruction,
    Load,
    Phi,
    Select,
    ShuffleVector,
    Store,
    Unary,
    Value,
)
from llgrad.rules import lookup

_MOVED = (Argument, Call, Load, Phi, Select, ExtractElement, InsertElement, ShuffleVector)
_MOST_COPIES = 4  # that a value is followed through
Format = FloatType
_Read = tuple[Instruction, Access]
_Writers = tuple[list[Store], dict[Call, Sequence[Access]], bool]


class Formats(Protocol):
    """What is asked of an analysis of kinds."""

    def formats(self, v: AnyValue, /) -> frozenset[Format]: ...

    def declared_formats(self, pointer: AnyValue, /) -> frozenset[Format]: ...


def pieces(memory: Memory, kinds: Formats) -> Iterator[Store]:
    """Stores that may write a piece of a float of another format, or several of them."""
    return _Pieces(memory, kinds).found()


def made_of_others(memory: Memory) -> Iterator[Load]:
    """Loads of floats that are computed with, of which bytes were just written as floats of another format."""
    found = _Written(memory)
    loads = (i for f in memory.functions for i in f.instructions() if isinstance(i, Load) and _format(i) is not None)
    return (i for i in loads if any(map(_computes, i.users)) and found.is_made_of_others(i))


class _Written:
    """Looks at what was written before a load, as far back as one definition of memory follows another alone."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._offsets: dict[AnyValue, dict[Format, set[int]]] = {}
        for i in (i for f in memory.functions for i in f.instructions()):
            if isinstance(i, Store) and (format := _format(i.value)) is not None:
                base, at = self.memory.decompose(i.pointer)
                size = self.memory.module.layout.size(format)
                self._offsets.setdefault(base, {}).setdefault(format, set()).add(at % size)

    def _may_be_made_of_others(self, load: Load) -> bool:
        """Does any store from the base of a load write another format, or floats at other offsets modulo their size?"""
        own = _format(load)
        base, at = self.memory.decompose(load.pointer)
        stored = self._offsets.get(base, {})
        return own is not None and (
            not stored.keys() <= {own} or not stored.get(own, set()) <= {at % self.memory.module.layout.size(own)}
        )

    def is_made_of_others(self, load: Load) -> bool:
        if not self._may_be_made_of_others(load) or load.block.function is None:
            return False
        ssa, (access, *_) = self.memory.ssa, self.memory.reads(load)
        at = ssa.chain(load.block.function).before(load)
        while isinstance(at, MemoryDef):
            i = at.instruction
            apart = self._apart(i, load) if isinstance(i, Store) else None
            if isinstance(i, Store) and apart is not None:
                if self._is_other(i, load, apart):
                    return True
                if ssa.must_clobber(i, access, at_once=True):
                    return False
            elif ssa.may_clobber(i, access):
                return False
            at = at.defining
        return False

    def _apart(self, store: Store, load: Load) -> int | None:
        """How far behind what is read it is stored; None: that is not known for sure."""
        (base, at), (other, start) = self.memory.decompose(store.pointer), self.memory.decompose(load.pointer)
        return at - start if base is other else None

    def _is_other(self, store: Store, load: Load, apart: int) -> bool:
        """Are some of the bytes read a float's of another format, or a part of one?"""
        own, format, layout = _format(load), _format(store.value), self.memory.module.layout
        if own is None or format is None or not -layout.size(store.value.type) < apart < layout.size(load.type):
            return False
        return format != own or apart % layout.size(own) != 0


class _Pieces(Reaching):
    def __init__(self, memory: Memory, kinds: Formats) -> None:
        super().__init__(memory)
        self.kinds = kinds
        self._known: dict[_Read, _Writers] = {}
        self._stored: dict[MemoryObject, set[Format]] = {}
        self._others: dict[Format, list[Part]] = {}
        for part, writers in memory.ssa.written.items():
            formats = {f for i in writers if isinstance(i, Store) and (f := _format(i.value)) is not None}
            for o in part.objects if formats else ():
                self._stored.setdefault(o, set()).update(formats)

    def found(self) -> Iterator[Store]:
        seen: set[Store] = set()
        for f in self.memory.functions:
            for i in f.instructions():
                for store in self._read_as_another(i) if isinstance(i, Load) else self._kept_as_another(i):
                    if store not in seen and self._is_piece(store.value, _format(store.value), set()):
                        yield store
                    seen.add(store)

    def _read_as_another(self, load: Load) -> Iterator[Store]:
        """The stores of moved values of other formats that `load` may read."""
        if (own := _format(load)) is not None:
            for a in self.memory.reads(load):
                if self._meets_another(a, own):
                    for i in self._stores(load, a)[0]:
                        if _format(i.value) not in (None, own) and _is_moved(i.value):
                            yield i

    def _meets_another(self, access: Access, own: Format) -> bool:
        """May memory that is read have been written as another format, directly or by a copy?"""
        known = {o for o in access.objects if o.kind != "unknown"}
        part = without_pointer(access)
        return any(not known.isdisjoint(a.objects) and self.memory.may_meet(a, part) for a in self._written_but_as(own))

    def _written_but_as(self, own: Format) -> list[Part]:
        """What is written as another format somewhere."""
        if own not in self._others:
            written = self.memory.ssa.written.items()
            self._others[own] = [a for a, by in written if any(self._formats_written(i) - {own} for i in by)]
        return self._others[own]

    def _formats_written(self, i: Instruction) -> set[Format | None]:
        if isinstance(i, Store):
            return {_format(i.value)} - {None}
        if isinstance(i, Call) and is_copy(i):
            return {f for a in self.memory.reads(i) for o in a.objects for f in self._stored.get(o, ())}
        return set()

    def _kept_as_another(self, i: Instruction) -> Iterator[Store]:
        """A store of a moved value to memory that is the caller's and declared to be of another format."""
        if isinstance(i, Store) and (own := _format(i.value)) is not None and _is_moved(i.value):
            sites = {o.site for a in self.memory.writes(i) for o in a.objects if o.kind in ("argument", "global")}
            declared = [self.kinds.declared_formats(site) for site in sites if isinstance(site, Value)]
            if any(formats and own not in formats for formats in declared):
                yield i

    def _stores(self, reader: Instruction, access: Access) -> tuple[list[Store], bool]:
        """The stores that may have written what is read, looking through copies; and whether it may be older."""
        found, older = dict[Store, None](), False
        front: dict[_Read, None] = {(reader, access): None}
        for left in reversed(range(_MOST_COPIES + 1)):
            steps = [self._written(at) for at in front]
            for stores, copies, before in steps:
                found.update(dict.fromkeys(stores))
                older = older or before or bool(copies and not left)
            front = {(i, a): None for _, copies, _ in steps for i, accesses in copies.items() for a in accesses}
        return list(found), older

    def _written(self, at: _Read) -> _Writers:
        """The stores and the copies that may have written what is read, and whether it may be older."""
        if at not in self._known:
            reader, access = at
            writers, older = self.writers(reader, access)
            stores, copies = list[Store](), dict[Call, Sequence[Access]]()
            for i in self.inside(writers, replace(access, tbaa=None)):
                if isinstance(i, Store):
                    stores.append(i)
                elif isinstance(i, Call) and is_copy(i):
                    copies[i] = self.copied_from(i, access)
            self._known[at] = stores, copies, older
        return self._known[at]

    def _is_piece(self, v: AnyValue, own: Format | None, seen: set[AnyValue]) -> bool:
        """May the bits of a moved value, of format `own`, be those of floats of another format?"""
        if v in seen or _format(v) != own or not _is_moved(v):
            return False
        seen.add(v)
        match v:
            case Load():
                return any(self._reads_another(v, a, own, seen) for a in self.memory.reads(v))
            case Cast(value=value):
                formats = self.kinds.formats(value)
                return bool(formats - {own}) or self._is_piece(value, own, seen)
            case Argument() | Call():
                return any(self._is_piece(o, own, seen) for o in self.passed_on(v) or ())
        operands = v.operands if isinstance(v, Instruction) else ()
        return any(self._is_piece(o, own, seen) for o in operands)

    def _reads_another(self, load: Load, access: Access, own: Format | None, seen: set[AnyValue]) -> bool:
        stores, older = self._stores(load, access)
        for i in stores:
            if isinstance(scalar(i.value.type), IntType):
                if self.kinds.formats(i.value) - {own}:
                    return True
            elif _format(i.value) not in (None, own) or self._is_piece(i.value, own, seen):
                return True
        return older and self._is_declared_otherwise(load, access, own)

    def _is_declared_otherwise(self, load: Load, access: Access, own: Format | None) -> bool:
        """Is memory that is older than the program declared to be of other formats, or not at all?"""
        for o in access.objects:
            if o.is_external and not o.is_constant:
                known = isinstance(o.site, Value) and o.kind in ("argument", "global")
                declared = self.kinds.declared_formats(o.site if known and o.site is not None else load.pointer)
                if own not in declared or not known and len(declared) > 1:
                    return True
        return False


def _format(v: AnyValue) -> Format | None:
    t = scalar(v.type)
    return t if isinstance(t, FloatType) else None


def _computes(u: Value) -> bool:
    """Is its operand taken for the number that it is?"""
    if isinstance(u, Call):
        return u.called_function is not None and lookup(u.called_function.name) is not None
    return isinstance(u, Binary) or isinstance(u, Unary | Cast) and u.opcode in ("fneg", "fpext", "fptrunc")


def _is_moved(v: AnyValue) -> bool:
    """Is a value no result of arithmetic, so that it may be any bits?"""
    copied = isinstance(v, Cast | Unary) and v.opcode in ("bitcast", "freeze")
    return copied or isinstance(v, _MOVED)


__all__ = ["made_of_others", "pieces"]
