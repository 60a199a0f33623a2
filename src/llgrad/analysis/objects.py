"""Memory objects, and where in them constants point: the vocabulary of `points_to`, `mod_ref` and `activity`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from math import prod
from typing import Literal

from msgspec import Struct

from llgrad.ir.types import ArrayType, DataLayout, FloatType, IntType, PointerType, StructType, Type, VectorType
from llgrad.ir.values import (
    Alias,
    Alloca,
    AnyConstant,
    AnyValue,
    Call,
    ConstAggregate,
    ConstExpr,
    ConstInt,
    ConstNull,
    Function,
    GetElementPtr,
    GlobalValue,
    GlobalVariable,
    Undef,
    Value,
)
from llgrad.rules import effects

NEVER_MAPPED = 4096
"""No memory is that near to null, on either side: what Rust puts behind an empty `Vec` lies there."""

ObjectKind = Literal["argument", "global", "stack", "heap", "contents", "thrown", "text", "unknown"]


class MemoryObject(Struct, frozen=True):
    """One or more pieces of memory that the analyses do not tell apart.

    argument  what a pointer argument of the root points to (`site`: the argument);
    global    a variable, or the code of a function (`site`: it);
    stack     what an `alloca` makes; heap: what a call of an allocator makes (`site`: the instruction);
    contents  what pointers in the memory of `site` (argument, global) point to when the root is entered, and so on;
    thrown    exceptions and handles of code that is not known: nothing active is in there;
    text      what strings hold (`llgrad.transforms.guard.strings`): nothing active either;
    unknown   memory of code that is not known.

    `column`: it is this column of a block of llgrad's tape, which `site` reserves: memory of its own, to which nothing
    else leads (`autodiff.emit.tape`).
    """

    kind: ObjectKind
    site: Value | None = None
    function: Function | None = None
    column: int | None = None

    @property
    def is_code(self) -> bool:
        return isinstance(self.site, Function)

    @property
    def is_block(self) -> bool:
        """Is it a block of llgrad's tape, without its columns?"""
        f = self.site.called_function if isinstance(self.site, Call) else None
        return f is not None and f.name == "llgrad.tape.reserve" and self.column is None

    def is_column_of(self, block: MemoryObject) -> bool:
        return self.column is not None and self.site is block.site

    @property
    def is_constant(self) -> bool:
        """A global that is never written."""
        return isinstance(self.site, GlobalVariable) and self.kind == "global" and self.site.constant

    @property
    def is_library_table(self) -> bool:
        """The table of virtual functions of a class of the C++ library, which is not at hand: code alone."""
        g = self.site
        if not isinstance(g, GlobalVariable) or not g.constant or g.initializer is not None:
            return False
        return re.match("_ZTVN?(St|10__cxxabiv1)", g.name) is not None

    @property
    def has_own_shadow(self) -> bool:
        """A global with a shadow of the user's, or what a pointer in one points to from before."""
        return isinstance(self.site, GlobalVariable) and any(a.name == "enzyme_shadow" for a in self.site.attributes)

    @property
    def begins_inactive(self) -> bool:
        """Is nothing active in it when the root is entered? A variable that has no shadow by then."""
        return self.kind == "global" and not self.has_own_shadow

    @property
    def is_external(self) -> bool:
        """Does it exist before the root is entered?"""
        return self.kind not in ("stack", "heap")

    def __str__(self) -> str:
        if self.site is None:
            return f"{self.kind} memory"
        sigil = "@" if isinstance(self.site, GlobalValue) else "%"
        where = f" of @{self.function.name}" if self.function is not None else ""
        column = "" if self.column is None else f"column {self.column} of "
        return f"{column}{self.kind} {sigil}{self.site.name}{where}"


_REPLACED = frozenset({"common", "weak", "extern_weak", "available_externally"})  # by others, perhaps larger


