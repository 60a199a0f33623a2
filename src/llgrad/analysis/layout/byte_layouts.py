"""Types as byte layouts: what debug info, TBAA and LLVM's own types declare about each byte.

A `ByteType` is a tree of scalars, pointers, sequences and records. `scalars(type, offset)` says which scalars cover one
byte; a union answers with one per member, padding with none, bytes of which nothing is declared with a mask of 0.
Masks are bit sets, so that facts about one byte are joined with `|`; see `FLOAT_BIT`, `POINTER_BIT`, `INT_BITS`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import cache, lru_cache

from msgspec import Struct
from msgspec.structs import replace

FLOAT_SIZES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "x86_fp80": 10, "fp128": 16, "ppc_fp128": 16}
FLOAT_BIT = {name: 1 << i for i, name in enumerate(FLOAT_SIZES)}
FLOAT_MASK = (1 << len(FLOAT_BIT)) - 1
POINTER_BIT = 1 << 7
INT_BITS = {1: 1 << 8, 2: 1 << 9, 4: 1 << 10, 8: 1 << 11}
INT_MASK = sum(INT_BITS.values())
LIKELY_INTS = {size: bit << 6 for size, bit in INT_BITS.items()}  # accesses through integer types: may carry floats
LIKELY_INT = sum(LIKELY_INTS.values())
BIT_SIZES = {bit: FLOAT_SIZES[name] for name, bit in FLOAT_BIT.items()} | {bit: size for size, bit in INT_BITS.items()}
BIT_SIZES |= {bit: size for size, bit in LIKELY_INTS.items()}
BIT_SIZES[POINTER_BIT] = 8


@cache
def mask_size(mask: int) -> int:
    """Bytes of the smallest scalar in a mask (16 at most, 1 for the empty mask)."""
    return min((size for bit, size in BIT_SIZES.items() if mask & bit), default=1)


@cache
def mask_reach(mask: int) -> int:
    """Bytes of the largest scalar in a mask."""
    return max((size for bit, size in BIT_SIZES.items() if mask & bit), default=0)


def int_pieces(size: int) -> Iterator[tuple[int, int]]:
    """An integer of `size` bytes as (offset, bit) pieces of 8, 4, 2 and 1 bytes."""
    offset = 0
    while offset < size:
        piece = next(p for p in (8, 4, 2, 1) if p <= size - offset)
        yield offset, INT_BITS[piece]
        offset += piece


class ByteType(Struct, frozen=True, eq=False):
    """Base: `name` as the language spells it (empty where it has none), `size` in bytes (the stride of an array)."""

    name: str
    size: int


class Unknown(ByteType, frozen=True, eq=False):
    """Bytes of which the declaration says nothing (`void`, `unsigned char[]`, tagged variants)."""


class Basic(ByteType, frozen=True, eq=False):
    """A scalar. `encoding`: float, int, uint, bool, char, uchar; `format` is LLVM's name of a float."""

    encoding: str
    format: str = ""

    @property
    def mask(self) -> int:
        return FLOAT_BIT[self.format] if self.format else INT_MASK


class Pointer(ByteType, frozen=True, eq=False):
    """`to()` is the pointee, made when first asked for (lists are recursive); None for `void`.

    A `reference` (C++ `&`, Rust `&T`, Zig `*T`) points to one object, never into an array of them.
    """

    target: Callable[[], ByteType | None]
    const: bool = False
    restrict: bool = False
    reference: bool = False

    def to(self) -> ByteType | None:
        return self.target()


class Sequence(ByteType, frozen=True, eq=False):
    """An array, vector or complex number; `counts` has one entry per dimension, -1 where unknown."""

    element: ByteType
    counts: tuple[int, ...]
    flavour: str = "array"


class Member(Struct, frozen=True, eq=False):
    """`base`: a base class."""

    name: str
    offset: int
    type: ByteType
    bit_field: bool = False
    base: bool = False


class Record(ByteType, frozen=True, eq=False):
    """A struct, class or union; base classes are members. `polymorphic`: derived classes may be longer. `symbol`: of
    the type information of a class that C++ knows by one name everywhere."""

    members: tuple[Member, ...]
    union: bool = False
    polymorphic: bool = False
    symbol: str = ""


class Shapes:
    """One type for all that are laid out alike: a class that only wraps another, or has empty bases, is that other."""

    def __init__(self) -> None:
        self._known: dict[ByteType, ByteType] = {}
        self._by_shape: dict[Hashable, ByteType] = {}

    def of(self, t: ByteType) -> ByteType:
        found = self._known.get(t)
        if found is None:
            found = self._known[t] = self._inner(t)
        return found

    def _inner(self, t: ByteType) -> ByteType:
        match t:
            case Basic(_, size, encoding, format):
                return self._one(t, (size, encoding, format))
            case Pointer(_, size, target, reference=reference):  # a debug type is known by where it is described
                return self._one(t, (size, getattr(target, "args", target), reference))
            case Sequence(_, size, element, counts):
                inner = self.of(element)
                return self._one(Sequence("", size, inner, counts, t.flavour), (size, inner, counts))
            case Record(_, size, members, union, polymorphic):
                inside = tuple(Member("", m.offset, self.of(m.type), m.bit_field) for m in members)
                inside = tuple(m for m in inside if not isinstance(m.type, Record) or m.type.members)
                alone = inside[0] if len(inside) == 1 and not polymorphic and not is_flexible(t) else None
                if alone and not alone.offset and alone.type.size == size and not alone.bit_field:
                    return alone.type
                shape = tuple((m.offset, m.type, m.bit_field) for m in inside)
                return self._one(Record("", size, inside, union, polymorphic), (size, shape, union, polymorphic))
        return t

    def _one(self, t: ByteType, shape: Hashable) -> ByteType:
        return self._by_shape.setdefault((type(t), shape), t)


