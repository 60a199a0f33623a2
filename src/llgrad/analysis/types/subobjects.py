"""Pointers to members that lead no further than the member: the heads of lists, trees and hash tables of C++.

A list is a ring of nodes, one of which, the head, is a member of the list object itself. A pointer to a node may point
to one with a value behind its links, or to the head, which has none: behind it lie the neighbours of the list. A
member's type is its whole type (a base class is not a member), so a pointer to a class that is made of the address of a
member ends with it: which class that is TBAA tells where such a pointer is stored, debug info where it is a variable or
a parameter; which member debug info. All that holds of the C++ library's own classes alone, which no program may
use: what points to others (a program's, `std::pair`) may be cast to what that is a member of, the first one or any by
its offset. In an array such a variable may walk on to the array's end. A pointer to a pointer that is stored with the
address of a single pointer (a hash table's only bucket) leads to that one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cached_property, partial
from typing import Any

from msgspec import Struct

from llgrad.analysis.layout.byte_layouts import ByteType, Pointer, Record, Sequence
from llgrad.analysis.layout.debug_info import DebugTypes, debug_record
from llgrad.analysis.memory.cells import gep_bytes
from llgrad.analysis.solver import reach
from llgrad.ir.module import Module
from llgrad.ir.types import DataLayout, PointerType
from llgrad.ir.values import Alloca, AnyValue, Function, GetElementPtr, MDString, Phi, Select, Store

_POINTER = re.compile(r"p(\d+) (?:_ZTS)?(\w+)")
_RESERVED = re.compile(r"_[A-Z_]")  # names that no program gives
_IN_STD = re.compile(r"NK?S[tabsiod]|S[tabsiod]")  # mangled

Place = tuple[AnyValue, int, int]
"""A value, and the bytes behind it: some, and multiples of a stride (0: exactly those)."""


class Object(Struct, frozen=True):
    """What debug info says lies at some bytes behind a value, and whether that is all of the object: a variable is."""

    at: int
    type: ByteType
    whole: bool


class Inner:
    """Of one function: how far the pointers to members lead that it stores, or that it hands on."""

    def __init__(self, function: Function, module: Module, debug: DebugTypes) -> None:
        self._function, self._debug = function, debug
        self._layout, self._limits = module.layout, dict[Place, int]()
        stores = [i for i in function.instructions() if isinstance(i, Store) and _is_address(i.value)]
        for i, (level, name) in [(i, told) for i in stores if (told := _pointee(module, i)) is not None]:
            place = _place(i.value, self._layout)
            found = [_member(o, at, partial(_is_called, name), level) for o, at in self._objects_at(i.value)]
            if room := max((n for n in found if n > 0), default=0):
                self._limits[place] = max(room, self._limits.get(place, 0))

    def limit(self, v: AnyValue) -> int | None:
        """How many bytes a pointer leads to, where that is known."""
        return self._limits.get(_place(v, self._layout)) if self._limits and _is_address(v) else None

    def limit_as(self, v: AnyValue, target: AnyValue, declared: ByteType | None = None) -> int | None:
        """How many bytes an address leads to as what variables in C++ are declared to point to, where that is known:
        `target` holds such a variable, or is a parameter of the type `declared`. Else those speak that hold `v`."""
        if not _is_address(v) or not self._debug.is_cpp(self._function) or not (objects := self._objects_at(v)):
            return None
        to = declared.to() if isinstance(declared, Pointer) else None
        said = [[to] if isinstance(to, Record) else [], self._classes(target)]
        if isinstance(v, GetElementPtr):
            said.append([c for place in self._way(v) for c in self._told[1].get(place, ())])
        for classes in filter(None, ([c for c in some if _is_own(c)] for some in said)):
            wanted = partial(_is_one_of, classes)
            room, at, size = max((_member(o, at, wanted, 0), at, o.type.size) for o, at in objects)
            if room > 0:
                return room if at or room < size else None
        return None

    def _classes(self, target: AnyValue) -> list[Record]:
        """Classes to which variables point that a value holds, or one that it is merged with."""

        def merged(v: AnyValue) -> list[AnyValue]:
            beside = [*v.operands, *v.users] if isinstance(v, Phi | Select) else []
            return [w for w in beside if isinstance(w, Phi | Select) and w.type == v.type]

        return [c for v in reach([target], merged) for c in self._told[1].get((v, 0), ())]

    def _objects_at(self, v: AnyValue) -> list[tuple[Object, int]]:
        """What lies on the way to an address, with the bytes from there to it."""
        objects = self._told[0]
        return [(o, at - o.at) for base, at in self._way(v) for o in objects.get(base, ()) if o.at <= at]

    @cached_property
    def _told(self) -> tuple[dict[AnyValue, list[Object]], dict[tuple[AnyValue, int], list[Record]]]:
        return _declared(self._function, self._debug)

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
    """What of the library's TBAA says that a stored pointer points to: (1 for an object, more for pointers; the
    mangled name)."""
    if (ref := store.metadata.get("tbaa")) is None or not isinstance(store.value.type, PointerType):
        return None
    access = module.node(ref).operands[1:2]
    name = module.node(access[0]).operands[:1] if access else ()
    told = _POINTER.fullmatch(name[0].text) if name and isinstance(name[0], MDString) else None
    return (int(told[1]), told[2]) if told and _IN_STD.match(told[2]) else None


def _declared(
    function: Function, debug: DebugTypes
) -> tuple[dict[AnyValue, list[Object]], dict[tuple[AnyValue, int], list[Record]]]:
    """What pointers point to, by debug info; and the classes of what variables point to that hold a value and bytes
    added to it."""
    named = {v.name: v for v in (*function.arguments, *function.instructions()) if v.name}
    objects: dict[AnyValue, list[Object]] = {}
    classes: dict[tuple[AnyValue, int], list[Record]] = {}
    for record in filter(None, (debug_record(line) for i in function.instructions() for line in i.debug_records)):
        value = named.get(record.operand[5:].strip('"')) if record.operand.startswith("ptr %") else None
        at = 0 if record.plain else _bytes_on(record.expression)
        if value is None or at is None or (variable := debug.variable(record.variable)) is None:
            continue
        if record.kind == "declare" and isinstance(value, Alloca) and record.plain and variable.type is not None:
            _add(objects.setdefault(value, []), Object(0, variable.type, True))
        elif record.kind == "value" and isinstance(variable.type, Pointer) and (to := variable.type.to()):
            _add(objects.setdefault(value, []), Object(at, to, False))
            if isinstance(to, Record):
                _add(classes.setdefault((value, at), []), to)
    return objects, classes


def _add(found: list[Any], one: Any) -> None:
    if one not in found:
        found.append(one)


def _bytes_on(expression: str) -> int | None:
    """A variable that is not kept, as bytes behind another pointer."""
    words = expression.replace(",", " ").split()
    plain = len(words) == 3 and words[0] == "DW_OP_plus_uconst" and words[2] == "DW_OP_stack_value"
    return int(words[1]) if plain else None


def _is_own(t: Record) -> bool:
    """A class that the library alone uses. (Programs have a `_Node` of their own.)"""
    return _RESERVED.match(t.name) is not None and _IN_STD.match(t.symbol.removeprefix("_ZTS")) is not None


def _is_called(mangled: str, t: Record) -> bool:
    return t.symbol == f"_ZTS{mangled}" and _is_own(t)


def _is_one_of(classes: Collection[Record], t: Record) -> bool:
    return any(t is c or (t.name == c.name and t.size == c.size) for c in classes)


def _member(declared: Object, at: int, wanted: Callable[[Record], bool], level: int) -> int:
    """The bytes from `at` to the end of the innermost whole object there of a wanted class, or one derived.

    `level`: of how many pointers what is stored is one; 0 for a variable, which may walk to the end of an array.
    """
    t, whole = declared.type, declared.whole
    found, start, end = 0, 0, t.size if whole else 0
    while True:
        if isinstance(t, Record) and level <= 1 and end and wanted(t):
            found = end - at
        if level > 1 and isinstance(t, Pointer) and start == at and end:
            found = t.size
        if isinstance(t, Sequence) and t.element.size:
            element, end = t.element, start + t.size
            start += (at - start) // element.size * element.size
            t, end = element, start + element.size if level else end
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