def size_of(o: MemoryObject, layout: DataLayout) -> int | None:
    """How many bytes an object has, where that is a constant."""
    match o.kind, o.site:
        case "stack", Alloca(t, ConstInt(value=count)):
            each = layout.known_size(t)
            return None if each is None else each * count
        case "global", GlobalVariable() as g if g.initializer is not None and g.linkage not in _REPLACED:
            return layout.known_size(g.value_type)
        case "heap", Call() as call if call.called_function is not None and o.column is None:
            known = effects(call.called_function.name)
            if known is not None and known.allocator is not None and known.allocator.place == "return":
                given = [call.arguments[n] for n in known.allocator.size]
                sizes = [n.value for n in given if isinstance(n, ConstInt)]
                return prod(sizes) if len(sizes) == len(given) else None
    return None


UNKNOWN = MemoryObject("unknown")
THROWN = MemoryObject("thrown")
TEXT = MemoryObject("text")

WORD = 8
"""Pointers in memory are told apart by the word of 8 bytes that they are in."""


class Leaf(Struct, frozen=True):
    """A scalar or vector of a first-class aggregate: where it would be in memory, and its type."""

    offset: int
    type: Type


@cache
def leaves(t: Type, layout: DataLayout) -> tuple[Leaf, ...]:
    """The leaves of a type in order; of a type with more than 64 the type itself is the only one."""
    found = tuple(islice(layout.leaves(t, most=65), 65))
    return tuple(Leaf(at, part) for at, part in found) if len(found) <= 64 else (Leaf(0, t),)


@cache
def leaf_range(t: Type, indices: tuple[int, ...], layout: DataLayout) -> tuple[int, int]:
    """First and last (exclusive) leaf of the element of `t` at `indices`; those of all where `t` has too many."""
    if len(leaves(t, layout)) == 1:
        return 0, 1
    first, inner = 0, t
    for index in indices:
        match inner:
            case StructType(fields) if fields is not None:
                first += sum(len(leaves(f, layout)) for f in fields[:index])
                inner = fields[index]
            case ArrayType(element, _):
                first += index * len(leaves(element, layout))
                inner = element
    return first, first + len(leaves(inner, layout))


def carries_pointer(t: Type) -> bool:
    """May a value of this type hold a whole pointer?"""
    match t:
        case PointerType():
            return True
        case IntType(bits):
            return bits >= 64
        case VectorType(element, count):
            match element:
                case PointerType():
                    return True
                case IntType(bits):
                    return bits * count >= 64
            return False
        case StructType(fields):
            return any(carries_pointer(f) for f in fields or ())
        case ArrayType(element):
            return carries_pointer(element)
    return False


def holds_type(t: Type, kind: type[Type]) -> bool:
    """Is a type of this kind in a type?"""
    match t:
        case VectorType(element) | ArrayType(element):
            return holds_type(element, kind)
        case StructType(fields):
            return any(holds_type(f, kind) for f in fields or ())
    return isinstance(t, kind)


def carries_float(t: Type) -> bool:
    """May a value of this type hold a float, be it as bits?"""
    match t:
        case FloatType():
            return True
        case IntType(bits):
            return bits >= 16
        case VectorType(element, count):
            return carries_float(element) or (isinstance(element, IntType) and element.bits * count >= 16)
        case ArrayType(element, count):
            return carries_float(element) or (isinstance(element, IntType) and element.bits * count >= 16)
        case StructType(fields):
            return any(carries_float(f) for f in fields or ())
    return False


def gep_base(v: AnyValue) -> AnyValue:
    """What an address was computed from."""
    while isinstance(v, GetElementPtr):
        v = v.pointer
    return v


def leads_nowhere(v: AnyValue) -> bool:
    """Is it a constant address that is no object's? Any bits may be kept as the distance from there."""
    while isinstance(v, ConstExpr) and v.opcode == "getelementptr":
        v = v.operands[0]
    return isinstance(v, ConstNull | Undef) or isinstance(v, ConstExpr) and v.opcode == "inttoptr"


def gep_offset(source: Type, indices: list[AnyValue], layout: DataLayout) -> int | None:
    """The bytes that a `getelementptr` adds, or None where an index is not constant."""
    if (found := gep_terms(source, indices, layout)) is None:
        return None
    total, terms = found
    for index, size in terms:
        if (n := constant_index(index)) is None:
            return None
        total += n * size
    return total