class Found(Struct, frozen=True):
    """A scalar: its `mask` (0: nothing is declared), first byte `start`, `size`, and the pointer type, if it is one."""

    mask: int
    start: int
    size: int
    pointer: Pointer | None = None


@lru_cache(maxsize=1 << 16)
def scalars(t: ByteType, offset: int) -> tuple[Found, ...]:
    """The scalars of `t` that cover byte `offset` (0 ≤ offset < size); none for padding."""
    return tuple(_scalars(t, offset, 0))


def _scalars(t: ByteType, offset: int, base: int) -> Iterator[Found]:
    match t:
        case Basic():
            size = FLOAT_SIZES[t.format] if t.format else t.size
            if offset < size:
                yield Found(t.mask, base, size)
        case Pointer():
            yield Found(POINTER_BIT, base, t.size, t)
        case Sequence(element=element) if is_buffer(t) or not element.size:
            yield Found(0, base, max(t.size, 1))
        case Sequence(element=element):
            start = offset // element.size * element.size
            yield from _scalars(element, offset - start, base + start)
        case Record(members=members):
            for m in members:
                if m.offset <= offset and (offset < m.offset + m.type.size or _is_tail(m, t)):
                    yield from _scalars(m.type, offset - m.offset, base + m.offset)
        case _:
            yield Found(0, base, max(t.size, 1))


@lru_cache(maxsize=4096)
def formats(t: ByteType) -> frozenset[str]:
    """The formats of all floats in a type."""
    match t:
        case Basic(format=format) if format:
            return frozenset({format})
        case Sequence(element=element):
            return formats(element)
        case Record(members=members):
            return frozenset(f for m in members for f in formats(m.type))
    return frozenset()


def is_buffer(t: Sequence) -> bool:
    """Arrays of `unsigned char`, `std::byte` are storage for anything."""
    return is_storage(t.element) and t.size != t.element.size


def is_storage(t: ByteType) -> bool:
    """`unsigned char`, `std::byte`: an array of them is storage for anything."""
    return isinstance(t, Basic) and t.encoding == "uchar"


def is_character(t: ByteType) -> bool:
    """A pointer to characters may lead to anything in C and C++, and a variable may hold a byte of anything."""
    return isinstance(t, Basic) and t.encoding in ("char", "uchar")


def _is_tail(m: Member, t: Record) -> bool:
    """Is a member the flexible array at the end of `t`?"""
    return is_flexible(t) and m.offset == max(x.offset for x in t.members)


class Span(Struct, frozen=True):
    """An array inside a type: bytes [start, end) hold elements of type `element`; `end` is None for flexible arrays."""

    start: int
    end: int | None
    element: ByteType


@lru_cache(maxsize=4096)
def is_flexible(t: ByteType) -> bool:
    """Does a record end in an array that is longer than declared (`double d[]`, `[0]`, and the old `[1]`)?"""
    if not isinstance(t, Record) or not t.members or t.union:
        return False
    last = max(t.members, key=lambda m: m.offset).type
    return (isinstance(last, Sequence) and last.size <= last.element.size) or is_flexible(last)


def tail(t: ByteType) -> int:
    """Where the array begins that a flexible record ends in."""
    assert isinstance(t, Record)
    last = max(t.members, key=lambda m: m.offset)
    return last.offset + (tail(last.type) if isinstance(last.type, Record) else 0)


def array_at(t: ByteType, offset: int, step: int) -> Span | None:
    """The outermost array of `t` around byte `offset` that steps of `step` bytes walk (0: any array).

    That is one longer than a step, whose elements (or theirs, if they are arrays) divide it.
    """
    match t:
        case Sequence(element=element) if element.size:
            if (not t.size or step < t.size) and (flat := _flat(t, step)) is not None:
                return Span(0, t.size or None, flat)
            start = offset // element.size * element.size
            return _shift(array_at(element, offset - start, step), start)
        case Record(members=members):
            for m in members:
                tail = _is_tail(m, t)
                if m.offset <= offset and (offset < m.offset + m.type.size or tail):
                    inner = replace(m.type, size=0) if tail and isinstance(m.type, Sequence) else m.type
                    if found := array_at(inner, offset - m.offset, step):
                        return _shift(found, m.offset)
    return None


def _flat(t: Sequence, step: int) -> ByteType | None:
    element: ByteType = t.element
    while element.size and step % element.size:
        if not isinstance(element, Sequence):
            return None
        element = element.element
    return element if element.size else None


def _shift(span: Span | None, by: int) -> Span | None:
    return span and Span(span.start + by, None if span.end is None else span.end + by, span.element)
