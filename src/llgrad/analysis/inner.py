"""Pointers to members that lead no further than the member: the heads of lists, trees and hash tables of C++.

A list is a ring of nodes, one of which, the head, is a member of the list object itself. A pointer to a node may point
to one with a value behind its links, or to the head, which has none: behind it lie the neighbours of the list. A
member's type is its whole type (a base class is not a member), so a pointer to a class that is stored with the address
of a member ends with it: which class that is TBAA tells, which member debug info. A pointer to a pointer that is stored
with the address of a single pointer (a hash table's only bucket) leads to that one.
"""

from __future__ import annotations

import re

from llgrad.analysis.bytelayout import ByteType, Pointer, Record, Sequence
from llgrad.analysis.cells import gep_bytes
from llgrad.analysis.debuginfo import DebugTypes, debug_record
from llgrad.ir.module import Module
from llgrad.ir.types import DataLayout, PointerType
from llgrad.ir.values import Alloca, AnyValue, Function, GetElementPtr, MDString, Store

_POINTER = re.compile(r"p(\d+) (?:_ZTS)?(\w+)")

Place = tuple[AnyValue, int, int]
"""A value, and the bytes behind it: some, and multiples of a stride (0: exactly those)."""


class Inner:
    """Of one function: how far the pointers to members lead that it stores."""

    def __init__(self, function: Function, module: Module, debug: DebugTypes) -> None:
        self._layout, self._limits = module.layout, dict[Place, int]()
        stores = [i for i in function.instructions() if isinstance(i, Store) and _is_address(i.value)]
        tagged = [(i, told) for i in stores if (told := _pointee(module, i)) is not None]
        types = _declared(function, debug) if tagged else {}
        for i, (level, name) in tagged:
            place = _place(i.value, self._layout)
            found = [_member(types[v], at, level, name) for v, at in self._way(i.value) if v in types]
            if room := max((n for n in found if n), default=0):
                self._limits[place] = max(room, self._limits.get(place, 0))

    def limit(self, v: AnyValue) -> int | None:
        """How many bytes a pointer leads to, where that is known."""
        return self._limits.get(_place(v, self._layout)) if self._limits and _is_address(v) else None

    def _way(self, v: AnyValue) -> list[tuple[AnyValue, int]]:
        """The values that an address is computed from, itself included, with the bytes between."""
        found, at = [(v, 0)], 0
        while isinstance(v, GetElementPtr) and (by := gep_bytes(v.source_type, v.indices, self._layout)) is not None:
            v, at = v.pointer, at + by[1]
            if by[0]:
                break
            found.append((v, at))
        return found


def _is_address(v: AnyValue) -> bool:
    return isinstance(v, Alloca | GetElementPtr)


def _place(v: AnyValue, layout: DataLayout) -> Place:
    at = stride = 0
    while not stride and isinstance(v, GetElementPtr):
        if (by := gep_bytes(v.source_type, v.indices, layout)) is None:
            break
        v, at, stride = v.pointer, at + by[1], by[0]
    return v, at, stride


def _pointee(module: Module, store: Store) -> tuple[int, str] | None:
    """What TBAA says that a stored pointer points to: (1 for an object, more for pointers; the mangled name)."""
    if (ref := store.metadata.get("tbaa")) is None or not isinstance(store.value.type, PointerType):
        return None
    access = module.node(ref).operands[1:2]
    name = module.node(access[0]).operands[:1] if access else ()
    told = _POINTER.fullmatch(name[0].text) if name and isinstance(name[0], MDString) else None
    return (int(told[1]), told[2]) if told else None


def _declared(function: Function, debug: DebugTypes) -> dict[AnyValue, tuple[ByteType, bool]]:
    """The types of what pointers point to, by debug info, and whether that is all of the object: a variable is."""
    named = {v.name: v for v in (*function.arguments, *function.instructions()) if v.name}
    found: dict[AnyValue, tuple[ByteType, bool]] = {}
    for i in function.instructions():
        for line in i.debug_records:
            record = debug_record(line)
            if record is None or not record.plain or not record.operand.startswith("ptr %"):
                continue
            value, variable = named.get(record.operand[5:].strip('"')), debug.variable(record.variable)
            t = variable.type if variable is not None else None
            if value is None or t is None:
                continue
            if record.kind == "declare" and isinstance(value, Alloca):
                found[value] = t, True
            elif record.kind == "value" and isinstance(t, Pointer) and value not in found and (to := t.to()):
                found[value] = to, False
    return found


def _member(declared: tuple[ByteType, bool], at: int, level: int, name: str) -> int:
    """The bytes from `at` to the end of the innermost whole object there of the named class, or one derived."""
    t, whole = declared
    found, start, end = 0, 0, t.size if whole else 0
    while True:
        if isinstance(t, Record) and f"{len(t.name)}{t.name}" in name and level == 1 and end:
            found = end - at
        if level > 1 and isinstance(t, Pointer) and start == at and end:
            found = t.size
        if isinstance(t, Sequence) and t.element.size:
            element = t.element
            start += (at - start) // element.size * element.size
            t, end = element, start + element.size
            continue
        members = t.members if isinstance(t, Record) else ()
        inside = [m for m in members if m.offset <= at - start < m.offset + m.type.size and not _is_empty(m.type)]
        if len(inside) != 1:  # in a union anything may lie there
            return found if not inside else 0
        member = inside[0]
        start, t = start + member.offset, member.type
        end = end if member.base else start + member.type.size


def _is_empty(t: ByteType) -> bool:
    """A class without members, which takes no room as a base."""
    return isinstance(t, Record) and all(_is_empty(m.type) for m in t.members)