def gep_terms(
    source: Type, indices: Iterable[AnyValue], layout: DataLayout
) -> tuple[int, list[tuple[AnyValue, int]]] | None:
    """What a `getelementptr` adds: the bytes of members of structs, and other indices with the sizes they count in."""
    total, terms = 0, list[tuple[AnyValue, int]]()
    t: Type = ArrayType(source, 0)
    for index in indices:
        match t:
            case ArrayType(element) | VectorType(element):
                t = element
                terms.append((index, layout.alloc_size(element)))
            case StructType(fields) if fields is not None and (n := constant_index(index)) is not None:
                total, t = total + layout.offsets(t)[n], fields[n]
            case _:
                return None
    return total, terms


def constant_index(index: AnyValue) -> int | None:
    """The number that an index of a `getelementptr` is, if it is constant."""
    if isinstance(index, ConstInt):
        return index.signed
    return 0 if type(index).__name__ == "ConstZero" else None


def is_mixture(t: Type, layout: DataLayout) -> bool:
    """Is it a struct or an array with floats and pointers, or what may be one?"""
    inside = [leaf.type for leaf in leaves(t, layout)] if isinstance(t, StructType | ArrayType) else []
    return any(isinstance(s, FloatType) for s in inside) and any(
        isinstance(s, PointerType) or isinstance(s, IntType) and s.bits >= 64 for s in inside
    )


def resolve_alias(value: GlobalValue) -> AnyConstant:
    """What an alias stands for, through aliases."""
    found: AnyConstant = value
    while isinstance(found, Alias):
        found = found.aliasee
    return found


def constant_targets(value: AnyValue, layout: DataLayout) -> frozenset[tuple[GlobalValue | None, int | None]]:
    """The globals (None: an address made from nothing) and offsets that a constant holds the addresses of."""
    match value:
        case Alias():
            aliasee = resolve_alias(value)
            return constant_targets(aliasee, layout)
        case GlobalValue():
            return frozenset({(value, 0)})
        case ConstExpr(_, "getelementptr", operands):
            base, *indices = operands
            assert value.source_type is not None
            by = gep_offset(value.source_type, list(indices), layout)
            return frozenset(
                (g, None if at is None or by is None else at + by) for g, at in constant_targets(base, layout)
            )
        case ConstExpr(_, "inttoptr", (ConstInt(signed=address),)) if abs(address) <= NEVER_MAPPED:
            return frozenset()  # a dangling pointer: like null, it points to no memory
        case ConstExpr(_, "inttoptr", operands):
            inner = constant_targets(operands[0], layout)
            return inner or frozenset({(None, None)})
        case ConstExpr(_, "ptrtoint" | "ptrtoaddr" | "bitcast" | "addrspacecast", operands):
            return constant_targets(operands[0], layout)
        case ConstExpr(_, "add", (base, ConstInt(signed=by))):
            return frozenset((g, None if at is None else at + by) for g, at in constant_targets(base, layout))
        case ConstExpr(_, _, operands) | ConstAggregate(_, operands):
            return frozenset((g, None) for o in operands for g, _ in constant_targets(o, layout))
    return frozenset()


def initial_pointers(
    value: AnyConstant, layout: DataLayout, offset: int = 0
) -> Iterator[tuple[int, GlobalValue | None, int | None]]:
    """The addresses in an initializer: offset, global, offset in that global."""
    if isinstance(value, ConstAggregate):
        for at, element in value.placed(layout):
            yield from initial_pointers(element, layout, offset + at)
        return
    for g, at_g in constant_targets(value, layout):
        yield offset, g, at_g


__all__ = [
    "TEXT", "THROWN", "UNKNOWN", "WORD", "Leaf", "MemoryObject", "carries_float", "carries_pointer",
    "constant_index", "constant_targets", "gep_base", "gep_offset", "gep_terms", "holds_type", "initial_pointers",
    "is_mixture", "leaf_range", "leaves", "resolve_alias",
]  # fmt: skip
