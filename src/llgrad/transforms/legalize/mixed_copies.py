"""Copies of memory of which kinds cannot say where its floats are: several arrays in one block, a pool, a hash table.

Where all floats of the program that lie in memory are doubles, and they and all pointers lie at multiples of eight
bytes, every eight bytes at such an address are a *word* (`autodiff.emit.helpers`): a double, a pointer, or numbers. Its
shadow tells which as the program runs, so a copy between such addresses need not know. That floats lie so is proven by
the accesses: one that is declared to be aligned is undefined elsewhere.

What a copy moves to where it is only ever read as integers would become numbers, and is refused as before.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial

from llgrad.analysis.memory.call_effects import is_copy
from llgrad.analysis.memory.mod_ref import Memory, MemoryObject
from llgrad.analysis.objects import holds_type, leaves
from llgrad.analysis.solver import reach
from llgrad.analysis.types.kinds import Kinds
from llgrad.errors import KindError
from llgrad.ir.module import Position
from llgrad.ir.types import (
    DOUBLE,
    I64,
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
    scalar,
)
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Binary,
    Call,
    Cast,
    ExtractValue,
    InsertValue,
    Instruction,
    Load,
    Phi,
    Select,
    Store,
    Unary,
    Value,
)
from llgrad.transforms.legalize.mixed_words import chosen_of, copied

_WORD = 8
_KNOWN = ("stack", "heap", "argument")


class Unsorted:
    """Which copies may be made word by word."""

    def __init__(self, memory: Memory, kinds: Kinds) -> None:
        self._memory, self._kinds = memory, kinds

    def moves_words(self, i: Instruction) -> bool:
        """Is every word that a copy or store moves a double, a pointer or numbers, and its target the program's own?

        Raises KindError, with a remedy, where words are moved through integers to such memory.
        """
        if not self._memory.is_own(i):
            return False
        targets = {o for a in self._memory.writes(i) for o in a.objects}
        touched = targets | {o for a in self._memory.reads(i) for o in a.objects}
        if not touched or any(not (o.is_constant or o.kind in _KNOWN) or not _is_aligned(o) for o in touched):
            return False
        if not self._all_doubles or not targets <= self._read_as_words:
            return False
        return self._hidden is not None

    def remedied(self, error: KindError) -> KindError:
        """The error, with what makes copies of the moves of words in integers, if it is about such."""
        if found := self._hidden:
            error.remedy = partial(copied, found=[Position.of(i) for i in found])
        return error

    @property
    def has_hidden(self) -> bool:
        return bool(self._hidden)

    @cached_property
    def _hidden(self) -> list[Store] | None:
        """Stores of what was read as an integer where doubles may be; None if that is not at hand at one of them.

        Whatever kinds say of them, they were said of one place, and the word may come from another.
        """
        found = []
        for f in self._memory.functions:
            for i in f.instructions():
                if not isinstance(i, Store) or not isinstance(i.value.type, IntType) or i.value.type.bits < 16:
                    continue
                if self._memory.points_to(i.pointer).isdisjoint(self._read_as_words):
                    continue
                origins = reach([i.value], self._origins)
                if not any(self._may_be_word(v) for v in origins):
                    continue
                if i.value.type != I64 or i.ordering or i.flags or not self._is_moved(i):
                    return None
                found.append(i)
        return found

    def _is_moved(self, store: Store) -> bool:
        """Has every such word that is stored been read in the same function, and only been chosen since?"""
        there = reach([store.value], chosen_of)
        if any(isinstance(v, InsertValue | ExtractValue) for v in there):
            return False
        return all(not self._may_be_word(v) or v in there for v in reach([store.value], self._origins))

    def _origins(self, v: AnyValue) -> list[AnyValue]:
        """The integers of which a value may have all bits, or some."""
        match v:
            case Phi() | Select():
                return chosen_of(v)
            case Argument() | Call():
                return self._memory.passed(v)
            case Cast("trunc" | "zext" | "sext") | Unary("freeze") | ExtractValue() | InsertValue():
                return [o for o in v.operands if not isinstance(o.type, PointerType)]
            case Binary("or" | "shl" | "lshr" | "ashr" | "and"):
                return v.operands
        return []

    def _may_be_word(self, v: AnyValue) -> bool:
        """Is it an integer that was read where doubles may be, or a part of one, as far as that is known?"""
        if not isinstance(v, Load) or not isinstance(scalar(v.type), IntType):
            return False
        if self._memory.points_to(v.pointer).isdisjoint(self._words):
            return False
        bits = self._memory.module.layout.size(v.type) * 8
        return bits >= 64 or (bits >= 16 and self._kinds.sees_float(v))

    @cached_property
    def _moved(self) -> list[tuple[MemoryObject, MemoryObject]]:
        """(from, to) of what is copied between memory, or moved in integers."""
        found = []
        for f in self._memory.functions:
            for i in f.instructions():
                sources: list[AnyValue] = []
                if isinstance(i, Store) and isinstance(i.value.type, IntType) and i.value.type.bits >= 16:
                    sources = [v.pointer for v in reach([i.value], self._origins) if isinstance(v, Load)]
                elif isinstance(i, Call) and is_copy(i):
                    sources = [i.arguments[1]]
                for source in sources:
                    into = self._memory.points_to(i.pointer if isinstance(i, Store) else i.operands[0])
                    found += [(o, target) for o in self._memory.points_to(source) for target in into]
        return list(dict.fromkeys(found))

    @cached_property
    def _words(self) -> set[MemoryObject]:
        """Memory that doubles are written to, or moved."""
        found = {o for o in self._memory.objects if o.kind in ("argument", "contents")}
        after: dict[MemoryObject, list[MemoryObject]] = {}
        for source, target in self._moved:
            after.setdefault(source, []).append(target)
        for f in self._memory.functions:
            for i in f.instructions():
                if isinstance(i, Store) and _floats(i.value.type):
                    found |= self._memory.points_to(i.pointer)
        return set(reach(found, lambda o: after.get(o, ())))

    @cached_property
    def _all_doubles(self) -> bool:
        """Are the floats in memory all doubles, at multiples of eight bytes, as pointers are?"""
        for f in self._memory.functions:
            if not all(map(self._has_doubles, f.arguments)):
                return False
            for i in f.instructions():
                if not self._is_plain(i):
                    return False
        return True

    def _is_plain(self, i: Instruction) -> bool:
        match i:
            case Load() | Store():
                t = i.type if isinstance(i, Load) else i.value.type
                if (_floats(t) or holds_type(t, PointerType)) and not self._is_whole(t, i.align or 1):
                    return False
            case Call() if is_copy(i):
                return all(k.format in (None, DOUBLE) for _, k, _ in self._kinds.access(i).leaves)
        return self._has_doubles(i)

    def _is_whole(self, t: Type, align: int) -> bool:
        """Do the floats and pointers of a type lie at multiples of eight bytes, and are they doubles?"""
        if align % _WORD or _floats(t) - {DOUBLE}:
            return False
        if isinstance(t, StructType | ArrayType):
            found = leaves(t, self._memory.module.layout)
            return all(n.offset % _WORD == 0 for n in found if isinstance(n.type, FloatType | PointerType))
        return True

    def _has_doubles(self, v: Value) -> bool:
        """Is a value no integer that has the bits of other floats?"""
        return bool(_floats(v.type)) or isinstance(v.type, PointerType) or self._kinds.formats(v) <= {DOUBLE}

    @cached_property
    def _read_as_words(self) -> set[MemoryObject]:
        """Memory from which doubles or pointers are read; or what is in it is moved on, to such memory."""
        found: set[MemoryObject] = set()
        before: dict[MemoryObject, list[MemoryObject]] = {}
        for source, target in self._moved:
            before.setdefault(target, []).append(source)
        for f in self._memory.functions:
            for i in f.instructions():
                if isinstance(i, Load) and (_floats(i.type) or holds_type(i.type, PointerType)):
                    found |= self._memory.points_to(i.pointer)
        return set(reach(found, lambda o: before.get(o, ())))


def _is_aligned(o: MemoryObject) -> bool:
    """Are its shadow's words where its own are, modulo eight bytes?"""
    return not isinstance(o.site, Alloca) or (o.site.align or 1) % _WORD == 0


def _floats(t: Type) -> set[FloatType]:
    return set(_float_leaves(t))


def _float_leaves(t: Type) -> Iterator[FloatType]:
    match t:
        case FloatType():
            yield t
        case VectorType(element) | ArrayType(element):
            yield from _float_leaves(element)
        case StructType(fields):
            for f in fields or ():
                yield from _float_leaves(f)


__all__ = ["Unsorted"]
